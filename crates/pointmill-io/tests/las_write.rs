//! LAS and LAZ files that are written: the points come back.
mod common;

use common::points::{RECORDS, records};
use common::random::Random;
use pointmill_core::{PointCloud, Points};
use pointmill_io::{
    Dtype, Field, Format, NamedPoints, ReadOptions, Scan, Whole, WideColumn, WriteOptions, read, read_from, write,
};
use std::path::Path;

/// The endings of the build.
const ENDINGS: &[&str] = if cfg!(feature = "laz") { &["las", "laz"] } else { &["las"] };

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().unwrap()
}

/// A file of version 1.4 with a record about the system and these points.
fn las(format: u8, size: usize, points: &[u8]) -> Vec<u8> {
    let wkt = b"PROJCS[\"UTM 32N\"]\0";
    let mut bytes = vec![0; 375 + 54 + wkt.len()];
    let offset = bytes.len() as u32;
    let mut set = |at: usize, new: &[u8]| bytes[at..at + new.len()].copy_from_slice(new);
    set(0, b"LASF");
    set(6, &[0x11, 0]);
    set(24, &[1, 4]);
    set(94, &375u16.to_le_bytes());
    set(96, &offset.to_le_bytes());
    set(100, &[1, 0, 0, 0, format]);
    set(105, &(size as u16).to_le_bytes());
    set(247, &(points.len() as u64 / size as u64).to_le_bytes());
    for (i, v) in [0.01, 0.0025, 0.001, 600_000.0, 5_300_000.5, -20.0].into_iter().enumerate() {
        set(131 + 8 * i, &f64::to_le_bytes(v));
    }
    set(375 + 2, b"LASF_Projection");
    set(375 + 18, &2112u16.to_le_bytes());
    set(375 + 20, &(wkt.len() as u16).to_le_bytes());
    set(375 + 54, wkt);
    bytes.extend(points);
    bytes
}

/// The scan that a cloud becomes, and its file.
fn written<'a>(cloud: impl Into<NamedPoints<'a>>, ending: &str) -> (Scan, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a").with_extension(ending);
    write(&path, cloud, &WriteOptions::default()).unwrap();
    (read(&path, &ReadOptions::default()).unwrap(), std::fs::read(&path).unwrap())
}

#[test]
fn every_point_format_keeps_its_integers_scales_and_system() {
    let mut random = Random::new(3);
    for format in 0..=10u8 {
        let (n, size) = (501, RECORDS[usize::from(format)]);
        let mut points = records(format, 2, n, 0, &mut random);
        // The ends of 32 bits.
        points[..8].copy_from_slice(&[i32::MIN, i32::MAX].map(i32::to_le_bytes).concat());
        let bytes = las(format, size + 2, &points);
        let scan = read_from(&bytes[..], "a.las", &ReadOptions::default()).unwrap();
        for ending in ENDINGS {
            let (again, file) = written(&scan, ending);
            assert_eq!((again.crs(), &again.fields), (Some("UTM 32N".into()), &scan.fields), "{format}");
            let bits = |scan: &Scan| scan.cloud.data().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert!(bits(&again) == bits(&scan) && again.xyz_f64 == scan.xyz_f64, "{format} {ending}");
            assert_eq!((&file[131..179], file[6]), (&bytes[131..179], 0x11));
            if *ending == "laz" {
                continue;
            }
            // What is not read: wave packets and extra bytes that no record describes.
            let kept = size - if let 4 | 5 | 9 | 10 = format { 29 } else { 0 };
            let mut returns = [0u64; 15];
            let mut wanted = vec![];
            for point in points.chunks_exact(size + 2) {
                wanted.extend_from_slice(&point[..kept]);
                let number = point[14] & if format < 6 { 7 } else { 15 };
                if number > 0 {
                    returns[usize::from(number) - 1] += 1;
                }
            }
            let offset = u32::from_le_bytes(number(&file, 96)) as usize;
            assert!(file[offset..] == wanted, "{format}");
            assert_eq!(u16::from_le_bytes(number(&file, 105)) as usize, kept);
            let told: Vec<_> = (0..15).map(|i| u64::from_le_bytes(number(&file, 255 + 8 * i))).collect();
            assert_eq!((u64::from_le_bytes(number(&file, 247)), &told[..]), (n as u64, &returns[..]));
            let old = u32::from_le_bytes(number(&file, 107));
            assert_eq!(old, if format < 6 { n as u32 } else { 0 });
            let (max, min) = (f64::from_le_bytes(number(&file, 179)), f64::from_le_bytes(number(&file, 187)));
            let x = scan.xyz().into_iter().map(|p| p[0]);
            assert_eq!((max, min), (x.clone().fold(f64::MIN, f64::max), x.fold(f64::MAX, f64::min)));
            // Fewer points lie on the same steps.
            let part = scan.clone().within([600_000.0, f64::MIN, f64::MAX, f64::MAX]);
            let (again, fewer) = written(&part, ending);
            assert!(again.xyz() == part.xyz() && fewer[131..179] == bytes[131..179]);
        }
    }
}

