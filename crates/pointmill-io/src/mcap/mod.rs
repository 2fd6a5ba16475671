//! Clouds in MCAP bags: messages of the type `sensor_msgs/PointCloud2`, as ROS 1 and ROS 2 write
//! them.
//!
//! [`Bag`] opens a file, lists its topics and reads its clouds one at a time. Chunks may be packed by LZ4 or Zstandard. A bag needs no
//! index: [`Bag::open`] passes over chunks whose messages are indexed behind them, and looks into
//! the others. [`PointCloud2`] reads a message that came in another way.

mod bag;
mod chunk;
mod cloud;
mod held;
mod index;
mod message;
mod record;
pub(crate) mod single;
mod wire;

pub use bag::{Bag, Cloud, Clouds, Layout, TimeOrigin};
pub use cloud::{PointCloud2, PointField};
pub use index::Topic;
pub use wire::Encoding;
