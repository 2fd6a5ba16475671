//! E57 files of another program against the values that numpy makes of them, files made by the
//! decoder's own writer, and files that lie.
mod common;

use common::damage::wounded;
use common::random::Random;
use common::valid::Valid;
use e57::{E57Writer, Extension, Quaternion, Record, RecordDataType, RecordName, RecordValue, Transform, Translation};
use pointmill_io::{Dtype, Format, IoError, Limits, ReadOptions, Scan, Warning, read, read_from, read_npz};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/e57")
}

fn options() -> ReadOptions {
    ReadOptions { format: Some(Format::E57), ..ReadOptions::default() }
}

fn open(bytes: &[u8]) -> Result<Scan, IoError> {
    read_from(bytes, "a.e57", &options())
}

fn refused(bytes: &[u8]) -> String {
    open(bytes).map_or_else(|e| format!("{}: {e}", e.class()), |_| "it is read".into())
}

fn double(name: RecordName) -> Record {
    Record { name, data_type: RecordDataType::Double { min: None, max: None } }
}

fn whole(name: RecordName, min: i64, max: i64) -> Record {
    Record { name, data_type: RecordDataType::Integer { min, max } }
}

const CARTESIAN: [RecordName; 3] = [RecordName::CartesianX, RecordName::CartesianY, RecordName::CartesianZ];
const SPHERICAL: [RecordName; 3] =
    [RecordName::SphericalRange, RecordName::SphericalAzimuth, RecordName::SphericalElevation];

/// A scan: what a point has, the points, and a pose.
type Made = (Vec<Record>, Vec<Vec<RecordValue>>, Option<Transform>);

/// A file of scans.
fn file(scans: &[Made]) -> Vec<u8> {
    let mut out = Cursor::new(vec![]);
    let mut writer = E57Writer::new(&mut out, "file").unwrap();
    let is_own = |record: &Record| matches!(record.name, RecordName::Unknown { .. });
    if scans.iter().any(|(prototype, ..)| prototype.iter().any(is_own)) {
        writer.register_extension(Extension::new("nor", "http://www.libe57.org/E57_NOR_surface_normals.txt")).unwrap();
    }
    for (prototype, points, pose) in scans {
        let mut scan = writer.add_pointcloud("scan", prototype.clone()).unwrap();
        scan.set_transform(pose.clone());
        points.iter().for_each(|point| scan.add_point(point.clone()).unwrap());
        scan.finalize().unwrap();
    }
    writer.finalize().unwrap();
    drop(writer);
    out.into_inner()
}

fn doubles(values: &[f64]) -> Vec<RecordValue> {
    values.iter().map(|v| RecordValue::Double(*v)).collect()
}

/// A file with a text in its description changed, and the checksums made anew.
fn changed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut pages = unsealed(bytes);
    let at = pages.windows(from.len()).position(|w| w == from.as_bytes()).expect("the text is there");
    pages[at..at + from.len()].copy_from_slice(to.as_bytes());
    sealed(&pages)
}

/// A file with another description and the checksums that it must have. The description is the last
/// part of a file.
fn described(bytes: &[u8], change: impl FnOnce(&str) -> String) -> Vec<u8> {
    let content = unsealed(bytes);
    let number = |at: usize| u64::from_le_bytes(content[at..at + 8].try_into().unwrap()) as usize;
    let (at, length) = (number(24) / 1024 * 1020 + number(24) % 1024, number(32));
    let xml = change(str::from_utf8(&content[at..at + length]).unwrap());
    let mut content = [&content[..at], xml.as_bytes()].concat();
    content[32..40].copy_from_slice(&(xml.len() as u64).to_le_bytes());
    sealed(&content)
}

/// The content of a file without its checksums.
fn unsealed(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(1024).flat_map(|page| page[..1020].to_vec()).collect()
}

