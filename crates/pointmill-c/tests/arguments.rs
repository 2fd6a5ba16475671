//! Every refusal of an argument names it, and says what was expected and what it is.

mod common;

use common::*;
use pointmill_c::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

const REFUSED: pointmill_status = pointmill_status::POINTMILL_ARGUMENT;

fn texts() -> [String; 4] {
    let texts = [pointmill_last_message, pointmill_last_argument, pointmill_last_expected, pointmill_last_got];
    // SAFETY: the texts of this thread, until its next failure.
    texts.map(|text| unsafe { CStr::from_ptr(text()) }.to_str().unwrap().to_owned())
}

/// Whether a call is refused; then all parts of the message are there.
#[track_caller]
fn is_refused(status: pointmill_status) -> bool {
    if status == REFUSED {
        let [message, argument, expected, got] = texts();
        assert!(![&argument, &expected, &got].iter().any(|part| part.is_empty()), "{message}");
        assert_eq!(message, format!("{argument}: expected {expected}, got {got}"));
    }
    status == REFUSED
}

#[track_caller]
fn refused(status: pointmill_status) {
    assert!(is_refused(status), "{status:?}");
}

/// Refuses a struct that is none, and values of each field. Returns how many of them were refused.
fn fields<P: Copy>(
    init: extern "C" fn(*mut P) -> pointmill_status,
    mut create: impl FnMut(*const P) -> pointmill_status,
) -> usize {
    refused(init(null_mut()));
    // SAFETY: any bits are a value of it.
    let (mut params, zero): (P, P) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    ok(init(&raw mut params));
    refused(create(&raw const zero));
    refused(create((&raw const params).wrapping_byte_add(1)));
    ok(create(&raw const params));
    let words = size_of::<P>() / 4;
    let mut count = 0;
    for word in size_of::<usize>() / 4..words {
        // Nothing, NaN or the largest number, -1.0, and a negative number next to nothing.
        for bits in [0u32, u32::MAX, 0xbf80_0000, 0x8000_0001] {
            let mut odd = params;
            // SAFETY: a word of the struct.
            unsafe { (&raw mut odd).cast::<u32>().add(word).write(bits) };
            count += usize::from(is_refused(create(&raw const odd)));
        }
    }
    count
}