#[test]
fn no_point_and_one_point_come_back() {
    for ending in ENDINGS {
        let (scan, _) = written(Points::new(&[], 4).unwrap(), ending);
        assert_eq!(scan.cloud.len(), 0);
        let (scan, file) = written(Points::new(&[-1.5, 0.1, 1e6], 3).unwrap(), ending);
        assert_eq!((scan.xyz(), file[104] & 0x7f), (vec![[-1.5, 0.1, 1e6]], 0));
        // A point without returns is the only one of its pulse.
        assert_eq!(scan.cloud.points().row(0)[4..6], [1.0, 1.0]);
    }
}

#[test]
fn scale_offset_and_format_are_the_least_that_hold_a_cloud() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.las");
    let of = |names: &[&str], row: &[f32], xyz: [f64; 3]| {
        let points = Points::new(row, row.len()).unwrap();
        write(&path, NamedPoints { xyz_f64: Some(&xyz), ..NamedPoints::new(points, names) }, &WriteOptions::default())
            .unwrap();
        let (scan, file) = (read(&path, &ReadOptions::default()).unwrap(), std::fs::read(&path).unwrap());
        assert_eq!(scan.xyz()[0].map(|v| (v * 1e6).round()), xyz.map(|v| (v * 1e6).round()));
        let f64_at = |at| f64::from_le_bytes(number(&file, at));
        (f64_at(131), f64_at(163), file[104])
    };
    let xyz = ["x", "y", "z"];
    assert_eq!(of(&xyz, &[0.0; 3], [691_764.1, 5_335_880.123, 520.1]), (0.001, 5_335_880.0, 0));
    assert_eq!(of(&xyz, &[0.0; 3], [1.2345, 2.0, 3.0]), (0.0001, 0.0, 0));
    for (names, row, format) in [
        (&["intensity", "ring"][..], &[65_535.0, 0.5][..], 0),
        (&["gps_time"], &[0.5], 1),
        (&["red"], &[65_535.0], 2),
        (&["green", "gps_time"], &[1.0, -1.0], 3),
        (&["classification"], &[31.0], 0),
        (&["classification"], &[32.0], 6),
        (&["return_number", "blue"], &[8.0, 1.0], 7),
        (&["nir"], &[1.0], 8),
        (&["scan_angle"], &[-128.0], 0),
        (&["scan_angle"], &[0.006], 6),
        (&["scanner_channel"], &[3.0], 6),
    ] {
        let row = [&[0.0; 3][..], row].concat();
        assert_eq!(of(&[&xyz[..], names].concat(), &row, [0.0; 3]).2, format, "{names:?}");
    }
    // About an origin, without coordinates of f64.
    let cloud = PointCloud::new(vec![0.125, 0.25, 0.5], 3).unwrap().with_origin([5e6, 0.0, 0.0]);
    assert_eq!(written(&cloud, "las").0.xyz(), [[5_000_000.125, 0.25, 0.5]]);
}

