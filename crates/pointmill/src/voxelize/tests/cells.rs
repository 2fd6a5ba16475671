//! Rows by the bits of cells: sorted rows, batches, and first-seen rows of many points.

use super::*;
use crate::testing::{Random, devices};
use pointmill_kernels::simt::twin::set_block_order;

/// Points of clusters and of few cells, in a grid of some cells, with a few that have none.
fn cloud(seed: u64, n: usize, extent: f32) -> Vec<f32> {
    let mut random = Random(seed);
    let value = |random: &mut Random| match random.below(100) {
        0 => f32::NAN,
        1 => 1e9,
        2..50 => random.between(0.0, extent),
        _ => random.between(0.0, extent / 3.0),
    };
    (0..n * 3).map(|_| value(&mut random)).collect()
}

/// A grid of `cells` cells along each axis.
fn params(cells: f32, order: RowOrder) -> VoxelizeParams {
    VoxelizeParams { order, ..VoxelizeParams::new([1.0; 3], crate::Aabb::new([0.0; 3], [cells; 3])) }
}

/// All devices in two orders of blocks against the CPU.
fn check(data: &[f32], row_splits: Option<&[usize]>, params: &VoxelizeParams, what: &str) -> VoxelArrays {
    let points = Points::new(data, 3).unwrap();
    let case = Case { points, row_splits: row_splits.map(<[_]>::to_vec), params: params.clone() };
    let want = run(&case, &Device::cpu_with_threads(1).unwrap());
    for (name, device) in devices() {
        for order in [0, 5] {
            set_block_order(order);
            assert_same(&run(&case, &device), &want, &format!("{what} on {name}, order {order}"));
        }
    }
    set_block_order(0);
    want
}

/// Splits with empty samples at both ends and between.
fn splits(n: usize) -> Vec<usize> {
    vec![0, 0, n / 5, n / 5, n / 5, n / 2 + 1, n, n]
}

#[test]
fn caps_of_one_cloud_and_of_samples() {
    // 1,100 points are many here, so that first-seen rows go this way too.
    for (n, order) in [(500, RowOrder::Sorted), (1100, RowOrder::Sorted), (1100, RowOrder::FirstSeen)] {
        let data = cloud(n as u64, n, 6.0);
        for cap in [1, 7, 100, 215, 216, 1000] {
            for lists in [false, true] {
                let outputs = Outputs { lists, point_to_voxel: cap != 7, padded: cap == 100, ..Outputs::default() };
                let params = VoxelizeParams { max_voxels: cap, outputs, ..params(6.0, order) };
                for row_splits in [None, Some(splits(n))] {
                    check(&data, row_splits.as_deref(), &params, &format!("{n} points, {order:?}, cap {cap}"));
                }
            }
        }
    }
}

/// Samples that start within a word of bits, at its edge, and many in one word.
#[test]
fn samples_start_anywhere_in_a_word() {
    for cells in [1.0, 2.0, 3.0, 4.0, 5.0, 8.0] {
        for (n, order) in [(300, RowOrder::Sorted), (1024, RowOrder::FirstSeen), (1031, RowOrder::FirstSeen)] {
            let data = cloud(n as u64 + 9, n, cells);
            let params = VoxelizeParams { max_points_per_voxel: Some(3), max_voxels: 20, ..params(cells, order) };
            let got = check(&data, Some(&splits(n)), &params, &format!("{cells} cells, {n} points"));
            assert_eq!(got.voxel_splits.map(|s| s.len()), Some(8));
            let by_ones: Vec<usize> = (0..=n).collect();
            check(&data, Some(&by_ones), &params, &format!("{cells} cells, {n} samples"));
        }
    }
}

#[test]
fn every_number_of_points_and_dynamic_voxels() {
    for order in [RowOrder::Sorted, RowOrder::FirstSeen] {
        let data = cloud(3, 1200, 40.0);
        for max_points in [None, Some(1), Some(4), Some(13), Some(14), Some(33)] {
            let outputs = Outputs { voxels: max_points.is_some(), lists: true, ..Outputs::default() };
            let params = VoxelizeParams { max_points_per_voxel: max_points, outputs, ..params(40.0, order) };
            for row_splits in [None, Some(splits(1200))] {
                check(&data, row_splits.as_deref(), &params, &format!("{order:?}, M {max_points:?}"));
            }
        }
        check(&[], None, &params(5.0, order), "no points");
        check(&[], Some(&[0]), &params(5.0, order), "no samples");
        check(&[], Some(&[0, 0, 0]), &params(5.0, order), "no points in two samples");
        check(&[f32::NAN; 3600], None, &params(5.0, order), "nothing but NaN");
    }
}

/// A grid of more cells than bits are kept for is voxelized by other kernels, with the same rows.
#[test]
fn grids_of_too_many_cells() {
    let data = cloud(4, 1100, 50.0);
    for order in [RowOrder::Sorted, RowOrder::FirstSeen] {
        let params = VoxelizeParams { voxel_size: [0.1; 3], max_voxels: 300, ..params(50.0, order) };
        let lists = VoxelizeParams { outputs: Outputs { lists: true, ..params.outputs }, ..params.clone() };
        for row_splits in [None, Some(splits(1100))] {
            check(&data, row_splits.as_deref(), &params, "many cells");
            check(&data, row_splits.as_deref(), &lists, "many cells, lists");
        }
    }
}

/// A call that fails between its kernels leaves bits behind; the next call starts with empty sets.
#[test]
fn a_call_that_failed_leaves_nothing() {
    let data = cloud(6, 1100, 6.0);
    let points = Points::new(&data, 3).unwrap();
    for (name, device) in crate::testing::kernel_devices() {
        for order in [RowOrder::Sorted, RowOrder::FirstSeen] {
            let params = params(6.0, order);
            let mut voxelizer = Voxelizer::new(&device.stream().unwrap(), &params).unwrap();
            let mut voxels = voxelizer.output().unwrap();
            for splits in [splits(1100), vec![0, 1100]] {
                let want = Case { points, row_splits: Some(splits.clone()), params: params.clone() };
                let want = run(&want, &Device::cpu());
                let no_arrays = |_: &[ArraySpec<VoxelArray>]| Err(Error::Internal { what: "no arrays".into() });
                assert!(voxelizer.run_into(points.into(), Some(&splits), &mut voxels, no_arrays).is_err());
                voxelizer.run_batch(points, &splits, &mut voxels).unwrap();
                assert_same(&voxels.read().unwrap(), &want, name);
            }
        }
    }
}
