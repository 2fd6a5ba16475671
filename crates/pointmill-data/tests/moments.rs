//! Files of an ndt map's moments: what is written comes back, equal tables are equal files, and no
//! bytes make the reader panic or take memory.

use pointmill_core::array::Dtype;
use pointmill_core::ndt::{MAX_CELL, MAX_COUNT, Moments, NdtLattice};
use pointmill_data::{NdtMomentsTable, read_ndt_moments, write_ndt_moments};
use pointmill_io::IoError;
use pointmill_io::files::{Layout, write_table};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A table of `n` cells of a few points each, and three points that are not finite.
fn table(n: i32) -> NdtMomentsTable {
    let mut points = 3;
    let cells = (0..n).map(|i| {
        let mut moments = Moments::default();
        for k in 0..=i % 5 {
            moments.add([i * 3 - k * 1000, -i, 524_288 - 3 * k]);
        }
        points += u64::from(moments.count);
        ([i % 100 - 50, i / 100 % 100 - 50, i / 10_000], moments)
    });
    let cells = cells.collect();
    NdtMomentsTable { lattice: NdtLattice::new(0.3).unwrap(), points, non_finite: 3, cells }
}

fn written(table: &NdtMomentsTable) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.arrow");
    write_ndt_moments(&path, table).unwrap();
    std::fs::read(path).unwrap()
}

/// What the reader says of these bytes.
fn read(path: &Path, bytes: &[u8]) -> Result<NdtMomentsTable, IoError> {
    std::fs::write(path, bytes).unwrap();
    read_ndt_moments(path)
}

fn read_once(bytes: &[u8]) -> Result<NdtMomentsTable, IoError> {
    let folder = tempfile::tempdir().unwrap();
    read(&folder.path().join("map.arrow"), bytes)
}

#[test]
fn tables_come_back_and_equal_ones_are_equal_files() {
    for n in [0, 1, 5, 1000, 65_536, 65_537, 140_000] {
        let table = table(n);
        let bytes = written(&table);
        assert_eq!(bytes, written(&table.clone()), "{n}");
        assert_eq!(read_once(&bytes).unwrap(), table, "{n}");
        // 88 bytes a row, padding, and what describes them.
        let most = 88 * n as usize + 6_000 + 2_000 * (n as usize).div_ceil(65_536);
        assert!((88 * n as usize..most).contains(&bytes.len()), "{n}: {}", bytes.len());
    }
}

/// The bytes are a promise: maps are kept and compared by them.
#[test]
fn a_small_file_has_its_bytes() {
    let fnv = written(&table(5))
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3));
    assert_eq!(format!("{fnv:016x}"), "0f96c8bc1b614c43");
}

#[test]
fn extremes_come_back() {
    let half = 1 << 19;
    let full = i64::from(MAX_COUNT);
    let one = Moments::of([half, -half, half]);
    let most = Moments { count: MAX_COUNT, sum: one.sum.map(|v| v * full), products: one.products.map(|v| v * full) };
    let cells = vec![([-MAX_CELL; 3], one), ([MAX_CELL - 1; 3], most)];
    for resolution in [0.1, 2.0, 1e-20, 1e20] {
        let lattice = NdtLattice::new(resolution).unwrap();
        let table = NdtMomentsTable { lattice, points: 1 + u64::from(MAX_COUNT), non_finite: 0, cells: cells.clone() };
        assert_eq!(read_once(&written(&table)).unwrap(), table);
    }
    let none = NdtMomentsTable { points: u64::MAX, non_finite: u64::MAX, ..table(0) };
    assert_eq!(read_once(&written(&none)).unwrap(), none);
}

