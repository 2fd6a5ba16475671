//! All paths against the single-threaded CPU, on scenes that are larger or odder than the fixtures.

use super::*;
use crate::testing::{Random, devices, gpu, kernel_devices};
use pointmill_kernels::simt::twin::set_block_order;
use proptest::prelude::*;

fn on_all_devices(case: &Case, what: &str) -> Answers {
    let mut first: Option<Answers> = None;
    for (name, device) in devices() {
        let got = case.run(&device, true);
        match &first {
            None => first = Some(got),
            Some(want) => assert_same(&got, want, &format!("{what} on {name}")),
        }
    }
    first.unwrap()
}

/// Boxes among points, every now and then something odd.
fn scene(random: &mut Random, boxes: usize, points: usize, spread: f32) -> (Vec<f32>, Vec<f32>) {
    let mut rows = Vec::new();
    for _ in 0..boxes {
        let mut row = [0.0; 7];
        for axis in 0..3 {
            row[axis] = random.between(-spread, spread) * if axis == 2 { 0.2 } else { 1.0 };
            row[3 + axis] = random.between(0.3, 4.0);
        }
        row[6] = random.between(-4.0, 4.0);
        match random.below(30) {
            0 => row[random.below(7) as usize] = f32::NAN,
            1 => row[3 + random.below(3) as usize] = 0.0,
            2 => row[3 + random.below(3) as usize] = 1e30,
            3 => row[6] = random.between(-1e6, 1e6),
            _ => {}
        }
        rows.extend(row);
    }
    let mut xyz = Vec::new();
    for _ in 0..points {
        for axis in 0..3 {
            let v = random.between(-spread, spread) * if axis == 2 { 0.2 } else { 1.0 };
            xyz.push(match random.below(100) {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => (v * 4.0).round() / 4.0,
                3 => f32::from_bits(random.next() as u32),
                _ => v,
            });
        }
    }
    (rows, xyz)
}

fn features(random: &mut Random, len: usize) -> Vec<f32> {
    (0..len)
        .map(|_| match random.below(40) {
            0 => f32::NAN,
            1 => f32::NEG_INFINITY,
            2 => f32::INFINITY,
            3 => -0.0,
            4..10 => random.below(3) as f32,
            _ => random.between(-1.0, 1.0) * 10f32.powi(random.below(7) as i32 - 3),
        })
        .collect()
}

fn case(random: &mut Random, (boxes, points, channels): (usize, usize, usize), out: [u32; 3], m: u32) -> Case {
    let spread = random.between(1.0, 8.0);
    let (boxes, points) = scene(random, boxes, points, spread);
    let elements = [ElementType::F32, ElementType::F16, ElementType::Bf16];
    let element = elements[random.below(3) as usize];
    let geometry = elements[random.below(6).saturating_sub(3) as usize];
    let values = features(random, points.len() / 3 * channels);
    let mut case = Case {
        boxes: array(geometry, &boxes),
        points: array(geometry, &points),
        features: array(element, &values),
        point_columns: 3,
        grad: None,
        channels,
        splits: None,
        params: RoiPoolParams {
            out_size: out,
            max_points_per_voxel: m - 1,
            origin: if random.below(2) == 0 { BoxOrigin::BottomCenter } else { BoxOrigin::Center },
            margin: [0.0, 1e-5, 0.5][random.below(3) as usize],
            ..RoiPoolParams::default()
        },
    };
    case.grad = Some(grad(&case, random));
    case
}

/// A gradient for each non-empty voxel.
fn grad(case: &Case, random: &mut Random) -> AnyArray {
    let mut pooler = case.pooler(&Device::cpu_with_threads(1).unwrap(), RoiLayout::Sparse);
    let mut out = pooler.output().unwrap();
    pooler.run(case.scene(), case.rows(&case.features), &mut out).unwrap();
    let values = features(random, out.num_voxels().unwrap() * case.channels);
    array(case.rows(&case.features).element(), &values)
}

#[test]
fn sizes_around_warps_blocks_and_tiles() {
    let mut random = Random(3);
    for (boxes, points) in [
        (0, 0),
        (0, 5),
        (5, 0),
        (1, 1),
        (31, 31),
        (32, 32),
        (33, 33),
        (65, 255),
        (3, 257),
        (7, 1023),
        (2, 1024),
        (257, 1025),
        (4, 2049),
    ] {
        let channels = [1, 2, 3, 16, 17, 32, 33, 64][random.below(8) as usize];
        let case = case(&mut random, (boxes, points, channels), [3, 4, 2], 4);
        on_all_devices(&case, &format!("{boxes} boxes, {points} points, {channels} channels"));
    }
}

