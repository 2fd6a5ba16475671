//! Poses from text files.

use crate::stderr;
use pointmill::Pose;
use pointmill_io::{Detail, IoError, PoseOptions, read_poses};
use std::path::Path;

/// Reads the poses of a file, of which there is at least one.
pub fn read(path: &Path) -> Result<Vec<Pose>, IoError> {
    let read = read_poses(path, &PoseOptions::default())?;
    read.warnings.iter().for_each(|told| stderr::warning(format_args!("{}: {told}", path.display())));
    if read.poses.is_empty() {
        return Err(IoError::BadValue(Detail::new(path, "text", "one pose or more", "none")));
    }
    Ok(read.poses)
}

/// Reads the one pose of a file.
pub fn read_one(path: &Path) -> Result<Pose, IoError> {
    match read(path)?[..] {
        [pose] => Ok(pose),
        ref poses => Err(IoError::BadValue(Detail::new(path, "text", "one pose", poses.len().to_string()))),
    }
}
