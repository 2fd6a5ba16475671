//! All paths against the single-threaded CPU, on inputs that are larger or odder than the fixtures.

use super::*;
use crate::testing::{Random, assert_in_order, devices, gpu, kernel_devices, repository};
use pointmill_kernels::simt::twin::set_block_order;
use pointmill_synth::{Drive, DriveParams};
use proptest::prelude::*;

fn on_all_devices(case: &Case<'_>, what: &str) -> VoxelArrays {
    let mut first: Option<VoxelArrays> = None;
    for (name, device) in devices() {
        let got = run(case, &device);
        match &first {
            None => first = Some(got),
            Some(want) => assert_same(&got, want, &format!("{what} on {name}")),
        }
    }
    first.unwrap()
}

/// Points of a random cloud: clusters, walls, and every now and then something odd.
fn cloud(random: &mut Random, n: usize, columns: usize, spread: f32) -> Vec<f32> {
    let mut data = Vec::with_capacity(n * columns);
    for _ in 0..n {
        for c in 0..columns {
            let v = random.between(-spread, spread);
            data.push(match random.below(200) {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => -0.0,
                3 => f32::from_bits(random.next() as u32),
                4 => (v * 5.0).round() / 5.0,
                _ if c == 2 => v / 10.0,
                _ => v,
            });
        }
    }
    data
}

#[test]
fn sizes_around_warps_blocks_and_tiles() {
    let mut random = Random(7);
    for n in [0, 1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2049] {
        let data = cloud(&mut random, n, 4, 6.0);
        for order in [RowOrder::FirstSeen, RowOrder::Sorted] {
            for lists in [true, false] {
                set_block_order(n as u64 + 1);
                let params = VoxelizeParams {
                    max_points_per_voxel: Some(3),
                    max_voxels: 300,
                    order,
                    outputs: Outputs { lists, ..Outputs::default() },
                    ..VoxelizeParams::new([0.5, 0.5, 0.25], crate::Aabb::new([-5.0, -5.0, -1.0], [5.0, 5.0, 1.0]))
                };
                let case = Case { points: Points::new(&data, 4).unwrap(), row_splits: None, params };
                on_all_devices(&case, &format!("{n} points, {order:?}, lists: {lists}"));
            }
        }
    }
}

#[test]
fn a_result_can_be_padded() {
    let mut random = Random(11);
    let data = cloud(&mut random, 300, 5, 3.0);
    for dynamic in [false, true] {
        for splits in [None, Some(vec![0, 100, 100, 300])] {
            let params = VoxelizeParams {
                max_points_per_voxel: (!dynamic).then_some(4),
                max_voxels: 90,
                outputs: Outputs { padded: true, lists: true, voxels: !dynamic, ..Outputs::default() },
                ..VoxelizeParams::new([1.0; 3], crate::Aabb::new([-3.0; 3], [3.0; 3]))
            };
            let case = Case { points: Points::new(&data, 5).unwrap(), row_splits: splits.clone(), params };
            let got = on_all_devices(&case, "padded");
            let rows = if splits.is_some() { 3 * 90 } else { 90 };
            assert_eq!(got.num_points.len(), rows);
            let v = got.num_voxels;
            assert!(v < rows && got.num_points[v..].iter().all(|&n| n == 0));
            assert!(got.coords[v * got.coord_columns..].iter().all(|&c| c == -1));
            let Some(AnyArray::F32(mean)) = got.mean else { panic!("a mean was asked for") };
            assert!(mean[v * 5..].iter().all(|m| m.to_bits() == 0));
        }
    }
}

#[test]
fn sweeps_of_every_size_reuse_one_voxelizer() {
    for (name, device) in devices() {
        let params = VoxelizeParams { max_voxels: 200, ..VoxelizeParams::default() };
        let mut voxelizer = Voxelizer::new(&device.stream().unwrap(), &params).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        for n in [10, 700, 0, 300, 701, 1] {
            let data = cloud(&mut Random(n as u64), n, 4, 20.0);
            let points = Points::new(&data, 4).unwrap();
            voxelizer.run(points, &mut voxels).unwrap();
            let want = voxelize(points, &params, &Device::cpu_with_threads(1).unwrap()).unwrap().read().unwrap();
            assert_same(&voxels.read().unwrap(), &want, &format!("{n} points on {name}"));
        }
    }
}