/// More points in a box than the sort keeps in shared memory, many passes, and voxels that
/// overflow.
#[test]
fn crowded_boxes() {
    let mut random = Random(5);
    for (points, out, m) in [
        (3000, [2, 2, 2], 62),
        (2500, [1, 1, 1], 3000),
        (5000, [40, 30, 20], 3),
        (7000, [9, 9, 9], 12),
        (500, [300, 300, 30], 3),
        (2100, [300, 4, 1], 1),
    ] {
        let mut case = case(&mut random, (2, points, 3), out, m);
        let boxes = [0.0, 0.0, 0.0, 40.0, 40.0, 40.0, 0.3, /**/ 1.0, 0.0, 0.0, 6.0, 6.0, 40.0, 1.0];
        (case.boxes, case.params.origin) = (array(ElementType::F32, &boxes), BoxOrigin::Center);
        let xyz: Vec<f32> = (0..points * 3).map(|_| random.between(-5.0, 5.0)).collect();
        case.points = array(ElementType::F32, &xyz);
        case.grad = Some(grad(&case, &mut random));
        let got = on_all_devices(&case, &format!("{points} points in {out:?}"));
        assert!(got.report.inside > points, "{:?}", got.report);
    }
}

/// The twin runs blocks in any order; lists then lie elsewhere, results do not.
#[test]
fn the_order_of_blocks_does_not_matter() {
    let mut random = Random(11);
    let case = case(&mut random, (40, 1500, 5), [4, 4, 4], 5);
    let want = case.run(&Device::cpu_with_threads(1).unwrap(), true);
    for seed in 1..6 {
        set_block_order(seed);
        assert_same(&case.run(&Device::twin(), true), &want, &format!("block order {seed}"));
    }
    set_block_order(0);
}

#[test]
fn batches_of_ragged_samples() {
    let mut random = Random(13);
    for splits in
        [(vec![0, 9, 9, 20], vec![0, 300, 700, 700]), (vec![0, 20], vec![0, 700]), (vec![0, 0, 20], vec![0, 350, 700])]
    {
        let mut case = case(&mut random, (20, 700, 4), [3, 3, 3], 6);
        case.splits = Some(splits);
        case.grad = Some(grad(&case, &mut random));
        let got = on_all_devices(&case, "batch");
        let (box_splits, point_splits) = case.splits.as_ref().unwrap();
        // Every index is of a point of the box's sample.
        for (row, at) in got.coords.chunks_exact(4).enumerate() {
            let sample = box_splits.partition_point(|&s| s <= at[0] as usize) - 1;
            let list = got.sparse_row_splits[row] as usize..got.sparse_row_splits[row + 1] as usize;
            let points = point_splits[sample]..point_splits[sample + 1];
            assert!(got.indices[list].iter().all(|&i| points.contains(&(i as usize))));
        }
    }
}

/// One pooler for scenes of different sizes, one result for features of different types.
#[test]
fn poolers_and_results_are_used_again() {
    let mut random = Random(17);
    let cases: Vec<Case> = [(5, 900, 16), (40, 100, 3), (12, 2000, 7)]
        .into_iter()
        .map(|size| case(&mut random, size, [3, 2, 5], 9))
        .map(|case| Case {
            params: RoiPoolParams { out_size: [3, 2, 5], max_points_per_voxel: 8, ..RoiPoolParams::default() },
            ..case
        })
        .collect();
    for (name, device) in devices() {
        for layout in [RoiLayout::Dense, RoiLayout::Csr, RoiLayout::Sparse] {
            let mut pooler = cases[0].pooler(&device, layout);
            let mut out = pooler.output().unwrap();
            for case in &cases {
                pooler.run(case.scene(), case.rows(&case.features), &mut out).unwrap();
                let mut fresh = case.pooler(&Device::cpu(), layout);
                let mut want = fresh.output().unwrap();
                fresh.run(case.scene(), case.rows(&case.features), &mut want).unwrap();
                let (got, want) = (out.read().unwrap(), want.read().unwrap());
                assert_eq!(bits(&got.pooled), bits(&want.pooled), "{name} {layout:?}");
                assert_eq!(
                    (got.argmax, got.indices, got.point_indices),
                    (want.argmax, want.indices, want.point_indices)
                );
                assert_eq!((got.row_splits, got.coords, got.report), (want.row_splits, want.coords, want.report));
            }
        }
    }
}

