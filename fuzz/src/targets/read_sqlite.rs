//! Bags of ROS 2 in SQLite: errors say where.
use super::read_mcap::bag;
use pointmill_io::Format;

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    bag(bytes, Format::Sqlite);
}
