//! A result is that of the last call, and no array reaches beyond its memory. Arguments of another
//! shape are refused by name.

mod common;

use common::*;
use pointmill_c::*;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

const REFUSED: pointmill_status = pointmill_status::POINTMILL_ARGUMENT;

fn ints(values: &[i32], columns: usize) -> pointmill_array {
    array(values, columns, pointmill_type::POINTMILL_I32)
}

fn argument() -> String {
    // SAFETY: the text of this thread, until its next failure.
    unsafe { CStr::from_ptr(pointmill_last_argument()) }.to_str().unwrap().to_owned()
}

/// Asks for an array before a call, after one, and after one that failed.
fn only_after_a_call(
    name: &CStr,
    call: &str,
    mut run: impl FnMut(bool) -> pointmill_status,
    get: impl Fn(*const c_char, *mut pointmill_array) -> pointmill_status,
) {
    let ask = || {
        let mut view = pointmill_array::new();
        get(name.as_ptr(), &raw mut view)
    };
    let name_text = name.to_str().unwrap();
    assert_eq!(ask(), REFUSED, "{call}");
    assert_eq!(message(), format!("{name_text}: expected a result, got none: call {call} first"));
    ok(run(true));
    ok(ask());
    assert_eq!(run(false), REFUSED, "{call}");
    assert_eq!(ask(), REFUSED, "{call}");
    assert_eq!(message(), format!("{name_text}: expected a result, got none: the last call of {call} failed"));
    assert_eq!(argument(), name_text);
    ok(run(true));
    ok(ask());
}

/// Makes a handle, asks it, and destroys it.
macro_rules! walk {
    ($name:ident: $handle:ty, $create:expr, $array:literal, $run:expr, $get:ident, $destroy:ident) => {{
        let mut $name: *mut $handle = null_mut();
        ok($create(&mut $name));
        let call = concat!(stringify!($handle), "_run");
        only_after_a_call($array, call, |good| $run($name, good), |name, out| $get(shared($name), name, out));
        $destroy(ended($name));
    }};
}