#[test]
fn synthetic_sweeps() {
    let drive = Drive::new(DriveParams::default());
    let cloud = drive.sweep(0);
    let columns = cloud.columns();
    // The twin runs some hundred thousand fibers a second: a part of the sweep is enough for it.
    let part = Points::new(&cloud.data()[..20_000 * columns], columns).unwrap();
    for order in [RowOrder::FirstSeen, RowOrder::Sorted] {
        let params = VoxelizeParams { order, ..VoxelizeParams::default() };
        let got = on_all_devices(&Case { points: part, row_splits: None, params: params.clone() }, "part of a sweep");
        assert!(got.num_voxels > 1000);
        let whole = Case { points: cloud.points(), row_splits: None, params };
        let want = run(&whole, &Device::cpu_with_threads(1).unwrap());
        assert_same(&run(&whole, &Device::cpu_with_threads(2).unwrap()), &want, "sweep on two threads");
        if let Some(gpu) = gpu() {
            assert_same(&run(&whole, &gpu), &want, "sweep on the GPU");
        }
    }
}

/// Facts about public clouds, checked where those are at hand.
#[test]
fn known_counts_of_real_sweeps() {
    let data = repository("../shared/data");
    let data = std::env::var_os("POINTMILL_TEST_DATA").map_or(data, Into::into);
    let range = crate::Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
    let facts = [
        ("kitti/0000000000.bin", [0.2; 3], 18_300, Some((110_691, 109))),
        ("kitti/0000000001.bin", [0.2; 3], 18_158, None),
        ("kitti/0000000002.bin", [0.2; 3], 18_027, None),
        ("kitti/0000000003.bin", [0.2; 3], 17_836, None),
        ("nuscenes/ff9eff43.10sweeps.pcd.bin", [0.075, 0.075, 0.2], 105_086, Some((236_511, 1_051))),
    ];
    for (file, size, voxels, more) in facts {
        let path = data.join(file);
        if !path.exists() {
            continue;
        }
        let cloud = pointmill_io::read(&path, &pointmill_io::ReadOptions::default()).unwrap().cloud;
        let mut case = Case { points: cloud.points(), row_splits: None, params: VoxelizeParams::new(size, range) };
        let want = run(&case, &Device::cpu_with_threads(1).unwrap());
        assert_eq!(want.num_voxels, voxels, "{file}");
        assert_same(&run(&case, &Device::cpu_with_threads(2).unwrap()), &want, file);
        let devices = gpu().into_iter();
        for gpu in devices.clone() {
            assert_same(&run(&case, &gpu), &want, file);
        }
        case.params = VoxelizeParams { order: RowOrder::Sorted, ..VoxelizeParams::dynamic(size, range) };
        let all = run(&case, &Device::cpu_with_threads(1).unwrap());
        assert_same(&run(&case, &Device::cpu_with_threads(2).unwrap()), &all, file);
        for gpu in devices {
            assert_same(&run(&case, &gpu), &all, file);
        }
        if let Some((in_range, fullest)) = more {
            assert_eq!(all.report.points_kept, in_range, "{file}");
            assert_eq!(all.num_points.iter().max(), Some(&fullest), "{file}");
        }
    }
}

/// The same bits in run after run.
#[test]
fn a_gpu_never_varies() {
    let Some(gpu) = gpu() else { return };
    let drive = Drive::new(DriveParams::default());
    let cloud = drive.sweep(3);
    for params in [
        VoxelizeParams::default(),
        VoxelizeParams { order: RowOrder::Sorted, max_voxels: 5_000, ..VoxelizeParams::default() },
        VoxelizeParams::dynamic([0.2; 3], VoxelizeParams::default().range),
    ] {
        let want = run(
            &Case { points: cloud.points(), row_splits: None, params: params.clone() },
            &Device::cpu_with_threads(1).unwrap(),
        );
        let mut voxelizer = Voxelizer::new(&gpu.stream().unwrap(), &params).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        for round in 0..1000 {
            voxelizer.run(&cloud, &mut voxels).unwrap();
            assert_same(&voxels.read().unwrap(), &want, &format!("run {round}"));
        }
    }
}

