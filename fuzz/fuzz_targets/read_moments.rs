#![no_main]
//! Sums of an ndt map's cells: what is read is written and read again, and taken by the library or refused.
use pointmill::ndt::NdtMoments;
use pointmill_io::{read_ndt_moments, write_ndt_moments};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let path = pointmill_fuzz::file("arrow");
    std::fs::write(&path, bytes).expect("room for a file");
    match read_ndt_moments(&path) {
        Ok(table) => {
            let moments = NdtMoments::from_cells(table.lattice, &table.cells, table.points, table.nonfinite);
            write_ndt_moments(&path, &table).expect("what was read can be written");
            assert_eq!(read_ndt_moments(&path).expect("what was written can be read"), table);
            drop(moments);
        }
        Err(e) => assert!(!e.to_string().chars().any(char::is_control), "{e}"),
    }
});
