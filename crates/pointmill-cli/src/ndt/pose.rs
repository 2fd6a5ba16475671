//! Poses from text files, as maps take them.

use crate::pose::{self, Written, refused};
use pointmill::ndt::{NdtGrid, Pose, pose_of};
use pointmill_io::IoError;
use std::path::Path;

/// Reads the poses of a file; `grid` says which it would take.
pub(super) fn read(path: &Path, grid: &NdtGrid) -> Result<Vec<Pose>, IoError> {
    let poses = pose::read(path)?;
    let taken = poses.into_iter().enumerate().map(|(i, written)| {
        let pose = match written {
            Written::Six(pose) => Ok(pose),
            Written::Matrix(matrix) => pose_of(&matrix),
        };
        // Whether a pose makes sense is the library's to say; a scan without points costs nothing.
        let checked = pose.and_then(|pose| grid.score(Rows::f32(&[], 3)?, &[pose]).map(|_| pose));
        checked.map_err(|e| refused(path, i, &e))
    });
    taken.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndt::check;
    use pointmill::ndt::NdtParams;

    #[test]
    fn matrices_become_poses_or_are_refused() {
        let folder = std::env::temp_dir().join(format!("pointmill-pose-{}", std::process::id()));
        let grid = check(2.0, &NdtParams::default()).unwrap();
        let read = |text: &str| {
            std::fs::write(&folder, text).unwrap();
            read(&folder, &grid).map_err(|e| e.to_string())
        };
        let moved = "1 0 0 7 0 1 0 8 0 0 1 9 0 0 0 1";
        assert_eq!(read(moved), Ok(vec![[7.0, 8.0, 9.0, 0.0, 0.0, 0.0]]));
        let e = read(&format!("{moved}\n2{}", &moved[1..])).unwrap_err();
        assert!(e.contains("pose 2: wanted a rigid transform"), "{e}");
        std::fs::remove_file(&folder).unwrap();
    }
}