#[test]
fn arrays_are_there_after_a_call_that_succeeded() {
    let (stream, points) = (stream("cpu"), street(100, 3));
    let coords: Vec<i32> = (0..40).flat_map(|i| [i % 8, i / 8, 0]).collect();
    let cells: Vec<i32> = (0..40).flat_map(|i| [0, 0, i / 8, i % 8]).collect();
    let boxes: Vec<f32> = (0..5).flat_map(|i| [i as f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.1]).collect();
    let scores = [0.5f32, 0.4, 0.9, 0.1, 0.2];
    let (points, coords, cells) = (floats(&points, 4), ints(&coords, 3), ints(&cells, 4));
    let (boxes, scores) = (floats(&boxes, 7), floats(&scores, 1));
    let given = |good: bool, array: &pointmill_array| if good { std::ptr::from_ref(array) } else { null() };
    let s = || shared(stream);
    walk!(h: pointmill_voxelizer, |h| pointmill_voxelizer_create(s(), null(), Some(h)), c"counts",
        |h, good| pointmill_voxelizer_run(own(h), given(good, &points), null(), 0),
        pointmill_voxelizer_array, pointmill_voxelizer_destroy);
    walk!(h: pointmill_grid_sampler, |h| pointmill_grid_sampler_create(s(), null(), Some(h)), c"rows",
        |h, good| pointmill_grid_sampler_run(own(h), given(good, &points), null(), 0),
        pointmill_grid_sampler_array, pointmill_grid_sampler_destroy);
    walk!(h: pointmill_serializer, |h| pointmill_serializer_create(s(), null(), Some(h)), c"codes",
        |h, good| pointmill_serializer_run(own(h), given(good, &coords), null(), 0, null()),
        pointmill_serializer_array, pointmill_serializer_destroy);
    walk!(h: pointmill_index_pairs, |h| pointmill_index_pairs_create(s(), null(), Some(h)), c"table",
        |h, good| pointmill_index_pairs_run(own(h), given(good, &cells), null(), 1, Some(&[1, 5, 8]), null(), None),
        pointmill_index_pairs_array, pointmill_index_pairs_destroy);
    walk!(h: pointmill_box_iou, |h| pointmill_box_iou_create(s(), null(), Some(h)), c"iou",
        |h, good| pointmill_box_iou_run(own(h), given(good, &boxes), &raw const boxes),
        pointmill_box_iou_array, pointmill_box_iou_destroy);
    walk!(h: pointmill_worker, |h| pointmill_worker_create(c"nms".as_ptr(), s(), null(), Some(h)), c"rows",
        |h, good| run_worker(h, &[(c"boxes", given(good, &boxes)), (c"scores", &raw const scores)]),
        pointmill_worker_array, pointmill_worker_destroy);
    walk!(h: pointmill_worker, |h| pointmill_worker_create(c"downsample".as_ptr(), s(), null(), Some(h)), c"row_splits",
        |h, good| run_worker(h, &[(c"points", given(good, &points))]),
        pointmill_worker_array, pointmill_worker_destroy);
    walk!(h: pointmill_worker, |h| pointmill_worker_create(c"furthest_point_sample".as_ptr(), s(), null(), Some(h)), c"rows",
        |h, good| run_worker(h, &[(c"points", given(good, &points))]),
        pointmill_worker_array, pointmill_worker_destroy);
    walk!(h: pointmill_worker, |h| pointmill_worker_create(c"ball_query".as_ptr(), s(), null(), Some(h)), c"num_points",
        |h, good| run_worker(h, &[(c"points", given(good, &points)), (c"centres", &raw const points)]),
        pointmill_worker_array, pointmill_worker_destroy);
    walk!(h: pointmill_worker, |h| pointmill_worker_create(c"knn".as_ptr(), s(), null(), Some(h)), c"squared_distances",
        |h, good| run_worker(h, &[(c"points", given(good, &points)), (c"queries", &raw const points)]),
        pointmill_worker_array, pointmill_worker_destroy);
    walk!(h: pointmill_roi_pooler, |h| pointmill_roi_pooler_create(s(), null(), Some(h)), c"pooled",
        |h, good| pointmill_roi_pooler_run(own(h), given(good, &boxes), &raw const points, &raw const points),
        pointmill_roi_pooler_array, pointmill_roi_pooler_destroy);
    for (question, name) in [(0, c"part"), (1, c"count"), (2, c"indices"), (3, c"row_splits")] {
        let mut h: *mut pointmill_points_in_boxes = null_mut();
        ok(pointmill_points_in_boxes_create(s(), 0, 0.0, Some(&mut h)));
        let run = |good| pointmill_points_in_boxes_run(own(h), question, given(good, &boxes), &raw const points);
        let get = |name, out| pointmill_points_in_boxes_array(shared(h), name, out);
        only_after_a_call(name, "pointmill_points_in_boxes_run", run, get);
        pointmill_points_in_boxes_destroy(ended(h));
    }
    let lag = 0.0f32;
    let mut one = pointmill_pose { m: [0.0; 16] };
    for i in 0..4 {
        one.m[5 * i] = 1.0;
    }
    walk!(h: pointmill_densifier, |h| pointmill_densifier_create(s(), Some(h)), c"points",
        |h, good| pointmill_densifier_run(own(h), given(good, &points), &raw const one, &raw const lag, 1),
        pointmill_densifier_array, pointmill_densifier_destroy);
    let voxels = vec![1.0f32; 3 * 2 * 4];
    let (voxels, numbers, corners) = (floats(&voxels, 8), [2, 1, 2], [0i32, 1, 2, 0, 2, 3, 0, 3, 4]);
    let (numbers, corners) = (ints(&numbers, 1), ints(&corners, 3));
    walk!(h: pointmill_pillar_encoder, |h| pointmill_pillar_encoder_create(s(), null(), Some(h)), c"features",
        |h, good| pointmill_pillar_encoder_run(own(h), given(good, &voxels), 2, &raw const numbers, &raw const corners),
        pointmill_pillar_encoder_array, pointmill_pillar_encoder_destroy);
    // The larger cells are of those that a serializer ordered.
    let (mut serializer, mut pooler) = (null_mut(), null_mut());
    ok(pointmill_serializer_create(s(), null(), Some(&mut serializer)));
    ok(pointmill_serializer_run(own(serializer), &raw const coords, null(), 0, null()));
    ok(pointmill_pooler_create(s(), [2u32].as_ptr(), null(), 1, Some(&mut pooler)));
    let run = |good| pointmill_pooler_run(own(pooler), shared(serializer), given(good, &coords), null(), 0);
    let get = |name, out| pointmill_pooler_array(shared(pooler), 0, name, out);
    only_after_a_call(c"codes", "pointmill_pooler_run", run, get);
    pointmill_pooler_destroy(ended(pooler));
    pointmill_serializer_destroy(ended(serializer));
    pointmill_stream_destroy(ended(stream));
}

