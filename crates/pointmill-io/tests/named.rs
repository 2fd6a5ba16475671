//! PLY and PCD files in every encoding, order of columns and type, there and back.
mod common;

use common::named::{Encoding, TYPES, Table};
use pointmill_core::Points;
use pointmill_io::{
    Dtype, Field, Format, Limits, NamedPoints, ReadOptions, Scan, Warning, read, read_from, write_pcd, write_ply,
};
use proptest::prelude::*;

/// Reads bytes as a file and as a stream; the answers must agree.
fn both(name: &str, bytes: &[u8]) -> Result<Scan, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let options = ReadOptions::default();
    let told = |e: pointmill_io::IoError| format!("{}: {e}", e.class());
    let (file, stream) = (read(&path, &options).map_err(told), read_from(bytes, name, &options).map_err(told));
    match (&file, &stream) {
        (Ok(file), Ok(stream)) => {
            assert_eq!((bits(file), &file.fields, file.format), (bits(stream), &stream.fields, stream.format));
        }
        (Err(file), Err(stream)) => assert_eq!(file.split(':').next(), stream.split(':').next(), "{file} | {stream}"),
        (file, stream) => panic!("{file:?} | {stream:?}"),
    }
    file.map_err(|e| e.replace(path.to_str().unwrap(), name))
}

fn bits(scan: &Scan) -> Vec<u32> {
    scan.cloud.data().iter().map(|v| v.to_bits()).collect()
}

/// Columns x, y, z and up to four more, in any order, of any types, with any bits in them.
fn table() -> impl Strategy<Value = Table> {
    let names = ["x", "y", "z", "intensity", "rgb", "t", "ring"];
    (3..=names.len(), 0usize..40)
        .prop_flat_map(move |(columns, rows)| {
            let order = Just(names[..columns].to_vec()).prop_shuffle();
            let dtypes = prop::collection::vec(prop::sample::select(&TYPES[..]), columns);
            // Some values again and again, for the compression to find.
            let value = prop_oneof![
                any::<u64>(),
                Just(0),
                Just(0x3ff0_0000_3f80_0000),
                any::<f32>().prop_map(|v| v.to_bits().into())
            ];
            let rows = prop::collection::vec(prop::collection::vec(value, columns), rows);
            (order, dtypes, rows)
        })
        .prop_map(|(names, dtypes, rows)| Table { names: names.into_iter().map(Into::into).collect(), dtypes, rows })
}

/// Where each column of the answer lies in the table.
fn order(table: &Table) -> Vec<usize> {
    let at = |axis: &str| table.names.iter().position(|n| n == axis).unwrap();
    let first = [at("x"), at("y"), at("z")];
    first.into_iter().chain((0..table.names.len()).filter(|j| !first.contains(j))).collect()
}

/// Compares an answer with the table it was made from.
fn check(scan: &Scan, table: &Table, encoding: Encoding) {
    let order = order(table);
    let fields: Vec<_> =
        order.iter().map(|&j| Field { name: table.names[j].clone(), dtype: table.dtypes[j] }).collect();
    assert_eq!((&scan.fields, scan.cloud.len()), (&fields, table.rows.len()));
    let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    let mut lost = false;
    for i in 0..table.rows.len() {
        for (j, &from) in order.iter().enumerate() {
            let (found, wanted) = (scan.cloud.points().row(i)[j], table.value(i, from));
            assert!(same(found.into(), (wanted as f32).into()), "{i} {j}: {found} {wanted}");
            if encoding != Encoding::Ascii && table.dtypes[from] == Dtype::F32 {
                assert_eq!(found.to_bits(), table.rows[i][from] as u32, "bits of NaN are kept");
            }
            if j < 3 {
                lost |= !same(found.into(), wanted);
                if let Some(exact) = &scan.xyz_f64 {
                    assert!(same(exact[3 * i + j], wanted), "{i} {j}");
                }
            }
        }
    }
    assert_eq!(scan.xyz_f64.is_some(), lost, "coordinates are kept if and only if f32 lost some");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ply_in_every_encoding(table in table(), crlf: bool) {
        let end = if crlf { "\r\n" } else { "\n" };
        for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Big] {
            let scan = both("a.ply", &table.ply(encoding, end)).unwrap();
            prop_assert_eq!(scan.format, Format::Ply);
            check(&scan, &table, encoding);
        }
    }

    #[test]
    fn pcd_in_every_encoding(table in table(), crlf: bool) {
        let end = if crlf { "\r\n" } else { "\n" };
        for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Compressed] {
            let scan = both("a.pcd", &table.pcd(encoding, end)).unwrap();
            prop_assert_eq!(scan.format, Format::Pcd);
            check(&scan, &table, encoding);
        }
    }

}

