//! The shared test data when present: files with what must come of them.

use pointmill_io::{ReadOptions, read};
use std::path::Path;

/// A case: the file, then the number of points and of those not finite, and whether a warning is due.
const GOOD: [(&str, usize, usize, bool); 6] = [
    ("bin-zero-length", 0, 0, true),
    ("bin-all-nan", 100, 100, true),
    ("bin-1e38", 4, 0, false),
    ("bin-denormal", 4, 0, false),
    ("bin-all-identical", 50_000, 0, false),
    ("bin-inf", 3, 2, true),
];

#[test]
fn raw_files_give_what_they_must() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/badinput/files");
    if !folder.is_dir() {
        eprintln!("skipped: no shared test data");
        return;
    }
    let file = |name: &str| folder.join(format!("{name}.bin"));
    for (name, points, nonfinite, warned) in GOOD {
        let scan = read(file(name), &ReadOptions::default()).unwrap();
        let found = (scan.cloud.len(), scan.cloud.points().nonfinite(), !scan.warnings.is_empty());
        assert_eq!(found, (points, nonfinite, warned), "{name}");
        let bytes: Vec<u8> = scan.cloud.data().iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(bytes, std::fs::read(file(name)).unwrap(), "{name}: values must be kept bit for bit");
    }
    for (name, length) in [("bin-15-bytes", "15 bytes"), ("bin-17-bytes", "17 bytes")] {
        let e = read(file(name), &ReadOptions::default()).unwrap_err();
        assert_eq!(e.class(), "SizeMismatch");
        let message = e.to_string();
        assert!(message.contains("16 bytes") && message.contains(length), "{message}");
    }
}
