//! Clouds in bags: messages of the types `sensor_msgs/PointCloud2` and `CustomMsg` of Livox's drivers, as
//! ROS 1 and ROS 2 write them, in MCAP, in bags of ROS 1 and in SQLite.
//!
//! [`Bag`] opens a file, lists its topics and reads its clouds one at a time. Chunks may be packed:
//! of MCAP by LZ4 or Zstandard, of ROS 1 by LZ4 or bzip2. A bag needs no index: [`Bag::open`] passes
//! over chunks whose messages are indexed behind them, and looks into the others. [`PointCloud2`]
//! reads a message that came in another way, in bytes or in parts.

mod body;
mod chunk;
mod cloud;
mod container;
mod custom;
mod extrinsics;
mod fields;
mod file;
mod found;
mod frames;
mod held;
mod index;
mod join;
mod kind;
mod mcap;
mod message;
mod metadata;
mod no_clouds;
mod pairs;
mod passes;
mod reader;
mod rosbag;
pub(crate) mod single;
mod sqlite;
mod sweeps;
mod tf;
mod wire;

pub use cloud::{CloudParts, PointCloud2};
pub use extrinsics::Extrinsics;
pub use fields::{FieldParts, PointField};
pub use found::Topic;
pub use frames::StaticFrames;
pub use metadata::files_of_folder;
pub use reader::{Bag, Cloud, Clouds, Layout, TimeOrigin};
pub use sweeps::Sweeps;
pub use wire::Encoding;
