//! Clouds in MCAP bags: messages of the type `sensor_msgs/PointCloud2`, as ROS 1 and ROS 2 write them.
//!
//! [`Bag`] opens a file, lists its topics and reads its clouds one at a time. Chunks may be packed by LZ4 or Zstandard. A bag needs no
//! index: [`Bag::open`] passes over chunks whose messages are indexed behind them, and looks into the others. [`PointCloud2`] reads a
//! message that came in another way.

#[cfg(feature = "mcap")]
mod bag;
#[cfg(feature = "mcap")]
mod chunk;
#[cfg(feature = "mcap")]
mod cloud;
#[cfg(feature = "mcap")]
mod index;
#[cfg(feature = "mcap")]
mod message;
#[cfg(feature = "mcap")]
mod record;
#[cfg(feature = "mcap")]
pub(crate) mod single;
#[cfg(feature = "mcap")]
mod times;
#[cfg(feature = "mcap")]
mod wire;

#[cfg(feature = "mcap")]
pub use {
    bag::{Bag, Cloud, Clouds, Layout},
    cloud::{PointCloud2, PointField},
    index::Topic,
    times::{TimeField, TimeOrigin, TimeUnit},
    wire::Encoding,
};

/// How every MCAP file starts and ends.
pub(crate) const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";

#[cfg(not(feature = "mcap"))]
pub(crate) mod single {
    use crate::error::{Detail, IoError};
    use crate::limits::Bounds;
    use crate::rows::Rows;
    use crate::source::ReadSeek;
    use std::path::Path;

    /// Refuses a bag.
    pub(crate) fn read_rows(path: &Path, _: &mut dyn ReadSeek, _: &Bounds) -> Result<Rows, IoError> {
        let wanted = "a build with the feature `mcap`";
        Err(IoError::UnsupportedFormat(Detail::new(path, "format", wanted, "MCAP")))
    }
}