proptest! {
    // Fewer: each case waits for the disk four times.
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(table in table()) {
        let folder = tempfile::tempdir().unwrap();
        let scan = both("a.ply", &table.ply(Encoding::Little, "\n")).unwrap();
        let cloud = NamedPoints::from(&scan);
        for pcd in [false, true] {
            let path = folder.path().join(if pcd { "b.pcd" } else { "b.ply" });
            let write = |cloud: &NamedPoints<'_>| if pcd { write_pcd(&path, cloud) } else { write_ply(&path, cloud) };
            write(&cloud).unwrap();
            let back = read(&path, &ReadOptions::default()).unwrap();
            // A NaN coordinate that goes through f64 stays one; all else keeps its bits.
            let told = |scan: &Scan| {
                let quiet = |at: usize, v: u32| {
                    let through_f64 = scan.xyz_f64.is_some() && at % scan.cloud.columns() < 3;
                    if through_f64 && f32::from_bits(v).is_nan() { f32::NAN.to_bits() } else { v }
                };
                bits(scan).into_iter().enumerate().map(|(at, v)| quiet(at, v)).collect::<Vec<_>>()
            };
            prop_assert_eq!(told(&back), told(&scan));
            let f64s = |scan: &Scan| Some(scan.xyz_f64.as_ref()?.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
            prop_assert_eq!(f64s(&back), f64s(&scan));
            for (j, (new, old)) in back.fields.iter().zip(&scan.fields).enumerate() {
                prop_assert_eq!(&new.name, &old.name);
                if j >= 3 && old.dtype.bytes() < 4 {
                    prop_assert!(new.dtype == old.dtype, "{} became {}", old.dtype, new.dtype);
                }
            }
            // The same points, the same bytes.
            let bytes = std::fs::read(&path).unwrap();
            write(&cloud).unwrap();
            prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }
}

/// A small table for single cases.
fn small() -> Table {
    let f = |v: f32| u64::from(v.to_bits());
    let rows = vec![vec![f(1.0), f(2.0), f(3.0)], vec![f(4.0), f(5.0), f(6.0)]];
    Table { names: vec!["x".into(), "y".into(), "z".into()], dtypes: vec![Dtype::F32; 3], rows }
}

#[test]
fn many_windows_of_rows_are_read() {
    let row = |i: u32| [1, 0, 2].map(|k| u64::from((i as f32 + 0.25 * k as f32).to_bits())).to_vec();
    let table = Table { rows: (0..70_000).map(row).collect(), ..small() };
    for encoding in [Encoding::Ascii, Encoding::Little, Encoding::Big] {
        check(&both("a.ply", &table.ply(encoding, "\n")).unwrap(), &table, encoding);
    }
    for encoding in [Encoding::Ascii, Encoding::Little] {
        check(&both("a.pcd", &table.pcd(encoding, "\n")).unwrap(), &table, encoding);
    }
    let fewer = Table { rows: table.rows[..6_000].to_vec(), ..table };
    check(&both("a.pcd", &fewer.pcd(Encoding::Compressed, "\n")).unwrap(), &fewer, Encoding::Compressed);
}

#[test]
fn lists_and_other_elements_are_passed_over() {
    let ascii = "ply\nformat ascii 1.0\nelement camera 1\nproperty list uchar float lens\nproperty int id\nelement nothing 5\n\
                 element vertex 2\nproperty float z\nproperty list uchar int near\nproperty float x\nproperty float y\n\
                 element face 2\nproperty list int int vertex_indices\nend_header\n\
                 2 0.5 0.25 7\n3 0 1 2\n\n6 2 1 1 4 5\n3 0 1 2\n0\n";
    let scan = both("a.ply", ascii.as_bytes()).unwrap();
    assert_eq!((scan.cloud.data(), &scan.warnings[..]), (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], &[][..]));
    for big in [false, true] {
        let order = |mut bytes: Vec<u8>| {
            if big {
                bytes.reverse();
            }
            bytes
        };
        let f = |v: f32| order(v.to_le_bytes().to_vec());
        let i = |v: i32| order(v.to_le_bytes().to_vec());
        let header = ascii.split("end_header\n").next().unwrap();
        let kind = if big { "binary_big_endian" } else { "binary_little_endian" };
        let parts = [
            header.replace("ascii", kind).into_bytes(),
            b"end_header\n\x02".to_vec(),
            [f(0.5), f(0.25), i(7)].concat(),
            [f(3.0), vec![0], f(1.0), f(2.0)].concat(),
            [f(6.0), vec![2], i(1), i(1), f(4.0), f(5.0)].concat(),
            [i(3), i(0), i(1), i(2), i(0)].concat(),
        ];
        let whole = parts.concat();
        let scan = both("a.ply", &whole).unwrap();
        assert_eq!((scan.cloud.data(), &scan.warnings[..]), (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], &[][..]));
        let mut negative = whole.clone();
        let at = negative.len() - 4;
        negative[at..].copy_from_slice(&i(-1));
        let e = both("a.ply", &negative).unwrap_err();
        let wanted = "element `face`: row 1: list `vertex_indices`: expected a length of 0 or more, got a negative one";
        assert_eq!(e, format!("BadValue: a.ply: {wanted}"));
        let e = both("a.ply", &whole[..whole.len() - 1]).unwrap_err();
        assert!(e.starts_with("Truncated: a.ply: element `face`: "), "{e}");
    }
}