#[test]
fn tables_that_would_not_be_read_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.arrow");
    type Break = fn(&mut NdtMomentsTable);
    let broken: [(&str, Break); 9] = [
        ("row 1: expected a cell after (-50, -50, 0) by (z, y, x), got (-50, -50, 0)", |t| t.cells[1].0 = t.cells[0].0),
        ("row 3: expected a cell after (-47, -50, 0) by (z, y, x), got (-48, -50, 0)", |t| t.cells.swap(2, 3)),
        ("column `y`, row 2: expected from -1048576 to 1048575, got 1048576", |t| t.cells[2].0[1] = MAX_CELL),
        ("column `count`, row 4: expected from 1 to 33554431, got 0", |t| t.cells[4].1.count = 0),
        ("column `count`, row 4: expected from 1 to 33554431, got 33554432", |t| t.cells[4].1.count = MAX_COUNT + 1),
        ("column `xx`, row 0: expected from 0 to 274877906944 for 1 points, got -1", |t| t.cells[0].1.products[0] = -1),
        ("column `yz`, row 0: expected from -274877906944", |t| t.cells[0].1.products[4] = i64::MIN),
        ("column `sum_z`, row 0: expected from -524288 to 524288 for 1 points, got 524289", |t| {
            t.cells[0].1.sum[2] = 524_289;
        }),
        ("points: expected 15 in cells and 3 not finite, got 17 of both", |t| t.points -= 1),
    ];
    for (message, break_it) in broken {
        let mut table = table(5);
        break_it(&mut table);
        let e = write_ndt_moments(&path, &table).unwrap_err();
        assert_eq!(e.class(), "InvalidArgument");
        assert!(e.to_string().contains(message), "{e}");
    }
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

/// The columns and the metadata of a small file.
type Parts = (Vec<(&'static str, Dtype)>, Vec<(&'static str, String)>);

fn parts() -> Parts {
    let columns = NdtMomentsTable::COLUMNS.into_iter().enumerate().map(|(k, name)| {
        let dtype = match k {
            0..3 => Dtype::I32,
            3 => Dtype::U32,
            _ => Dtype::I64,
        };
        (name, dtype)
    });
    let metadata = [
        ("format", "pointmill.ndt.moments"),
        ("version", "2"),
        ("inv", "40555555"),
        ("resolution", "0.30000000715255754"),
        ("points", "18"),
        ("nonfinite", "3"),
    ];
    (columns.collect(), metadata.map(|(key, value)| (key, value.to_owned())).to_vec())
}

/// A file with these columns and metadata, and the first rows of a table.
fn rewritten(path: &Path, (columns, metadata): &Parts, rows: usize) {
    let table = table(5);
    let layout = Layout { metadata, columns, rows };
    write_table(&path, true, &layout, |row, column, bytes| {
        let (cell, moments) = &table.cells[row];
        let name = NdtMomentsTable::COLUMNS.get(column);
        let value = match column {
            0..3 => i64::from(cell[column]),
            3 => i64::from(moments.count),
            4..7 => moments.sum[column - 4],
            _ => name.map_or(0, |_| moments.products[column - 7]),
        };
        bytes.extend(&value.to_le_bytes()[..columns[column].1.bytes()]);
    })
    .unwrap();
}

#[test]
fn files_of_other_programs_are_read() {
    let (_folder, path) = scratch();
    let (columns, mut metadata) = parts();
    metadata.reverse();
    metadata.push(("pandas", "{}".to_owned()));
    rewritten(&path, &(columns, metadata), 5);
    assert_eq!(read_ndt_moments(&path).unwrap(), table(5));
}