#[test]
fn random_clouds_come_back_as_the_same_f32() {
    let mut random = Random::new(5);
    for decimals in 0..=6 {
        let steps = 10_f64.powi(decimals);
        let data: Vec<f32> = (0..900).map(|_| ((random.below(1 << 22) as f64 - 2_097_152.0) / steps) as f32).collect();
        for ending in ENDINGS {
            let (scan, _) = written(Points::new(&data, 3).unwrap(), ending);
            let xyz: Vec<f32> = scan.xyz().into_flattened().into_iter().map(|v| v as f32).collect();
            assert_eq!(xyz, data, "{decimals}");
        }
    }
}

#[test]
fn columns_that_las_does_not_know_are_extra_bytes() {
    let names = ["x", "y", "z", "ring", "pulse width, longer than 32 bytes 1", "stamp"];
    let mut fields: Vec<_> = names.iter().map(|&name| Field { name: name.into(), dtype: Dtype::F32 }).collect();
    fields[3].dtype = Dtype::U8;
    let points = Points::new(&[0.0, 0.0, 0.0, 7.0, 0.5, 1.7e9], 6).unwrap();
    let wide = vec![WideColumn::new(5, vec![1_700_000_000.125]).into()];
    let (again, file) = written(NamedPoints { fields: fields.into(), wide, ..points.into() }, "las");
    // They are read again.
    let told: Vec<_> = again.fields.iter().skip(7).map(|f| format!("{} {}", f.name, f.dtype)).collect();
    assert_eq!(told.last().unwrap(), "stamp f64");
    assert_eq!(again.wide().last().unwrap().to_vec(), [1_700_000_000.125]);
    let kinds: Vec<_> = file[429..429 + 3 * 192].chunks(192).map(|told| (told[2], &told[4..9])).collect();
    assert_eq!(&file[377..387], b"LASF_Spec\0");
    assert_eq!(kinds, [(1, &b"ring\0"[..]), (9, b"pulse"), (10, b"stamp")]);
    let extra = [&[7][..], &0.5f32.to_le_bytes(), &1_700_000_000.125f64.to_le_bytes()].concat();
    assert_eq!(file[file.len() - 13..], extra);
}

#[test]
fn what_las_does_not_hold_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.las");
    let told = |names: &[&str], rows: &[f32]| {
        let cloud = NamedPoints::new(Points::new(rows, names.len()).unwrap(), names);
        let told = write(&path, cloud, &WriteOptions::default()).unwrap_err().to_string();
        assert!(common::names(folder.path()).is_empty());
        told.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
    };
    let xyz = ["x", "y", "z"];
    assert_eq!(
        told(&xyz, &[0.0, 0.0, 0.0, 1.0, f32::NAN, 0.0]),
        "y of point 1: expected a finite number, since LAS has no other; leave the point out, or write .ply, got NaN"
    );
    assert_eq!(
        told(&xyz, &[0.0, 0.0, 0.0, 1.0, 2.0, 5e6]),
        "points: expected x, y, z that span at most 4294967 m, as 32 bits of 0.001 m do; write parts, or .ply, \
         got 1, 2, 5000000 m"
    );
    for (name, v, wanted) in [
        ("intensity", 0.5, "a whole number from 0 to 65535"),
        ("intensity", 65_536.0, "a whole number from 0 to 65535"),
        ("intensity", f32::NAN, "a whole number from 0 to 65535"),
        ("user_data", -1.0, "a whole number from 0 to 255"),
        ("return_number", 16.0, "a whole number from 0 to 15"),
        ("scan_angle", 0.007, "a multiple of 0.006 from -32768 to 32767 of it"),
    ] {
        let wanted = format!(
            "expected {wanted}; write .ply, which holds any number, or scale or round the column first, got {v}"
        );
        assert_eq!(told(&["x", "y", "z", name], &[0.0, 0.0, 0.0, v]), format!("`{name}` of point 0: {wanted}"));
    }
    let many: Vec<_> = (0..342).map(|i| format!("c{i}")).collect();
    let many: Vec<_> = xyz.into_iter().chain(many.iter().map(|name| &**name)).collect();
    assert!(told(&many, &[0.0; 345]).starts_with("columns: expected at most 341 that LAS does not know"));
    if !cfg!(feature = "laz") {
        let cloud = Points::new(&[0.0; 3], 3).unwrap();
        let told = write(Path::new("a.laz"), cloud, &WriteOptions::default()).unwrap_err();
        assert_eq!(told.class(), "UnsupportedFormat");
    }
}

