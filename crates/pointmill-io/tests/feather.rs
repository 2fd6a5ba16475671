//! Arrow IPC files and streams that pyarrow wrote, with the values that numpy found in them; and
//! what is refused.

use pointmill_core::Points;
use pointmill_io::{
    Dtype, Field, Format, Limits, NamedPoints, ReadOptions, Scan, TimeUnit, Warning, WriteOptions, read, read_from,
    read_npz, write,
};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/feather")
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() }).collect()
}

fn fixture(name: &str) -> Scan {
    read(folder().join(name), &ReadOptions::default()).unwrap()
}

#[test]
fn files_of_pyarrow_have_the_values_that_numpy_finds() {
    for name in [
        "sweep_lz4.feather",
        "sweep_zstd.feather",
        "sweep_plain.feather",
        "survey_lz4.feather",
        "survey_zstd.arrow",
        "stream_plain.arrow",
        "stream_lz4.arrow",
        "empty.feather",
        "others_lz4.feather",
        "stream_others.arrow",
    ] {
        let path = folder().join(name);
        let scan = fixture(name);
        let wanted = read_npz(path.with_extension("npz")).unwrap();
        let wanted = |key: &str| &wanted[key];
        let names = scan.fields.iter().map(|f| &*f.name).collect::<Vec<_>>().join(",");
        assert_eq!(names.as_bytes(), wanted("names").as_u8().unwrap(), "{name}");
        assert_eq!(bits(scan.cloud.data()), bits(wanted("columns").as_f32().unwrap()), "{name}");
        let exact = wanted("xyz").as_f64().unwrap();
        let same = scan.xyz().as_flattened().iter().zip(exact).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
        assert!(same && scan.xyz().len() == exact.len() / 3, "{name}");
        // As a stream of unknown length, and with the other format's name.
        let bytes = std::fs::read(&path).unwrap();
        for format in [Format::Feather, Format::Arrow] {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            assert_eq!(bits(read_from(&bytes[..], "-", &options).unwrap().cloud.data()), bits(scan.cloud.data()));
        }
        let wanted = if name.starts_with("stream") { Format::Arrow } else { Format::Feather };
        assert_eq!(read_from(&bytes[..], "-", &ReadOptions::default()).unwrap().format, wanted);
    }
}

#[test]
fn times_have_every_nanosecond_and_what_is_no_number_is_told() {
    let times = fixture("sweep_lz4.feather").times().unwrap();
    assert_eq!((&*times.name, times.unit), ("offset_ns", TimeUnit::Nanoseconds));
    assert!(times.seconds[0] == 0.0 && times.seconds.iter().all(|t| (0.0..0.1).contains(t)));
    let scan = fixture("survey_lz4.feather");
    let times = scan.times().unwrap();
    assert_eq!((&*times.name, times.unit), ("time", TimeUnit::Nanoseconds));
    assert!((times.start - 1.7e9).abs() < 0.1 && times.seconds.is_sorted() && times.seconds[89] > 0.08);
    let columns = ["name", "flag", "bytes", "nothing"].map(Into::into).to_vec();
    assert!(scan.warnings.contains(&Warning::LeftOut { columns }), "{:?}", scan.warnings);
    let scan = fixture("others_lz4.feather");
    let names =
        ["dictionary", "of_numbers", "of_lists", "lists", "pairs", "view", "lists_of_views", "runs", "union", "map"];
    let columns = names.map(Into::into).to_vec();
    assert!(scan.warnings.contains(&Warning::LeftOut { columns }), "{:?}", scan.warnings);
}

#[test]
fn what_is_no_cloud_is_refused_by_name() {
    for (name, told) in [
        ("no_z", "field `z`: expected x, y and z, got x, y, intensity, laser_number, offset_ns"),
        ("words", "field `x`: expected x, y and z, got y, z, intensity, laser_number, offset_ns"),
    ] {
        let e = read(folder().join(format!("refused/{name}.feather")), &ReadOptions::default()).unwrap_err();
        assert!(e.to_string().ends_with(&format!("{name}.feather: {told}")), "{e}");
    }
    let e = read_from(&b"FEA1\0\0\0\0"[..], "-", &ReadOptions::default()).unwrap_err();
    assert_eq!(e.to_string(), "-: version: expected Feather 2, got Feather 1");
}