#[test]
fn other_shapes_are_refused_by_name() {
    let stream = stream("cpu");
    let s = || shared(stream);
    let numbers: Vec<i32> = (0..12).map(|i| i % 3).collect();
    let (mut serializer, mut pairs, mut encoder, mut suppressor) = (null_mut(), null_mut(), null_mut(), null_mut());
    ok(pointmill_serializer_create(s(), null(), Some(&mut serializer)));
    ok(pointmill_index_pairs_create(s(), null(), Some(&mut pairs)));
    ok(pointmill_pillar_encoder_create(s(), null(), Some(&mut encoder)));
    ok(pointmill_worker_create(c"nms".as_ptr(), s(), null(), Some(&mut suppressor)));
    let refused = |status: pointmill_status, name: &str| {
        assert_eq!((status, argument().as_str()), (REFUSED, name), "{}", message());
    };
    for columns in [1, 2, 4, 6, 12] {
        let cells = ints(&numbers, columns);
        refused(pointmill_serializer_run(own(serializer), &raw const cells, null(), 0, null()), "coords");
    }
    let (cells, row) = (ints(&numbers, 3), ints(&numbers[..4], 4));
    refused(pointmill_serializer_run(own(serializer), &raw const cells, &raw const row, 3, null()), "batch");
    for columns in [1, 2, 3, 6, 12] {
        let cells = ints(&numbers, columns);
        let status = pointmill_index_pairs_run(own(pairs), &raw const cells, null(), 3, Some(&[9; 3]), null(), None);
        refused(status, "coords");
    }
    let voxels = [1.0f32; 16];
    let (voxels, counts) = (floats(&voxels, 8), ints(&numbers[..2], 1));
    for (columns, values) in [(6, 6), (2, 6), (1, 6), (3, 9), (3, 3), (4, 12), (8, 8)] {
        let coords = ints(&numbers[..values], columns);
        let status =
            pointmill_pillar_encoder_run(own(encoder), &raw const voxels, 2, &raw const counts, &raw const coords);
        refused(status, "coords");
    }
    let coords = ints(&numbers[..6], 3);
    for (columns, values) in [(2, 2), (1, 3)] {
        let counts = ints(&numbers[..values], columns);
        let status =
            pointmill_pillar_encoder_run(own(encoder), &raw const voxels, 2, &raw const counts, &raw const coords);
        refused(status, "num_points");
    }
    let boxes: Vec<f32> = (0..5).flat_map(|i| [i as f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.1]).collect();
    let (boxes, scores, classes) = (floats(&boxes, 7), floats(&[0.5; 5], 1), ints(&numbers[..5], 5));
    let all = [(c"boxes", &raw const boxes), (c"scores", &raw const scores), (c"classes", &raw const classes)];
    refused(run_worker(suppressor, &all), "classes");
    refused(run_worker(suppressor, &all[1..2]), "boxes");
    refused(run_worker(suppressor, &[(c"box", &raw const boxes)]), "inputs");
    refused(run_worker(suppressor, &[all[0], all[1], (c"row_splits", &raw const classes)]), "row_splits");
    refused(pointmill_worker_create(c"nmx".as_ptr(), s(), null(), Some(&mut null_mut())), "operator");
    let mut params = [0u64; 5];
    refused(pointmill_worker_defaults(c"nms".as_ptr(), params.as_mut_ptr().cast(), 16), "params");
    ok(pointmill_worker_defaults(c"nms".as_ptr(), params.as_mut_ptr().cast(), 32));
    let create = |params: &[u64; 5]| {
        pointmill_worker_create(c"nms".as_ptr(), s(), params.as_ptr().cast(), Some(&mut null_mut()))
    };
    for (at, word, name) in [(1, 9, "metric"), (1, u64::from(2f32.to_bits()) << 32, "threshold"), (2, 7 << 32, "")] {
        let mut changed = params;
        changed[at] = word;
        let status = create(&changed);
        if name.is_empty() { ok(status) } else { refused(status, name) }
    }
    refused(create(&[8, 0, 0, 0, 0]), "params");
    pointmill_serializer_destroy(ended(serializer));
    pointmill_index_pairs_destroy(ended(pairs));
    pointmill_pillar_encoder_destroy(ended(encoder));
    pointmill_worker_destroy(ended(suppressor));
    pointmill_stream_destroy(ended(stream));
}