#[test]
fn lists_may_be_left_out() {
    let mut random = Random(19);
    let mut case = case(&mut random, (9, 400, 3), [2, 2, 2], 9);
    case.params.lists = false;
    for (name, device) in devices() {
        for layout in [RoiLayout::Dense, RoiLayout::Csr, RoiLayout::Sparse] {
            let mut pooler = case.pooler(&device, layout);
            let mut out = pooler.output().unwrap();
            pooler.run(case.scene(), case.rows(&case.features), &mut out).unwrap();
            let got = out.read().unwrap();
            assert_eq!((got.point_indices, got.row_splits, got.indices), (None, None, None), "{name}");
            assert!(got.report.voxels > 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn random_scenes(
        seed in any::<u64>(),
        boxes in 0usize..70,
        points in 0usize..1500,
        channels in 1usize..40,
        out in prop::array::uniform3(1u32..9),
        m in 1u32..12,
    ) {
        let mut random = Random(seed);
        let case = case(&mut random, (boxes, points, channels), out, m);
        on_all_devices(&case, "random scene");
    }
}

/// The same input gives the same bits in a thousand runs on a GPU, gradients included.
#[test]
fn a_thousand_runs_on_a_gpu_give_one_result() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(23);
    let mut case = case(&mut random, (64, 8000, 16), [8, 8, 6], 4);
    let xyz: Vec<f32> = (0..8000 * 3).map(|i| random.between(-4.0, 4.0) * if i % 3 == 2 { 0.3 } else { 1.0 }).collect();
    (case.points, case.boxes) =
        (array(ElementType::F32, &xyz), array(ElementType::F32, &scene(&mut random, 64, 0, 4.0).0));
    case.grad = Some(grad(&case, &mut random));
    let want = case.run(&Device::cpu(), false);
    assert!(want.report.dropped > 0 && want.report.voxels > 1000, "{:?}", want.report);
    let mut pooler = case.pooler(&gpu, RoiLayout::Sparse);
    let (mut max, mut mean) = (pooler.output().unwrap(), pooler.output().unwrap());
    let mut gradient = AnyBuffer::new(max.stream(), Dtype::F32).unwrap();
    let values = case.num_points() * case.channels;
    for run in 0..1000 {
        pooler.run(case.scene(), case.rows(&case.features), &mut max).unwrap();
        pooler.pool(case.rows(&case.features), PoolMode::Mean, &mut mean).unwrap();
        pooler.backward(&max, case.rows(case.grad.as_ref().unwrap()), &mut gradient).unwrap();
        assert!(bits(&gradient.read(values).unwrap()) == want.grad_max, "run {run}: gradient of the maximum");
        pooler.backward(&mean, case.rows(case.grad.as_ref().unwrap()), &mut gradient).unwrap();
        assert!(bits(&gradient.read(values).unwrap()) == want.grad_mean, "run {run}: gradient of the mean");
        let (got_max, got_mean) = (max.read().unwrap(), mean.read().unwrap());
        assert!(bits(&got_max.pooled) == want.sparse_max, "run {run}: maximum");
        assert!(bits(&got_mean.pooled) == want.sparse_mean, "run {run}: mean");
        assert!(got_max.argmax.unwrap() == want.sparse_argmax, "run {run}: argmax");
        assert!(got_max.indices.unwrap() == want.indices, "run {run}: indices");
        assert!(got_max.coords.unwrap() == want.coords, "run {run}: coords");
    }
}

/// A replay reads what the points' memory holds by then.
#[test]
fn a_graph_replays_with_new_points() {
    let mut random = Random(41);
    let mut case = case(&mut random, (8, 50, 4), [4, 4, 4], 5);
    case.boxes = array(ElementType::F32, &scene(&mut random, 8, 0, 3.0).0);
    let clouds = [scene(&mut random, 0, 50, 3.0).1, scene(&mut random, 0, 50, 3.0).1];
    let values = [1.5f32; 200];
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut pooler = RoiPooler::new(&stream, &case.params).unwrap();
        let mut out = pooler.output().unwrap();
        let mut points = stream.upload(&clouds[0]).unwrap();
        let AnyArray::F32(boxes) = &case.boxes else { unreachable!("made above") };
        let (boxes, features) = (stream.upload(boxes).unwrap(), stream.upload(&values).unwrap());
        let mut run = |out: &mut RoiPooled, points: &Buffer<f32>| {
            let scene = Scene::new(Rows::on_device(&boxes, 8, 7)?, Rows::on_device(points, 50, 3)?);
            pooler.run(scene, Rows::on_device(&features, 50, 4)?, out)
        };
        run(&mut out, &points).unwrap();
        let graph = stream.capture(|| run(&mut out, &points)).unwrap();
        for cloud in [&clouds[1], &clouds[0]] {
            points.write(cloud).unwrap();
            // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
            unsafe { graph.launch() }.unwrap();
            let got = out.read().unwrap();
            let case = Case {
                points: array(ElementType::F32, cloud),
                features: array(ElementType::F32, &values),
                ..case.clone()
            };
            let want = roi_pool(case.scene(), case.rows(&case.features), &case.params, &Device::cpu()).unwrap();
            assert_eq!(got, want.read().unwrap(), "{name}");
        }
    }
}
