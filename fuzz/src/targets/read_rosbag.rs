//! Bags of ROS 1: errors say where.
use super::read_mcap::bag;
use pointmill_io::Format;

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    bag(bytes, Format::Rosbag);
}