#[test]
fn parameters_are_refused_by_name() {
    let stream = stream("cpu");
    let mut voxelizer = null_mut();
    let mut refused = |change: &dyn Fn(&mut pointmill_voxelize_params), name: &str| {
        // SAFETY: any bits are a value of it.
        let mut params: pointmill_voxelize_params = unsafe { std::mem::zeroed() };
        ok(pointmill_voxelize_params_init(&raw mut params));
        change(&mut params);
        assert_eq!(pointmill_voxelizer_create(shared(stream), &raw const params, Some(&mut voxelizer)), REFUSED);
        // SAFETY: the texts of this thread, until its next failure.
        let [expected, got] =
            unsafe { [pointmill_last_expected(), pointmill_last_got()].map(|text| CStr::from_ptr(text)) };
        let parts = format!("{name}: expected {}, got {}", expected.to_str().unwrap(), got.to_str().unwrap());
        assert_eq!((argument().as_str(), message()), (name, parts));
    };
    refused(&|params| params.voxel_size[1] = 0.0, "voxel_size[1]");
    refused(&|params| params.range.swap(2, 5), "range[2]");
    refused(&|params| params.range = [0.0, 0.0, 0.0, 1e-3, 1.0, 1.0], "grid[0]");
    refused(&|params| (params.range, params.voxel_size) = ([0.0, 0.0, 0.0, 1e9, 1e9, 1e9], [1.0; 3]), "grid");
    refused(&|params| params.max_voxels = 0, "max_voxels");
    refused(&|params| params.pick = 3, "pick");
    refused(&|params| (params.pick, params.pick_value) = (2, 1 << 32), "pick_value");
    // SAFETY: any bits are a value of it.
    let mut params: pointmill_grid_sample_params = unsafe { std::mem::zeroed() };
    ok(pointmill_grid_sample_params_init(&raw mut params));
    (params.pick, params.pick_value) = (pointmill_pick::POINTMILL_PICK_NTH as u32, (1 << 32) + 3);
    let mut sampler = null_mut();
    assert_eq!(pointmill_grid_sampler_create(shared(stream), &raw const params, Some(&mut sampler)), REFUSED);
    assert_eq!(message(), "pick_value: expected a number below 2^32 for POINTMILL_PICK_NTH, got 4294967299");
    params.pick = pointmill_pick::POINTMILL_PICK_RANDOM as u32;
    ok(pointmill_grid_sampler_create(shared(stream), &raw const params, Some(&mut sampler)));
    pointmill_grid_sampler_destroy(ended(sampler));
    pointmill_stream_destroy(ended(stream));
}
