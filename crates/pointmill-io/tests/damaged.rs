//! PLY and PCD files cut at every byte and changed at every byte: an answer or an error, and never
//! more memory than the file is worth.
mod common;

use common::named::{Encoding, Table};
use pointmill_io::{Dtype, ReadOptions, read, read_from};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The memory that reading a file of a kilobyte may take at its peak: the window, what the system's
/// own reading takes, and what a stream grows by.
const MOST: u64 = 1 << 20;

/// Files of every encoding, with lists before, in and behind the points.
fn files() -> Vec<(&'static str, Encoding, Vec<u8>)> {
    let row = |i: u64| vec![i, 0x4008_0000_4040_0000 + i, 7 * i, 0x3f80_0000 + i, i];
    let table = Table {
        names: ["ring", "x", "i", "y", "z"].map(Into::into).to_vec(),
        dtypes: vec![Dtype::U8, Dtype::F64, Dtype::I16, Dtype::F32, Dtype::U32],
        rows: (0..6).map(row).collect(),
    };
    let mut files = vec![];
    for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Big] {
        files.push(("a.ply", encoding, table.ply(encoding, "\r\n")));
    }
    for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Compressed] {
        files.push(("a.pcd", encoding, table.pcd(encoding, "\n")));
    }
    let header = "ply\nformat binary_little_endian 1.0\nelement a 2\nproperty list ushort char l\nelement vertex 2\n\
                  property float x\nproperty list uint double l\nproperty float y\nproperty float z\n\
                  element face 2\nproperty list char int l\nproperty uchar c\nend_header\n";
    let body = [
        &[2, 0, 5, 5, 0, 0][..],
        &[0, 0, 0x80, 0x3f, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f],
        &[0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f],
        &[1, 1, 0, 0, 0, 9, 0, 9],
    ];
    files.push(("a.ply", Encoding::Little, [header.as_bytes(), &body.concat()].concat()));
    files
}

/// Reads the bytes as a file and as a stream; whether both were read. They must agree about that.
fn readable(path: &Path, bytes: &[u8]) -> bool {
    // Over what was there: some file systems wait for the disk where a file is emptied and written
    // again.
    let mut out = File::options().write(true).create(true).truncate(false).open(path).unwrap();
    out.write_all(bytes).and_then(|()| out.set_len(bytes.len() as u64)).unwrap();
    drop(out);
    let options = ReadOptions::default();
    let (mut file, mut stream) = (false, false);
    for (reading, ok) in [(true, &mut file), (false, &mut stream)] {
        let used = allocation_counter::measure(|| {
            let scan = if reading { read(path, &options) } else { read_from(bytes, path.to_str().unwrap(), &options) };
            match scan {
                Ok(scan) => {
                    assert!(scan.cloud.data().len() <= 88 * bytes.len());
                    *ok = true;
                }
                Err(e) => assert!(!e.to_string().chars().any(char::is_control), "{e}"),
            }
        });
        assert!(used.bytes_max < MOST, "{} bytes for {:?}", used.bytes_max, String::from_utf8_lossy(bytes));
    }
    assert_eq!(file, stream, "{:?}", String::from_utf8_lossy(bytes));
    file
}

#[test]
fn files_cut_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    for (name, encoding, bytes) in files() {
        let path = folder.path().join(name);
        assert!(readable(&path, &bytes), "{name} {encoding:?}");
        for end in 0..bytes.len() {
            let ok = readable(&path, &bytes[..end]);
            // Of text the last number may be shorter than it was, and the last line needs no end.
            let last_line = encoding == Encoding::Ascii && bytes.len() - end < 5;
            assert!(!ok || last_line, "{name} {encoding:?} cut at {end} of {}", bytes.len());
        }
    }
}

#[test]
fn files_changed_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (mut read, mut refused) = (0, 0);
    for (name, _, mut bytes) in files() {
        let path = folder.path().join(name);
        for at in 0..bytes.len() {
            let old = bytes[at];
            for new in [0xff, old ^ 1, b'9', b'-', b'\n', b' '] {
                bytes[at] = new;
                if readable(&path, &bytes) { read += 1 } else { refused += 1 }
            }
            bytes[at] = old;
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

/// The bytes with another number of points in the header.
fn with_count(bytes: &[u8], count: &str) -> Vec<u8> {
    let lines = bytes.split_inclusive(|&b| b == b'\n').map(|line| {
        let key = ["element vertex ", "WIDTH ", "POINTS "].into_iter().find(|key| line.starts_with(key.as_bytes()));
        key.map_or_else(|| line.to_vec(), |key| format!("{key}{count}\n").into_bytes())
    });
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn counts_that_lie_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    for (name, encoding, bytes) in files() {
        let path = folder.path().join(name);
        assert_eq!(with_count(&bytes, "6").len(), bytes.len() - usize::from(bytes.starts_with(b"ply\r")));
        for count in ["100000", "1000000000", "4294967296", "4611686018427387904", "18446744073709551615"] {
            assert!(!readable(&path, &with_count(&bytes, count)), "{name} {encoding:?} {count}");
        }
    }
    // Sizes that agree with each other, and with no stream of 20 bytes.
    let header = "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nPOINTS 1000000\nDATA binary_compressed\n";
    let sizes = [20u32, 12_000_000].map(u32::to_le_bytes).concat();
    assert!(!readable(&folder.path().join("a.pcd"), &[header.as_bytes(), &sizes, &[0; 20]].concat()));
}
