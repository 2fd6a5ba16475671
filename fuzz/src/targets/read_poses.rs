//! Poses: what is read is written as matrices and comes back with every bit.
use pointmill_io::{PoseFormat, PoseOptions, read_poses, write_poses};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let path = crate::file("txt");
    std::fs::write(&path, bytes).expect("room for a file");
    let options = PoseOptions { limits: crate::limits(), ..PoseOptions::default() };
    match read_poses(&path, &options) {
        Ok(poses) => {
            write_poses(&path, &poses, PoseFormat::Kitti).expect("what was read can be written");
            let again = read_poses(&path, &options).expect("what was written can be read");
            assert_eq!(again.poses, poses.poses);
            if poses.times.is_some() {
                write_poses(&path, &poses, PoseFormat::Tum).expect("what was read can be written");
                let again = read_poses(&path, &options).expect("what was written can be read");
                assert_eq!(again.times, poses.times);
            }
        }
        Err(e) => assert!(!e.to_string().chars().any(char::is_control), "{e}"),
    }
}