/// Content as a file with the checksums that it must have, and its length in the header.
fn sealed(content: &[u8]) -> Vec<u8> {
    let mut content = content.to_vec();
    content.resize(content.len().next_multiple_of(1020).max(1020), 0);
    let length = content.len() / 1020 * 1024;
    content[16..24].copy_from_slice(&(length as u64).to_le_bytes());
    content.chunks(1020).flat_map(|page| [page, &crc32c(page).to_be_bytes()].concat()).collect()
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, b| {
        (0..8).fold(sum ^ u32::from(*b), |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 })
    })
}

#[test]
fn files_of_libe57_give_their_values() {
    for name in ["posed", "cartesian"] {
        let path = fixtures().join(format!("{name}.e57"));
        let wanted = read_npz(path.with_extension("npz")).unwrap();
        let scan = read(&path, &ReadOptions::default()).unwrap();
        let stream = read_from(&std::fs::read(&path).unwrap()[..], name, &options()).unwrap();
        assert_eq!((&stream.xyz_f64, &stream.warnings), (&scan.xyz_f64, &scan.warnings));
        let names: Vec<_> = scan.fields.iter().map(|f| &*f.name).collect();
        assert_eq!(names.join(" ").as_bytes(), wanted["names"].as_u8().unwrap(), "{name}");
        let exact = wanted["xyz"].as_f64().unwrap();
        let found = scan.xyz();
        assert_eq!(found.as_flattened().len(), exact.len());
        // A pose is a sum of products, whose order is ours.
        assert!(found.as_flattened().iter().zip(exact).all(|(a, b)| (a - b).abs() <= 1e-9), "{name}");
        let columns = wanted["columns"].as_f32().unwrap();
        for (a, b) in scan.cloud.data().chunks(names.len()).zip(columns.chunks(names.len())) {
            assert!(a[3..].iter().zip(&b[3..]).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())));
        }
        let counts = wanted["counts"].as_i64().unwrap();
        let (all, valid): (i64, i64) = counts.chunks(2).fold((0, 0), |(a, b), n| (a + n[0], b + n[1]));
        let left_out = Warning::Invalid { count: (all - valid) as usize, points: all as usize };
        assert_eq!(scan.warnings.contains(&left_out), all > valid, "{name}: {:?}", scan.warnings);
        // One scan.
        let first = read(&path, &ReadOptions { scan: Some(0), ..options() }).unwrap();
        assert_eq!(first.cloud.len() as i64, counts[1]);
        let e = read(&path, &ReadOptions { scan: Some(2), ..options() }).unwrap_err();
        assert!(e.to_string().contains("scan: expected a number below"), "{e}");
    }
    let e = read_from(&[0u8; 16][..], "a.bin", &ReadOptions { scan: Some(0), ..ReadOptions::default() }).unwrap_err();
    assert_eq!(e.to_string(), "a.bin: scan: expected an E57 file, which alone has scans, got kitti");
}

/// Files of the decoder's own tests, where they lie beside the checkout.
#[test]
fn samples_have_their_points() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/e57");
    if !folder.is_dir() {
        return;
    }
    let bunny = read(folder.join("bunnyFloat.e57"), &ReadOptions::default()).unwrap();
    assert_eq!((bunny.cloud.len(), bunny.fields.len()), (30_571, 3));
    let first = bunny.cloud.points().xyz(0);
    assert!(first.iter().zip([-0.07063, 0.04015, 0.001226]).all(|(a, b)| (a - b).abs() < 1e-6), "{first:?}");
    let spherical = read(folder.join("tiny_spherical.e57"), &ReadOptions::default()).unwrap();
    assert_eq!(spherical.cloud.len(), 180);
    assert!(spherical.warnings.contains(&Warning::Invalid { count: 180, points: 360 }));
}

