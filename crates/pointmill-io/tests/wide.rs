//! Columns that an `f32` does not hold, into files and back.

use pointmill_core::Points;
use pointmill_io::{
    Dtype, Field, Format, IoError, NamedPoints, ReadOptions, Region, Scan, Warning, Whole, WideColumn, WriteOptions,
    merge, read, read_npz, write,
};
use std::collections::BTreeSet;
use std::path::Path;

/// The formats that hold `f64` and names.
const FORMATS: [Format; 6] = [Format::Ply, Format::Pcd, Format::Npz, Format::Feather, Format::Arrow, Format::Csv];
const ROWS: usize = 3000;

/// A sweep: seconds since 1970, nanoseconds since 1970, numbers of 32 bits, angles, and a column
/// that loses nothing.
fn columns() -> Vec<(&'static str, Dtype, Vec<f64>)> {
    let column = |value: &dyn Fn(f64) -> f64| (0..ROWS).map(|i| value(i as f64)).collect();
    vec![
        ("timestamp", Dtype::F64, column(&|i| 1_700_000_000.0 + i * 3.3e-5)),
        ("id", Dtype::U32, column(&|i| 4_294_967_295.0 - i)),
        ("azimuth", Dtype::F64, column(&|i| if i == 7.0 { f64::NAN } else { 0.1 * i })),
        ("ring", Dtype::I32, column(&|i| i % 64.0)),
        ("count", Dtype::I64, column(&|i| 9_007_199_254_740_000.0 - 3.0 * i)),
    ]
}

fn written(path: &Path) {
    let columns = columns();
    let row =
        |i: usize| [i as f32, 0.5, -1.0].into_iter().chain(columns.iter().map(move |(_, _, values)| values[i] as f32));
    let rows: Vec<f32> = (0..ROWS).flat_map(row).collect();
    let names: Vec<_> = ["x", "y", "z"].into_iter().chain(columns.iter().map(|(name, ..)| *name)).collect();
    let mut cloud = NamedPoints::new(Points::new(&rows, names.len()).unwrap(), &names);
    for (j, (name, dtype, values)) in columns.into_iter().enumerate() {
        cloud.fields.to_mut()[3 + j] = Field { name: name.into(), dtype };
        cloud.wide.push(WideColumn::new(3 + j, values).into());
    }
    write(path, cloud, &WriteOptions::default()).unwrap();
}

/// Each column in full, as bits.
fn bits(scan: &Scan, name: &str) -> Vec<u64> {
    let j =
        scan.fields.iter().position(|field| field.name == name).unwrap_or_else(|| panic!("{name}: {:?}", scan.fields));
    let wide = scan.wide().find(|wide| wide.column() == j);
    let single = || scan.cloud.data().iter().skip(j).step_by(scan.cloud.columns()).map(|&v| f64::from(v)).collect();
    wide.map_or_else(single, |wide| wide.to_vec()).into_iter().map(f64::to_bits).collect()
}

#[test]
fn what_an_f32_does_not_hold_comes_back_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("a.feather");
    written(&first);
    let source = read(&first, &ReadOptions::default()).unwrap();
    let types: Vec<_> = source.fields.iter().map(|field| field.dtype.as_str()).collect();
    assert_eq!(types.join(" "), "f32 f32 f32 f64 u32 f64 i32 i64");
    let cast = "columns `timestamp`, `id`, `count` are rounded to f32 (largest change 10000)";
    assert_eq!(source.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [cast]);
    for format in FORMATS {
        let path = folder.path().join(format!("b.{format}"));
        write(&path, &source, &WriteOptions::default()).unwrap();
        assert_eq!(source.warnings_in(format), [], "{format}");
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(back.cloud.data()[3..8], source.cloud.data()[3..8], "{format}");
        for (name, _, values) in columns() {
            // Text has `f64` for coordinates and times alone, archives names for columns in full
            // alone.
            let is_kept = match format {
                Format::Csv => name == "timestamp",
                Format::Npz => name != "ring",
                _ => true,
            };
            if is_kept {
                let wanted: Vec<_> = values.iter().map(|v| v.to_bits()).collect();
                assert!(bits(&back, name) == wanted, "{format}: {name}");
            }
        }
        let times = back.times().unwrap();
        assert_eq!(
            (&*times.name, times.start, times.seconds),
            ("timestamp", 1_700_000_000.0, source.times().unwrap().seconds),
            "{format}"
        );
        // What was read is written to the same bytes, but for what text gave up.
        let again = folder.path().join(format!("c.{format}"));
        write(&again, &back, &WriteOptions::default()).unwrap();
        let same = std::fs::read(&again).unwrap() == std::fs::read(&path).unwrap();
        assert!(same || format == Format::Csv, "{format}");
    }
    let text = std::fs::read_to_string(folder.path().join("b.csv")).unwrap();
    assert!(
        text.lines().nth(2).unwrap().starts_with("1,0.5,-1,1700000000.000033,4294967294,0.1,1,9007199254739997"),
        "{text:.200}"
    );
    let arrays = read_npz(folder.path().join("b.npz")).unwrap();
    let names: Vec<_> = arrays.iter().map(|(name, array)| format!("{name} {}", array.dtype())).collect();
    assert_eq!(names, ["azimuth_f64 f64", "count_i64 i64", "id_u64 u64", "points f32", "timestamp_f64 f64"]);
    // Where nothing is kept in full the warning holds.
    for format in [Format::Npy, Format::Bin] {
        assert!(matches!(&source.warnings_in(format)[..], [Warning::Cast { columns, .. }] if columns.len() == 3));
    }
    assert!(source.warnings_in(Format::Xyz).is_empty());
}

