//! Calls through C give the bytes of the library.

mod common;

use common::*;
use pointmill::boxes::{Candidates, NmsParams, nms};
use pointmill::icp::IcpParams;
use pointmill::ndt::{NdtMoments, NdtParams};
use pointmill::registration::global::{RegisterParams, Verdict, register};
use pointmill::roi_pool::{RoiPoolParams, Scene, roi_pool};
use pointmill::sparse::{GridSampleParams, SerializeParams, grid_sample, serialize};
use pointmill::voxelize::{Outputs, Pick, VoxelizeParams, voxelize};
use pointmill::{Device, Pose, Rows};
use pointmill_c::*;
use pointmill_slam::odometry::{Odometry, OdometryParams, SweepStatus};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

const REFUSED: pointmill_status = pointmill_status::POINTMILL_ARGUMENT;

#[test]
fn voxels_cells_and_orders_are_those_of_the_library() {
    let points = street(20_000, 1);
    for (name, device) in [("cpu", Device::cpu()), ("twin", Device::twin())] {
        let stream = stream(name);
        for (number, value, pick) in [
            (0, 0, Pick::First),
            (1, u64::MAX, Pick::Random { seed: u64::MAX }),
            (2, 3, Pick::RoundRobin { column: 3 }),
        ] {
            let params = VoxelizeParams {
                max_voxels: 5000,
                pick,
                outputs: Outputs { padded: true, ..Outputs::default() },
                ..VoxelizeParams::default()
            };
            let expected = voxelize(Rows::f32(&points, 4).unwrap(), &params, &device).unwrap().read().unwrap();
            // SAFETY: any bits are a value of it.
            let mut given: pointmill_voxelize_params = unsafe { std::mem::zeroed() };
            ok(pointmill_voxelize_params_init(&raw mut given));
            given.max_voxels = 5000;
            (given.pick, given.pick_value) = (number, value);
            let mut voxelizer = null_mut();
            ok(pointmill_voxelizer_create(shared(stream), &raw const given, Some(&mut voxelizer)));
            ok(pointmill_voxelizer_run(own(voxelizer), &floats(&points, 4), null(), 0));
            let get = |name, out| pointmill_voxelizer_array(shared(voxelizer), name, out);
            assert_eq!(copied::<i32>(get, "coords"), expected.coords);
            assert_eq!(copied::<i32>(get, "num_points"), expected.num_points);
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&copied::<f32>(get, "voxels")), bits(expected.voxels.as_ref().unwrap()));
            assert_eq!(copied::<i32>(get, "point_to_voxel"), *expected.point_to_voxel.as_ref().unwrap());
            let report = expected.report;
            let counted = copied::<u32>(get, "counts");
            assert_eq!(counted[..2], [report.voxels as u32, report.voxels_found as u32]);
            pointmill_voxelizer_destroy(ended(voxelizer));
        }

        let sampled = grid_sample(Rows::f32(&points, 4).unwrap(), &GridSampleParams::new([0.5; 3]), &device).unwrap();
        let serialize_params = SerializeParams { depth: Some(9), ..SerializeParams::default() };
        let order = serialize(sampled.cells().unwrap(), &serialize_params, &device).unwrap().read().unwrap();
        let sampled = sampled.read().unwrap();
        // SAFETY: as above.
        let mut given: pointmill_grid_sample_params = unsafe { std::mem::zeroed() };
        ok(pointmill_grid_sample_params_init(&raw mut given));
        given.grid_size = [0.5; 3];
        let (mut sampler, mut serializer) = (null_mut(), null_mut());
        ok(pointmill_grid_sampler_create(shared(stream), &raw const given, Some(&mut sampler)));
        ok(pointmill_grid_sampler_run(own(sampler), &floats(&points, 4), null(), 0));
        let get = |name, out| pointmill_grid_sampler_array(shared(sampler), name, out);
        let cells = sampled.report.cells;
        assert_eq!(copied::<u32>(get, "counts")[0] as usize, cells);
        assert_eq!(copied::<i32>(get, "grid_coord")[..3 * cells], sampled.grid_coord);
        assert_eq!(copied::<i32>(get, "inverse"), sampled.inverse);
        let view = |name: &CStr| {
            let mut view = pointmill_array::new();
            ok(get(name.as_ptr(), &raw mut view));
            view
        };
        // SAFETY: as above.
        let mut given: pointmill_serialize_params = unsafe { std::mem::zeroed() };
        ok(pointmill_serialize_params_init(&raw mut given));
        given.depth = 9;
        ok(pointmill_serializer_create(shared(stream), &raw const given, Some(&mut serializer)));
        let (coords, batch, count) = (view(c"grid_coord"), view(c"batch"), view(c"counts"));
        ok(pointmill_serializer_run(own(serializer), &raw const coords, &raw const batch, 1, &raw const count));
        let get = |name, out| pointmill_serializer_array(shared(serializer), name, out);
        let (all, room) = (copied::<u32>(get, "order"), points.len() / 4);
        for k in 0..4 {
            assert_eq!(all[k * room..][..cells], order.order[k * cells..][..cells], "{name}, order {k}");
        }
        pointmill_serializer_destroy(ended(serializer));
        pointmill_grid_sampler_destroy(ended(sampler));
        pointmill_stream_destroy(ended(stream));
    }
}