#[test]
fn spherical_coordinates_become_xyz() {
    let mut prototype = SPHERICAL.map(double).to_vec();
    prototype.push(whole(RecordName::SphericalInvalidState, 0, 2));
    let point = |r: f64, a: f64, e: f64, state| [doubles(&[r, a, e]), vec![RecordValue::Integer(state)]].concat();
    let half = std::f64::consts::FRAC_PI_2;
    let points =
        vec![point(2.0, 0.0, 0.0, 0), point(3.0, half, 0.0, 0), point(9.0, 1.0, 1.0, 2), point(4.0, 1.0, half, 0)];
    let scan = open(&file(&[(prototype, points, None)])).unwrap();
    let wanted = [[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]];
    assert!(scan.xyz().as_flattened().iter().zip(wanted.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-15));
    assert!(scan.warnings.contains(&Warning::Invalid { count: 1, points: 4 }));
}

/// Normals turn with the pose of their scan, whatever they are called and of whatever type.
#[test]
fn normals_turn_with_the_pose_of_their_scan() {
    let quarter = std::f64::consts::FRAC_1_SQRT_2;
    let pose = Transform {
        rotation: Quaternion { w: quarter, x: 0.0, y: 0.0, z: quarter },
        translation: Translation { x: 100.0, y: 0.0, z: 0.0 },
    };
    let named = |name: &str| RecordName::Unknown { namespace: "nor".into(), name: name.into() };
    let of = |names: [&str; 3]| names.map(|name| double(named(name))).to_vec();
    let point = doubles(&[1.0, 2.0, 3.0, 1.0, 0.0, 0.5]);
    for names in [["normalX", "normalY", "normalZ"], ["nx", "ny", "nz"], ["velocity_x", "velocity_y", "velocity_z"]] {
        let prototype = [CARTESIAN.map(double).to_vec(), of(names)].concat();
        let scans =
            [(prototype.clone(), vec![point.clone()], Some(pose.clone())), (prototype, vec![point.clone()], None)];
        let scan = open(&file(&scans)).unwrap();
        let rows: Vec<_> = scan.cloud.data().iter().map(|v| (f64::from(*v) * 1e6).round() / 1e6).collect();
        assert_eq!(rows, [98.0, 1.0, 3.0, 0.0, 1.0, 0.5, 1.0, 2.0, 3.0, 1.0, 0.0, 0.5], "{names:?}");
    }
    // Whole numbers are none once they are turned.
    let prototype = [
        CARTESIAN.map(double).to_vec(),
        ["normalX", "normalY", "normalZ"].map(|n| whole(named(n), -127, 127)).to_vec(),
    ]
    .concat();
    let point = [doubles(&[1.0, 2.0, 3.0]), [100, 0, 50].map(RecordValue::Integer).to_vec()].concat();
    let scan = open(&file(&[(prototype, vec![point], Some(pose))])).unwrap();
    assert_eq!(scan.fields[3].dtype, Dtype::F64);
    assert!((scan.cloud.data()[4] - 100.0).abs() < 1e-4);
}

