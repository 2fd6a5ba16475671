//! Clouds from files and streams.
mod common;

use common::{header, npy, zip};
use pointmill_core::{LocalOrigin, PointCloud, Points};
use pointmill_io::{
    ArrayView, Dtype, Format, IoError, Limits, NamedPoints, ReadOptions, Scan, Warning, read, read_from, write_bin,
    write_npy, write_npz, write_points_npz,
};
use std::fs;

fn options() -> ReadOptions {
    ReadOptions::default()
}

/// Reads bytes as a file and as a stream; the answers must agree.
fn both(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Scan, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let told = |e: IoError| format!("{}: {e}", e.class());
    let file = read(&path, options).map_err(told);
    let stream = read_from(bytes, name, options).map_err(told);
    match (&file, &stream) {
        (Ok(file), Ok(stream)) => assert_eq!((&file.cloud, &file.fields), (&stream.cloud, &stream.fields)),
        (Err(file), Err(stream)) => assert_eq!(file.split(':').next(), stream.split(':').next(), "{file} | {stream}"),
        (file, stream) => panic!("{file:?} | {stream:?}"),
    }
    file
}

#[test]
fn raw_rows_round_trip_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let values = vec![1.0, -0.0, f32::MIN_POSITIVE / 2.0, 1e38, f32::from_bits(0x7fc0_1234), 2.0, 3.0, 4.0, 5.0, 6.0];
    for (name, columns, format, names) in
        [("a.pcd.bin", 5, Format::Nuscenes, "x y z intensity time"), ("a.bin", 4, Format::Kitti, "x y z intensity")]
    {
        let path = folder.path().join(name);
        let cloud = PointCloud::new(values[..2 * columns].to_vec(), columns).unwrap();
        write_bin(&path, cloud.points()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 8 * columns as u64);
        let scan = read(&path, &options()).unwrap();
        let bits = |cloud: &PointCloud| cloud.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&scan.cloud), scan.format), (bits(&cloud), format));
        assert_eq!(scan.fields.iter().map(|f| &*f.name).collect::<Vec<_>>().join(" "), names);
        assert!(scan.fields.iter().all(|f| f.dtype == Dtype::F32));
    }
}

#[test]
fn an_origin_is_finite() {
    let about = |origin| ReadOptions { origin: LocalOrigin::At(origin), ..options() };
    for origin in [[f64::NAN, 0.0, 0.0], [0.0, f64::INFINITY, 0.0], [0.0, 0.0, f64::NEG_INFINITY]] {
        let e = both("a.bin", &[0; 16], &about(origin)).unwrap_err();
        assert!(
            e.starts_with("InvalidArgument: ") && e.contains("origin: expected three finite numbers, got ["),
            "{e}"
        );
    }
    // The largest numbers give coordinates that are not finite, as any that a file may have.
    let far = both("a.bin", &[0; 16], &about([f64::MAX, -f64::MAX, 0.0])).unwrap();
    assert_eq!(far.cloud.data()[..3], [f32::NEG_INFINITY, f32::INFINITY, 0.0]);
}

#[test]
fn columns_and_formats_are_obeyed() {
    let six = ReadOptions { columns: Some(6), ..options() };
    let scan = both("a.bin", &[0; 48], &six).unwrap();
    assert_eq!((scan.cloud.len(), &*scan.fields[4].name), (2, "column4"));
    let raw = ReadOptions { format: Some(Format::Bin), columns: Some(3), ..options() };
    assert_eq!(both("x", &[0; 24], &raw).unwrap().cloud.len(), 2);
    for columns in [0, 2, 1025] {
        let e = both("a.bin", &[0; 48], &ReadOptions { columns: Some(columns), ..options() }).unwrap_err();
        assert!(e.starts_with("InvalidArgument"), "{e}");
    }
    let array = npy(&header("<f4", false, "(2, 4)"), &[0; 32]);
    assert!(both("a.npy", &array, &six).unwrap_err().starts_with("ShapeMismatch"));
    assert!(both("a.doc", b"hello", &options()).unwrap_err().starts_with("UnsupportedFormat"));
    // By content, under a name that says nothing.
    assert_eq!(both("a", &array, &options()).unwrap().format, Format::Npy);
    assert_eq!(both("b", &zip(&[("points.npy", &array)], true), &options()).unwrap().format, Format::Npz);
}

