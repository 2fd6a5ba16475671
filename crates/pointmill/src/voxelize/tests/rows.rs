//! First-seen rows of one cloud: caps, rows of every length, and which kernels run.

use super::*;
use crate::device::Step;
use crate::testing::{Random, devices, kernel_devices};
use pointmill_kernels::simt::twin::set_block_order;

/// Means, points and rows of points, without lists.
fn params(max_points: u32, max_voxels: u32) -> VoxelizeParams {
    let range = crate::Aabb::new([0.0; 3], [40.0, 40.0, 1.0]);
    VoxelizeParams { max_points_per_voxel: Some(max_points), max_voxels, ..VoxelizeParams::new([1.0; 3], range) }
}

/// All devices in several orders of blocks against the CPU, with and without rows of points, exact
/// and padded.
fn check(data: &[f32], params: &VoxelizeParams, what: &str) -> VoxelArrays {
    let mut made = None;
    for (point_to_voxel, padded) in [(true, false), (false, false), (false, true)] {
        let outputs = Outputs { point_to_voxel, padded, ..params.outputs };
        let params = VoxelizeParams { outputs, ..params.clone() };
        let case = Case { points: Points::new(data, 4).unwrap(), row_splits: None, params };
        let want = run(&case, &Device::cpu_with_threads(1).unwrap());
        for (name, device) in devices() {
            for order in [0, 3, 99] {
                set_block_order(order);
                assert_same(&run(&case, &device), &want, &format!("{what} on {name}, order {order}"));
            }
        }
        made.get_or_insert(want);
    }
    set_block_order(0);
    made.unwrap()
}

/// A point in the middle of each of these cells, with its index as fourth value.
fn points(cells: impl IntoIterator<Item = u32>) -> Vec<f32> {
    let point = |(i, cell): (usize, u32)| [(cell % 40) as f32 + 0.5, (cell / 40) as f32 + 0.5, 0.5, i as f32];
    cells.into_iter().enumerate().flat_map(point).collect()
}

#[test]
fn caps_at_and_around_the_edges_of_tiles() {
    // The first tile of 256 points opens 256 rows; then points of all cells again, of which some
    // have no row.
    let cells = || (0..480).chain((0..480).rev());
    for cap in [1, 255, 256, 257, 479, 480, 481] {
        let got = check(&points(cells()), &params(3, cap), &format!("cap {cap}"));
        let rows = cap.min(480) as usize;
        assert_eq!((got.num_voxels, got.report.points_dropped_dropped_voxel), (rows, 2 * (480 - rows)));
    }
}

#[test]
fn rows_of_every_length_keep_the_first_points() {
    let mut random = Random(17);
    // Cells of up to 40 points: alone, side by side in a warp, and spread over blocks.
    let spread: Vec<u32> = (0..950).map(|_| random.below(60) as u32).collect();
    let in_runs: Vec<u32> = (0..950).map(|i| i / 7 % 50).collect();
    for max_points in [1, 2, 4, 5, 8, 9, 11, 12, 13] {
        for cells in [&spread, &in_runs] {
            let got = check(&points(cells.iter().copied()), &params(max_points, 1000), &format!("M {max_points}"));
            assert_eq!(got.num_points.iter().max(), Some(&(max_points as i32)));
        }
    }
}

#[test]
fn points_that_are_none_or_the_same() {
    check(&[], &params(3, 10), "no points");
    check(&points([7; 300]), &params(5, 10), "one cell");
    let mut odd = points((0..400).map(|i| i % 30));
    for (i, bad) in [f32::NAN, f32::INFINITY, -0.0, 1e30, -1.0].into_iter().cycle().take(70).enumerate() {
        odd[i * 20 + i % 4] = bad;
    }
    let got = check(&odd, &params(4, 25), "odd values");
    assert!(got.report.non_finite > 0 && got.report.out_of_range > 0 && got.report.points_dropped_dropped_voxel > 0);
    check(&[f32::NAN; 160], &params(3, 10), "nothing but NaN");
}