#[test]
fn columns_of_all_scans_are_there_and_flags_make_nan() {
    let scaled = |name| Record {
        name,
        data_type: RecordDataType::ScaledInteger { min: -1000, max: 1000, scale: 0.5, offset: 100.0 },
    };
    let mut prototype = CARTESIAN.map(scaled).to_vec();
    prototype.extend([
        whole(RecordName::ColorRed, 0, 255),
        whole(RecordName::ColorGreen, 0, 255),
        whole(RecordName::ColorBlue, 0, 65535),
    ]);
    prototype.push(whole(RecordName::IsColorInvalid, 0, 1));
    let point = |n: i64, flag| {
        let xyz = [n, n + 1, n + 2].map(RecordValue::ScaledInteger);
        [&xyz[..], &[7, 8, 9, flag].map(RecordValue::Integer)].concat()
    };
    let times = [CARTESIAN.map(double).to_vec(), vec![double(RecordName::TimeStamp)]].concat();
    let turned = Transform {
        rotation: Quaternion { w: 0.0, x: 0.0, y: 0.0, z: 1.0 },
        translation: Translation { x: 10.0, y: 20.0, z: 30.0 },
    };
    let scans = [
        (prototype, vec![point(-4, 0), point(2, 1)], None),
        (times, vec![doubles(&[1.0, 2.0, 3.0, 0.25]), doubles(&[1.0, 2.0, 3.0, 0.5])], Some(turned)),
    ];
    let scan = open(&file(&scans)).unwrap();
    let fields: Vec<_> = scan.fields.iter().map(|f| format!("{} {}", f.name, f.dtype)).collect();
    assert_eq!(fields.join(", "), "x f64, y f64, z f64, red u8, green u8, blue u16, time_stamp f64");
    assert_eq!(scan.xyz(), [[98.0, 98.5, 99.0], [101.0, 101.5, 102.0], [9.0, 18.0, 33.0], [9.0, 18.0, 33.0]]);
    let columns: Vec<_> = scan.cloud.data().chunks(7).map(|row| format!("{:?}", &row[3..])).collect();
    let nan = "[NaN, NaN, NaN, NaN]";
    assert_eq!(columns, ["[7.0, 8.0, 9.0, NaN]", nan, "[NaN, NaN, NaN, 0.25]", "[NaN, NaN, NaN, 0.5]"]);
    let times = scan.times().unwrap();
    assert_eq!((&*times.name, times.start, times.seconds[3]), ("time_stamp", 0.25, 0.25));
    assert_eq!(scan.fields[3].dtype, Dtype::U8);
}

#[test]
fn files_that_lie_are_refused() {
    let points: Vec<_> = (0..100).map(|i| doubles(&[f64::from(i), 1.0, 2.0])).collect();
    let unit = Transform {
        rotation: Quaternion { w: 1.0, x: 0.0, y: 0.0, z: 0.0 },
        translation: Translation { x: 0.5, y: 0.0, z: 0.0 },
    };
    let good = file(&[(CARTESIAN.map(double).to_vec(), points, Some(unit))]);
    assert_eq!(open(&good).unwrap().cloud.len(), 100);
    assert!(
        refused(b"ASTM-E56................................................")
            .starts_with("BadHeader: a.e57: header: expected ASTM-E57")
    );
    assert!(refused(&good[..20]).starts_with("Truncated: a.e57: header: expected 48 bytes, got 20 bytes"));
    for end in [1024, good.len() - 1024, good.len() - 1] {
        assert!(refused(&good[..end]).starts_with("Truncated: a.e57: length"), "{end}");
    }
    assert!(refused(&[&good[..], &[0; 1024]].concat()).starts_with("SizeMismatch: a.e57: length"));
    // Any bit that is not the one that was written.
    for at in (60..good.len()).step_by(97) {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        let found = refused(&bytes);
        assert!(found.starts_with("Decompress: a.e57: pages") && found.contains("checksum"), "{at}: {found}");
    }
    // The description lies, under checksums that are right.
    let lie = |from: &str, to: &str| refused(&changed(&good, from, to));
    assert!(
        lie("recordCount=\"100\"", "recordCount=\"999\"").contains("expected 999 points of 192 bits, got a file of")
    );
    assert!(lie("recordCount=\"100\"", "recordCount=\"101\"").starts_with("BadHeader: a.e57: points"));
    assert!(lie("recordCount=\"100\"", "recordCount=\"-10\"").starts_with("BadHeader: a.e57: description"));
    assert!(lie("<cartesianX", "<cartesianQ").starts_with("BadHeader: a.e57: description"));
    assert!(lie("fileOffset=\"48\"", "fileOffset=\"99\"").starts_with("BadHeader"));
    assert!(
        lie("<w type=\"Float\">1<", "<w type=\"Float\">3<").starts_with("BadValue: a.e57: pose: expected a rigid pose")
    );
    assert!(lie("<?xml", "<!xml").starts_with("BadHeader: a.e57: description"));
    // Constant values alone take no bytes, so any number of them would be there.
    let constant = [(0, 1), (1, 1), (1, 1)].into_iter().zip(CARTESIAN).map(|((min, max), name)| whole(name, min, max));
    let bytes = file(&[(constant.collect(), vec![vec![RecordValue::Integer(1); 3]; 5], None)]);
    assert_eq!(open(&bytes).unwrap().cloud.len(), 5);
    let found = refused(&changed(&bytes, "minimum=\"0\" maximum=\"1\"", "minimum=\"1\" maximum=\"1\""));
    assert_eq!(found, "BadHeader: a.e57: prototype: values: expected one that is not constant, got none");
    let limits = Limits { max_points: Some(99), ..Limits::default() };
    let e = read_from(&good[..], "a.e57", &ReadOptions { limits, ..options() }).unwrap_err();
    assert_eq!(e.class(), "LimitExceeded");
}