#[test]
fn boxes_and_pooling_are_those_of_the_library() {
    let boxes: Vec<f32> =
        (0..40).flat_map(|i| [(i % 10) as f32 * 1.5, (i / 10) as f32, 0.0, 4.0, 2.0, 1.5, i as f32 * 0.1]).collect();
    let scores: Vec<f32> = (0..40).map(|i| ((i * 7) % 40) as f32 / 40.0).collect();
    let points = street(4000, 2);
    let xyz: Vec<f32> = points.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    let features: Vec<f32> = points.chunks_exact(4).map(|p| p[3] * p[0]).collect();
    let (rows, points) = (Rows::new(&boxes, 7).unwrap(), Rows::new(&xyz, 3).unwrap());
    let candidates = Candidates::new(rows, Rows::new(&scores, 1).unwrap());
    let expected = nms(candidates, &NmsParams::default(), &Device::cpu()).unwrap().read().unwrap();
    let pooled =
        roi_pool(Scene::new(rows, points), Rows::new(&features, 1).unwrap(), &RoiPoolParams::default(), &Device::cpu());
    let pooled = pooled.unwrap().read().unwrap();
    for name in ["cpu", "twin"] {
        let (stream, mut suppressor, mut pooler) = (stream(name), null_mut(), null_mut());
        let (boxes, scores) = (floats(&boxes, 7), floats(&scores, 1));
        ok(pointmill_worker_create(c"nms".as_ptr(), shared(stream), null(), Some(&mut suppressor)));
        ok(run_worker(
            suppressor,
            &[(c"boxes", &raw const boxes), (c"scores", &raw const scores), (c"classes", null())],
        ));
        let get = |name, out| pointmill_worker_array(shared(suppressor), name, out);
        let kept = copied::<i32>(get, "num_kept")[0] as usize;
        assert_eq!(copied::<i32>(get, "rows")[..kept], expected.rows);
        ok(pointmill_worker_check(shared(suppressor)));
        pointmill_worker_destroy(ended(suppressor));
        let (xyz, features) = (floats(&xyz, 3), floats(&features, 1));
        ok(pointmill_roi_pooler_create(shared(stream), null(), Some(&mut pooler)));
        ok(pointmill_roi_pooler_run(own(pooler), &raw const boxes, &raw const xyz, &raw const features));
        let get = |name, out| pointmill_roi_pooler_array(shared(pooler), name, out);
        assert_eq!(pointmill::AnyArray::F32(copied(get, "pooled")), pooled.pooled);
        assert_eq!(copied::<i32>(get, "argmax"), *pooled.argmax.as_ref().unwrap());
        pointmill_roi_pooler_destroy(ended(pooler));
        pointmill_stream_destroy(ended(stream));
    }
}