/// A recorded call gives what a queued one gives, for the points that are in the buffer when it
/// runs.
#[test]
fn a_call_can_be_recorded() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    let drive = Drive::new(DriveParams::default());
    for order in [RowOrder::FirstSeen, RowOrder::Sorted] {
        let params = VoxelizeParams { order, ..VoxelizeParams::default() };
        let mut voxelizer = Voxelizer::new(&stream, &params).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        let (columns, len) = (drive.sweep(0).columns(), 100_000);
        let mut buffer = stream.alloc::<f32>(len * columns).unwrap();
        buffer.write(&drive.sweep(0).data()[..len * columns]).unwrap();
        voxelizer.run(Rows::on_device(&buffer, len, columns).unwrap(), &mut voxels).unwrap();
        let graph =
            stream.capture(|| voxelizer.run(Rows::on_device(&buffer, len, columns).unwrap(), &mut voxels)).unwrap();
        for sweep in 1..4 {
            let cloud = drive.sweep(sweep);
            let points = Points::new(&cloud.data()[..len * columns], columns).unwrap();
            buffer.write(points.data()).unwrap();
            // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
            unsafe { graph.launch() }.unwrap();
            let want = voxelize(points, &params, &Device::cpu_with_threads(1).unwrap()).unwrap().read().unwrap();
            assert_same(&voxels.read().unwrap(), &want, &format!("sweep {sweep}, {order:?}"));
        }
    }
}

/// A recorded batch keeps its splits; others, and points of the host, are refused while it is
/// recorded.
#[test]
fn a_recorded_batch_keeps_its_splits() {
    let data = cloud(&mut Random(31), 300, 4, 10.0);
    let points = Points::new(&data, 4).unwrap();
    let (halves, uneven) = ([0, 150, 300], [0, 20, 300]);
    let params = VoxelizeParams::default();
    let want = [halves, uneven].map(|splits| {
        let case = Case { points, row_splits: Some(splits.to_vec()), params: params.clone() };
        run(&case, &Device::cpu_with_threads(1).unwrap())
    });
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let buffer = stream.upload(&data).unwrap();
        let on_device = Rows::on_device(&buffer, 300, 4).unwrap();
        let mut voxelizer = Voxelizer::new(&stream, &params).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        voxelizer.run_batch(on_device, &halves, &mut voxels).unwrap();
        let e = stream.capture(|| voxelizer.run_batch(on_device, &uneven, &mut voxels)).unwrap_err().to_string();
        assert_eq!(e, "row_splits: expected those of the call before (the stream records a graph), got others");
        let e = stream.capture(|| voxelizer.run_batch(points, &halves, &mut voxels)).unwrap_err().to_string();
        assert_eq!(e, "points: expected memory of the device (the stream records a graph), got a host slice");
        let graph = stream.capture(|| voxelizer.run_batch(on_device, &halves, &mut voxels)).unwrap();
        for _ in 0..2 {
            voxelizer.run_batch(on_device, &uneven, &mut voxels).unwrap();
            assert_same(&voxels.read().unwrap(), &want[1], &format!("{name}, other splits"));
            // SAFETY: what the graph uses is alive, has not grown, and is this test's alone.
            unsafe { graph.launch() }.unwrap();
            assert_same(&voxels.read().unwrap(), &want[0], &format!("{name}, replayed"));
        }
    }
}

