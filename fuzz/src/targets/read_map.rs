//! Maps of normal distributions: what is read is written and read again, and the library makes a map of it or refuses it.
use pointmill::Device;
use pointmill::ndt::NdtGrid;
use pointmill_data::{is_ndt_map, read_ndt_map_within, write_ndt_map};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let (path, limits) = (crate::file("npz"), crate::limits());
    std::fs::write(&path, bytes).expect("room for a file");
    match read_ndt_map_within(&path, &limits) {
        Ok((cells, lattice)) => {
            assert!(is_ndt_map(&path, &limits).expect("what was read is an archive"));
            write_ndt_map(&path, &cells, &lattice).expect("what was read can be written");
            let (again, there) = read_ndt_map_within(&path, &limits).expect("what was written can be read");
            // NaN is not equal to itself.
            assert_eq!((format!("{again:?}"), there), (format!("{cells:?}"), lattice));
            let stream = Device::cpu().stream().expect("the CPU has streams");
            drop(NdtGrid::from_cells(cells, lattice, &stream));
        }
        Err(e) => assert!(!e.to_string().chars().any(char::is_control), "{e}"),
    }
}