#[test]
fn alignments_are_those_of_the_library() {
    let (map, scan) = (street(30_000, 3), street(6_000, 4));
    let (of_map, of_scan) = (Rows::f32(&map, 4).unwrap(), Rows::f32(&scan, 4).unwrap());
    let guess = Pose::from_xyzrpy([0.3, -0.2, 0.0, 0.0, 0.0, 0.02]).unwrap();
    let mut m = [0.0; 16];
    m.copy_from_slice(guess.matrix().as_flattened());
    let given = pointmill_pose { m };
    // A matrix is made rigid where it comes in.
    let guess = Pose::from_matrix(&guess.matrix()).unwrap();
    let stream = stream("cpu");
    let (map_array, scan_array) = (floats(&map, 4), floats(&scan, 4));
    // SAFETY: any bits are a value of it.
    let mut found: pointmill_registration = unsafe { std::mem::zeroed() };
    found.struct_size = size_of_val(&found);

    let mut moments = NdtMoments::new(2.0).unwrap();
    moments.add(of_map).unwrap();
    let cells = moments.finish(&NdtParams::default()).unwrap();
    let (mut sums, mut tile, mut grid) = (null_mut(), null_mut(), null_mut());
    ok(pointmill_ndt_moments_create(2.0, None, Some(&mut sums)));
    ok(pointmill_ndt_moments_create(2.0, None, Some(&mut tile)));
    ok(pointmill_ndt_moments_add(own(sums), &raw const map_array));
    ok(pointmill_ndt_moments_add(own(tile), &raw const scan_array));
    ok(pointmill_ndt_moments_merge(own(sums), shared(tile)));
    ok(pointmill_ndt_moments_subtract(own(sums), shared(tile)));
    ok(pointmill_ndt_grid_create(shared(stream), shared(sums), null(), Some(&mut grid)));
    assert_eq!(pointmill_ndt_grid_len(shared(grid)) as usize, cells.report.voxels);
    let get = |name, out| pointmill_ndt_grid_array(own(grid), name, out);
    assert_eq!(copied::<f64>(get, "mean"), cells.mean.as_flattened());
    assert_eq!(copied::<f64>(get, "inv_covariance"), cells.inverse.as_flattened());
    let library = pointmill::ndt::NdtGrid::from_cells(cells, *moments.lattice(), &Device::cpu().stream().unwrap());
    let expected = &library.unwrap().align(of_scan, &[guess], &Default::default()).unwrap()[0];
    ok(pointmill_ndt_grid_align(shared(grid), &raw const scan_array, &raw const given, 1, null(), &raw mut found));
    assert_eq!(found.target_from_source.m, *expected.target_from_source.matrix().as_flattened());
    assert_eq!(
        (found.nvtl, found.score, found.iterations),
        (expected.fit.nvtl, expected.fit.score, expected.iterations as u64)
    );
    pointmill_ndt_grid_destroy(ended(grid));
    pointmill_ndt_moments_destroy(ended(tile));
    pointmill_ndt_moments_destroy(ended(sums));

    let expected = pointmill::icp::align(of_scan, of_map, &guess, &IcpParams::default(), &Device::cpu()).unwrap();
    let mut target = null_mut();
    ok(pointmill_icp_target_create(shared(stream), &raw const map_array, null(), Some(&mut target)));
    ok(pointmill_icp_target_align(shared(target), &raw const scan_array, Some(&given), &raw mut found));
    assert_eq!(found.target_from_source.m, *expected.target_from_source.matrix().as_flattened());
    assert_eq!((found.pairs, found.inlier_rmse), (expected.fit.num_inliers as u64, expected.fit.inlier_rmse));
    pointmill_icp_target_destroy(ended(target));

    for level in [false, true] {
        let params = RegisterParams { level, ..RegisterParams::default() };
        let expected = register(of_scan, of_map, &params, &Device::cpu()).unwrap();
        let mut target = null_mut();
        // SAFETY: any bits are a value of both.
        let (mut given, mut registered): (pointmill_register_params, pointmill_registered) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        (given.struct_size, registered.struct_size) = (size_of_val(&given), size_of_val(&registered));
        ok(pointmill_register_params_init(&raw mut given));
        given.level = u32::from(level);
        ok(pointmill_register_target_create(shared(stream), &raw const map_array, &raw const given, Some(&mut target)));
        ok(pointmill_register_target_register(shared(target), &raw const scan_array, &raw mut registered));
        assert_eq!(registered.target_from_source.m, *expected.target_from_source.matrix().as_flattened());
        assert_eq!((registered.matches, registered.margin), (expected.matches as u64, expected.margin));
        assert_eq!(registered.verdict as usize, Verdict::ALL.iter().position(|one| *one == expected.verdict).unwrap());
        pointmill_register_target_destroy(ended(target));
    }

    let params = OdometryParams { keep_map: true, ..OdometryParams::default() };
    let mut library = Odometry::new(&Device::cpu().stream().unwrap(), &params).unwrap();
    // SAFETY: any bits are a value of it.
    let (mut odometry, mut given) = (null_mut(), unsafe { std::mem::zeroed::<pointmill_odometry_params>() });
    ok(pointmill_odometry_params_init(&raw mut given));
    given.keep_map = 1;
    ok(pointmill_odometry_create(shared(stream), &raw const given, Some(&mut odometry)));
    let get = |name, out| pointmill_odometry_array(own(odometry), name, out);
    let flat = |pose: &Pose| pose.matrix().as_flattened().to_vec();
    let none: [Vec<f64>; 3] = ["poses", "seconds", "map"].map(|name| copied(get, name));
    assert!(none.iter().all(Vec::is_empty) && pointmill_odometry_len(shared(odometry)) == 0);
    let times: Vec<f64> = (0..scan.len() / 4).map(|i| 7.0 + 0.1 * i as f64 / 2000.0).collect();
    let (mut poses, mut seconds, mut status) = (vec![], vec![], vec![]);
    // Another view, without times and with them, the same again, and no points.
    for (sweep, times) in [(&map[..], None), (&scan, Some(&times)), (&scan, None), (&[], None)] {
        let expected = library.push(Rows::f32(sweep, 4).unwrap(), times.map(|times| &times[..])).unwrap();
        // SAFETY: any bits are a value of it.
        let mut step: pointmill_step = unsafe { std::mem::zeroed() };
        step.struct_size = size_of_val(&step);
        let given = times.map(|times| array(times, 1, pointmill_type::POINTMILL_F64));
        let given = given.as_ref().map_or(null(), std::ptr::from_ref);
        ok(pointmill_odometry_push(own(odometry), &floats(sweep, 4), given, &raw mut step));
        assert_eq!(step.world_from_sensor.m, *flat(&expected.world_from_sensor));
        assert_eq!(step.map_points as usize, expected.map_points);
        poses.extend(flat(&expected.world_from_sensor));
        seconds.push(expected.time.unwrap_or(f64::NAN).to_bits());
        status.push(SweepStatus::ALL.iter().position(|one| *one == expected.status).unwrap() as u32);
        // The map is that of the last sweep, asked for twice or not.
        assert_eq!(copied::<f64>(get, "map"), library.map().unwrap().as_flattened());
    }
    assert_eq!(pointmill_odometry_len(shared(odometry)), 4);
    assert_eq!(copied::<f64>(get, "poses"), poses);
    let made = copied::<f64>(get, "seconds");
    assert!(made[0].is_nan() && (7.1..7.2).contains(&made[1]), "{made:?}");
    assert_eq!(made.iter().map(|s| s.to_bits()).collect::<Vec<_>>(), seconds);
    assert_eq!(copied::<u32>(get, "status"), status);
    // Room for one value less is refused, and nothing is written behind it.
    let mut few = [f64::INFINITY; 64];
    let mut out = pointmill_array { rows: 63, ..array(&few, 1, pointmill_type::POINTMILL_F64) };
    out.data = few.as_mut_ptr().cast();
    assert_ne!(get(c"poses".as_ptr(), &raw mut out), OK);
    assert!(message().starts_with("poses: expected memory for 4 x 16 values, got 63 x 1"), "{}", message());
    assert!(few.iter().all(|value| value.is_infinite()));
    pointmill_odometry_destroy(ended(odometry));
    pointmill_stream_destroy(ended(stream));
}

