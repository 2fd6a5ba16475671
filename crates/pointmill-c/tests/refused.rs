//! Bad calls, and memory that the system refuses, end in a status.

mod common;

use common::*;
use pointmill::voxelize::{VoxelizeParams, voxelize};
use pointmill::{Device, Rows};
use pointmill_c::*;
use std::ffi::c_void;
use std::process::Command;
use std::ptr::{null, null_mut};

const REFUSED: pointmill_status = pointmill_status::POINTMILL_ARGUMENT;

#[test]
fn bad_calls_are_statuses() {
    let points = street(100, 5);
    let (stream, good) = (stream("cpu"), floats(&points, 4));
    let mut voxelizer: *mut pointmill_voxelizer = null_mut();
    let create = |params: *const pointmill_voxelize_params, out: &mut *mut pointmill_voxelizer| {
        pointmill_voxelizer_create(shared(stream), params, Some(out))
    };
    assert_eq!(pointmill_voxelizer_create(None, null(), Some(&mut voxelizer)), REFUSED);
    assert_eq!(message(), "stream: expected a handle, got null");
    assert_eq!(pointmill_voxelizer_create(shared(stream), null(), None), REFUSED);
    // SAFETY: any bits are a value of it.
    let mut params: pointmill_voxelize_params = unsafe { std::mem::zeroed() };
    assert_eq!(create(&raw const params, &mut voxelizer), REFUSED);
    assert!(message().contains("struct_size"), "{}", message());
    ok(pointmill_voxelize_params_init(&raw mut params));
    params.order = 7;
    assert_eq!(create(&raw const params, &mut voxelizer), REFUSED);
    assert_eq!(message(), "order: expected 0 to 1, got 7");
    let odd = (&raw const params).wrapping_byte_add(1);
    assert_eq!(create(odd, &mut voxelizer), REFUSED);
    assert!(message().contains("aligned") && voxelizer.is_null());

    ok(create(null(), &mut voxelizer));
    let run = |array: *const pointmill_array| pointmill_voxelizer_run(own(voxelizer), array, null(), 0);
    let byte = |by: usize| (good.data as usize + by) as *mut c_void;
    let cases = [
        (pointmill_array { struct_size: 8, ..good }, "struct_size"),
        (pointmill_array { data: null_mut(), ..good }, "null"),
        (pointmill_array { data: byte(2), rows: 10, ..good }, "aligned"),
        (pointmill_array { rows: u64::MAX, ..good }, "fit in memory"),
        (pointmill_array { r#type: 99, ..good }, "pointmill_type"),
        (pointmill_array { r#type: 8, rows: 50, ..good }, "f32"),
        (pointmill_array { place: 1, ..good }, "GPU"),
        (pointmill_array { place: 9, ..good }, "place"),
        (pointmill_array { stride: 4, ..good }, "row to row"),
        (pointmill_array { columns: 2, ..good }, "columns"),
    ];
    for (array, expected) in cases {
        assert_eq!(run(&raw const array), REFUSED);
        assert!(message().contains(expected), "{expected}: {}", message());
    }
    assert_eq!(run(null()), REFUSED);
    ok(run(&raw const good));
    let splits = [0u64, 101];
    assert_eq!(pointmill_voxelizer_run(own(voxelizer), &raw const good, splits.as_ptr(), 2), REFUSED);
    let mut view = pointmill_array::new();
    assert_eq!(pointmill_voxelizer_array(shared(voxelizer), c"coords".as_ptr(), &raw mut view), REFUSED);
    assert_eq!(message(), "coords: expected a result, got none: the last call of pointmill_voxelizer_run failed");
    ok(run(&raw const good));
    let mut short = floats(&points, 4);
    assert_eq!(pointmill_voxelizer_array(shared(voxelizer), c"voxels".as_ptr(), &raw mut short), REFUSED);
    assert!(message().starts_with("voxels: expected memory for "), "{}", message());
    let mut wrong = pointmill_array { r#type: 5, ..short };
    assert_eq!(pointmill_voxelizer_array(shared(voxelizer), c"voxels".as_ptr(), &raw mut wrong), REFUSED);
    assert_eq!(message(), "voxels: expected memory of type f32, as the result has, got i32");
    let mut counts = [0u32; 12];
    let two_rows = array(&counts, 6, pointmill_type::POINTMILL_U32);
    let mut gaps = pointmill_array { stride: 40, data: counts.as_mut_ptr().cast(), ..two_rows };
    assert_eq!(pointmill_voxelizer_array(shared(voxelizer), c"counts".as_ptr(), &raw mut gaps), REFUSED);
    assert_eq!(message(), "counts: expected rows without gaps, 24 bytes apart, or a stride of 0, got 40 bytes");
    gaps.rows = 1;
    ok(pointmill_voxelizer_array(shared(voxelizer), c"counts".as_ptr(), &raw mut gaps));
    let report = voxelize(Rows::f32(&points, 4).unwrap(), &VoxelizeParams::default(), &Device::cpu()).unwrap().report();
    assert_eq!(counts[5] as usize, report.unwrap().points_kept);
    assert_eq!(pointmill_voxelizer_array(shared(voxelizer), c"nothing".as_ptr(), &raw mut short), REFUSED);
    assert!(message().starts_with("name: expected counts, coords, "), "{}", message());
    pointmill_voxelizer_destroy(ended(voxelizer));
    pointmill_voxelizer_destroy(None);
    pointmill_stream_destroy(ended(stream));
    let mut none = null_mut();
    assert_eq!(pointmill_stream_create(c"gpu".as_ptr(), Some(&mut none)), REFUSED);
    assert!(none.is_null());
}

/// Runs in a process that may have 2 GB.
#[test]
fn refused_memory_is_a_status() {
    const LIMITED: &str = "POINTMILL_TEST_LIMITED";
    if std::env::var_os(LIMITED).is_none() {
        let limited = "ulimit -v 2000000; exec \"$0\" --exact refused_memory_is_a_status --nocapture";
        let this = std::env::current_exe().unwrap();
        let output = Command::new("sh").args(["-c", limited]).arg(this).env(LIMITED, "1").output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let (stream, points) = (stream("cpu:1"), street(100, 8));
    let run = |capacity| {
        // SAFETY: any bits are a value of it.
        let mut given: pointmill_grid_sample_params = unsafe { std::mem::zeroed() };
        ok(pointmill_grid_sample_params_init(&raw mut given));
        given.capacity = capacity;
        let mut sampler = null_mut();
        ok(pointmill_grid_sampler_create(shared(stream), &raw const given, Some(&mut sampler)));
        let status = pointmill_grid_sampler_run(own(sampler), &floats(&points, 4), null(), 0);
        if status == OK {
            let get = |name, out| pointmill_grid_sampler_array(shared(sampler), name, out);
            assert!((1..=100).contains(&copied::<u32>(get, "counts")[0]));
        }
        pointmill_grid_sampler_destroy(ended(sampler));
        status
    };
    assert_eq!(run((1 << 30) - 1), pointmill_status::POINTMILL_OUT_OF_MEMORY, "{}", message());
    ok(run(100));
    pointmill_stream_destroy(ended(stream));
}