#[test]
fn other_columns_and_metadata_are_named() {
    let (folder, path) = scratch();
    let wrong = |class: &str, message: &str| {
        let e = read_ndt_moments(&path).unwrap_err();
        assert_eq!(e.class(), class, "{e}");
        assert_eq!(e.to_string(), format!("{}: {message}", path.display()));
    };
    for (k, column, class, message) in [
        (5, ("sum_q", Dtype::I64), "MissingField", "column 5: expected `sum_y`, got `sum_q`"),
        (2, ("z", Dtype::I64), "DtypeMismatch", "column `z`: expected i32, got i64"),
        (2, ("z", Dtype::U32), "DtypeMismatch", "column `z`: expected i32, got u32"),
        (3, ("count", Dtype::I32), "DtypeMismatch", "column `count`: expected u32, got i32"),
    ] {
        let mut parts = parts();
        parts.0[k] = column;
        rewritten(&path, &parts, 5);
        let e = read_ndt_moments(&path).unwrap_err();
        assert!(e.class() == class && e.to_string().contains(message), "{e}");
    }
    let mut more = parts();
    more.0.push(("more", Dtype::I32));
    rewritten(&path, &more, 5);
    assert!(read_ndt_moments(&path).unwrap_err().to_string().contains("schema: expected 13 columns, got 14 columns"));
    let mut less = parts();
    less.0.pop();
    rewritten(&path, &less, 5);
    assert!(read_ndt_moments(&path).unwrap_err().to_string().contains("schema: expected 13 columns, got 12 columns"));
    for (class, key, value, message) in [
        ("UnsupportedFormat", "format", "x\x1b", r"metadata `format`: expected `pointmill.ndt.moments`, got `x\u{1b}`"),
        ("UnsupportedFormat", "version", "1", "metadata `version`: expected `2`, got `1`"),
        ("BadHeader", "inv", "+0555555", "metadata `inv`: expected 8 lower-case hexadecimal digits, got `+0555555`"),
        ("BadHeader", "inv", "7fc00000", "metadata `inv`: expected a normal f32 above 0, got NaN"),
        ("BadHeader", "inv", "00000001", "metadata `inv`: expected a normal f32 above 0, got 1e-45"),
        (
            "BadHeader",
            "inv",
            "3f800000",
            "metadata `resolution`: expected `1.0`, as `inv` says, got `0.30000000715255754`",
        ),
        ("BadHeader", "points", "-1", "metadata `points`: expected a number below 2^64, got `-1`"),
        ("SizeMismatch", "points", "19", "points: expected 15 in cells and 3 not finite, got 19 of both"),
    ] {
        let mut parts = parts();
        parts.1.iter_mut().filter(|(name, _)| *name == key).for_each(|entry| entry.1 = value.into());
        rewritten(&path, &parts, 5);
        wrong(class, message);
    }
    for key in ["format", "version", "inv", "resolution", "points", "nonfinite"] {
        let mut parts = parts();
        parts.1.retain(|(name, _)| *name != key);
        rewritten(&path, &parts, 5);
        wrong("MissingField", &format!("metadata: expected the key `{key}`, got none"));
    }
    let mut twice = parts();
    twice.1.push(("points", "18".to_owned()));
    rewritten(&path, &twice, 5);
    wrong("BadHeader", "metadata `points`: expected one value, got two");
    rewritten(&path, &parts(), 3);
    wrong("SizeMismatch", "points: expected 6 in cells and 3 not finite, got 18 of both");
    for (class, bytes) in [("BadHeader", &b"\x93NUMPY\x01\x00"[..]), ("Truncated", b"")] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(read_ndt_moments(&path).unwrap_err().class(), class);
    }
    assert_eq!(read_ndt_moments(folder.path()).unwrap_err().class(), "Io");
    #[cfg(unix)]
    assert_eq!(read_ndt_moments("/dev/zero").unwrap_err().class(), "BadHeader");
}

/// Reads bytes that may be anything: a table or an error without control characters, and no more
/// memory than thrice the file and the window of the reader.
fn survive(path: &Path, bytes: &[u8]) -> Option<NdtMomentsTable> {
    std::fs::write(path, bytes).unwrap();
    let mut result = None;
    let memory = allocation_counter::measure(|| result = Some(read_ndt_moments(path)));
    assert!(memory.bytes_max <= 3 * bytes.len() as u64 + 300_000, "{memory:?} for {} bytes", bytes.len());
    match result.unwrap() {
        Ok(table) => Some(table),
        Err(e) => {
            assert!(!e.to_string().chars().any(char::is_control), "{e:?}");
            None
        }
    }
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.arrow");
    (folder, path)
}

#[test]
fn every_flipped_byte_and_every_length_is_survived() {
    let (_folder, path) = scratch();
    let good = table(3);
    let bytes = written(&good);
    assert_eq!(survive(&path, &bytes).unwrap(), good);
    for length in 0..bytes.len() {
        assert!(survive(&path, &bytes[..length]).is_none(), "{length}");
    }
    let mut other = 0;
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= [0x01, 0x10, 0x80, 0xff][at % 4];
        other += usize::from(survive(&path, &bytes).is_some_and(|table| table != good));
    }
    // Sums within their range are all that can become others unseen: 3 rows of 72 bytes, and the
    // coordinates.
    assert!(other > 0 && other < 3 * 88, "{other}");
}

fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_descriptions(changes in damage(), words in prop::collection::vec((any::<prop::sample::Index>(), any::<i32>()), 0..3)) {
        let (_folder, path) = scratch();
        static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
        let mut bytes = GOOD.get_or_init(|| written(&table(3))).clone();
        // Anywhere but in the values, most of which may be anything.
        let footer = bytes.len() - 2_000;
        for (at, byte) in changes {
            let at = at.index(2_000) + footer;
            bytes[at] = byte;
        }
        for (at, word) in words {
            let at = at.index(bytes.len() / 4 - 1) * 4;
            bytes[at..at + 4].copy_from_slice(&(word >> (word & 31)).to_le_bytes());
        }
        survive(&path, &bytes);
    }
}
