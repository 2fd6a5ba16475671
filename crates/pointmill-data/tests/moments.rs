//! Files of an ndt map's moments: what is written comes back, equal tables are equal files, and no bytes make the reader panic or take memory.

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use pointmill_core::ndt::{MAX_CELL, MAX_COUNT, Moments, NdtLattice};
use pointmill_data::{NdtMomentsTable, read_ndt_moments, write_ndt_moments};
use pointmill_io::IoError;
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

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
    assert_eq!(format!("{fnv:016x}"), "5c0ebe1ee36bc149");
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
        ("row 1: wanted a cell after (-50, -50, 0) by (z, y, x), found (-50, -50, 0)", |t| t.cells[1].0 = t.cells[0].0),
        ("row 3: wanted a cell after (-47, -50, 0) by (z, y, x), found (-48, -50, 0)", |t| t.cells.swap(2, 3)),
        ("column `y`, row 2: wanted from -1048576 to 1048575, found 1048576", |t| t.cells[2].0[1] = MAX_CELL),
        ("column `count`, row 4: wanted from 1 to 33554431, found 0", |t| t.cells[4].1.count = 0),
        ("column `count`, row 4: wanted from 1 to 33554431, found 33554432", |t| t.cells[4].1.count = MAX_COUNT + 1),
        ("column `xx`, row 0: wanted from 0 to 274877906944 for 1 points, found -1", |t| t.cells[0].1.products[0] = -1),
        ("column `yz`, row 0: wanted from -274877906944", |t| t.cells[0].1.products[4] = i64::MIN),
        ("column `sum_z`, row 0: wanted from -524288 to 524288 for 1 points, found 524289", |t| {
            t.cells[0].1.sum[2] = 524_289;
        }),
        ("points: wanted 15 in cells and 3 not finite, found 17 of both", |t| t.points -= 1),
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

/// The columns and the schema of a file, to be changed and written again.
fn parts(bytes: &[u8]) -> (Vec<Field>, Vec<ArrayRef>, HashMap<String, String>) {
    let mut reader = FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let schema = reader.schema();
    let batch = reader.next().unwrap().unwrap();
    let fields = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
    let metadata = schema.metadata().iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    (fields, batch.columns().to_vec(), metadata)
}

fn rewritten(
    fields: Vec<Field>,
    columns: &[ArrayRef],
    metadata: HashMap<String, String>,
    batches: &[usize],
) -> Vec<u8> {
    let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
    let mut writer = FileWriter::try_new(Vec::new(), &schema).unwrap();
    let batch = RecordBatch::try_new(schema, columns.to_vec()).unwrap();
    let mut from = 0;
    for &rows in batches {
        writer.write(&batch.slice(from, rows)).unwrap();
        from += rows;
    }
    writer.into_inner().unwrap()
}

#[test]
fn files_of_other_programs_are_read() {
    let (mut fields, columns, mut metadata) = parts(&written(&table(50)));
    fields.iter_mut().for_each(|f| f.set_nullable(true));
    metadata.insert("pandas".into(), "{}".into());
    let bytes = rewritten(fields, &columns, metadata, &[20, 0, 7, 23]);
    assert_eq!(read_once(&bytes).unwrap(), table(50));
}