#[test]
fn nanoseconds_since_1970_keep_every_one_where_the_format_has_integers() {
    let folder = tempfile::tempdir().unwrap();
    let stamps: Vec<u64> = (0..100).map(|i| 1_700_000_000_000_000_007 + 1_000_001 * i).collect();
    let text: String = stamps.iter().map(|t| format!("0 0 0 {t}\n")).collect();
    let head = "ply\nformat ascii 1.0\nelement vertex 100\nproperty float x\nproperty float y\nproperty float z\n";
    let pcd = "VERSION 0.7\nFIELDS x y z timestamp_ns\nSIZE 4 4 4 8\nTYPE F F F U\nWIDTH 100\nHEIGHT 1\nDATA ascii\n";
    std::fs::write(folder.path().join("a.ply"), format!("{head}property double timestamp_ns\nend_header\n{text}"))
        .unwrap();
    std::fs::write(folder.path().join("a.pcd"), format!("{pcd}{text}")).unwrap();
    let at = |name: &str| read(folder.path().join(name), &ReadOptions::default()).unwrap();
    let source = at("a.pcd");
    let seconds = source.times().unwrap().seconds;
    assert_eq!(seconds[1], 1_000_001e-9);
    for name in ["b.pcd", "b.feather", "b.npz"] {
        write(folder.path().join(name), &source, &WriteOptions::default()).unwrap();
        let back = at(name);
        assert_eq!((back.fields[3].dtype, &*back.fields[3].name), (Dtype::U64, "timestamp_ns"), "{name}");
        assert_eq!(back.times().unwrap().seconds, seconds, "{name}");
    }
    // PLY has no such integers.
    let told: Vec<_> = source.warnings_in(Format::Ply).iter().map(ToString::to_string).collect();
    assert_eq!(told, ["column `timestamp_ns` is rounded to f64 (largest change 130 ns)"]);
    write(folder.path().join("b.ply"), &source, &WriteOptions::default()).unwrap();
    assert_eq!(bits(&at("b.ply"), "timestamp_ns"), bits(&at("a.ply"), "timestamp_ns"));
    write(folder.path().join("b.csv"), &source, &WriteOptions::default()).unwrap();
    let csv = std::fs::read_to_string(folder.path().join("b.csv")).unwrap();
    assert!(csv.starts_with("x,y,z,timestamp_ns\n0,0,0,1700000000000000007\n"), "{csv:.80}");
}

#[test]
fn gps_times_of_las_keep_every_value() {
    let folder = tempfile::tempdir().unwrap();
    let las = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las/1.4_format7.las");
    let source = read(las, &ReadOptions::default()).unwrap();
    let wanted = bits(&source, "gps_time");
    let distinct = |bits: &[u64]| bits.iter().collect::<BTreeSet<_>>().len();
    assert!(source.wide().len() == 1 && distinct(&wanted) > source.cloud.len() / 2);
    for format in FORMATS {
        let path = folder.path().join(format!("a.{format}"));
        write(&path, &source, &WriteOptions::default()).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert!(bits(&back, "gps_time") == wanted, "{format}");
        assert_eq!(back.times(), source.times(), "{format}");
    }
    // Parts of a scan keep theirs, and other frames too.
    let half = source.clone().without_zeros().0.within([
        f64::NEG_INFINITY,
        f64::NEG_INFINITY,
        source.xyz()[0][0],
        f64::INFINITY,
    ]);
    let kept = source.xyz().into_iter().zip(&wanted).filter(|(p, _)| p[0] <= source.xyz()[0][0]);
    assert!(half.cloud.len() < source.cloud.len() && bits(&half, "gps_time").iter().eq(kept.map(|(_, t)| t)));
    let moved = source.transformed(&pointmill_core::Pose::IDENTITY, true);
    assert!(bits(&moved, "gps_time") == wanted);
}