#[test]
fn lies_are_refused_before_memory_is_taken() {
    let bytes = std::fs::read(folder().join("sweep_lz4.feather")).unwrap();
    let refused = |bytes: &[u8]| {
        let options = ReadOptions { format: Some(Format::Feather), ..ReadOptions::default() };
        let used = allocation_counter::measure(|| {
            assert!(read_from(bytes, "a", &options).is_err());
        });
        assert!(used.bytes_max < 40 << 20, "{} bytes", used.bytes_max);
        read_from(bytes, "a", &options).unwrap_err()
    };
    // Rows: 64 bits that are 200 in the first batch, in its length and in its nodes.
    let mut more = bytes.clone();
    let rows: Vec<_> = (0..more.len() - 8).filter(|&at| more[at..at + 8] == 200u64.to_le_bytes()).collect();
    assert!(rows.len() > 6);
    rows.iter().for_each(|&at| more[at..at + 8].copy_from_slice(&(1u64 << 40).to_le_bytes()));
    assert!(refused(&more).to_string().contains("rows of 12 bytes"), "{}", refused(&more));
    // Fewer bytes uncompressed than rows need, and a length that says nothing.
    let at = (0..bytes.len() - 12).find(|&at| bytes[at..at + 8] == 400u64.to_le_bytes() && bytes[at + 8] == 4).unwrap();
    for length in [399i64, 0, -2, i64::MIN] {
        let mut short = bytes.clone();
        short[at..at + 8].copy_from_slice(&length.to_le_bytes());
        let e = refused(&short);
        assert!(e.to_string().contains("column `x`: expected 400 bytes, got"), "{e}");
    }
    // Every end of a file is missed; of a stream one at the end of a message is not.
    for end in 0..bytes.len() {
        assert!(read_from(&bytes[..end], "a.feather", &ReadOptions::default()).is_err(), "{end}");
    }
    let limits = Limits { max_decoded_bytes: Some(100), ..Limits::default() };
    let e = read_from(&bytes[..], "a.feather", &ReadOptions { limits, ..ReadOptions::default() }).unwrap_err();
    assert!(e.to_string().contains("data unpacked: expected at most 100 bytes (the limit `max_decoded_bytes`"), "{e}");
}

/// Many buffers at one place would be unpacked for each.
#[test]
fn buffers_have_bytes_of_their_own() {
    let mut bytes = std::fs::read(folder().join("sweep_lz4.feather")).unwrap();
    let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let batch = 16 + four(12);
    let body = batch + 8 + four(batch + 4);
    // The values of x: how many bytes they become, and a frame of LZ4.
    let x =
        (body..bytes.len() - 12).find(|&at| bytes[at..at + 8] == 400u64.to_le_bytes() && bytes[at + 8] == 4).unwrap();
    let start = ((x - body) as u64).to_le_bytes();
    let number = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let is_entry =
        |at: &usize| bytes[*at..at + 8] == start && (9..4096).contains(&number(at + 8)) && number(at - 8) == 0;
    let entry = (batch + 24..body - 96).find(is_entry).unwrap();
    // In front of the values of each column stand its bits, of which there are none.
    for i in 0..3 {
        let bits = entry - 16 + 32 * i;
        assert_eq!(bytes[bits + 8..bits + 16], [0; 8]);
        bytes.copy_within(entry..entry + 16, bits);
    }
    let e = read_from(&bytes[..], "a", &ReadOptions::default()).unwrap_err();
    let wanted = "a: batch 0: expected buffers of at most ";
    assert!(e.class() == "SizeMismatch" && e.to_string().starts_with(wanted), "{e}");
    assert!(e.to_string().contains(" bytes, each with bytes of its own, got "), "{e}");
}

