//! Files that were cut, read as far as they are whole, where that is asked for; refused with the
//! way out where it is not.
mod common;

use common::named::{Encoding, Table};
use pointmill_io::{Dtype, Format, ReadOptions, Scan, Warning, read, read_from};
use std::path::Path;

fn table() -> Table {
    Table {
        names: ["x", "y", "z", "i", "time"].map(Into::into).to_vec(),
        dtypes: vec![Dtype::F32, Dtype::F64, Dtype::F32, Dtype::U8, Dtype::F64],
        rows: (0..40)
            .map(|i| vec![0x3f80_0000 + i, 0x3ff0_0000_0000_0000 + i, 0x4000_0000 + i, i, 0x3ff0_0000_0000_0001 + i])
            .collect(),
    }
}

/// Reads bytes as a file and as a stream, which must agree.
fn both(format: Format, bytes: &[u8], salvage: bool) -> Result<Scan, String> {
    let options = ReadOptions { format: Some(format), salvage, ..ReadOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), bytes).unwrap();
    let file = read(folder.path().join("a"), &options).map_err(|e| e.to_string());
    let stream = read_from(bytes, "a", &options).map_err(|e| e.to_string());
    match (&file, &stream) {
        (Ok(file), Ok(stream)) => assert_eq!((&file.cloud, &file.warnings), (&stream.cloud, &stream.warnings)),
        (file, stream) => assert_eq!(file.is_err(), stream.is_err(), "{file:?} {stream:?}"),
    }
    file
}

/// Cuts a file of points of `record` bytes that start at `data` everywhere, and compares with the
/// whole.
fn check(format: Format, bytes: &[u8], data: usize, record: usize) {
    let whole = both(format, bytes, false).unwrap();
    assert_eq!(both(format, bytes, true).unwrap(), whole, "a file that is whole is the same");
    let columns = whole.cloud.columns();
    for end in (data..data + record * whole.cloud.len()).step_by(7) {
        let cut = &bytes[..end];
        let points = (end - data) / record;
        let refused = both(format, cut, false);
        if let Err(e) = &refused {
            let named = e.ends_with("; --salvage reads the whole points before that");
            // Rows of another number of columns are not cut.
            assert_eq!(named, !e.contains("would fit"), "{e}");
        }
        let scan = both(format, cut, true).unwrap();
        assert_eq!(scan.cloud.data(), &whole.cloud.data()[..points * columns], "{format} {end}");
        let salvaged = scan.warnings.iter().find_map(|warning| match warning {
            Warning::Salvaged { points, declared } => Some((*points as usize, *declared)),
            _ => None,
        });
        let declared = (format != Format::Kitti).then_some(whole.cloud.len() as u64);
        assert_eq!(salvaged, refused.is_err().then_some((points, declared)), "{format} {end}");
    }
}

#[test]
fn the_whole_points_of_a_cut_file_are_read() {
    let start = |bytes: &[u8], last: &str| {
        bytes.windows(last.len()).position(|window| window == last.as_bytes()).unwrap() + last.len()
    };
    for encoding in [Encoding::Little, Encoding::Big] {
        let ply = table().ply(encoding, "\n");
        check(Format::Ply, &ply, start(&ply, "end_header\n"), 25);
    }
    let pcd = table().pcd(Encoding::Little, "\n");
    check(Format::Pcd, &pcd, start(&pcd, "DATA binary\n"), 25);
    let rows: Vec<u8> = (0..160).flat_map(|i| (i as f32).to_le_bytes()).collect();
    check(Format::Kitti, &rows, 0, 16);
    let las = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las/1.2_format3.las");
    let las = std::fs::read(las).unwrap();
    let data = u32::from_le_bytes(las[96..100].try_into().unwrap()) as usize;
    check(Format::Las, &las, data, 34);
}

#[test]
fn what_is_behind_the_points_need_not_be_there_but_what_is_before_them_must() {
    let head = "ply\nformat binary_little_endian 1.0\nelement face 2\nproperty int a\nelement vertex 2\n\
                property float x\nproperty float y\nproperty float z\nelement edge 3\nproperty int b\nend_header\n";
    let bytes = [head.as_bytes(), &[1; 8 + 24 + 12]].concat();
    let read = |end: usize| both(Format::Ply, &bytes[..head.len() + end], true).map(|scan| scan.cloud.len());
    assert_eq!((read(44), read(40), read(32), read(31), read(8)), (Ok(2), Ok(2), Ok(2), Ok(1), Ok(0)));
    let cut = &bytes[..head.len() + 40];
    let e = both(Format::Ply, cut, false).unwrap_err();
    assert!(e.ends_with("; --salvage reads the whole points before that"), "{e}");
    let told = both(Format::Ply, cut, true).unwrap().warnings;
    assert!(told.contains(&Warning::Salvaged { points: 2, declared: Some(2) }), "{told:?}");
    assert!(read(7).unwrap_err().contains("element `face`: expected 8 bytes"));
}

#[test]
fn records_before_the_points_of_las_may_be_fewer_than_declared() {
    let las = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las/1.2_format3.las");
    let good = std::fs::read(las).unwrap();
    let whole = both(Format::Las, &good, false).unwrap();
    for count in [1u32 << 20, u32::MAX] {
        let mut bytes = good.clone();
        bytes[100..104].copy_from_slice(&count.to_le_bytes());
        assert!(both(Format::Las, &bytes, false).is_err());
        let scan = both(Format::Las, &bytes, true).unwrap();
        assert_eq!(scan.cloud, whole.cloud, "{count}");
        let points = whole.cloud.len() as u64;
        assert!(scan.warnings.contains(&Warning::Salvaged { points, declared: Some(points) }), "{:?}", scan.warnings);
    }
}

#[test]
fn extended_records_behind_the_points_of_las_need_not_be_there() {
    let las = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/las/1.4_format6.las");
    let mut bytes = std::fs::read(las).unwrap();
    let start = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
    let plain = both(Format::Las, &bytes, false).unwrap();
    bytes.truncate(start + 30 * plain.cloud.len());
    let end = bytes.len() as u64;
    bytes[235..243].copy_from_slice(&end.to_le_bytes());
    bytes[243..247].copy_from_slice(&1u32.to_le_bytes());
    bytes.extend([&[0; 20][..], &8u64.to_le_bytes(), &[0; 40]].concat());
    let whole = both(Format::Las, &bytes, false).unwrap();
    assert_eq!(both(Format::Las, &bytes, true).unwrap(), whole, "a file that is whole is the same");
    for cut in 1..60 {
        let cut = &bytes[..bytes.len() - cut];
        let e = both(Format::Las, cut, false).unwrap_err();
        assert!(e.ends_with("; --salvage reads the whole points before that"), "{e}");
        let scan = both(Format::Las, cut, true).unwrap();
        let points = whole.cloud.len() as u64;
        assert_eq!(scan.cloud, whole.cloud);
        assert!(scan.warnings.contains(&Warning::Salvaged { points, declared: Some(points) }), "{:?}", scan.warnings);
    }
}
