//! Poses from text files.

use crate::stderr;
use pointmill::{NotRigid, Pose};
use pointmill_io::{Detail, IoError, PoseOptions, read_poses};
use std::path::Path;

/// The pose that stands in place of the name of a file, as 6 numbers with blanks or commas: x, y, z,
/// roll, pitch, yaw.
pub(crate) fn in_numbers(path: &Path) -> Option<[f64; 6]> {
    let words = path.to_str()?.split([' ', ',']).filter(|word| !word.is_empty());
    words.map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>()?.try_into().ok()
}

/// Reads the poses of a file, of which there is at least one.
pub fn read(path: &Path) -> Result<Vec<Pose>, IoError> {
    if let Some(numbers) = in_numbers(path).filter(|_| !path.exists()) {
        let bad = |e: NotRigid| IoError::BadValue(Detail::new(path, "pose", e.expected(), e.to_string()));
        return Ok(vec![Pose::from_xyzrpy(numbers).map_err(bad)?]);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_a_pose() {
        for text in ["1 -2 0.5 0 0 1.5", "1,-2,0.5,0,0,1.5", "1, -2, 0.5, 0, 0, 1.5"] {
            assert_eq!(read_one(Path::new(text)).unwrap(), Pose::from_xyzrpy([1.0, -2.0, 0.5, 0.0, 0.0, 1.5]).unwrap());
        }
        for text in ["0,0,0", "1 2 3 4 5 6 7", "pose.txt", "a b c d e f"] {
            assert!(in_numbers(Path::new(text)).is_none(), "{text}");
        }
        assert!(read_one(Path::new("nan 0 0 0 0 0")).is_err());
    }
}