/// A hundred points in one scan.
fn hundred() -> Vec<u8> {
    let points = (0..100).map(|i| doubles(&[f64::from(i), 1.0, 2.0])).collect();
    file(&[(CARTESIAN.map(double).to_vec(), points, None)])
}

#[test]
fn sections_past_the_end_and_cycles_are_refused() {
    let good = hundred();
    let content = unsealed(&good);
    // Where the file says that its description is, then where the points are: past the end, in the
    // header of the file, in the header of the section itself.
    for (at, value, told) in [
        (24, 1 << 40, "description"),
        (24, 0, "description"),
        (32, 1 << 40, "XML"),
        (32, good.len() as u64, "description"),
        (64, 1 << 40, "points"),
        (64, 0, "points"),
        (64, 48, "points"),
    ] {
        let mut lie = content.clone();
        lie[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
        let used = allocation_counter::measure(|| {
            let found = refused(&sealed(&lie));
            assert!(found.contains(&format!(": a.e57: {told}: expected ")), "{at}, {value}: {found}");
        });
        assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
    }
    for offset in ["0", "1020", "99999999999", "18446744073709551615", "-1"] {
        let bytes = described(&good, |xml| xml.replace("fileOffset=\"48\"", &format!("fileOffset=\"{offset}\"")));
        let found = refused(&bytes);
        assert!(found.contains(": a.e57: points: ") || found.contains(": a.e57: description: "), "{offset}: {found}");
    }
}

#[test]
fn descriptions_that_grow_are_refused() {
    let good = hundred();
    // Many scans whose points are the same bytes of the file.
    let many = described(&good, |xml| {
        let (start, end) = (xml.find("<vectorChild").unwrap(), xml.find("</vectorChild>").unwrap() + 14);
        format!("{}{}{}", &xml[..start], xml[start..end].repeat(1000), &xml[end..])
    });
    let used = allocation_counter::measure(|| {
        let found = refused(&many);
        assert!(
            found.starts_with("SizeMismatch: a.e57: scans: expected 1000 scans with 2400000 bytes of points"),
            "{found}"
        );
    });
    assert!(used.bytes_max < 32 * many.len() as u64, "{} bytes", used.bytes_max);
    assert_eq!(read_from(&many[..], "a.e57", &ReadOptions { scan: Some(999), ..options() }).unwrap().cloud.len(), 100);
    // Entities, which may refer to each other.
    let entities = "<!DOCTYPE e57Root [<!ENTITY a \"&b;\"><!ENTITY b \"&a;&a;\">]><e57Root";
    let found = refused(&described(&good, |xml| xml.replacen("<e57Root", entities, 1)));
    assert!(found.starts_with("BadHeader: a.e57: description: expected a valid E57 file, got "), "{found}");
    // Elements in elements, which no reader looks for: neither the stack nor the time grows with
    // them.
    let deep = ["<a>".repeat(100_000), "</a>".repeat(100_000), "</e57Root>".into()].concat();
    let start = Instant::now();
    assert_eq!(open(&described(&good, |xml| xml.replacen("</e57Root>", &deep, 1))).unwrap().cloud.len(), 100);
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A file of packets, behind the header of their section, with scans of so many points with these
/// values.
fn packets(packets: &[u8], scans: &[(u64, String)]) -> Vec<u8> {
    let mut content = unsealed(&hundred())[..48].to_vec();
    content.extend([&[1, 0, 0, 0, 0, 0, 0, 0][..], &(32 + packets.len() as u64).to_le_bytes()].concat());
    content.extend([80u64.to_le_bytes(), [0; 8]].concat());
    content.extend(packets);
    let at = content.len();
    let xml = described(&hundred(), |xml| {
        let (start, end) = (xml.find("<vectorChild").unwrap(), xml.find("</vectorChild>").unwrap() + 14);
        let scans = scans.iter().map(|(points, prototype)| {
            let points = format!("<points type=\"CompressedVector\" fileOffset=\"48\" recordCount=\"{points}\">");
            let prototype = format!("<prototype type=\"Structure\">{prototype}</prototype>");
            format!("<vectorChild type=\"Structure\">{points}{prototype}</points></vectorChild>")
        });
        format!("{}{}{}", &xml[..start], scans.collect::<String>(), &xml[end..])
    });
    let xml = unsealed(&xml);
    let start = xml.windows(5).position(|w| w == b"<?xml").unwrap();
    let end = xml.windows(10).position(|w| w == b"</e57Root>").unwrap() + 10;
    content.extend(&xml[start..end]);
    content[24..32].copy_from_slice(&((at / 1020 * 1024 + at % 1020) as u64).to_le_bytes());
    content[32..40].copy_from_slice(&((end - start) as u64).to_le_bytes());
    sealed(&content)
}

/// A packet of these streams.
fn packet(streams: &[&[u8]]) -> Vec<u8> {
    let number = |n: usize| (n as u16).to_le_bytes();
    let sizes = streams.iter().flat_map(|stream| number(stream.len()));
    let mut out: Vec<u8> = [1, 0, 0, 0].into_iter().chain(number(streams.len())).chain(sizes).collect();
    out.extend(streams.concat());
    out.resize(out.len().next_multiple_of(4), 0);
    let length = number(out.len() - 1);
    out[2..4].copy_from_slice(&length);
    out
}

/// A value of the description.
fn value(name: &str, max: u32) -> String {
    format!("<{name} type=\"Integer\" minimum=\"0\" maximum=\"{max}\"/>")
}

#[test]
fn packets_are_walked_over_once() {
    let prototype = [value("cartesianX", 255), value("cartesianY", 0), value("cartesianZ", 1)].concat();
    // An index, which says its own length with its header, and an ignored packet; streams whose
    // parts lie in several packets.
    let index = [&[0, 0, 19, 0][..], &[0; 16]].concat();
    let data = [packet(&[&[1], &[], &[2]]), index, vec![2, 0, 7, 0, 9, 9, 9, 9], packet(&[&[2, 3], &[], &[]])].concat();
    let scan = open(&packets(&data, &[(3, prototype.clone())])).unwrap();
    assert_eq!(scan.xyz(), [[1.0, 0.0, 0.0], [2.0, 0.0, 1.0], [3.0, 0.0, 0.0]]);
    // More than a page of content, and many small packets.
    let many = (0..3000u32).flat_map(|i| packet(&[&[i as u8], &[], &[u8::from(i % 8 == 0)]])).collect::<Vec<u8>>();
    let scan = open(&packets(&many, &[(3000, prototype.clone())])).unwrap();
    assert!(scan.xyz().iter().enumerate().all(|(i, p)| p[0] == f64::from(i as u8)));
    // Scans of a point each that all walk over the same packets.
    let ignored = [[2, 0, 3, 0].repeat(5000), packet(&[&[1], &[], &[0]])].concat();
    assert_eq!(open(&packets(&ignored, &[(1, prototype.clone())])).unwrap().cloud.len(), 1);
    let found = refused(&packets(&ignored, &vec![(1, prototype.clone()); 50]));
    let wanted = "SizeMismatch: a.e57: scans: expected packets of their own, which together have no more bytes than the file, got the same packets for several scans";
    assert_eq!(found, wanted);
    // Packets that are none.
    for (packet, wanted) in [
        (
            vec![3, 0, 3, 0],
            "BadHeader: a.e57: points: expected a packet of kind 0 to 2 of a multiple of 4 bytes, got kind 3 of 4 bytes",
        ),
        (
            vec![2, 0, 4, 0, 0, 0, 0, 0],
            "BadHeader: a.e57: points: expected a packet of kind 0 to 2 of a multiple of 4 bytes, got kind 2 of 5 bytes",
        ),
        (packet(&[&[1], &[]]), "BadHeader: a.e57: points: expected a packet of 3 streams, got 2"),
        (vec![1, 0, 3, 0], "BadHeader: a.e57: points: expected a packet of 3 streams, got 0"),
        (
            vec![1, 0, 7, 0, 3, 0, 1, 0],
            "BadHeader: a.e57: points: expected streams in a packet of 8 bytes, got 1 bytes behind 8",
        ),
        (vec![2, 0, 255, 255], "Truncated: a.e57: points: expected 65536 bytes at 80, got "),
    ] {
        let found = refused(&packets(&packet, &[(1, prototype.clone())]));
        assert!(found.starts_with(wanted), "{found}");
    }
}

#[test]
fn values_that_run_ahead_or_take_no_bits_are_bounded() {
    // A stream of bits is full, the others come at the end: what is held are its bytes.
    let bits = packet(&[&[], &[], &[], &[0x55; 60_000]]).repeat(10);
    let prototype =
        [value("cartesianX", 255), value("cartesianY", 1), value("cartesianZ", 1), value("intensity", 1)].concat();
    let bytes = packets(&[bits, packet(&[&[7], &[1], &[0], &[]])].concat(), &[(1, prototype)]);
    let used = allocation_counter::measure(|| assert_eq!(open(&bytes).unwrap().xyz(), [[7.0, 1.0, 0.0]]));
    assert!(used.bytes_max < 5 * bytes.len() as u64, "{} bytes for {}", used.bytes_max, bytes.len());
    let limits = Limits { max_memory: Some(500_000), ..Limits::default() };
    let e = read_from(&bytes[..], "a.e57", &ReadOptions { limits, ..options() }).unwrap_err();
    assert!(e.class() == "LimitExceeded" && e.to_string().contains("--max-memory"), "{e}");
    // A bit for 31 constants more, and a bit for the columns of other scans.
    let constants = |n| (0..n).map(|i| value(&format!("c{i}"), 0)).collect::<String>();
    let xyz = [value("cartesianX", 1), value("cartesianY", 0), value("cartesianZ", 0)].concat();
    let streams = [&[&[0x55; 20_000][..]][..], &[&[][..]; 31]].concat();
    let bytes = packets(&packet(&streams), &[(160_000, xyz + &constants(29))]);
    let used = allocation_counter::measure(|| {
        let found = refused(&bytes);
        let wanted = "LimitExceeded: a.e57: data unpacked: expected at most 16777216 bytes (16 MiB or 64 times the file; --max-decoded-bytes allows more), got 24320000 bytes";
        assert_eq!(found, wanted);
    });
    assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
    let limits = Limits { max_decoded_bytes: Some(1 << 30), ..Limits::default() };
    assert_eq!(read_from(&bytes[..], "a.e57", &ReadOptions { limits, ..options() }).unwrap().cloud.len(), 160_000);
}

#[test]
fn descriptions_that_take_time_are_refused() {
    let good = hundred();
    let with = |text: &str| described(&good, |xml| xml.replacen("</e57Root>", &format!("{text}</e57Root>"), 1));
    let attributes: String = (0..65).map(|i| format!(" a{i}=\"\"")).collect();
    let found = refused(&with(&format!("<x{attributes}/>")));
    assert_eq!(found, "LimitExceeded: a.e57: description: attributes of an element: expected at most 64, got 65");
    let spaces: String = (0..64).map(|i| format!(" xmlns:n{i}=\"u{i}\"")).collect();
    let found = refused(&with(&format!("<x{spaces}/>")));
    assert_eq!(found, "LimitExceeded: a.e57: description: namespaces: expected at most 64, got 65");
    // Columns are counted while they come.
    let scans = |n: usize| -> Vec<_> {
        let column = |i: usize| value(&format!("c{i}"), 1);
        let xyz = ["cartesianX", "cartesianY", "cartesianZ"].map(|name| value(name, 1)).concat();
        (0..n).map(|k| (0, xyz.clone() + &(0..28).map(|i| column(28 * k + i)).collect::<String>())).collect()
    };
    assert_eq!(open(&packets(&[], &scans(36))).unwrap().fields.len(), 3 + 28 * 36);
    let found = refused(&packets(&[], &scans(200)));
    assert_eq!(found, "LimitExceeded: a.e57: columns: expected at most 1024, got 1025");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &good).unwrap();
    let limits = Limits { max_memory: Some(4000), ..Limits::default() };
    let e = read(file.path(), &ReadOptions { limits, ..options() }).unwrap_err();
    assert!(
        e.class() == "LimitExceeded" && e.to_string().contains("description: memory: expected at most 4000"),
        "{e}"
    );
}

/// Damage under checksums that are right: what no checksum finds. `POINTMILL_WOUNDS` sets the
/// number of files, `POINTMILL_SEED` another seed.
#[test]
fn damaged_files_are_refused_or_read() {
    let number =
        |name, default| std::env::var(name).map_or(default, |text: String| text.parse().expect("a whole number"));
    let (wounds, mut random) = (number("POINTMILL_WOUNDS", 2000), Random::new(number("POINTMILL_SEED", 1)));
    let polar: Vec<_> = (0..30).map(|i| doubles(&[f64::from(i), 0.1 * f64::from(i), 0.5])).collect();
    let mut good = vec![file(&[(SPHERICAL.map(double).to_vec(), polar, None)])];
    good.extend(["posed", "cartesian"].map(|name| std::fs::read(fixtures().join(format!("{name}.e57"))).unwrap()));
    let valid: Vec<_> = good
        .iter()
        .map(|bytes| {
            let bytes = unsealed(bytes);
            let at = bytes.windows(5).position(|w| w == b"<?xml").unwrap();
            let numbers = [(24, 8), (32, 8), (48, 1), (56, 8), (64, 8), (72, 8), (80, 1), (82, 2), (84, 2), (86, 2)];
            let name = "a.e57".into();
            Valid {
                name,
                format: Format::E57,
                bytes,
                boundaries: vec![0, 48, at],
                numbers: numbers.to_vec(),
                header: 0,
                text: false,
            }
        })
        .collect();
    let (mut read, mut seen) = (0, 0);
    for _ in 0..wounds {
        let (one, other) = (random.pick(&valid), random.pick(&valid));
        let bytes = sealed(&wounded(one, other, &mut random));
        let start = Instant::now();
        let used = allocation_counter::measure(|| match open(&bytes) {
            Ok(_) => read += 1,
            Err(e) => {
                let told = e.to_string();
                assert!(told.starts_with("a.e57: ") && !told.chars().any(char::is_control), "{told:?}");
                assert!(!["Io", "OutOfMemory", "InvalidArgument"].contains(&e.class()), "{told}");
            }
        });
        seen += 1;
        // A bit may become an `f32` and an `f64`.
        let most = (4 << 20) + 400 * bytes.len() as u64;
        assert!(used.bytes_max < most, "{} bytes of memory, at most {most}", used.bytes_max);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    println!("{seen} files, {read} read");
    assert!(read > 0 && read < seen);
}