#[test]
fn fields_of_several_numbers_become_columns() {
    let header =
        "VERSION .7\nFIELDS _ n y z x\nSIZE 1 2 4 4 4\nTYPE U I F F F\nCOUNT 3 2 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\n";
    let f = |v: f32| v.to_le_bytes().to_vec();
    let ascii = format!("{header}DATA ascii\n9 9 9 1 -2 5 6 4\n9 9 9 3 4 8 9 7\n").into_bytes();
    let row = |n: [i16; 2], xyz: [f32; 3]| {
        let n = n.map(i16::to_le_bytes).concat();
        [vec![9; 3], n, f(xyz[1]), f(xyz[2]), f(xyz[0])]
    };
    let rows = [row([1, -2], [4.0, 5.0, 6.0]), row([3, 4], [7.0, 8.0, 9.0])];
    let binary = [format!("{header}DATA binary\n").into_bytes(), rows.concat().concat()].concat();
    let fields: Vec<u8> = (0..5).flat_map(|field| [&rows[0][field][..], &rows[1][field]].concat()).collect();
    let packed = common::named::pack(&fields);
    let sizes = [packed.len() as u32, fields.len() as u32].map(u32::to_le_bytes).concat();
    let compressed = [format!("{header}DATA binary_compressed\n").into_bytes(), sizes, packed].concat();
    for bytes in [ascii, binary, compressed] {
        let scan = both("a.pcd", &bytes).unwrap();
        assert_eq!(scan.cloud.data(), [4.0, 5.0, 6.0, 1.0, -2.0, 7.0, 8.0, 9.0, 3.0, 4.0]);
        let names: Vec<_> = scan.fields.iter().map(|f| format!("{} {}", f.name, f.dtype)).collect();
        assert_eq!(names.join(", "), "x f32, y f32, z f32, n_0 i16, n_1 i16");
        assert!(scan.warnings.is_empty());
    }
}

#[test]
fn what_is_left_out_or_odd_is_told() {
    let (ply, pcd) = (small().ply(Encoding::Little, "\n"), small().pcd(Encoding::Little, "\n"));
    for (name, bytes) in [("a.ply", &ply), ("a.pcd", &pcd)] {
        let more = [&bytes[..], &[0; 7]].concat();
        assert_eq!(both(name, &more).unwrap().warnings, [Warning::TrailingBytes { bytes: 7 }]);
        // By content, under a name that says nothing.
        assert_eq!(both("a", bytes).unwrap().cloud.len(), 2);
    }
    for (name, bytes) in [("a.ply", small().ply(Encoding::Ascii, "\n")), ("a.pcd", small().pcd(Encoding::Ascii, "\n"))]
    {
        assert_eq!(both(name, &[&bytes[..], b"\n \r\n"].concat()).unwrap().warnings, []);
        assert_eq!(both(name, &[&bytes[..], b"\n7 8"].concat()).unwrap().warnings.len(), 1);
        let bad = String::from_utf8(bytes.clone()).unwrap().replace("4 5 6", "4 5 six");
        let e = both(name, bad.as_bytes()).unwrap_err();
        assert!(e.starts_with(&format!("BadValue: {name}: line ")), "{e}");
        assert!(e.ends_with(": `z`: expected a number of type f32, got `six`"), "{e}");
        let e = both(name, String::from_utf8(bytes).unwrap().replace("4 5 6", "4 5 6 7").as_bytes()).unwrap_err();
        assert!(e.starts_with("BadValue"), "{e}");
    }
    let without = |axis: &str| String::from_utf8_lossy(&ply).replace(&format!(" {axis}\n"), " w\n");
    assert_eq!(
        both("a.ply", without("y").as_bytes()).unwrap_err(),
        "MissingField: a.ply: field `y`: expected x, y and z, got x, w, z"
    );
    let twice = String::from_utf8_lossy(&ply).replace(" y\n", " x\n");
    assert_eq!(
        both("a.ply", twice.as_bytes()).unwrap_err(),
        "BadHeader: a.ply: names: expected names that differ, got `x` twice"
    );
    let faces = String::from_utf8_lossy(&ply).replace("vertex", "point");
    assert_eq!(
        both("a.ply", faces.as_bytes()).unwrap_err(),
        "MissingField: a.ply: element: expected `vertex`, got `point`"
    );
}