/// A point of format 0 with extra bytes behind it, and the record that describes them.
fn with_extra(described: &[(u8, u8, &str, [f64; 2])], bytes: &[u8], flags: u8) -> Vec<u8> {
    let mut point = vec![0; 20];
    point[14] = 0b1001 | flags;
    point.extend(bytes);
    let mut file = las(0, point.len(), &[&point[..], &point].concat());
    let mut told = vec![0; 54 + 192 * described.len()];
    told[2..11].copy_from_slice(b"LASF_Spec");
    told[18..20].copy_from_slice(&4u16.to_le_bytes());
    told[20..22].copy_from_slice(&(192 * described.len() as u16).to_le_bytes());
    for ((kind, options, name, [scale, offset]), to) in described.iter().zip(told[54..].chunks_exact_mut(192)) {
        (to[2], to[3]) = (*kind, *options);
        to[4..4 + name.len()].copy_from_slice(name.as_bytes());
        to[112..120].copy_from_slice(&scale.to_le_bytes());
        to[136..144].copy_from_slice(&offset.to_le_bytes());
    }
    // Two records that nobody knows.
    for (user, id) in [("liblas", 2112u16), ("mine", 7)] {
        let mut record = vec![0; 54];
        record[2..2 + user.len()].copy_from_slice(user.as_bytes());
        record[18..20].copy_from_slice(&id.to_le_bytes());
        told.extend(record);
    }
    let offset = u32::from_le_bytes(number(&file, 96)) as usize;
    file.splice(offset..offset, told.iter().copied());
    file[96..100].copy_from_slice(&((offset + told.len()) as u32).to_le_bytes());
    file[100] = 4;
    file
}

#[test]
fn extra_bytes_are_columns_and_what_is_not_kept_is_told() {
    let described = [
        (4, 8, "HeightAboveGround", [0.01, 0.0]),
        (3, 8 | 16, "Range", [0.5, 100.0]),
        (9, 0, "Amplitude", [0.0; 2]),
        (8, 0, "id", [0.0; 2]),
        (11, 0, "pair", [0.0; 2]),
        (0, 3, "unknown", [0.0; 2]),
        (1, 0, "x", [0.0; 2]),
    ];
    let id = i64::MIN + 5;
    let bytes = [
        &(-123i16).to_le_bytes()[..],
        &7u16.to_le_bytes(),
        &0.25f32.to_le_bytes(),
        &id.to_le_bytes(),
        &[3, 4],
        &[1, 2, 3],
        &[9],
        &[0; 2],
    ]
    .concat();
    let file = with_extra(&described, &bytes, 0x40);
    let scan = read_from(&file[..], "a.las", &ReadOptions::default()).unwrap();
    let told: Vec<_> = scan.fields.iter().map(|f| format!("{} {}", f.name, f.dtype)).collect();
    let wanted = "HeightAboveGround f64, Range f64, Amplitude f32, id i64, pair_0 u8, pair_1 u8, extra_x u8";
    assert!(told.join(", ").ends_with(wanted), "{told:?}");
    let first = told.len() - 7;
    let check = |scan: &Scan| {
        let column = |name: &str| scan.fields.iter().position(|field| field.name == name).unwrap();
        let full = |name: &str| scan.wide().find(|wide| wide.column() == column(name)).unwrap().clone();
        assert_eq!(full("HeightAboveGround").to_vec(), [-123.0 * 0.01; 2]);
        assert_eq!(full("id").to_whole(Dtype::I64), Some(Whole::I64(vec![id; 2])));
        let row = scan.cloud.points().row(1);
        assert_eq!(
            ["Range", "Amplitude", "pair_0", "pair_1", "extra_x"].map(|name| row[column(name)]),
            [103.5, 0.25, 3.0, 4.0, 9.0]
        );
    };
    check(&scan);
    assert!(first > 3);
    let lost = "not kept in the file that is written: extra bytes that no record describes (5 a point)";
    let told = |scan: &Scan, format| {
        let all = scan.warnings_in(format).into_iter().map(|warning| warning.to_string());
        all.filter(|text| text.starts_with("not kept")).collect::<Vec<_>>()
    };
    assert_eq!(told(&scan, Format::Las), [lost]);
    // Beside a PLY stands a .prj.
    let of_ply = lost.to_owned() + "; 2 records (liblas 2112, mine 7)";
    let of_pcd = of_ply.replacen("written: ", "written: the coordinate reference system UTM 32N; ", 1);
    for (format, of) in [(Format::Ply, of_ply), (Format::Pcd, of_pcd)] {
        assert!(told(&scan, format).contains(&of), "{:?}", told(&scan, format));
    }
    for ending in ENDINGS {
        let (again, written) = written(&scan, ending);
        check(&again);
        assert_eq!(again.cloud.points().row(0)[6], 1.0, "the flag of the mirror");
        assert_eq!(told(&again, Format::Las), [""; 0]);
        // Types, scales and offsets are those of the file; records of others are there.
        let told = written.windows(11).position(|user| user == b"LASF_Spec\0\0").unwrap() - 2 + 54;
        let kinds: Vec<_> = (0..7).map(|i| (written[told + 192 * i + 2], written[told + 192 * i + 3])).collect();
        assert_eq!(kinds, [(4, 8), (3, 24), (9, 0), (8, 0), (1, 0), (1, 0), (1, 0)]);
        let scale = |i: usize| f64::from_le_bytes(number(&written, told + 192 * i + 112));
        assert_eq!((scale(0), scale(1)), (0.01, 0.5));
        assert!([&b"liblas\0"[..], b"mine\0"].iter().all(|user| written.windows(user.len()).any(|at| at == *user)));
    }
    // A value that the steps do not have makes the column one of its own type.
    let mut changed = scan;
    let column = changed.fields.iter().position(|field| field.name == "Range").unwrap();
    let (mut data, columns) = (changed.cloud.data().to_vec(), changed.cloud.columns());
    data[column] = 103.25;
    changed.cloud = PointCloud::new(data, columns).unwrap();
    let (again, _) = written(&changed, "las");
    assert_eq!(again.cloud.points().row(0)[column], 103.25);
}

