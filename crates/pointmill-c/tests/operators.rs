//! Operators through C give the bytes of the library, on the CPU and where kernels run.

mod common;

use common::*;
use pointmill::boxes::{IouParams, iou};
use pointmill::ndt::{NdtMoments, NdtParams};
use pointmill::roi_pool::{BoxParams, PointsInBoxes, Scene};
use pointmill::sparse::{
    Cells, ConvKind, ConvParams, PillarParams, PillarPoints, PoolParams, SerializeParams, SparseCells, densify,
    grid_sample, index_pairs, pillar_features, pool_hierarchy, serialize,
};
use pointmill::voxelize::{Outputs, VoxelizeParams, voxelize};
use pointmill::{Aabb, Device, Pose, Rows};
use pointmill_c::*;
use pointmill_slam::localize::{Localizer, LocalizerParams};
use std::ptr::{null, null_mut};

fn devices() -> [(&'static str, Device); 2] {
    [("cpu", Device::cpu()), ("twin", Device::twin())]
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn as_given(pose: &Pose) -> (pointmill_pose, Pose) {
    let matrix = pose.matrix();
    let mut m = [0.0; 16];
    m.copy_from_slice(matrix.as_flattened());
    // A matrix is made rigid where it comes in.
    (pointmill_pose { m }, Pose::from_matrix(&matrix).unwrap())
}

fn boxes() -> Vec<f32> {
    (0..40).flat_map(|i| [(i % 10) as f32 * 1.5, (i / 10) as f32, 0.0, 4.0, 2.0, 1.5, i as f32 * 0.1]).collect()
}

#[test]
fn overlaps_of_boxes() {
    let (a, b) = (boxes(), boxes()[..7 * 25].to_vec());
    let rows = |values| Rows::new(values, 7).unwrap();
    for (name, device) in devices() {
        let expected = iou(rows(&a), rows(&b), &IouParams::default(), &device).unwrap().read(40 * 25).unwrap();
        let (stream, mut worker) = (stream(name), null_mut());
        let (a, b) = (floats(&a, 7), floats(&b, 7));
        ok(pointmill_box_iou_create(shared(stream), null(), Some(&mut worker)));
        ok(pointmill_box_iou_run(own(worker), &raw const a, &raw const b));
        let made = copied::<f32>(|name, out| pointmill_box_iou_array(shared(worker), name, out), "iou");
        assert!(bits(&made) == bits(&expected) && made.iter().any(|&x| x > 0.3 && x < 0.6), "{name}");
        pointmill_box_iou_destroy(ended(worker));
        pointmill_stream_destroy(ended(stream));
    }
}

#[test]
fn points_in_boxes() {
    let (boxes, points) = (boxes(), street(4000, 2));
    for (name, device) in devices() {
        let device_stream = device.stream().unwrap();
        let mut library = PointsInBoxes::new(&device_stream, BoxParams::default()).unwrap();
        let scene = || Scene::new(Rows::new(&boxes, 7).unwrap(), Rows::new(&points, 4).unwrap());
        let (mut numbers, mut lists) = (device_stream.alloc(0).unwrap(), library.lists().unwrap());
        let (stream, mut inside) = (stream(name), null_mut());
        let (boxes, points) = (floats(&boxes, 7), floats(&points, 4));
        ok(pointmill_points_in_boxes_create(shared(stream), 0, 0.0, Some(&mut inside)));
        let run =
            |question| ok(pointmill_points_in_boxes_run(own(inside), question, &raw const boxes, &raw const points));
        let get = |name, out| pointmill_points_in_boxes_array(shared(inside), name, out);
        run(0);
        library.part(scene(), &mut numbers).unwrap();
        let parts = copied::<i32>(get, "part");
        assert!(parts == numbers.read(4000).unwrap() && parts.iter().any(|&part| part >= 0), "{name}");
        run(1);
        library.count(scene(), &mut numbers).unwrap();
        assert_eq!(copied::<i32>(get, "count"), numbers.read(40).unwrap(), "{name}");
        for question in [2, 3] {
            run(question);
            let answered =
                if question == 2 { library.all(scene(), &mut lists) } else { library.crop(scene(), &mut lists) };
            answered.unwrap();
            let (splits, indices) = lists.read().unwrap();
            assert_eq!(copied::<i64>(get, "row_splits"), splits, "{name}");
            assert_eq!(copied::<i32>(get, "indices"), indices, "{name}");
        }
        pointmill_points_in_boxes_destroy(ended(inside));
        pointmill_stream_destroy(ended(stream));
    }
}

/// Cells on a diagonal band: item, z, y, x.
fn cells() -> Vec<i32> {
    (0..600).flat_map(|i| [i / 300, (i % 300) / 60 % 5, i % 60 / 4, i % 60]).collect()
}

#[test]
fn pairs_of_sparse_layers() {
    let (cells, shape) = (cells(), [5, 16, 64]);
    for (name, device) in devices() {
        for kind in [ConvKind::Submanifold, ConvKind::Strided] {
            let stride = if kind == ConvKind::Strided { [2; 3] } else { [1; 3] };
            let params = ConvParams { kind, stride, masks: true, lists: true, ..ConvParams::default() };
            let given = SparseCells::new(cells.as_chunks::<4>().0, 2, shape);
            let expected = index_pairs(given, &params, &device).unwrap().read().unwrap();
            // SAFETY: any bits are a value of it.
            let mut given: pointmill_conv_params = unsafe { std::mem::zeroed() };
            given.struct_size = size_of_val(&given);
            ok(pointmill_conv_params_init(&raw mut given));
            (given.kind, given.stride) = (u32::from(kind == ConvKind::Strided), stride);
            (given.masks, given.lists) = (1, 1);
            let (stream, mut pairs) = (stream(name), null_mut());
            let array = array(&cells, 4, pointmill_type::POINTMILL_I32);
            ok(pointmill_index_pairs_create(shared(stream), &raw const given, Some(&mut pairs)));
            ok(pointmill_index_pairs_run(own(pairs), &raw const array, null(), 2, Some(&shape), null(), None));
            ok(pointmill_index_pairs_check(shared(pairs)));
            let get = |name, out| pointmill_index_pairs_array(shared(pairs), name, out);
            let rows = copied::<u32>(get, "num_cells")[0] as usize;
            let (made, table) = (copied::<i32>(get, "cells"), copied::<i32>(get, "table"));
            let capacity = made.len() / 4;
            assert!(rows > 100 && rows == expected.cells.len() / 4, "{name} {kind}");
            assert_eq!(made[..4 * rows], expected.cells, "{name} {kind}");
            for offset in 0..27 {
                assert_eq!(
                    table[offset * capacity..][..rows],
                    expected.table[offset * rows..][..rows],
                    "{name} {kind}"
                );
            }
            assert_eq!(copied::<i32>(get, "counts"), expected.counts, "{name} {kind}");
            assert_eq!(copied::<u32>(get, "masks")[..rows], expected.masks, "{name} {kind}");
            assert_eq!(copied::<i32>(get, "lists"), expected.lists, "{name} {kind}");
            pointmill_index_pairs_destroy(ended(pairs));
            pointmill_stream_destroy(ended(stream));
        }
    }
}

#[test]
fn larger_cells() {
    let points = street(5000, 5);
    for (name, device) in devices() {
        let params = pointmill::sparse::GridSampleParams::new([0.5; 3]);
        let sampled = grid_sample(Rows::f32(&points, 4).unwrap(), &params, &device).unwrap().read().unwrap();
        let (coords, batch) = (sampled.grid_coord, vec![0i32; sampled.report.cells]);
        let of = || Cells::new(&coords[..]).unwrap().batch(&batch[..], 1).unwrap();
        let params = SerializeParams { depth: Some(9), ..SerializeParams::default() };
        let serialized = serialize(of(), &params, &device).unwrap();
        let strides = [2, 4];
        let params = PoolParams { strides: strides.to_vec(), capacities: None };
        let expected = pool_hierarchy(of(), &serialized, &params, &device).unwrap().read().unwrap();

        // SAFETY: any bits are a value of it.
        let mut given: pointmill_serialize_params = unsafe { std::mem::zeroed() };
        given.struct_size = size_of_val(&given);
        ok(pointmill_serialize_params_init(&raw mut given));
        given.depth = 9;
        let (stream, mut serializer, mut pooler) = (stream(name), null_mut(), null_mut());
        let coords = array(&coords, 3, pointmill_type::POINTMILL_I32);
        let batch = array(&batch, 1, pointmill_type::POINTMILL_I32);
        let (coords, batch) = (&raw const coords, &raw const batch);
        ok(pointmill_serializer_create(shared(stream), &raw const given, Some(&mut serializer)));
        ok(pointmill_serializer_run(own(serializer), coords, batch, 1, null()));
        ok(pointmill_serializer_check(shared(serializer)));
        ok(pointmill_pooler_create(shared(stream), strides.as_ptr(), null(), 2, Some(&mut pooler)));
        ok(pointmill_pooler_run(own(pooler), shared(serializer), coords, batch, 1));
        let mut rows = expected[0].cluster.len();
        for (stage, expected) in expected.iter().enumerate() {
            let get = |name, out| pointmill_pooler_array(shared(pooler), stage as u64, name, out);
            let cells = copied::<u32>(get, "counts")[0] as usize;
            assert!(cells == expected.head.len() && cells > 10 && cells < rows, "{name} {stage}");
            assert_eq!(copied::<i32>(get, "cluster")[..rows], expected.cluster, "{name} {stage}");
            assert_eq!(copied::<i32>(get, "indices")[..rows], expected.indices, "{name} {stage}");
            assert_eq!(copied::<i32>(get, "indptr")[..=cells], expected.indptr, "{name} {stage}");
            assert_eq!(copied::<i32>(get, "head")[..cells], expected.head, "{name} {stage}");
            assert_eq!(copied::<i32>(get, "grid_coord")[..3 * cells], expected.grid_coord, "{name} {stage}");
            rows = cells;
        }
        pointmill_pooler_destroy(ended(pooler));
        pointmill_serializer_destroy(ended(serializer));
        pointmill_stream_destroy(ended(stream));
    }
}

#[test]
fn sweeps_in_one_frame() {
    let sweeps = [street(3000, 6), street(2000, 7)];
    let lags = [0.0f32, 0.05];
    let moved = [Pose::IDENTITY, Pose::from_xyzrpy([1.0, 0.5, 0.0, 0.0, 0.0, 0.1]).unwrap()];
    let given: Vec<_> = moved.iter().map(as_given).collect();
    let (transforms, moved): (Vec<_>, Vec<_>) = given.into_iter().unzip();
    for (name, device) in devices() {
        let rows = sweeps.each_ref().map(|sweep| Rows::f32(sweep, 4).unwrap());
        let expected = densify(&rows, &moved, &lags, &device).unwrap().read(5 * 5000).unwrap();
        let (stream, mut densifier) = (stream(name), null_mut());
        let arrays = sweeps.each_ref().map(|sweep| floats(sweep, 4));
        ok(pointmill_densifier_create(shared(stream), Some(&mut densifier)));
        ok(pointmill_densifier_run(own(densifier), arrays.as_ptr(), transforms.as_ptr(), lags.as_ptr(), 2));
        let get = |name, out| pointmill_densifier_array(shared(densifier), name, out);
        assert_eq!(bits(&copied::<f32>(get, "points")), bits(&expected), "{name}");
        pointmill_densifier_destroy(ended(densifier));
        pointmill_stream_destroy(ended(stream));
    }
}

#[test]
fn features_of_pillars() {
    let points = street(8000, 8);
    let params = PillarParams::default();
    let grid = VoxelizeParams {
        voxel_size: params.voxel_size,
        range: Aabb::new([0.0, -39.68, -3.0], [69.12, 39.68, 1.0]),
        max_points_per_voxel: Some(32),
        outputs: Outputs { padded: true, ..Outputs::default() },
        ..VoxelizeParams::default()
    };
    for (name, device) in devices() {
        let voxels = voxelize(Rows::f32(&points, 4).unwrap(), &grid, &device).unwrap().read().unwrap();
        let slotted = voxels.voxels.as_ref().unwrap();
        let pillars = || {
            let rows = Rows::f32(slotted, 4).unwrap();
            PillarPoints::new(rows, 32, &voxels.num_points, &voxels.coords).unwrap()
        };
        let count = voxels.num_points.len();
        let expected = pillar_features(pillars(), &params, &device).unwrap().read(count * 32 * 9).unwrap();
        let (stream, mut encoder) = (stream(name), null_mut());
        let columns = voxels.coords.len() / count;
        let (slots, coords) = (floats(slotted, 32 * 4), array(&voxels.coords, columns, pointmill_type::POINTMILL_I32));
        let numbers = array(&voxels.num_points, 1, pointmill_type::POINTMILL_I32);
        ok(pointmill_pillar_encoder_create(shared(stream), null(), Some(&mut encoder)));
        ok(pointmill_pillar_encoder_run(own(encoder), &raw const slots, 32, &raw const numbers, &raw const coords));
        let get = |name, out| pointmill_pillar_encoder_array(shared(encoder), name, out);
        assert!(count > 100 && bits(&copied::<f32>(get, "features")) == bits(&expected), "{name}");
        pointmill_pillar_encoder_destroy(ended(encoder));
        pointmill_stream_destroy(ended(stream));
    }
}

#[test]
fn scores_alignments_and_fixes_in_a_map() {
    let (map, scan) = (street(30_000, 3), street(6000, 4));
    let (of_map, of_scan) = (Rows::f32(&map, 4).unwrap(), Rows::f32(&scan, 4).unwrap());
    let near = Pose::from_xyzrpy([0.2, -0.1, 0.0, 0.0, 0.0, 0.02]).unwrap();
    let given: Vec<_> = [Pose::IDENTITY, near].iter().map(as_given).collect();
    let (guesses, poses): (Vec<_>, Vec<_>) = given.into_iter().unzip();
    let mut moments = NdtMoments::new(2.0).unwrap();
    moments.add(of_map).unwrap();
    let cells = moments.finish(&NdtParams::default()).unwrap();
    let device_stream = Device::cpu().stream().unwrap();
    let library = pointmill::ndt::NdtGrid::from_cells(cells, *moments.lattice(), &device_stream).unwrap();

    let (stream, mut sums, mut grid) = (stream("cpu"), null_mut(), null_mut());
    let (map_array, scan_array) = (floats(&map, 4), floats(&scan, 4));
    ok(pointmill_ndt_moments_create(2.0, None, Some(&mut sums)));
    ok(pointmill_ndt_moments_add(own(sums), &raw const map_array));
    assert_eq!(pointmill_ndt_moments_len(shared(sums)), moments.len() as u64);
    ok(pointmill_ndt_grid_create(shared(stream), shared(sums), null(), Some(&mut grid)));

    let mut fits = [0.0; 8];
    ok(pointmill_ndt_grid_score(shared(grid), &raw const scan_array, guesses.as_ptr(), 2, fits.as_mut_ptr()));
    for (row, fit) in fits.chunks_exact(4).zip(library.score(of_scan, &poses).unwrap()) {
        assert_eq!(row, [fit.transform_probability, fit.nvtl, fit.score, fit.hits as f64]);
    }

    // SAFETY: any bits are a value of it.
    let mut found: [pointmill_registration; 2] = unsafe { std::mem::zeroed() };
    found.iter_mut().for_each(|one| one.struct_size = size_of_val(one));
    let (scans, counts) = ([scan_array, scan_array], [1, 1]);
    let (scans, counts, guesses) = (scans.as_ptr(), counts.as_ptr(), guesses.as_ptr());
    ok(pointmill_ndt_grid_align_many(shared(grid), scans, guesses, counts, 2, null(), found.as_mut_ptr()));
    let tasks = [(of_scan, &poses[..1]), (of_scan, &poses[1..])];
    for (found, expected) in found.iter().zip(library.align_many(&tasks, &Default::default()).unwrap()) {
        let expected = &expected.unwrap()[0];
        assert_eq!(found.target_from_source.m, *expected.target_from_source.matrix().as_flattened());
        assert_eq!((found.nvtl, found.score), (expected.fit.nvtl, expected.fit.score));
    }

    let mut localizer = Localizer::new(&device_stream, library, &LocalizerParams::default()).unwrap();
    localizer.start(&poses[1]).unwrap();
    let mut handle = null_mut();
    // SAFETY: as above.
    let mut fix: pointmill_fix = unsafe { std::mem::zeroed() };
    fix.struct_size = size_of_val(&fix);
    ok(pointmill_localizer_create(shared(stream), shared(grid), null(), Some(&mut handle)));
    // SAFETY: there are two guesses.
    ok(pointmill_localizer_start(own(handle), Some(unsafe { &*guesses.add(1) })));
    for (index, seconds) in [(0, 0.0), (1, 0.1), (2, f64::NAN)] {
        let expected = localizer.push(of_scan, Some(seconds).filter(|seconds| !seconds.is_nan())).unwrap();
        ok(pointmill_localizer_push(own(handle), &raw const scan_array, seconds, &raw mut fix));
        assert_eq!(fix.map_from_sensor.m, *expected.map_from_sensor.matrix().as_flattened());
        assert_eq!((fix.index, fix.is_fix != 0), (index, expected.status.is_fix()));
        assert_eq!((fix.usable, fix.aligned), (expected.usable as u64, expected.aligned as u64));
        assert_eq!(fix.has_covariance != 0, expected.covariance.is_some());
    }
    pointmill_localizer_destroy(ended(handle));
    pointmill_ndt_grid_destroy(ended(grid));
    pointmill_ndt_moments_destroy(ended(sums));
    pointmill_stream_destroy(ended(stream));
}
