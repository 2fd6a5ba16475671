//! LAS and LAZ files of every point format, written by laspy and LASzip's own code, against the
//! values that numpy finds in them.
mod common;

use pointmill_io::{Array, Dtype, IoError, ReadOptions, Scan, Warning, read, read_from, read_npz};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las")
}

/// Reads a file, and its bytes as a stream; the answers must agree.
fn both(path: &Path) -> Result<Scan, IoError> {
    let options = ReadOptions::default();
    let file = read(path, &options)?;
    let stream = read_from(&std::fs::read(path).unwrap()[..], path.to_str().unwrap(), &options)?;
    assert_eq!((bits(&file), &file.fields, &file.xyz_f64), (bits(&stream), &stream.fields, &stream.xyz_f64));
    assert_eq!(file.warnings, stream.warnings);
    Ok(file)
}

fn bits(scan: &Scan) -> Vec<u32> {
    scan.cloud.data().iter().map(|v| v.to_bits()).collect()
}

fn compare(name: &str, scan: &Scan, wanted: &BTreeMap<String, Array>, every: usize) {
    let names: Vec<_> = scan.fields.iter().map(|f| &*f.name).collect();
    assert_eq!(names.join(" ").as_bytes(), wanted["names"].as_u8().unwrap(), "{name}");
    let rows = scan.cloud.data().chunks(names.len()).step_by(every);
    let found: Vec<u32> = rows.flatten().map(|v| v.to_bits()).collect();
    let values: Vec<u32> = wanted["columns"].as_f32().unwrap().iter().map(|v| v.to_bits()).collect();
    assert_eq!(found, values, "{name}");
    let exact = scan.xyz_f64.as_deref().unwrap_or_default().chunks(3).step_by(every);
    let exact: Vec<u64> = exact.flatten().map(|v| v.to_bits()).collect();
    let values: Vec<u64> = wanted["xyz"].as_f64().unwrap().iter().map(|v| v.to_bits()).collect();
    assert_eq!(exact, values, "{name}");
}

/// The files of an extension, with their names.
fn files(extension: &str) -> Vec<(String, PathBuf)> {
    let names = common::names(&fixtures());
    let of = |name: &String| name.strip_suffix(extension).map(|stem| (stem.to_owned(), fixtures().join(name)));
    names.iter().filter_map(of).collect()
}

#[test]
fn every_point_format_gives_its_values() {
    let files = files(".las");
    assert_eq!(files.len(), 16);
    for (name, path) in files {
        let scan = both(&path).unwrap();
        compare(&name, &scan, &read_npz(path.with_extension("npz")).unwrap(), 1);
        assert_eq!(scan.fields[0].dtype, Dtype::F64);
        let odd =
            scan.warnings.iter().any(|w| matches!(w, Warning::OutsideBounds { .. } | Warning::TrailingBytes { .. }));
        assert!(!odd, "{name}: {:?}", scan.warnings);
    }
}

#[cfg(feature = "laz")]
#[test]
fn compressed_points_are_the_same() {
    let files = files(".laz");
    assert_eq!(files.len(), 17);
    for (name, path) in files {
        let scan = both(&path).unwrap();
        let every = if name == "chunks" { 997 } else { 1 };
        compare(&name, &scan, &read_npz(path.with_extension("npz")).unwrap(), every);
        assert_eq!(name == "chunks", scan.cloud.len() == 100_500);
        let odd =
            scan.warnings.iter().any(|w| matches!(w, Warning::OutsideBounds { .. } | Warning::TrailingBytes { .. }));
        assert!(!odd, "{name}: {:?}", scan.warnings);
    }
}

#[cfg(not(feature = "laz"))]
#[test]
fn without_the_feature_compressed_points_are_refused() {
    for (name, path) in files(".laz") {
        let e = both(&path).unwrap_err();
        assert_eq!(e.class(), "UnsupportedFormat", "{name}");
        assert!(e.to_string().contains("the feature `laz`"), "{e}");
    }
}

/// The bytes of a fixture, changed.
fn with(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Result<Scan, IoError> {
    let mut bytes = std::fs::read(fixtures().join(name)).unwrap();
    change(&mut bytes);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, &bytes).unwrap();
    let file = read(&path, &ReadOptions::default());
    let stream = read_from(&bytes[..], name, &ReadOptions::default());
    assert_eq!(file.as_ref().err().map(IoError::class), stream.as_ref().err().map(IoError::class));
    file
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..at + new.len()].copy_from_slice(new);
}

#[test]
fn a_version_has_no_format_of_a_later_one() {
    let version = |name: &str, minor: u8| with(name, |bytes| bytes[25] = minor);
    for (name, minor, newest) in [("1.4_format6.las", 2, 3), ("1.3_format4.las", 2, 3), ("1.4_format6.las", 3, 5)] {
        // Version 1.3 needs no more of the header than is there; its points are counted in the
        // older field.
        let e = version(name, minor).unwrap_err();
        let wanted = format!("point format: expected at most {newest}, the newest of version 1.{minor}, got");
        assert!(e.class() == "BadHeader" && e.to_string().contains(&wanted), "{e}");
    }
    // Colours were in use before version 1.2 had them.
    for minor in 0..3 {
        assert_eq!(version("1.2_format3.las", minor).unwrap().cloud.len(), 60);
    }
}