/// The version, the texts of the header, and records before and behind the points are those of the
/// file, where what is written has room there.
#[test]
fn what_a_file_says_of_itself_is_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las");
    let read_as = |bytes: &[u8]| read_from(bytes, "a.las", &ReadOptions::default()).unwrap();
    let minor = |scan: &Scan| written(scan, "las").1[25];
    let mut early = std::fs::read(folder.join("1.2_format3.las")).unwrap();
    early[8..24].copy_from_slice(b"0123456789abcdef");
    early[26..33].copy_from_slice(b"SURVEY\0");
    early[90..94].copy_from_slice(&[7, 0, 0xe8, 7]);
    for (said, wanted) in [(0, 4), (1, 1), (2, 2), (3, 3)] {
        early[25] = said;
        let mut file = early.clone();
        if said == 3 {
            // A header of version 1.3 has eight bytes more.
            file.splice(227..227, [0; 8]);
            file[94] = 235;
            let offset = u32::from_le_bytes(number(&file, 96)) + 8;
            file[96..100].copy_from_slice(&offset.to_le_bytes());
        }
        let scan = read_as(&file);
        let (again, bytes) = written(&scan, "las");
        assert_eq!((bytes[25], again.xyz(), &again.fields), (wanted, scan.xyz(), &scan.fields));
        assert_eq!((&bytes[8..24], &bytes[26..33], &bytes[90..94]), (&file[8..24], &file[26..33], &file[90..94]));
    }
    // Version 1.5 is read.
    let mut later = std::fs::read(folder.join("1.4_format6.las")).unwrap();
    later[25] = 5;
    let scan = read_as(&later);
    assert!(!scan.warnings.iter().any(|warning| warning.to_string().contains("version")), "{:?}", scan.warnings);
    let lost =
        |scan: &Scan| scan.warnings_in(Format::Las).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    assert!(lost(&scan).contains("version 1.5 (1.4 is written)"), "{}", lost(&scan));
    later[6] |= 1 << 6;
    assert!(lost(&read_as(&later)).contains("the time offset"));
    assert_eq!(minor(&scan), 4);

    // Records behind the points, one of which is a system and one too long for a record before them.
    let record = |user: &str, id: u16, data: &[u8]| {
        let mut record = vec![0; 60];
        record[2..2 + user.len()].copy_from_slice(user.as_bytes());
        record[18..20].copy_from_slice(&id.to_le_bytes());
        record[20..28].copy_from_slice(&(data.len() as u64).to_le_bytes());
        record[28..35].copy_from_slice(b"a note\0");
        record.extend(data);
        record
    };
    let mut file = std::fs::read(folder.join("1.4_format6.las")).unwrap();
    let (start, long) = (file.len() as u64, vec![0x5a; 70_000]);
    file.extend(record("LASF_Projection", 2112, b"PROJCS[\"here\"]\0"));
    file.extend(record("mine", 9, &long));
    file[235..243].copy_from_slice(&start.to_le_bytes());
    file[243] = 2;
    let scan = read_as(&file);
    assert_eq!((scan.crs().as_deref(), lost(&scan)), (Some("here"), String::new()));
    for ending in ENDINGS {
        let (again, bytes) = written(&scan, ending);
        let (at, count) = (u64::from_le_bytes(number(&bytes, 235)) as usize, u32::from_le_bytes(number(&bytes, 243)));
        assert_eq!((again.crs().as_deref(), count), (Some("here"), 1), "{ending}");
        assert!(bytes[at..] == record("mine", 9, &long), "{ending}");
        assert_eq!((again.xyz(), lost(&again)), (scan.xyz(), String::new()));
    }
    // A record longer than is kept is told.
    file.truncate(start as usize);
    file.extend(record("huge", 1, &vec![1; (1 << 24) + 1]));
    file[243] = 1;
    assert!(lost(&read_as(&file)).contains("1 record (huge 1)"));
}

