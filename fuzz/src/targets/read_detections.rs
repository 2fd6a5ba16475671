//! Boxes of detections in the three formats: what is read can be evaluated.
use pointmill_io::detections::{read_argoverse, read_kitti, read_nuscenes};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let path = crate::file("boxes");
    std::fs::write(&path, bytes).expect("room for a file");
    let limits = crate::limits();
    for read in [read_kitti(&path, &limits), read_nuscenes(&path, &limits), read_argoverse(&path, &limits)] {
        match read {
            Ok(boxes) => boxes.validate("fuzzed").expect("what was read is whole"),
            Err(e) => assert!(!e.to_string().chars().any(char::is_control), "{e}"),
        }
    }
}
