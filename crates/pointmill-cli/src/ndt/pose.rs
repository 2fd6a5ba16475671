//! Poses from text files, as maps take them.

use crate::pose::{self, refused};
use pointmill::Pose;
use pointmill_io::IoError;
use std::path::Path;

/// Reads the poses of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Pose>, IoError> {
    let poses = pose::read(path)?.into_iter().enumerate();
    poses.map(|(i, written)| written.pose().map_err(|e| refused(path, i, &e))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_become_poses_or_are_refused() {
        let folder = std::env::temp_dir().join(format!("pointmill-pose-{}", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&folder, text).unwrap();
            read(&folder).map_err(|e| e.to_string())
        };
        let moved = "1 0 0 7 0 1 0 8 0 0 1 9 0 0 0 1";
        assert_eq!(read(moved), Ok(vec![Pose::from_translation([7.0, 8.0, 9.0])]));
        let e = read(&format!("{moved}\n2{}", &moved[1..])).unwrap_err();
        assert!(e.contains("pose 2: wanted a rigid transform"), "{e}");
        std::fs::remove_file(&folder).unwrap();
    }
}
