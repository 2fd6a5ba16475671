//! Clouds of messages and of files, and maps in files.

mod common;

use common::*;
use pointmill::ndt::{NdtMoments, NdtParams};
use pointmill_c::*;
use pointmill_io::{Place, ReadOptions, read, write_bin};
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::ptr::{null, null_mut};

const REFUSED: pointmill_status = pointmill_status::POINTMILL_ARGUMENT;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pointmill-c-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> CString {
        CString::new(self.0.join(name).to_str().unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn message_of(fields: &[pointmill_message_field], data: &[u8], width: u32, point_step: u32) -> pointmill_message {
    pointmill_message {
        struct_size: size_of::<pointmill_message>(),
        fields: fields.as_ptr(),
        num_fields: fields.len() as u64,
        data: data.as_ptr().cast(),
        num_bytes: data.len() as u64,
        height: 1,
        width,
        point_step,
        row_step: width * point_step,
        is_bigendian: 0,
    }
}

fn field(name: &CStr, offset: u32, datatype: u32) -> pointmill_message_field {
    pointmill_message_field { name: name.as_ptr(), offset, datatype, count: 1 }
}

fn said(text: *const c_char) -> Option<String> {
    // SAFETY: a text of a scan that is there.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned())
}

fn info(scan: *mut pointmill_scan) -> pointmill_scan_info {
    // SAFETY: any bits are a value of it.
    let mut info: pointmill_scan_info = unsafe { std::mem::zeroed() };
    info.struct_size = size_of_val(&info);
    ok(pointmill_scan_get_info(shared(scan), &raw mut info));
    info
}

/// Points of f64 and times of u32 in nanoseconds, with the highest byte first or last.
fn bytes(points: &[([f64; 3], u32)], big_endian: bool) -> Vec<u8> {
    let of_point = |&(xyz, t): &([f64; 3], u32)| {
        let mut bytes: Vec<u8> =
            xyz.iter().flat_map(|v| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() }).collect();
        bytes.extend(if big_endian { t.to_be_bytes() } else { t.to_le_bytes() });
        bytes
    };
    points.iter().flat_map(of_point).collect()
}

#[test]
fn messages_have_their_values_in_any_layout() {
    let points = [([1.0, -2.5, 0.1], 0), ([1e6 + 0.25, f64::NAN, 3.0], 50_000_000), ([0.0, -0.0, 7.0], 100_000_000)];
    let fields = [field(c"x", 0, 8), field(c"y", 8, 8), field(c"z", 16, 8), field(c"t", 24, 6)];
    for big_endian in [false, true] {
        let data = bytes(&points, big_endian);
        for row_step in [84, 0, 7, u32::MAX] {
            let given = message_of(&fields, &data, 3, 28);
            let given = pointmill_message { row_step, is_bigendian: u32::from(big_endian), ..given };
            let mut scan = null_mut();
            ok(pointmill_scan_of_message(&raw const given, Some(&mut scan)));
            let get = |name, out| pointmill_scan_array(shared(scan), name, out);
            let bits = |values: Vec<f64>| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            let wanted = points.iter().flat_map(|(xyz, _)| *xyz).collect();
            assert_eq!(bits(copied(get, "cloud")), bits(wanted));
            assert_eq!(copied::<f64>(get, "times"), [0.0, 0.05, 0.1]);
            assert_eq!(copied::<f32>(get, "points")[8..], [0.0, -0.0, 7.0, 1e8]);
            let info = info(scan);
            assert_eq!((info.points, info.columns, info.has_times, info.times_of_epoch), (3, 4, 1, 0));
            assert_eq!((info.start, info.span), (0.0, 0.1));
            let columns: Vec<_> = (0..5).map(|i| said(pointmill_scan_column(shared(scan), i))).collect();
            assert_eq!(
                columns,
                ["x", "y", "z", "t", ""].map(|name| Some(name.to_owned()).filter(|_| !name.is_empty()))
            );
            let warnings: Vec<_> = (0..).map_while(|i| said(pointmill_scan_warning(shared(scan), i))).collect();
            assert_eq!(warnings.iter().any(|text| text.contains("row_step")), row_step < 84, "{warnings:?}");
            pointmill_scan_destroy(ended(scan));
        }
    }
}

#[test]
fn an_empty_message_is_a_scan_without_points() {
    let mut scan = null_mut();
    let given = pointmill_message { fields: null(), data: null(), ..message_of(&[], &[], 0, 0) };
    ok(pointmill_scan_of_message(&raw const given, Some(&mut scan)));
    let info = info(scan);
    assert_eq!((info.points, info.has_times, info.start, info.span), (0, 0, 0.0, 0.0));
    assert!(copied::<f32>(|name, out| pointmill_scan_array(shared(scan), name, out), "cloud").is_empty());
    pointmill_scan_destroy(ended(scan));
}

#[test]
fn messages_that_lie_are_refused() {
    let fields = [field(c"x", 0, 7), field(c"y", 4, 7), field(c"z", 8, 7)];
    let data = [0u8; 24];
    let good = message_of(&fields, &data, 2, 12);
    let refused = |message: &pointmill_message, said: &str| {
        let mut scan = null_mut();
        assert_eq!(pointmill_scan_of_message(std::ptr::from_ref(message), Some(&mut scan)), REFUSED);
        assert!(scan.is_null());
        assert!(common::message().contains(said), "{}", common::message());
    };
    refused(&pointmill_message { width: 3, ..good }, "data: expected 36 bytes");
    refused(&pointmill_message { height: u32::MAX, width: u32::MAX, ..good }, "message: data");
    refused(&pointmill_message { data: null(), ..good }, "data: expected");
    refused(&pointmill_message { num_bytes: u64::MAX, ..good }, "data: expected a list that fits");
    refused(&pointmill_message { num_fields: 2, ..good }, "z");
    refused(&pointmill_message { fields: null(), ..good }, "fields: expected");
    refused(&pointmill_message { struct_size: 8, ..good }, "struct_size");
    refused(
        &pointmill_message { fields: [field(c"x", 0, 7 + 256), fields[1], fields[2]].as_ptr(), ..good },
        "datatype",
    );
    refused(&pointmill_message { fields: [field(c"x", 9, 7), fields[1], fields[2]].as_ptr(), ..good }, "field `x`");
    let nameless = pointmill_message_field { name: null(), ..fields[0] };
    refused(&pointmill_message { fields: [nameless, fields[1], fields[2]].as_ptr(), ..good }, "fields: expected text");
    assert_eq!(pointmill_scan_of_message(null(), Some(&mut null_mut())), REFUSED);
    assert_eq!(pointmill_scan_of_message(&raw const good, None), REFUSED);
    assert_eq!(pointmill_scan_get_info(None, null_mut()), REFUSED);
    assert!(pointmill_scan_column(None, 0).is_null() && pointmill_scan_warning(None, u64::MAX).is_null());
    pointmill_scan_destroy(None);
}

#[test]
fn maps_come_back_from_files_bit_by_bit() {
    let (folder, map) = (Folder::new("maps"), street(20_000, 9));
    let stream = stream("cpu");
    let (mut sums, mut grid) = (null_mut(), null_mut());
    ok(pointmill_ndt_moments_create(1.5, None, Some(&mut sums)));
    ok(pointmill_ndt_moments_add(own(sums), &floats(&map, 4)));
    ok(pointmill_ndt_grid_create(shared(stream), shared(sums), null(), Some(&mut grid)));
    let (npz, arrow, bin) = (folder.file("map.npz"), folder.file("map.arrow"), folder.file("map.bin"));
    ok(pointmill_ndt_grid_save(shared(grid), npz.as_ptr()));
    ok(pointmill_ndt_moments_save(shared(sums), arrow.as_ptr()));
    write_bin(Place::named(&folder.0.join("map.bin")), pointmill::Points::new(&map, 4).unwrap()).unwrap();

    let arrays = |grid: *mut pointmill_ndt_grid| {
        let get = |name, out| pointmill_ndt_grid_array(own(grid), name, out);
        (copied::<i32>(get, "coords"), copied::<f64>(get, "mean"), copied::<f64>(get, "inv_covariance"))
    };
    let wanted = arrays(grid);
    assert!(wanted.0.len() > 300);
    for (path, resolution) in [(&npz, 0.0), (&npz, 1.5), (&arrow, 0.0), (&arrow, 1.5), (&bin, 1.5)] {
        let mut loaded = null_mut();
        ok(pointmill_ndt_grid_load(shared(stream), path.as_ptr(), resolution, null(), Some(&mut loaded)));
        assert_eq!(pointmill_ndt_grid_len(shared(loaded)), pointmill_ndt_grid_len(shared(grid)));
        assert!(arrays(loaded) == wanted, "{path:?} {resolution}");
        pointmill_ndt_grid_destroy(ended(loaded));
    }
    // A cloud without a resolution has cells of 2 m.
    let mut loaded = null_mut();
    ok(pointmill_ndt_grid_load(shared(stream), bin.as_ptr(), 0.0, null(), Some(&mut loaded)));
    let mut library = NdtMoments::new(2.0).unwrap();
    library.add(&read(folder.0.join("map.bin"), &ReadOptions::default()).unwrap().cloud).unwrap();
    assert_eq!(
        pointmill_ndt_grid_len(shared(loaded)),
        library.finish(&NdtParams::default()).unwrap().coords.len() as u64
    );
    pointmill_ndt_grid_destroy(ended(loaded));

    // Sums that come back may be added to.
    let mut again = null_mut();
    ok(pointmill_ndt_moments_load(arrow.as_ptr(), Some(&mut again)));
    ok(pointmill_ndt_moments_subtract(own(again), shared(sums)));
    assert_eq!(pointmill_ndt_moments_len(shared(again)), 0);
    pointmill_ndt_moments_destroy(ended(again));

    // A scan of a file is what the reader gives.
    let mut scan = null_mut();
    ok(pointmill_scan_read(bin.as_ptr(), Some(&mut scan)));
    assert_eq!(copied::<f32>(|name, out| pointmill_scan_array(shared(scan), name, out), "points"), map);
    assert_eq!(copied::<f32>(|name, out| pointmill_scan_array(shared(scan), name, out), "cloud"), map);
    assert_eq!(said(pointmill_scan_column(shared(scan), 3)).as_deref(), Some("intensity"));
    pointmill_scan_destroy(ended(scan));
    pointmill_ndt_grid_destroy(ended(grid));
    pointmill_ndt_moments_destroy(ended(sums));
    pointmill_stream_destroy(ended(stream));
}

#[test]
fn files_that_cannot_be_used_are_refused_with_their_names() {
    let (folder, stream) = (Folder::new("refused"), stream("cpu"));
    let refused = |path: &CStr, resolution: f64, said: &str| {
        let mut grid = null_mut();
        let status = pointmill_ndt_grid_load(shared(stream), path.as_ptr(), resolution, null(), Some(&mut grid));
        assert_eq!((status, grid.is_null()), (REFUSED, true), "{path:?}");
        assert!(message().contains(said), "{}", message());
    };
    for name in ["none.npz", "none.arrow", "none.pcd"] {
        refused(&folder.file(name), 0.0, name);
    }
    for name in ["cut.npz", "cut.arrow", "cut.pcd", "cut.bin"] {
        std::fs::write(folder.0.join(name), [7u8; 15]).unwrap();
        refused(&folder.file(name), 0.0, name);
    }
    let mut sums = null_mut();
    ok(pointmill_ndt_moments_create(2.0, None, Some(&mut sums)));
    ok(pointmill_ndt_moments_add(own(sums), &floats(&street(2000, 4), 4)));
    let arrow = folder.file("map.arrow");
    ok(pointmill_ndt_moments_save(shared(sums), arrow.as_ptr()));
    refused(&arrow, 1.0, "resolution: expected 2");
    refused(&arrow, f64::NAN, "resolution: expected");
    assert_eq!(pointmill_ndt_moments_save(shared(sums), folder.file("no/map.arrow").as_ptr()), REFUSED);
    assert_eq!(pointmill_ndt_moments_save(None, arrow.as_ptr()), REFUSED);
    assert_eq!(pointmill_ndt_moments_save(shared(sums), null()), REFUSED);
    assert_eq!(pointmill_ndt_grid_save(None, arrow.as_ptr()), REFUSED);
    assert_eq!(pointmill_scan_read(c"\xff".as_ptr(), Some(&mut null_mut())), REFUSED);
    pointmill_ndt_moments_destroy(ended(sums));
    pointmill_stream_destroy(ended(stream));
}