/// Changes of a header that must be told, where, and how: at, bytes, class, field.
const WRONG: [(usize, &[u8], &str, &str); 14] = [
    (0, b"LASG", "BadHeader", "signature"),
    (24, &[2, 0], "UnsupportedFormat", "version"),
    (25, &[5], "BadHeader", "header size"),
    (94, &[226, 0], "BadHeader", "header size"),
    (94, &[0xff, 0xff], "Truncated", "header"),
    (96, &[226, 0, 0, 0], "BadHeader", "offset to point data"),
    (96, &[0, 0, 0, 1], "Truncated", "offset to point data"),
    (100, &[255, 0, 0, 0], "SizeMismatch", "number of variable length records"),
    (104, &[11], "UnsupportedFormat", "point format"),
    (105, &[33, 0], "BadHeader", "point record length"),
    (131, &[0; 8], "BadHeader", "x scale factor"),
    // 1e300, with which whole numbers of 32 bits become infinite.
    (139, &[0x9c, 0x75, 0x00, 0x88, 0x3c, 0xe4, 0x37, 0x7e], "BadHeader", "y scale factor"),
    (155 + 8, &[0, 0, 0, 0, 0, 0, 0xf0, 0x7f], "BadHeader", "y offset"),
    (107, &[61, 0, 0, 0], "Truncated", "data"),
];

#[test]
fn every_number_of_the_header_is_checked() {
    for (at, new, class, field) in WRONG {
        let e = with("1.2_format3.las", |bytes| put(bytes, at, new)).unwrap_err();
        assert_eq!(e.class(), class, "{e}");
        assert!(e.to_string().contains(&format!(": {field}: expected")), "{e}");
        assert!(e.offset().is_some(), "{e}");
    }
    // Texts, dates and the numbers of returns are nobody's business.
    for (at, length) in [(4, 20), (26, 68), (111, 20)] {
        assert_eq!(with("1.2_format3.las", |bytes| bytes[at..at + length].fill(0xff)).unwrap().cloud.len(), 60);
    }
    // The number of points of earlier versions, and a later version.
    let told = |at: usize, new: &[u8]| {
        let scan = with("1.4_format1_extra.las", |bytes| put(bytes, at, new)).unwrap();
        scan.warnings.iter().map(ToString::to_string).find(|told| told.contains("version")).unwrap_or_default()
    };
    assert!(told(107, &[61]).starts_with("number of points of earlier versions is 61, but"), "{}", told(107, &[61]));
    assert_eq!(told(25, &[6]), "version 1.6 is not known; the file was read as 1.5");
    // The old number counts where the new one has none.
    let scan = with("1.4_format1_extra.las", |bytes| {
        put(bytes, 247, &[0; 8]);
        put(bytes, 107, &[60, 0, 0, 0]);
    });
    assert_eq!(scan.unwrap().cloud.len(), 60);
}

#[test]
fn records_before_and_behind_the_points_must_lie_in_the_file() {
    // The first record stands behind the header, its length at its byte 20.
    let e = with("1.2_format3.las", |bytes| put(bytes, 227 + 20, &[34])).unwrap_err();
    assert!(e.class() == "SizeMismatch" && e.to_string().contains("variable length record 0: length"), "{e}");
    let name = "1.4_format6.las";
    let size = std::fs::metadata(fixtures().join(name)).unwrap().len();
    let start = size - 160;
    for (at, new, class, field) in [
        (235, &(start + 1).to_le_bytes()[..], "Truncated", "extended variable length record"),
        (235, &u64::MAX.to_le_bytes(), "Truncated", "extended variable length records"),
        (235, &(start - 1).to_le_bytes(), "BadHeader", "start of extended records"),
        (235, &[0; 8], "BadHeader", "start of extended records"),
        (243, &[2], "Truncated", "extended variable length record"),
        (243, &[0xff; 4], "Truncated", "extended variable length record"),
        (start as usize + 20, &[101], "Truncated", "extended variable length record 0: data"),
        (start as usize + 20, &[0xff; 8], "Truncated", "extended variable length record 0: data"),
    ] {
        let e = with(name, |bytes| put(bytes, at, new)).unwrap_err();
        assert_eq!(e.class(), class, "{e}");
        assert!(e.to_string().contains(field), "{e}");
        // What the header alone shows is told before a point is read.
        let early = at < 375 && (new == [0; 8] || new.iter().all(|&b| b == 0xff));
        assert!(!early || e.offset() == Some(375), "{e}: {:?}", e.offset());
    }
}

#[test]
fn too_few_bytes_are_an_error_and_too_many_a_warning() {
    for name in ["1.2_format3.las", "1.4_format6.las"] {
        let size = std::fs::metadata(fixtures().join(name)).unwrap().len() as usize;
        for end in 0..size {
            let e = with(name, |bytes| bytes.truncate(end)).unwrap_err();
            assert!(["Truncated", "BadHeader"].contains(&e.class()), "{name} cut at {end}: {e}");
        }
        let scan = with(name, |bytes| bytes.extend([0; 9])).unwrap();
        assert!(scan.warnings.contains(&Warning::TrailingBytes { bytes: 9 }), "{name}: {:?}", scan.warnings);
    }
    // A point moved by a kilometre.
    let scan = with("1.2_format3.las", |bytes| {
        let at = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        put(bytes, at, &100_000_000i32.to_le_bytes());
    });
    assert!(scan.unwrap().warnings.contains(&Warning::OutsideBounds { count: 1, points: 60 }));
}