#[test]
fn other_columns_and_metadata_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.arrow");
    let (fields, columns, metadata) = parts(&written(&table(5)));
    let wrong = |class: &str, message: &str, bytes: Vec<u8>| {
        let e = read(&path, &bytes).unwrap_err();
        assert_eq!(e.class(), class, "{e}");
        assert_eq!(e.to_string(), format!("{}: {message}", path.display()));
    };
    let with = |k: usize, field: Field, column: ArrayRef| {
        let (mut fields, mut columns) = (fields.clone(), columns.clone());
        (fields[k], columns[k]) = (field, column);
        rewritten(fields, &columns, metadata.clone(), &[5])
    };
    let int = |name: &str, kind| Field::new(name, kind, true);
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 5]));
    wrong(
        "MissingField",
        "column 5: wanted `sum_y`, found `sum_q`",
        with(5, int("sum_q", DataType::Int64), zeros.clone()),
    );
    wrong("DtypeMismatch", "column `z`: wanted Int32, found int of 64 bits", with(2, int("z", DataType::Int64), zeros));
    let unsigned: ArrayRef = Arc::new(UInt32Array::from(vec![0; 5]));
    wrong(
        "DtypeMismatch",
        "column `z`: wanted Int32, found uint of 32 bits",
        with(2, int("z", DataType::UInt32), unsigned),
    );
    let signed: ArrayRef = Arc::new(Int32Array::from(vec![1; 5]));
    wrong(
        "DtypeMismatch",
        "column `count`: wanted UInt32, found int of 32 bits",
        with(3, int("count", DataType::Int32), signed),
    );
    let nulls: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), None, None, Some(0), Some(0)]));
    wrong(
        "BadHeader",
        "batch 0, column `y`: wanted 5 rows, 0 nulls, found 5 rows, 2 nulls",
        with(1, int("y", DataType::Int32), nulls),
    );
    let more = rewritten(
        [&fields[..], &[int("more", DataType::Int32)]].concat(),
        &[&columns[..], &columns[..1]].concat(),
        metadata.clone(),
        &[5],
    );
    wrong("ShapeMismatch", "schema: wanted 13 columns, found 14 columns", more);
    let less = rewritten(fields[..12].to_vec(), &columns[..12], metadata.clone(), &[5]);
    wrong("ShapeMismatch", "schema: wanted 13 columns, found 12 columns", less);
    for (class, key, value, message) in [
        ("UnsupportedFormat", "format", "x\x1b", r"metadata `format`: wanted `pointmill.ndt.moments`, found `x\u{1b}`"),
        ("UnsupportedFormat", "version", "2", "metadata `version`: wanted `1`, found `2`"),
        ("BadHeader", "inv", "+0555555", "metadata `inv`: wanted 8 lower-case hexadecimal digits, found `+0555555`"),
        ("BadHeader", "inv", "7fc00000", "metadata `inv`: wanted a normal f32 above 0, found NaN"),
        ("BadHeader", "inv", "00000001", "metadata `inv`: wanted a normal f32 above 0, found 1e-45"),
        (
            "BadHeader",
            "inv",
            "3f800000",
            "metadata `resolution`: wanted `1.0`, as `inv` says, found `0.30000000715255754`",
        ),
        ("BadHeader", "points", "-1", "metadata `points`: wanted a number below 2^64, found `-1`"),
        ("SizeMismatch", "points", "19", "points: wanted 15 in cells and 3 not finite, found 19 of both"),
    ] {
        let mut metadata = metadata.clone();
        metadata.insert(key.into(), value.into());
        wrong(class, message, rewritten(fields.clone(), &columns, metadata, &[5]));
    }
    for key in ["format", "version", "inv", "resolution", "points", "nonfinite"] {
        let mut metadata = metadata.clone();
        metadata.remove(key);
        let message = format!("metadata: wanted the key `{key}`, found none");
        wrong("MissingField", &message, rewritten(fields.clone(), &columns, metadata, &[5]));
    }
    wrong(
        "SizeMismatch",
        "points: wanted 6 in cells and 3 not finite, found 18 of both",
        rewritten(fields, &columns, metadata, &[3]),
    );
    wrong(
        "BadHeader",
        "magic: wanted `ARROW1`, found `\\u{fffd}NUMPY`".replace("\\u{fffd}", "\u{fffd}").as_str(),
        b"\x93NUMPY\x01\x00".to_vec(),
    );
    wrong("Truncated", "length: wanted an Arrow IPC file, found an empty file, or a stream", vec![]);
    assert_eq!(read_ndt_moments(folder.path()).unwrap_err().class(), "Io");
    #[cfg(unix)]
    assert_eq!(read_ndt_moments("/dev/zero").unwrap_err().class(), "Truncated");
}

/// A file of two batches, where its second block is told in the footer, and what it is told to be.
fn second_block() -> (Vec<u8>, usize, [arrow_ipc::Block; 2]) {
    let (fields, columns, metadata) = parts(&written(&table(40)));
    let bytes = rewritten(fields, &columns, metadata, &[20, 20]);
    let end = bytes.len() - 10;
    let footer = end - u32::from_le_bytes(bytes[end..][..4].try_into().unwrap()) as usize;
    let blocks = arrow_ipc::root_as_footer(&bytes[footer..end]).unwrap().recordBatches().unwrap();
    let blocks = [0, 1].map(|k| *blocks.get(k));
    let told = blocks[1].offset().to_le_bytes();
    let at = footer + bytes[footer..end].windows(8).position(|w| w == told).unwrap();
    (bytes, at, blocks)
}

#[test]
fn batches_are_not_read_twice() {
    let (mut bytes, at, [first, second]) = second_block();
    bytes[at..at + 8].copy_from_slice(&first.offset().to_le_bytes());
    let e = read_once(&bytes).unwrap_err();
    assert!(e.to_string().contains(&format!("block 1: wanted within bytes {} to ", second.offset())), "{e}");
}

#[test]
fn blocks_without_a_description_are_refused() {
    for length in -1..8i32 {
        let (mut bytes, at, _) = second_block();
        // After the offset of eight bytes.
        bytes[at + 8..at + 12].copy_from_slice(&length.to_le_bytes());
        let e = read_once(&bytes).unwrap_err();
        assert!(e.to_string().contains("block 1: wanted within bytes "), "{e}");
    }
}

/// Reads bytes that may be anything: a table or an error without control characters, and no more memory than twice the file and a little.
fn survive(path: &Path, bytes: &[u8]) -> Option<NdtMomentsTable> {
    std::fs::write(path, bytes).unwrap();
    let mut result = None;
    let memory = allocation_counter::measure(|| result = Some(read_ndt_moments(path)));
    assert!(memory.bytes_max <= 3 * bytes.len() as u64 + 20_000, "{memory:?} for {} bytes", bytes.len());
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
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            other += usize::from(survive(&path, &bytes).is_some_and(|table| table != good));
        }
    }
    // Sums within their range are all that can become others unseen: 3 rows of 72 bytes, and the coordinates.
    assert!(other > 0 && other < 4 * 3 * 88, "{other}");
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