#[test]
fn every_element_type_is_cast_once() {
    let f16: Vec<u8> = [0x3c00u16, 0x4000, 0x4200].iter().flat_map(|v| v.to_le_bytes()).collect();
    let rows: [(&str, Vec<u8>); 9] = [
        ("<f4", [1f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect()),
        (">f4", [1f32, 2.0, 3.0].iter().flat_map(|v| v.to_be_bytes()).collect()),
        ("<f8", [1f64, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect()),
        (">f8", [1f64, 2.0, 3.0].iter().flat_map(|v| v.to_be_bytes()).collect()),
        ("<f2", f16),
        ("|u1", vec![1, 2, 3]),
        (">i2", vec![0, 1, 0, 2, 0, 3]),
        ("<i4", [1i32, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect()),
        (">u8", [1u64, 2, 3].iter().flat_map(|v| v.to_be_bytes()).collect()),
    ];
    for (descr, bytes) in rows {
        let scan = both("a.npy", &npy(&header(descr, false, "(1, 3)"), &bytes), &options()).unwrap();
        assert_eq!(scan.cloud.data(), [1.0, 2.0, 3.0], "{descr}");
        assert_eq!(scan.warnings, [], "{descr}");
        assert_eq!(scan.fields.len(), 3);
    }
    let e = both("a.npy", &npy(&header("|b1", false, "(1, 3)"), &[0; 3]), &options()).unwrap_err();
    assert!(e.starts_with("DtypeMismatch"), "{e}");
    let f64s: Vec<u8> = [1e300, 0.1, 0.0].iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
    let scan = both("a.npy", &npy(&header("<f8", false, "(1, 3)"), &f64s), &options()).unwrap();
    assert_eq!(scan.cloud.data(), [f32::INFINITY, 0.1, 0.0]);
    assert_eq!(scan.warnings, [Warning::NoFinitePoint { points: 1 }]);
}

#[test]
fn fortran_order_is_transposed() {
    let bytes: Vec<u8> = [1f32, 4.0, 2.0, 5.0, 3.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let scan = both("a.npy", &npy(&header("<f4", true, "(2, 3)"), &bytes), &options()).unwrap();
    assert_eq!(scan.cloud.data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn headers_that_lie_are_errors() {
    for (shape, class) in [
        ("(1099511627776, 4)", "Truncated"),
        ("(4611686018427387904, 4)", "LimitExceeded"),
        ("(18446744073709551615, 3)", "LimitExceeded"),
        ("(-1, 4)", "BadHeader"),
        ("(3, 4)", "Truncated"),
        ("(4,)", "ShapeMismatch"),
        ("(2, 2)", "ShapeMismatch"),
        ("(1, 2, 2)", "ShapeMismatch"),
        ("()", "ShapeMismatch"),
        ("(1, 1099511627776)", "LimitExceeded"),
    ] {
        let bytes = npy(&header("<f4", false, shape), &[0; 16]);
        let unlimited = ReadOptions { limits: Limits { max_points: None, ..Limits::default() }, ..options() };
        let e = both("a.npy", &bytes, &unlimited).unwrap_err();
        assert!(e.starts_with(class), "{shape}: {e}");
        for deflate in [false, true] {
            let e = both("a.npz", &zip(&[("points.npy", &bytes)], deflate), &unlimited).unwrap_err();
            assert!(e.starts_with(class), "{shape}: {e}");
        }
    }
    let more = npy(&header("<f4", false, "(1, 3)"), &[0; 20]);
    assert_eq!(both("a.npy", &more, &options()).unwrap().warnings, [Warning::TrailingBytes { bytes: 8 }]);
}

#[test]
fn limits_hold() {
    let two = ReadOptions { limits: Limits { max_points: Some(2), ..Limits::default() }, ..options() };
    let array = npy(&header("<f4", false, "(3, 4)"), &[0; 48]);
    for (name, bytes) in
        [("a.bin", vec![0; 48]), ("a.npy", array.clone()), ("a.npz", zip(&[("points.npy", &array)], false))]
    {
        let e = both(name, &bytes, &two).unwrap_err();
        assert!(e.starts_with("LimitExceeded"), "{e}");
        assert_eq!(both(name, &bytes, &options()).unwrap().cloud.len(), 3);
    }
}

#[test]
fn archives_give_points_or_the_only_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let (a, b, one) = ([1f32, 2.0, 3.0], [4f32, 5.0, 6.0], [0i32; 4]);
    let matrix = |v| ArrayView::f32(&[1, 3], v);
    write_npz(&path, &[("other", matrix(&a)), ("points", matrix(&b))]).unwrap();
    assert_eq!(read(&path, &options()).unwrap().cloud.data(), b);
    write_npz(&path, &[("ids", ArrayView::i32(&[4], &one)), ("xyz", matrix(&a))]).unwrap();
    assert_eq!(read(&path, &options()).unwrap().cloud.data(), a);
    write_npz(&path, &[("u", matrix(&a)), ("v", matrix(&b))]).unwrap();
    let e = read(&path, &options()).unwrap_err();
    assert_eq!(e.class(), "MissingField");
    assert!(e.to_string().ends_with("got `u` f32 [1, 3], `v` f32 [1, 3]"), "{e}");
    write_npz(&path, &[]).unwrap();
    assert_eq!(read(&path, &options()).unwrap_err().class(), "MissingField");
}

#[test]
fn coordinates_of_f64_are_kept_beside_the_cloud() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let (xyz, points) = ([691_764.1, 5_335_880.1, 520.1], [691_764.1f32, 5_335_880.1, 520.1, 0.5]);
    let fields = ["x", "y", "z", "intensity"];
    let cloud = NamedPoints { xyz_f64: Some(&xyz), ..NamedPoints::new(Points::new(&points, 4).unwrap(), &fields) };
    write_points_npz(&path, &cloud).unwrap();
    let scan = read(&path, &options()).unwrap();
    assert_eq!((scan.cloud.data(), scan.xyz_f64), (&points[..], Some(xyz.to_vec())));
    assert!(
        matches!(scan.warnings[..], [Warning::Rounded { by, .. }] if (0.09..0.11).contains(&by)),
        "{:?}",
        scan.warnings
    );
    let two = [0.0; 6];
    write_npz(&path, &[("points", ArrayView::f32(&[1, 4], &points)), ("xyz_f64", ArrayView::f64(&[2, 3], &two))])
        .unwrap();
    assert_eq!(read(&path, &options()).unwrap_err().class(), "ShapeMismatch");
    // Of arrays too, in either order.
    let values = [xyz, [1.5, 2.5, 3.5]].concat();
    let transposed: Vec<f64> = (0..3).flat_map(|j| [values[j], values[3 + j]]).collect();
    for (fortran, values) in [(false, &values), (true, &transposed)] {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let scan = both("a.npy", &npy(&header("<f8", fortran, "(2, 3)"), &bytes), &options()).unwrap();
        assert_eq!(scan.xyz_f64.unwrap()[..4], [xyz[0], xyz[1], xyz[2], 1.5]);
        assert_eq!(scan.cloud.points().xyz(1), [1.5, 2.5, 3.5]);
    }
}

#[test]
fn what_archives_unpack_to_has_a_limit() {
    let array = npy(&header("<f4", false, "(30, 4)"), &[0; 480]);
    let archive = zip(&[("points.npy", &array)], true);
    let limited =
        |most| ReadOptions { limits: Limits { max_decoded_bytes: Some(most), ..Limits::default() }, ..options() };
    let size = array.len() as u64;
    assert_eq!(both("a.npz", &archive, &limited(size)).unwrap().cloud.len(), 30);
    let e = both("a.npz", &archive, &limited(size - 1)).unwrap_err();
    assert!(e.starts_with("LimitExceeded") && e.contains("max_decoded_bytes"), "{e}");
}

#[test]
fn what_is_missing_or_a_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let e = read(folder.path().join("no.bin"), &options()).unwrap_err();
    assert!(e.class() == "Io" && e.to_string().contains("no.bin: no such file"), "{e}");
    let e = read(folder.path(), &options()).unwrap_err();
    // Windows does not open a folder at all, and says so in its own words.
    assert!(e.class() == "Io" && (cfg!(windows) || e.to_string().contains("directory")), "{e}");
    fs::write(folder.path().join("e.npz"), "").unwrap();
    assert_eq!(read(folder.path().join("e.npz"), &options()).unwrap_err().class(), "Truncated");
    write_npy(folder.path().join("z.npy"), &ArrayView::f32(&[0, 4], &[])).unwrap();
    assert_eq!(read(folder.path().join("z.npy"), &options()).unwrap().warnings, [Warning::Empty]);
}
