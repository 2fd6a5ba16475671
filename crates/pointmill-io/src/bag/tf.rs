//! Messages of the type `tf2_msgs/TFMessage`: transforms between frames.

use super::frames::StaticFrames;
use super::wire::{Encoding, Wire};
use crate::error::IoError;
use crate::fault::bail;
use pointmill_core::Pose;
use std::path::Path;

/// The most bytes of a message. A transform has some hundred.
pub(super) const MOST: u64 = 1 << 20;

/// Whether a topic has the static transforms, by its name and the type of its messages. Of one robot
/// of several, a name stands in front.
pub(super) fn is_static(topic: &str, schema_name: &str) -> bool {
    topic.rsplit('/').next() == Some("tf_static")
        && ["tf2_msgs/msg/TFMessage", "tf2_msgs/TFMessage", "tf/tfMessage"].contains(&schema_name)
}

/// Adds the transforms of a message to frames; `path` stands for it in errors.
pub(super) fn read(bytes: &[u8], encoding: Encoding, path: &Path, frames: &mut StaticFrames) -> Result<(), IoError> {
    let mut wire = Wire::new(path, bytes, encoding)?;
    let count = wire.u32("transforms")?;
    for i in 0..count {
        let (_, parent) = wire.header()?;
        let frame = wire.text(&format!("transforms[{i}].child_frame_id"))?;
        let field = format!("transform of `{frame}`");
        let mut numbers = [0.0; 7];
        for number in &mut numbers {
            *number = wire.f64(&field)?;
        }
        let [x, y, z, rotation @ ..] = numbers;
        match Pose::from_quaternion([x, y, z], rotation) {
            Ok(pose) => frames.add(parent, frame, pose)?,
            Err(e) => bail!(wire, BadValue, field, "finite numbers and a quaternion of length 1", e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_static_transforms_are_known_by_name_and_type() {
        assert!(is_static("/tf_static", "tf2_msgs/msg/TFMessage") && is_static("/tf_static", "tf2_msgs/TFMessage"));
        assert!(is_static("tf_static", "tf/tfMessage") && is_static("/robot_1/tf_static", "tf2_msgs/TFMessage"));
        assert!(!is_static("/tf", "tf2_msgs/msg/TFMessage") && !is_static("/tf_static", "sensor_msgs/msg/PointCloud2"));
    }
}