#[test]
fn clouds_of_messages_are_read_in_place_or_copied() {
    // Two points of XYZIRC.
    let mut bytes = Vec::new();
    for i in 0..2u8 {
        [1.0f32, 2.0, 3.0].iter().for_each(|x| bytes.extend((x + f32::from(i)).to_le_bytes()));
        bytes.extend([200 + i, 1, 7, 0]);
    }
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    // SAFETY: any bits are a value of it.
    let mut cloud: pointmill_cloud = unsafe { std::mem::zeroed() };
    ok(pointmill_cloud_of_layout(&raw mut cloud, 1, words.as_ptr().cast(), 2, 0));
    let mut array = pointmill_array::new();
    ok(pointmill_cloud_points(&raw const cloud, &raw mut array));
    assert_eq!((array.data as usize, array.rows, array.columns), (words.as_ptr() as usize, 2, 4));
    let mut memory = [0.0f32; 8];
    assert_eq!(pointmill_cloud_rows(&raw const cloud, memory.as_mut_ptr(), 7, &raw mut array), REFUSED);
    ok(pointmill_cloud_rows(&raw const cloud, memory.as_mut_ptr(), 8, &raw mut array));
    assert_eq!(memory, [1.0, 2.0, 3.0, 200.0, 2.0, 3.0, 4.0, 201.0]);
    cloud.fields[3].offset = 16;
    assert_eq!(pointmill_cloud_rows(&raw const cloud, memory.as_mut_ptr(), 8, &raw mut array), REFUSED);
}