/// Wide points have more columns than a warp has lanes.
#[test]
fn points_of_many_columns() {
    for columns in [3, 31, 32, 33, 64] {
        let data: Vec<f32> = (0..300 * columns).map(|v| (v % columns % 3 * 7 + v / columns / 9) as f32 * 0.3).collect();
        let case = Case { points: Points::new(&data, columns).unwrap(), row_splits: None, params: params(4, 60) };
        let want = run(&case, &Device::cpu_with_threads(1).unwrap());
        for (name, device) in kernel_devices() {
            assert_same(&run(&case, &device), &want, &format!("{columns} columns on {name}"));
        }
    }
}

/// Which kernels run.
#[test]
fn kernels_of_each_way() {
    let stream = Device::twin().stream().unwrap();
    let data = points((0..300).map(|i| i % 50));
    let cloud = Points::new(&data, 4).unwrap();
    let means = Outputs { voxels: false, point_to_voxel: false, ..Outputs::default() };
    let with = |outputs, max_points, order, splits: Option<&[usize]>| {
        let params = VoxelizeParams { outputs, order, ..params(max_points, 100) };
        let mut voxelizer = Voxelizer::new(&stream, &params).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        for _ in 0..2 {
            stream.take_steps();
            match splits {
                None => voxelizer.run(cloud, &mut voxels).unwrap(),
                Some(splits) => voxelizer.run_batch(cloud, splits, &mut voxels).unwrap(),
            }
        }
        let kernel = |step| if let Step::Kernel(name) = step { Some(name) } else { None };
        stream.take_steps().into_iter().filter_map(kernel).collect::<Vec<_>>()
    };
    let first_seen = RowOrder::FirstSeen;
    let of_means = ["voxelize_insert", "voxelize_rows", "voxelize_emit"];
    assert_eq!(with(means, 10, first_seen, None), of_means);
    let three = ["voxelize_insert", "voxelize_rows", "voxelize_emit_few"];
    assert_eq!(with(Outputs { padded: true, ..Outputs::default() }, 12, first_seen, None), three);
    assert!(with(Outputs { lists: true, ..means }, 10, first_seen, None).contains(&"voxelize_lists"));
    let longer = ["voxelize_insert", "voxelize_rows", "voxelize_emit_points", "voxelize_emit"];
    assert_eq!(with(Outputs::default(), 13, first_seen, None), longer);
    assert!(with(means, 10, first_seen, Some(&[0, 300])).contains(&"voxelize_place"));
    let cells = ["voxelize_mark", "voxelize_rank_bits", "voxelize_assign_cells", "voxelize_emit"];
    assert_eq!(with(means, 10, RowOrder::Sorted, None), cells);
    assert!(with(means, 10, RowOrder::Sorted, Some(&[0, 300])).contains(&"voxelize_samples"));
}

/// A call that fails between its kernels leaves cells behind; the next call starts with an empty
/// table.
#[test]
fn a_call_that_failed_leaves_nothing() {
    let data = points((0..500).map(|i| i % 70));
    let cloud = Points::new(&data, 4).unwrap();
    let params = params(5, 60);
    let want = voxelize(cloud, &params, &Device::cpu()).unwrap().read().unwrap();
    for (name, device) in kernel_devices() {
        let mut voxelizer = Voxelizer::new(&device.stream().unwrap(), &params).unwrap();
        let mut voxels = voxelizer.output().unwrap();
        for _ in 0..2 {
            let refused = voxelizer
                .run_into(cloud.into(), None, &mut voxels, |_| Err(Error::Internal { what: "no arrays".into() }));
            assert!(refused.is_err(), "{name}");
            voxelizer.run(cloud, &mut voxels).unwrap();
            assert_same(&voxels.read().unwrap(), &want, name);
        }
    }
}