#[test]
fn lengths_that_lie_are_told() {
    let bytes = std::fs::read(folder().join("sweep_plain.feather")).unwrap();
    let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    // The schema is at byte 8, behind it the first batch: 33 rows of 8 bytes for each of x, y and
    // z.
    let batch = 16 + four(12);
    let described = batch + 8..batch + 8 + four(batch + 4);
    let footer = bytes.len() - 10 - four(bytes.len() - 10)..bytes.len() - 10;
    let find = |mut within: std::ops::Range<usize>, value: i64| {
        within.find(|&at| bytes[at..at + 8] == value.to_le_bytes()).expect("the number is there")
    };
    let node = find(described.clone(), 33);
    // Not the number of all rows, which comes first or last.
    let node = if bytes[node + 8..node + 16] == [0; 8] { node } else { find(node + 8..described.end, 33) };
    let buffer = find(described.clone(), 264);
    let block = find(footer, batch as i64);
    let body = i64::from_le_bytes(bytes[block + 16..block + 24].try_into().unwrap());
    let length = find(described, body);
    for (at, value, told) in [
        (
            12,
            &(1u32 << 31).to_le_bytes()[..],
            "LimitExceeded: message at byte 8: expected at most 4194304 bytes, got 2147483648 bytes",
        ),
        (12, &(1u32 << 20).to_le_bytes(), "Truncated: message at byte 8: expected 1048576 bytes, got "),
        (length, &i64::MAX.to_le_bytes(), "body: expected 9223372036854775807 bytes, got "),
        (length, &(-8i64).to_le_bytes(), "BadHeader: message at byte "),
        (node + 8, &34i64.to_le_bytes(), "expected 33 rows, got 33 rows, 34 nulls"),
        (node + 8, &(-1i64).to_le_bytes(), "expected 33 rows, got 33 rows, -1 nulls"),
        (buffer, &(1i64 << 40).to_le_bytes(), "BadHeader: batch 0: column `x`: expected a place in "),
        (buffer, &256i64.to_le_bytes(), "SizeMismatch: batch 0: column `x`: expected 264 bytes, got 256 bytes"),
        (buffer - 8, &i64::MAX.to_le_bytes(), "BadHeader: batch 0: column `x`: expected a place in "),
        (buffer - 8, &(-8i64).to_le_bytes(), "BadHeader: batch 0: column `x`: expected a place in "),
        (block, &0i64.to_le_bytes(), "SizeMismatch: footer: expected the 4 batches before it, in their order"),
        (bytes.len() - 10, &7u32.to_le_bytes(), "SizeMismatch: footer: expected "),
        (bytes.len() - 10, &(-1i32).to_le_bytes(), "SizeMismatch: footer: expected "),
    ] {
        let mut lie = bytes.clone();
        lie[at..at + value.len()].copy_from_slice(value);
        let used = allocation_counter::measure(|| {
            let e = read_from(&lie[..], "a", &ReadOptions::default()).unwrap_err();
            let found = format!("{}: {}", e.class(), e.to_string().trim_start_matches("a: "));
            assert!(found.contains(told), "byte {at}: {found}");
        });
        assert!(used.bytes_max < 1 << 20, "byte {at}: {} bytes", used.bytes_max);
    }
}

#[test]
fn streams_end_only_where_a_message_ends() {
    let bytes = std::fs::read(folder().join("stream_lz4.arrow")).unwrap();
    let mut read = vec![];
    for end in 0..bytes.len() {
        match read_from(&bytes[..end], "a.arrow", &ReadOptions::default()) {
            Ok(scan) => read.push(scan.cloud.len()),
            Err(e) => assert_eq!(e.class(), "Truncated", "{end}: {e}"),
        }
    }
    // Behind the schema, and behind each batch.
    assert_eq!(read, [0, 64, 128, 192, 200]);
}

/// Zeros, of which some bytes are 48 MiB.
#[test]
fn what_unpacks_without_an_end_is_refused() {
    let path = folder().join("refused/endless.feather");
    assert!(std::fs::metadata(&path).unwrap().len() < 16 << 10);
    let used = allocation_counter::measure(|| {
        let e = read(&path, &ReadOptions::default()).unwrap_err();
        assert_eq!(e.class(), "LimitExceeded");
        assert!(e.to_string().contains("data unpacked: expected at most 16777216 bytes"), "{e}");
    });
    assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
    let limits = Limits { max_decoded_bytes: Some(64 << 20), ..Limits::default() };
    assert_eq!(read(&path, &ReadOptions { limits, ..ReadOptions::default() }).unwrap().cloud.len(), 1 << 22);
}

#[test]
fn what_is_written_comes_back_with_its_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.feather");
    let rows: Vec<f32> = (0..70_000).flat_map(|i| [i as f32, 0.5, -1.0, (i % 256) as f32, i as f32]).collect();
    let exact: Vec<f64> = (0..70_000).flat_map(|i| [f64::from(i) + 0.1, 0.5, -1.0]).collect();
    let field = |name: &str, dtype| Field { name: name.into(), dtype };
    let fields = vec![
        field("x", Dtype::F64),
        field("y", Dtype::F64),
        field("z", Dtype::F64),
        field("i", Dtype::U8),
        field("t", Dtype::I32),
    ];
    let points = Points::new(&rows, 5).unwrap();
    let cloud = NamedPoints { fields: fields.clone().into(), xyz_f64: Some(&exact), ..NamedPoints::from(points) };
    write(&path, cloud, &WriteOptions::default()).unwrap();
    let scan = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((scan.fields.as_slice(), scan.xyz_f64.as_deref()), (&fields[..], Some(&exact[..])));
    assert!(scan.cloud.data().chunks(5).zip(rows.chunks(5)).all(|(a, b)| a[1..] == b[1..]));
}