/// Whatever a writer takes, its reader reads; other programs too, since no name stands for two fields.
#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let odd = ["X", "Y", "Z", "raw_classification", "withheld", "", "a b", "x_1", "overlap", "7", "NaN", "\u{1f600}"];
    let names: Vec<_> = ["x", "y", "z"].into_iter().chain(odd).collect();
    let row: Vec<f32> = (0..names.len()).map(|i| i as f32 + 0.5).collect();
    let many: Vec<_> = (0..200).map(|i| format!("c{i}")).collect();
    let many: Vec<_> = ["x", "y", "z"].into_iter().chain(many.iter().map(|name| &**name)).collect();
    for format in Format::written() {
        let endings = if format == Format::Las { ENDINGS.to_vec() } else { vec![format.as_str()] };
        for ending in endings {
            for names in [&names[..], &many] {
                let path = folder.path().join("a").with_extension(ending);
                let row: Vec<f32> = row.iter().copied().cycle().take(names.len()).collect();
                let cloud = NamedPoints::new(Points::new(&row, names.len()).unwrap(), names);
                if let Err(e) = write(&path, cloud, &WriteOptions { format: Some(format) }) {
                    // A format may refuse what it cannot hold, and says what can.
                    assert!(e.to_string().contains("write .las or .ply, or fewer columns"), "{ending}: {e}");
                    continue;
                }
                let columns = (format == Format::Bin).then_some(names.len());
                let scan = read(&path, &ReadOptions { format: Some(format), columns, ..ReadOptions::default() });
                let scan = scan.unwrap_or_else(|e| panic!("{ending}: {e}"));
                let last = *scan.cloud.data().last().unwrap();
                assert!(scan.cloud.columns() >= names.len() && last == *row.last().unwrap(), "{ending}");
                let renamed = Scan::warnings_in(&scan, format).iter().any(|w| w.to_string().contains("written as"));
                assert!(!renamed, "{ending}: {:?}", scan.warnings_in(format));
            }
        }
    }
    let cloud = Points::new(&[0.5; 3], 3).unwrap();
    let told = write(folder.path().join("a.copc.laz"), cloud, &WriteOptions { format: Some(Format::Las) });
    assert!(told.unwrap_err().to_string().ends_with("expected .laz without .copc; COPC is only read, got .copc.laz"));
    assert_eq!(Format::for_writing("a.copc.laz"), None);
}
