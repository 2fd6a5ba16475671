//! Sums of an ndt map's cells: what is read is written and read again, and the library takes it.
use pointmill::ndt::NdtMoments;
use pointmill_data::{read_ndt_moments, write_ndt_moments};

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let path = crate::file("arrow");
    std::fs::write(&path, bytes).expect("room for a file");
    match read_ndt_moments(&path) {
        Ok(table) => {
            let moments = NdtMoments::from_table(&table).expect("a table that was read is one that points can make");
            write_ndt_moments(&path, &table).expect("what was read can be written");
            assert_eq!(read_ndt_moments(&path).expect("what was written can be read"), table);
            assert_eq!(moments.table().expect("room for a table"), table);
        }
        Err(e) => assert!(!e.to_string().chars().any(char::is_control), "{e}"),
    }
}