/// Points and results of other streams are in order with the voxelizer's.
#[test]
fn other_streams_wait_and_are_waited_for() {
    let data = cloud(&mut Random(37), 600, 4, 10.0);
    let params = VoxelizeParams { outputs: Outputs { lists: true, ..Outputs::default() }, ..VoxelizeParams::default() };
    let points = Points::new(&data, 4).unwrap();
    let want = voxelize(points, &params, &Device::cpu()).unwrap();
    let want_sums = scatter(&want, points, Reduction::Sum).unwrap().read(want.num_voxels().unwrap() * 4).unwrap();
    for (name, device) in kernel_devices() {
        let [own, arrays, results] = [0; 3].map(|_| device.stream().unwrap());
        for _ in 0..if name == "twin" { 1 } else { 50 } {
            // All new, so that calls allocate.
            let mut voxelizer = Voxelizer::new(&own, &params).unwrap();
            let mut voxels = Voxelizer::new(&results, &params).unwrap().output().unwrap();
            let buffer = arrays.upload(&data).unwrap();
            let points = Rows::on_device(&buffer, 600, 4).unwrap();
            let _ = [&own, &arrays, &results].map(Stream::take_steps);
            voxelizer.run(points, &mut voxels).unwrap();
            if name == "twin" {
                assert_in_order(&own, &[&arrays, &results], "voxelize");
            }
            assert!(voxels.stream().same_queue(&results));
            assert_same(&voxels.read().unwrap(), &want.read().unwrap(), name);
            let sums = scatter(&voxels, points, Reduction::Sum).unwrap();
            if name == "twin" {
                assert_in_order(&results, &[&arrays], "scatter");
            }
            assert_eq!(bits(&sums.read(want_sums.len()).unwrap()), bits(&want_sums), "{name}");
        }
    }
}

/// Threads with streams of their own share one device.
#[test]
fn threads_share_a_device() {
    for (name, device) in devices() {
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                let device = device.clone();
                scope.spawn(move || {
                    let data = cloud(&mut Random(t), 400, 4, 10.0);
                    let points = Points::new(&data, 4).unwrap();
                    let params = VoxelizeParams::default();
                    let want =
                        voxelize(points, &params, &Device::cpu_with_threads(1).unwrap()).unwrap().read().unwrap();
                    let got = voxelize(points, &params, &device).unwrap().read().unwrap();
                    assert_same(&got, &want, &format!("thread {t} on {name}"));
                });
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Any cloud, any caps, any order, any batch: all paths agree, and every point is accounted
    /// for.
    #[test]
    fn all_paths_agree(
        seed: u64,
        n in 0usize..600,
        columns in 3usize..9,
        max_points in prop::option::of(1u32..15),
        max_voxels in 1u32..200,
        sorted: bool,
        strict_range: bool,
        batch in prop::option::of(prop::collection::vec(0.0f64..1.0, 0..4)),
        f16: bool,
        lists: bool,
        point_to_voxel: bool,
        padded: bool,
        pick in prop_oneof![
            Just(Pick::First),
            any::<u64>().prop_map(|seed| Pick::Random { seed }),
            (0u32..3).prop_map(|column| Pick::RoundRobin { column }),
        ],
    ) {
        set_block_order(seed | 1);
        let data = cloud(&mut Random(seed), n, columns, 4.0);
        let row_splits = batch.map(|cuts| {
            let mut splits: Vec<usize> = cuts.iter().map(|c| (c * n as f64) as usize).chain([0, n]).collect();
            splits.sort_unstable();
            splits
        });
        let params = VoxelizeParams {
            max_points_per_voxel: max_points,
            max_voxels,
            pick,
            order: if sorted { RowOrder::Sorted } else { RowOrder::FirstSeen },
            strict_range,
            outputs: Outputs {
                voxels: max_points.is_some(),
                mean: Some(if f16 { MeanType::F16 } else { MeanType::F32 }),
                lists,
                point_to_voxel,
                padded,
            },
            ..VoxelizeParams::new([0.7, 0.6, 0.3], crate::Aabb::new([-3.0, -3.0, -0.4], [3.1, 3.0, 0.4]))
        };
        let got = on_all_devices(&Case { points: Points::new(&data, columns).unwrap(), row_splits, params }, "random");
        let r = got.report;
        prop_assert_eq!(
            r.points,
            r.points_kept + r.points_dropped_full_voxel + r.points_dropped_dropped_voxel + r.out_of_range + r.non_finite
        );
        prop_assert_eq!(r.voxels_found, r.voxels + r.voxels_dropped);
    }
}
