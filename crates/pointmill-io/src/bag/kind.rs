//! The types of messages that are clouds.

use super::cloud::PointCloud2;
use super::wire::Encoding;
use crate::error::IoError;
use std::path::Path;

/// What errors say that a bag must have.
pub(super) const CLOUDS: &str = "sensor_msgs/PointCloud2 or Livox's CustomMsg";

/// A type of messages that are clouds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    PointCloud2,
    /// Of `livox_ros_driver`, `livox_ros_driver2` and `livox_ros2_driver`, which lay it in one way.
    CustomMsg,
}

impl Kind {
    /// The kind that a type of messages is, by its name in ROS 1 or ROS 2; `None` for other messages.
    pub(super) fn of(schema_name: &str) -> Option<Self> {
        let (package, name) = schema_name.split_once('/')?;
        match (package, name.strip_prefix("msg/").unwrap_or(name)) {
            ("sensor_msgs", "PointCloud2") => Some(Self::PointCloud2),
            ("livox_ros_driver" | "livox_ros_driver1" | "livox_ros_driver2" | "livox_interfaces", "CustomMsg") => {
                Some(Self::CustomMsg)
            }
            _ => None,
        }
    }

    /// Reads a message of the kind.
    pub(super) fn read<'a>(self, bytes: &'a [u8], encoding: Encoding, path: &Path) -> Result<PointCloud2<'a>, IoError> {
        match self {
            Self::PointCloud2 => PointCloud2::read(bytes, encoding, path),
            Self::CustomMsg => PointCloud2::read_custom_msg(bytes, encoding, path),
        }
    }
}