#[test]
fn axes_in_capitals_are_axes_where_no_other_name_is_alike() {
    let mut table = Table {
        names: ["Intensity", "X", "Y", "Z"].map(Into::into).to_vec(),
        dtypes: vec![Dtype::U8, Dtype::F32, Dtype::F32, Dtype::F32],
        rows: vec![vec![7, 0x3f80_0000, 0x4000_0000, 0x4040_0000]],
    };
    for (name, bytes) in [
        ("a.pcd", table.pcd(Encoding::Little, "\n")),
        ("a.pcd", table.pcd(Encoding::Ascii, "\n")),
        ("a.ply", table.ply(Encoding::Little, "\n")),
    ] {
        let scan = both(name, &bytes).unwrap();
        assert_eq!(scan.cloud.data(), [1.0, 2.0, 3.0, 7.0]);
        assert_eq!(scan.fields.iter().map(|f| &*f.name).collect::<Vec<_>>(), ["x", "y", "z", "Intensity"]);
    }
    // The name itself wins; of two that are alike, neither is one.
    table.names[0] = "x".into();
    assert_eq!(both("a.pcd", &table.pcd(Encoding::Little, "\n")).unwrap().fields[3].name, "X");
    table.names = ["Y", "X", "Y", "Z"].map(Into::into).to_vec();
    let e = both("a.pcd", &table.pcd(Encoding::Little, "\n")).unwrap_err();
    assert_eq!(e, "BadHeader: a.pcd: names: expected names that differ, got `Y` twice");
    table.names = ["Zz", "X", "Y", "W"].map(Into::into).to_vec();
    let e = both("a.pcd", &table.pcd(Encoding::Little, "\n")).unwrap_err();
    assert_eq!(e, "MissingField: a.pcd: field `z`: expected x, y and z, got x, y, Zz, W");
}

#[test]
fn limits_hold() {
    for (name, encoding) in [
        ("a.ply", Encoding::Ascii),
        ("a.ply", Encoding::Big),
        ("a.pcd", Encoding::Ascii),
        ("a.pcd", Encoding::Little),
        ("a.pcd", Encoding::Compressed),
    ] {
        let bytes = if name == "a.ply" { small().ply(encoding, "\n") } else { small().pcd(encoding, "\n") };
        let points = |most| Limits { max_points: Some(most), ..Limits::default() };
        let reading = |options: ReadOptions| read_from(&bytes[..], name, &options).map_err(|e| e.class());
        assert_eq!(reading(ReadOptions { limits: points(1), ..ReadOptions::default() }).unwrap_err(), "LimitExceeded");
        assert_eq!(reading(ReadOptions { columns: Some(4), ..ReadOptions::default() }).unwrap_err(), "ShapeMismatch");
        let exact = ReadOptions {
            columns: Some(3),
            limits: Limits { max_decoded_bytes: Some(24), ..points(2) },
            ..ReadOptions::default()
        };
        assert_eq!(reading(exact.clone()).unwrap().cloud.len(), 2);
        let limits = Limits { max_decoded_bytes: Some(23), ..points(2) };
        let budget = reading(ReadOptions { limits, ..exact });
        assert_eq!(budget.is_err(), encoding == Encoding::Compressed);
    }
}

#[test]
fn writers_refuse_what_could_not_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let points = Points::new(&[0.0; 4], 4).unwrap();
    for names in [&["x", "y", "z"][..], &["a", "x", "y", "z"], &["x", "y", "z", "z"]] {
        let cloud = NamedPoints::new(points, names);
        for e in [write_ply(folder.path().join("a.ply"), &cloud), write_pcd(folder.path().join("a.pcd"), &cloud)] {
            assert_eq!(e.unwrap_err().class(), "InvalidArgument");
        }
    }
    let cloud = NamedPoints::new(points, &["x", "y", "z", "_"]);
    assert!(common::names(folder.path()).is_empty());
    write_pcd(folder.path().join("a.pcd"), &cloud).unwrap();
    assert_eq!(read(folder.path().join("a.pcd"), &ReadOptions::default()).unwrap().fields[3].name, "column3");
    write_ply(folder.path().join("a.ply"), &cloud).unwrap();
    assert_eq!(read(folder.path().join("a.ply"), &ReadOptions::default()).unwrap().fields[3].name, "_");
}