/// Refuses arrays that are none, or of no type, and so on; the call takes the array that is given.
fn arrays(good: pointmill_array, mut call: impl FnMut(*const pointmill_array) -> pointmill_status) {
    ok(call(&raw const good));
    let odd = [
        pointmill_array { struct_size: 8, ..good },
        pointmill_array { data: null_mut(), ..good },
        pointmill_array { data: (good.data as usize + 1) as *mut c_void, rows: good.rows - 1, ..good },
        pointmill_array { rows: u64::MAX, ..good },
        pointmill_array { r#type: 99, ..good },
        pointmill_array { place: 9, ..good },
        pointmill_array { place: 1, ..good },
    ];
    for (i, odd) in odd.iter().enumerate() {
        assert!(is_refused(call(&raw const *odd)), "{i}");
    }
    // These are refused by all but a few.
    let others = [
        pointmill_array { columns: 0, ..good },
        pointmill_array { columns: 1, ..good },
        pointmill_array { rows: 0, ..good },
        pointmill_array { rows: good.rows - 1, ..good },
        pointmill_array { r#type: pointmill_type::POINTMILL_BOOL as u32, ..good },
        pointmill_array { stride: 1, ..good },
    ];
    assert!(others.iter().filter(|other| is_refused(call(&raw const **other))).count() > 1);
    is_refused(call(null()));
}

/// An array of a result before there is one, and of names that there are not.
fn results(mut get: impl FnMut(*const c_char, *mut pointmill_array) -> pointmill_status) {
    let mut array = pointmill_array::new();
    for name in [c"".as_ptr(), c"nothing".as_ptr(), c"\xff".as_ptr(), null()] {
        refused(get(name, &raw mut array));
    }
}

/// Makes a worker on a stream; each way in which that is refused names an argument.
macro_rules! worker {
    ($create:ident, $stream:expr $(, $given:expr)*) => {{
        let mut made = null_mut();
        refused($create(shared($stream) $(, $given)*, None));
        refused($create(None $(, $given)*, Some(&mut made)));
        assert!(made.is_null());
        ok($create(shared($stream) $(, $given)*, Some(&mut made)));
        made
    }};
}

/// Counts the values of fields that a function which makes a worker refuses.
macro_rules! refused_fields {
    ($init:ident, $create:ident, $destroy:ident, $stream:expr $(, $given:expr)*) => {
        fields($init, |params| {
            let mut made = null_mut();
            let status = $create(shared($stream) $(, $given)*, params, Some(&mut made));
            $destroy(ended(made));
            status
        })
    };
}

/// The struct of C, made of the list of parameters.
type NmsParams = [u64; 4];

extern "C" fn nms_params_init(params: *mut NmsParams) -> pointmill_status {
    pointmill_worker_defaults(c"nms".as_ptr(), params.cast(), size_of::<NmsParams>())
}

fn nms_create(
    stream: Option<&pointmill_stream>,
    params: *const NmsParams,
    worker: Option<&mut *mut pointmill_worker>,
) -> pointmill_status {
    pointmill_worker_create(c"nms".as_ptr(), stream, params.cast(), worker)
}

#[test]
fn workers_on_boxes_and_voxels() {
    let stream = stream("cpu:1");
    assert!(
        refused_fields!(pointmill_iou_params_init, pointmill_box_iou_create, pointmill_box_iou_destroy, stream) > 3
    );
    assert!(refused_fields!(nms_params_init, nms_create, pointmill_worker_destroy, stream) > 5);
    assert!(
        refused_fields!(
            pointmill_roi_pool_params_init,
            pointmill_roi_pooler_create,
            pointmill_roi_pooler_destroy,
            stream
        ) > 8
    );
    assert!(
        refused_fields!(
            pointmill_voxelize_params_init,
            pointmill_voxelizer_create,
            pointmill_voxelizer_destroy,
            stream
        ) > 16
    );
    assert!(
        refused_fields!(
            pointmill_pillar_params_init,
            pointmill_pillar_encoder_create,
            pointmill_pillar_encoder_destroy,
            stream
        ) > 8
    );

    let boxes: Vec<f32> = (0..6).flat_map(|i| [i as f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.1]).collect();
    let (points, scores) = (street(64, 5), [0.5f32; 6]);
    let (of_boxes, of_scores, of_points) = (floats(&boxes, 7), floats(&scores, 1), floats(&points, 4));
    let (good_boxes, good_scores, good_points) = (&raw const of_boxes, &raw const of_scores, &raw const of_points);

    let iou = worker!(pointmill_box_iou_create, stream, null());
    results(|name, out| pointmill_box_iou_array(shared(iou), name, out));
    refused(pointmill_box_iou_run(None, good_boxes, good_boxes));
    arrays(of_boxes, |array| pointmill_box_iou_run(own(iou), array, good_boxes));
    arrays(of_boxes, |array| pointmill_box_iou_run(own(iou), good_boxes, array));
    results(|name, out| pointmill_box_iou_array(shared(iou), name, out));
    pointmill_box_iou_destroy(ended(iou));

    let nms = worker!(nms_create, stream, null());
    let run = |boxes, scores| run_worker(nms, &[(c"boxes", boxes), (c"scores", scores)]);
    results(|name, out| pointmill_worker_array(shared(nms), name, out));
    refused(pointmill_worker_run(None, null(), 0));
    refused(pointmill_worker_run(own(nms), null(), 1));
    let other = pointmill_input { struct_size: 8, name: c"boxes".as_ptr(), array: good_boxes };
    refused(pointmill_worker_run(own(nms), &raw const other, 1));
    refused(pointmill_worker_check(None));
    arrays(of_boxes, |array| run(array, good_scores));
    arrays(of_scores, |array| run(good_boxes, array));
    for splits in [[0u64, 9], [1, 6], [6, 0]] {
        let given = array(&splits, 1, pointmill_type::POINTMILL_U64);
        let inputs = [(c"boxes", good_boxes), (c"scores", good_scores), (c"row_splits", &raw const given)];
        refused(run_worker(nms, &inputs));
    }
    pointmill_worker_destroy(ended(nms));

    let pooler = worker!(pointmill_roi_pooler_create, stream, null());
    results(|name, out| pointmill_roi_pooler_array(shared(pooler), name, out));
    refused(pointmill_roi_pooler_run(None, good_boxes, good_points, good_points));
    arrays(of_boxes, |array| pointmill_roi_pooler_run(own(pooler), array, good_points, good_points));
    arrays(of_points, |array| pointmill_roi_pooler_run(own(pooler), good_boxes, array, good_points));
    arrays(of_points, |array| pointmill_roi_pooler_run(own(pooler), good_boxes, good_points, array));
    pointmill_roi_pooler_destroy(ended(pooler));

    let inside = worker!(pointmill_points_in_boxes_create, stream, 0, 0.0);
    let mut none = null_mut();
    refused(pointmill_points_in_boxes_create(shared(stream), 9, 0.0, Some(&mut none)));
    refused(pointmill_points_in_boxes_create(shared(stream), 0, f32::NAN, Some(&mut none)));
    results(|name, out| pointmill_points_in_boxes_array(shared(inside), name, out));
    refused(pointmill_points_in_boxes_run(None, 0, good_boxes, good_points));
    refused(pointmill_points_in_boxes_run(own(inside), 9, good_boxes, good_points));
    arrays(of_boxes, |array| pointmill_points_in_boxes_run(own(inside), 0, array, good_points));
    arrays(of_points, |array| pointmill_points_in_boxes_run(own(inside), 0, good_boxes, array));
    pointmill_points_in_boxes_destroy(ended(inside));

    let voxelizer = worker!(pointmill_voxelizer_create, stream, null());
    results(|name, out| pointmill_voxelizer_array(shared(voxelizer), name, out));
    refused(pointmill_voxelizer_run(None, good_points, null(), 0));
    arrays(of_points, |array| pointmill_voxelizer_run(own(voxelizer), array, null(), 0));
    refused(pointmill_voxelizer_run(own(voxelizer), good_points, [0u64, 99].as_ptr(), 2));
    pointmill_voxelizer_destroy(ended(voxelizer));

    let (slots, numbers, coords) = (vec![0.5f32; 4 * 8 * 4], [2i32; 4], [1i32; 12]);
    let i32_ = |values: &[i32], columns| array(values, columns, pointmill_type::POINTMILL_I32);
    let (of_slots, of_numbers, of_coords) = (floats(&slots, 32), i32_(&numbers, 1), i32_(&coords, 3));
    let (slots, numbers, coords) = (&raw const of_slots, &raw const of_numbers, &raw const of_coords);
    let encoder = worker!(pointmill_pillar_encoder_create, stream, null());
    results(|name, out| pointmill_pillar_encoder_array(shared(encoder), name, out));
    refused(pointmill_pillar_encoder_run(None, slots, 8, numbers, coords));
    refused(pointmill_pillar_encoder_run(own(encoder), slots, 0, numbers, coords));
    refused(pointmill_pillar_encoder_run(own(encoder), slots, 5, numbers, coords));
    arrays(of_slots, |array| pointmill_pillar_encoder_run(own(encoder), array, 8, numbers, coords));
    arrays(of_numbers, |array| pointmill_pillar_encoder_run(own(encoder), slots, 8, array, coords));
    arrays(of_coords, |array| pointmill_pillar_encoder_run(own(encoder), slots, 8, numbers, array));
    pointmill_pillar_encoder_destroy(ended(encoder));
    pointmill_stream_destroy(ended(stream));
}

#[test]
fn workers_on_cells() {
    let stream = stream("cpu:1");
    assert!(
        refused_fields!(
            pointmill_serialize_params_init,
            pointmill_serializer_create,
            pointmill_serializer_destroy,
            stream
        ) > 4
    );
    assert!(
        refused_fields!(
            pointmill_conv_params_init,
            pointmill_index_pairs_create,
            pointmill_index_pairs_destroy,
            stream
        ) > 10
    );
    assert!(
        refused_fields!(
            pointmill_grid_sample_params_init,
            pointmill_grid_sampler_create,
            pointmill_grid_sampler_destroy,
            stream
        ) > 6
    );
    let i32_ = |values: &[i32], columns| array(values, columns, pointmill_type::POINTMILL_I32);
    let (points, cells) = (street(64, 5), (0..60).map(|i| i % 3).collect::<Vec<i32>>());
    let batch = vec![0i32; 20];
    let (of_points, of_coords, of_cells, of_batch) =
        (floats(&points, 4), i32_(&cells, 3), i32_(&cells, 4), i32_(&batch, 1));
    let (good_coords, good_batch) = (&raw const of_coords, &raw const of_batch);

    let sampler = worker!(pointmill_grid_sampler_create, stream, null());
    results(|name, out| pointmill_grid_sampler_array(shared(sampler), name, out));
    refused(pointmill_grid_sampler_run(None, &raw const of_points, null(), 0));
    arrays(of_points, |array| pointmill_grid_sampler_run(own(sampler), array, null(), 0));
    pointmill_grid_sampler_destroy(ended(sampler));

    let serializer = worker!(pointmill_serializer_create, stream, null());
    results(|name, out| pointmill_serializer_array(shared(serializer), name, out));
    refused(pointmill_serializer_run(None, good_coords, null(), 1, null()));
    refused(pointmill_serializer_check(None));
    arrays(of_coords, |array| pointmill_serializer_run(own(serializer), array, null(), 1, null()));
    arrays(of_batch, |array| pointmill_serializer_run(own(serializer), good_coords, array, 1, null()));
    refused(pointmill_serializer_run(own(serializer), good_coords, good_batch, 0, null()));
    refused(pointmill_serializer_run(own(serializer), good_coords, good_batch, u64::MAX, null()));
    refused(pointmill_serializer_run(own(serializer), good_coords, good_batch, 1, &raw const of_batch));
    ok(pointmill_serializer_run(own(serializer), good_coords, null(), 1, null()));

    let strides = [2u32, 4];
    let pooler = worker!(pointmill_pooler_create, stream, strides.as_ptr(), null(), 2);
    let mut none = null_mut();
    refused(pointmill_pooler_create(shared(stream), null(), null(), 2, Some(&mut none)));
    refused(pointmill_pooler_create(shared(stream), [3u32].as_ptr(), null(), 1, Some(&mut none)));
    refused(pointmill_pooler_create(shared(stream), strides.as_ptr(), [0u64, 0].as_ptr(), 2, Some(&mut none)));
    results(|name, out| pointmill_pooler_array(shared(pooler), 0, name, out));
    refused(pointmill_pooler_run(None, shared(serializer), good_coords, null(), 1));
    refused(pointmill_pooler_run(own(pooler), None, good_coords, null(), 1));
    arrays(of_coords, |array| pointmill_pooler_run(own(pooler), shared(serializer), array, null(), 1));
    ok(pointmill_pooler_run(own(pooler), shared(serializer), good_coords, null(), 1));
    results(|name, out| pointmill_pooler_array(shared(pooler), 9, name, out));
    pointmill_pooler_destroy(ended(pooler));
    pointmill_serializer_destroy(ended(serializer));

    let (pairs, shape) = (worker!(pointmill_index_pairs_create, stream, null()), [4u32, 4, 4]);
    let cells = (0..16).flat_map(|i| [0, 0, i / 4, i % 4]).collect::<Vec<i32>>();
    let of_cells = pointmill_array { data: cells.as_ptr().cast_mut().cast(), rows: 16, ..of_cells };
    let good = &raw const of_cells;
    let run = |array, count, shape: Option<&[u32; 3]>| {
        pointmill_index_pairs_run(own(pairs), array, count, 1, shape, null(), None)
    };
    results(|name, out| pointmill_index_pairs_array(shared(pairs), name, out));
    refused(pointmill_index_pairs_run(None, good, null(), 1, Some(&shape), null(), None));
    refused(pointmill_index_pairs_check(None));
    arrays(of_cells, |array| run(array, null(), Some(&shape)));
    refused(run(good, null(), None));
    refused(run(good, null(), Some(&[0, 4, 4])));
    refused(run(good, good, Some(&shape)));
    refused(pointmill_index_pairs_run(own(pairs), good, null(), 1, Some(&shape), good, None));
    pointmill_index_pairs_destroy(ended(pairs));

    let sweeps = floats(&points, 4);
    let densifier = worker!(pointmill_densifier_create, stream);
    // SAFETY: any bits are a value of it.
    let mut pose: pointmill_pose = unsafe { std::mem::zeroed() };
    let run = |sweep, pose: *const pointmill_pose, lags: *const f32, count| {
        pointmill_densifier_run(own(densifier), sweep, pose, lags, count)
    };
    results(|name, out| pointmill_densifier_array(shared(densifier), name, out));
    refused(run(&raw const sweeps, &raw const pose, [0.0].as_ptr(), 1));
    [0, 5, 10, 15].iter().for_each(|&i| pose.m[i] = 1.0);
    arrays(sweeps, |array| run(array, &raw const pose, [0.0].as_ptr(), 1));
    refused(run(&raw const sweeps, null(), [0.0].as_ptr(), 1));
    refused(run(&raw const sweeps, &raw const pose, null(), 1));
    refused(run(&raw const sweeps, &raw const pose, [f32::NAN].as_ptr(), 1));
    refused(pointmill_densifier_run(None, &raw const sweeps, &raw const pose, [0.0].as_ptr(), 1));
    pointmill_densifier_destroy(ended(densifier));
    pointmill_stream_destroy(ended(stream));
}

#[test]
fn maps_and_poses() {
    let (stream, points) = (stream("cpu:1"), street(3000, 5));
    let of_points = floats(&points, 4);
    let good = &raw const of_points;
    assert!(
        refused_fields!(
            pointmill_icp_params_init,
            pointmill_icp_target_create,
            pointmill_icp_target_destroy,
            stream,
            good
        ) > 8
    );
    assert!(
        refused_fields!(
            pointmill_register_params_init,
            pointmill_register_target_create,
            pointmill_register_target_destroy,
            stream,
            good
        ) > 4
    );
    assert!(
        refused_fields!(pointmill_odometry_params_init, pointmill_odometry_create, pointmill_odometry_destroy, stream)
            > 8
    );
    let target = worker!(pointmill_icp_target_create, stream, good, null());
    // SAFETY: any bits are a value of them.
    let (mut found, mut registered, mut step, mut fix, no_pose): (
        pointmill_registration,
        pointmill_registered,
        pointmill_step,
        pointmill_fix,
        pointmill_pose,
    ) = unsafe { std::mem::zeroed() };
    let mut make = |array| {
        let mut target = null_mut();
        let status = pointmill_icp_target_create(shared(stream), array, null(), Some(&mut target));
        pointmill_icp_target_destroy(ended(target));
        status
    };
    arrays(of_points, &mut make);
    refused(pointmill_icp_target_align(shared(target), good, None, &raw mut found));
    found.struct_size = size_of_val(&found);
    refused(pointmill_icp_target_align(None, good, None, &raw mut found));
    refused(pointmill_icp_target_align(shared(target), good, None, null_mut()));
    refused(pointmill_icp_target_align(shared(target), good, Some(&no_pose), &raw mut found));
    arrays(of_points, |array| pointmill_icp_target_align(shared(target), array, None, &raw mut found));
    pointmill_icp_target_destroy(ended(target));

    let target = worker!(pointmill_register_target_create, stream, good, null());
    refused(pointmill_register_target_register(shared(target), good, &raw mut registered));
    registered.struct_size = size_of_val(&registered);
    refused(pointmill_register_target_register(None, good, &raw mut registered));
    refused(pointmill_register_target_register(shared(target), null(), &raw mut registered));
    arrays(of_points, |array| pointmill_register_target_register(shared(target), array, &raw mut registered));
    pointmill_register_target_destroy(ended(target));

    let odometry = worker!(pointmill_odometry_create, stream, null());
    results(|name, out| pointmill_odometry_array(own(odometry), name, out));
    let mut map = pointmill_array::new();
    refused(pointmill_odometry_array(None, c"map".as_ptr(), &raw mut map));
    refused(pointmill_odometry_array(own(odometry), c"map".as_ptr(), null_mut()));
    assert_eq!(pointmill_odometry_len(None), 0);
    refused(pointmill_odometry_push(own(odometry), good, null(), &raw mut step));
    step.struct_size = size_of_val(&step);
    refused(pointmill_odometry_push(None, good, null(), &raw mut step));
    refused(pointmill_odometry_push(own(odometry), good, good, &raw mut step));
    arrays(of_points, |array| pointmill_odometry_push(own(odometry), array, null(), &raw mut step));
    pointmill_odometry_destroy(ended(odometry));

    let (mut moments, mut other) = (null_mut(), null_mut());
    refused(pointmill_ndt_moments_create(0.0, None, Some(&mut moments)));
    refused(pointmill_ndt_moments_create(2.0, Some(&[f64::NAN; 3]), Some(&mut moments)));
    refused(pointmill_ndt_moments_create(2.0, None, None));
    ok(pointmill_ndt_moments_create(2.0, None, Some(&mut moments)));
    ok(pointmill_ndt_moments_create(1.0, None, Some(&mut other)));
    refused(pointmill_ndt_moments_add(None, good));
    arrays(of_points, |array| pointmill_ndt_moments_add(own(moments), array));
    refused(pointmill_ndt_moments_merge(own(moments), shared(other)));
    refused(pointmill_ndt_moments_merge(own(moments), None));
    refused(pointmill_ndt_moments_subtract(own(moments), shared(other)));
    ok(pointmill_ndt_moments_add(own(other), good));
    assert!(
        refused_fields!(
            pointmill_ndt_params_init,
            pointmill_ndt_grid_create,
            pointmill_ndt_grid_destroy,
            stream,
            shared(moments)
        ) > 4
    );
    let grid = worker!(pointmill_ndt_grid_create, stream, shared(moments), null());
    let mut none = null_mut();
    refused(pointmill_ndt_grid_create(shared(stream), None, null(), Some(&mut none)));
    results(|name, out| pointmill_ndt_grid_array(own(grid), name, out));
    let (mut pose, mut fits) = (no_pose, [0.0; 4]);
    [0, 5, 10, 15].iter().for_each(|&i| pose.m[i] = 1.0);
    let at = &raw const pose;
    refused(pointmill_ndt_grid_score(None, good, at, 1, fits.as_mut_ptr()));
    refused(pointmill_ndt_grid_score(shared(grid), good, &raw const no_pose, 1, fits.as_mut_ptr()));
    refused(pointmill_ndt_grid_score(shared(grid), good, null(), 1, fits.as_mut_ptr()));
    arrays(of_points, |array| pointmill_ndt_grid_score(shared(grid), array, at, 1, fits.as_mut_ptr()));
    refused(pointmill_ndt_grid_align(None, good, at, 1, null(), &raw mut found));
    refused(pointmill_ndt_grid_align(shared(grid), good, &raw const no_pose, 1, null(), &raw mut found));
    arrays(of_points, |array| pointmill_ndt_grid_align(shared(grid), array, at, 1, null(), &raw mut found));
    arrays(of_points, |array| {
        pointmill_ndt_grid_align_many(shared(grid), array, at, [1].as_ptr(), 1, null(), &raw mut found)
    });
    refused(pointmill_ndt_grid_align_many(shared(grid), good, at, null(), 1, null(), &raw mut found));
    let align = |params| pointmill_ndt_grid_align(shared(grid), good, at, 1, params, &raw mut found);
    assert!(fields(pointmill_ndt_align_params_init, align) > 4);

    assert!(
        refused_fields!(
            pointmill_localizer_params_init,
            pointmill_localizer_create,
            pointmill_localizer_destroy,
            stream,
            shared(grid)
        ) > 12
    );
    let localizer = worker!(pointmill_localizer_create, stream, shared(grid), null());
    let mut none = null_mut();
    refused(pointmill_localizer_create(shared(stream), None, null(), Some(&mut none)));
    refused(pointmill_localizer_start(None, Some(&pose)));
    refused(pointmill_localizer_start(own(localizer), None));
    refused(pointmill_localizer_start(own(localizer), Some(&no_pose)));
    ok(pointmill_localizer_start(own(localizer), Some(&pose)));
    refused(pointmill_localizer_push(own(localizer), good, 0.0, &raw mut fix));
    fix.struct_size = size_of_val(&fix);
    refused(pointmill_localizer_push(None, good, 0.0, &raw mut fix));
    arrays(of_points, |array| pointmill_localizer_push(own(localizer), array, f64::NAN, &raw mut fix));
    pointmill_localizer_destroy(ended(localizer));
    pointmill_ndt_grid_destroy(ended(grid));
    pointmill_ndt_moments_destroy(ended(moments));
    pointmill_ndt_moments_destroy(ended(other));
    pointmill_stream_destroy(ended(stream));
}

#[test]
fn streams_and_clouds() {
    let mut none = null_mut();
    for name in [c"".as_ptr(), c"gpu".as_ptr(), c"cpu:".as_ptr(), c"cpu:0".as_ptr(), c"\xff".as_ptr(), null()] {
        refused(pointmill_stream_create(name, Some(&mut none)));
    }
    refused(pointmill_stream_create(c"cpu".as_ptr(), None));
    refused(pointmill_stream_synchronize(None));
    refused(pointmill_stream_retire(None));
    refused(pointmill_graph_launch(None));

    let (stream, mut graph) = (stream("twin"), null_mut());
    // A function of the caller that refuses something by itself, whatever failed before.
    extern "C" fn refuses(_: *mut c_void) -> u32 {
        pointmill_status::POINTMILL_ARGUMENT as u32
    }
    let capture = |graph: &mut *mut pointmill_graph, work| {
        pointmill_stream_capture(shared(stream), Some(work), null_mut(), Some(graph))
    };
    refused(pointmill_stream_capture(shared(stream), None, null_mut(), Some(&mut graph)));
    for _ in 0..2 {
        refused(capture(&mut graph, refuses as extern "C" fn(*mut c_void) -> u32));
        assert_eq!(message(), "work: expected POINTMILL_OK, got POINTMILL_ARGUMENT");
        refused(pointmill_stream_synchronize(None));
    }
    extern "C" fn has_no_memory(_: *mut c_void) -> u32 {
        refused(pointmill_stream_synchronize(None));
        pointmill_status::POINTMILL_OUT_OF_MEMORY as u32
    }
    assert_eq!(capture(&mut graph, has_no_memory), pointmill_status::POINTMILL_OUT_OF_MEMORY);
    assert_eq!(message(), "work: expected POINTMILL_OK, got POINTMILL_OUT_OF_MEMORY");
    pointmill_stream_destroy(ended(stream));

    let (points, mut array) = ([0.0f32; 32], pointmill_array::new());
    // SAFETY: any bits are a value of it.
    let mut cloud: pointmill_cloud = unsafe { std::mem::zeroed() };
    refused(pointmill_cloud_of_layout(null_mut(), 0, points.as_ptr().cast(), 8, 0));
    refused(pointmill_cloud_of_layout(&raw mut cloud, 9, points.as_ptr().cast(), 8, 0));
    refused(pointmill_cloud_points(&raw const cloud, &raw mut array));
    ok(pointmill_cloud_of_layout(&raw mut cloud, 0, points.as_ptr().cast(), 8, 0));
    ok(pointmill_cloud_points(&raw const cloud, &raw mut array));
    refused(pointmill_cloud_points(&raw const cloud, null_mut()));
    let odd = [
        pointmill_cloud { num_fields: 2, ..cloud },
        pointmill_cloud { num_fields: 17, ..cloud },
        pointmill_cloud { point_step: 3, ..cloud },
    ];
    for cloud in &odd {
        refused(pointmill_cloud_points(&raw const *cloud, &raw mut array));
        refused(pointmill_cloud_rows(&raw const *cloud, null_mut(), 0, &raw mut array));
    }
    cloud.fields[0].r#type = 99;
    refused(pointmill_cloud_rows(&raw const cloud, null_mut(), 0, &raw mut array));
    refused(pointmill_array_of_dlpack(null(), &raw mut array));
}