#[test]
fn threads_give_the_bytes_of_one() {
    let points = street(500, 6);
    let run = || {
        let (stream, mut voxelizer) = (stream("cpu:1"), null_mut());
        // SAFETY: any bits are a value of it.
        let mut params: pointmill_voxelize_params = unsafe { std::mem::zeroed() };
        ok(pointmill_voxelize_params_init(&raw mut params));
        params.max_voxels = 300;
        ok(pointmill_voxelizer_create(shared(stream), &raw const params, Some(&mut voxelizer)));
        let all = (0..1000).map(|i| {
            let part = floats(&points[4 * (i % 100)..], 4);
            ok(pointmill_voxelizer_run(own(voxelizer), &raw const part, null(), 0));
            let get = |name, out| pointmill_voxelizer_array(shared(voxelizer), name, out);
            copied::<f32>(get, "mean").iter().fold(0u64, |sum, x| sum.rotate_left(5) ^ u64::from(x.to_bits()))
        });
        let all: Vec<u64> = all.collect();
        pointmill_voxelizer_destroy(ended(voxelizer));
        pointmill_stream_destroy(ended(stream));
        all
    };
    let expected = run();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected);
        }
    });
}

#[test]
fn recordings_give_what_plain_calls_give() {
    let points = street(2000, 7);
    let (stream, mut voxelizer) = (stream("twin"), null_mut());
    ok(pointmill_voxelizer_create(shared(stream), null(), Some(&mut voxelizer)));
    let of_twin = Device::twin().stream().unwrap().upload(&points).unwrap();
    let input = pointmill_array { data: of_twin.device_pointer() as *mut c_void, place: 1, ..floats(&points, 4) };
    ok(pointmill_voxelizer_run(own(voxelizer), &raw const input, null(), 0));
    let get = |name, out| pointmill_voxelizer_array(shared(voxelizer), name, out);
    let expected = copied::<i32>(get, "coords");
    struct Work(*mut pointmill_voxelizer, pointmill_array);
    extern "C" fn again(data: *mut c_void) -> u32 {
        // SAFETY: the work below, which outlives the recording.
        let work = unsafe { &*data.cast::<Work>() };
        pointmill_voxelizer_run(own(work.0), &raw const work.1, null(), 0) as u32
    }
    let (mut work, mut graph) = (Work(voxelizer, input), null_mut());
    ok(pointmill_stream_capture(shared(stream), Some(again), (&raw mut work).cast(), Some(&mut graph)));
    for _ in 0..10 {
        ok(pointmill_graph_launch(own(graph)));
        assert_eq!(copied::<i32>(get, "coords"), expected);
    }
    // What a recording refuses is told as the call within tells it.
    work.1 = floats(&points, 4);
    let mut none = null_mut();
    assert_eq!(pointmill_stream_capture(shared(stream), Some(again), (&raw mut work).cast(), Some(&mut none)), REFUSED);
    assert!(message().contains("host slice") && none.is_null(), "{}", message());
    // A callback of C may return any number.
    extern "C" fn odd(_: *mut c_void) -> u32 {
        77
    }
    assert_eq!(pointmill_stream_capture(shared(stream), Some(odd), null_mut(), Some(&mut none)), REFUSED);
    assert_eq!(message(), "work: expected a pointmill_status, 0 to 6, got 77");
    pointmill_graph_destroy(ended(graph));
    pointmill_voxelizer_destroy(ended(voxelizer));
    pointmill_stream_destroy(ended(stream));
}
