//! The poses of a log that has a folder of its own for them.

use pointmill_data::find_log_poses;
use pointmill_io::{PoseFormat, PoseOptions, ReadOptions, read, read_poses, write_poses};
use std::path::Path;

#[test]
fn poses_of_a_log_are_found_and_read() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/argoverse2/log");
    let sweep = shared.join("sensors/lidar/315966265259836000.feather");
    if !sweep.exists() {
        return;
    }
    let path = find_log_poses(&sweep).unwrap();
    assert_eq!(find_log_poses(sweep.parent().unwrap()), Some(path.clone()));
    let poses = read_poses(&path, &PoseOptions::default()).unwrap();
    let times = poses.times.as_ref().unwrap();
    assert_eq!((poses.poses.len(), times.len()), (2706 - 314, 2706 - 314));
    assert!(times.contains(&315_966_265.259_836));
    let folder = tempfile::tempdir().unwrap();
    let e = write_poses(folder.path().join("a"), &poses, PoseFormat::Argoverse2).unwrap_err();
    assert!(e.to_string().ends_with("format: expected kitti, tum, matrix, xyzrpy, got argoverse2"), "{e}");
    let e = read_poses(&sweep, &PoseOptions::default()).unwrap_err();
    assert!(e.to_string().contains("column `timestamp_ns`: expected timestamp_ns, qw"), "{e}");
    let scan = read(&sweep, &ReadOptions::default()).unwrap();
    assert_eq!((scan.cloud.len(), scan.cloud.columns()), (99_229, 6));
    assert!(scan.times().unwrap().seconds.iter().all(|t| *t < 0.11));
}