#[test]
fn arrays_beside_the_points_that_are_no_columns_are_left_alone() {
    use pointmill_io::{ArrayView, write_npz};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let points = [1.0f32, 2.0, 3.0, 0.1, 4.0, 5.0, 6.0, 0.2];
    let (other, long, times) = ([7.0, 8.0], [0.1, 0.2, 0.3], [0.1, 0.2]);
    let arrays = [
        ("points", ArrayView::f32(&[2, 4], &points)),
        ("other_f64", ArrayView::f64(&[2], &other)),
        ("long_f64", ArrayView::f64(&[3], &long)),
        ("time_f64", ArrayView::f64(&[2], &times)),
    ];
    write_npz(&path, &arrays).unwrap();
    let scan = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((scan.wide().len(), scan.wide().next().unwrap().to_vec()), (1, times.to_vec()));
    assert_eq!((&*scan.fields[3].name, scan.fields[3].dtype), ("time", Dtype::F64));
}

/// Whole numbers of 64 bits that are as far apart as such can be, through every format that has them.
#[test]
fn whole_numbers_of_64_bits_are_exact_wherever_a_cloud_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let ids = [3_180_660_341_120_286_829, u64::MAX, 0, 327_088_208, 5, 7_072_992_088_316_608_161];
    let signed = [i64::MAX, i64::MIN, 0, -1, 1_700_000_000_000_000_007, 9_007_199_254_740_993];
    let text: String = (0..6).map(|i| format!("{i} 0 0 {} {}\n", ids[i], signed[i])).collect();
    let header = "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z id stamp\nSIZE 4 4 4 8 8\nTYPE F F F U I\nCOUNT 1 1 1 1 1\n\
                  WIDTH 6\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 6\nDATA ascii\n";
    std::fs::write(path("a.pcd"), header.to_owned() + &text).unwrap();
    let open = |name: &str| read(path(name), &ReadOptions::default()).unwrap();
    let whole = |scan: &Scan, name: &str| {
        let j = scan.fields.iter().position(|field| field.name == name).unwrap();
        let wide = scan.wide().find(|wide| wide.column() == j).expect("a column in full").clone();
        wide.to_whole(scan.fields[j].dtype).expect("whole numbers")
    };
    let check = |scan: &Scan, what: &str| {
        assert_eq!(whole(scan, "id"), Whole::U64(ids.to_vec()), "{what}");
        assert_eq!(whole(scan, "stamp"), Whole::I64(signed.to_vec()), "{what}");
        for format in [Format::Pcd, Format::Npz, Format::Feather, Format::Csv] {
            assert_eq!(scan.warnings_in(format), [], "{what} {format}");
        }
        let told = scan.warnings_in(Format::Ply)[0].to_string();
        assert!(told.starts_with("columns `id`, `stamp` are rounded to f64 (largest change"), "{told}");
    };
    let scan = open("a.pcd");
    check(&scan, "pcd");
    let endings = if cfg!(feature = "laz") {
        &["pcd", "npz", "feather", "las", "laz"][..]
    } else {
        &["pcd", "npz", "feather", "las"]
    };
    for ending in endings {
        let name = format!("b.{ending}");
        write(path(&name), &scan, &WriteOptions::default()).unwrap();
        check(&open(&name), ending);
    }
    check(&scan.select(&[0, 1, 2, 3, 4, 5]).unwrap(), "select");
    let all = Region { bounds: Some([-1.0, -1.0, -1.0, 9.0, 9.0, 9.0]), ..Region::default() };
    check(&scan.crop(&all, [0.0; 3]).unwrap(), "crop");
    let means: Vec<f32> = scan.cloud.data().to_vec();
    let splits: Vec<u32> = (0..=6).collect();
    check(&scan.with_means(&means, [&splits, &splits[..6]]).unwrap(), "downsample");
    let halves = [&[0, 1, 2][..], &[3, 4, 5]].map(|rows| scan.select(rows).unwrap());
    let all = merge(halves.map(|half| Ok::<_, IoError>(("a.pcd".into(), half)))).unwrap();
    check(&all, "merge");
    let (rest, zeros) = scan.clone().without_zeros();
    assert_eq!((zeros, whole(&rest, "id")), (1, Whole::U64(ids[1..].to_vec())));
    // A column of another file, whose numbers need no 64 bits; and one with a sign, which no type holds with it.
    let small = |dtype| {
        let names = ["x", "y", "z", "id", "stamp"];
        let row = [0.0, 0.0, 0.0, 7.0, 8.0];
        let mut cloud = NamedPoints::new(Points::new(&row, 5).unwrap(), &names);
        cloud.fields.to_mut()[3].dtype = dtype;
        cloud.fields.to_mut()[4].dtype = Dtype::U8;
        write(path("c.pcd"), cloud, &WriteOptions::default()).unwrap();
        ("c.pcd".into(), open("c.pcd"))
    };
    let both = merge([Ok::<_, IoError>(("a.pcd".into(), scan.clone())), Ok(small(Dtype::U32))]).unwrap();
    assert_eq!(whole(&both, "id"), Whole::U64([&ids[..], &[7]].concat()));
    let both = merge([Ok::<_, IoError>(("a.pcd".into(), scan)), Ok(small(Dtype::I8))]).unwrap();
    let told = both.warnings_in(Format::Pcd)[0].to_string();
    assert_eq!(told, "column `id` is rounded to f64 (largest change 350)");
}
