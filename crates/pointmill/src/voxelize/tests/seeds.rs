//! The secret of the tables decides no result, and a table that is full is told.

use super::*;
use crate::seed::tests::with_seed;
use crate::testing::{Random, devices, kernel_devices};
use pointmill_kernels::simt::twin::set_block_order;

/// Points of which many share cells, others have one of their own, and some have none.
fn cloud(n: usize) -> Vec<f32> {
    let mut random = Random(5);
    let point = |i| {
        let spread = if i % 3 == 0 { 60.0 } else { 4.0 };
        let [x, y] = [0; 2].map(|_| random.between(-spread, spread));
        [x, y, random.between(-5.0, 3.0), i as f32]
    };
    (0..n).flat_map(point).collect()
}

#[test]
fn any_seed_gives_the_same_bits() {
    let data = cloud(1500);
    let points = Points::new(&data, 4).unwrap();
    let outputs = Outputs { lists: true, ..Outputs::default() };
    let short = VoxelizeParams { max_points_per_voxel: Some(3), outputs, ..VoxelizeParams::default() };
    let sorted = VoxelizeParams { order: RowOrder::Sorted, ..short };
    // More cells than 32 bits count.
    let long = VoxelizeParams { voxel_size: [0.01; 3], ..short };
    for (params, row_splits) in [(short, None), (sorted, Some(vec![0, 700, 1500])), (long, None)] {
        let case = Case { points, row_splits, params };
        let want = with_seed(0, || run(&case, &Device::cpu_with_threads(1).unwrap()));
        for (name, device) in devices() {
            for seed in [1, 2, u64::MAX] {
                set_block_order(seed);
                let got = with_seed(seed, || run(&case, &device));
                assert_same(&got, &want, &format!("seed {seed} on {name}"));
            }
        }
    }
}

/// Cells chosen against the function that the CPU's table begins with: the rows are those of the
/// other devices, before and after the table goes over to the secret.
#[test]
fn cells_that_were_chosen_get_their_rows() {
    let params = VoxelizeParams::default();
    let grid = VoxelGrid::new(params.voxel_size, params.range).unwrap();
    let mut runs: Vec<u64> = (0..grid.num_cells() / 4).collect();
    runs.sort_unstable_by_key(|run| run.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let point = |run: &u64| {
        let c = grid.cell_of_id(run * 4).map(|c| c as f32 + 0.5);
        let (min, size) = (grid.range().min, grid.size());
        [min[0] + c[0] * size[0], min[1] + c[1] * size[1], min[2] + c[2] * size[2]]
    };
    let data: Vec<f32> = runs[..2000].iter().flat_map(point).collect();
    let case = Case { points: Points::new(&data, 3).unwrap(), row_splits: None, params };
    let want = run(&case, &Device::cpu_with_threads(1).unwrap());
    assert_eq!(want.num_voxels, 2000);
    for (name, device) in devices() {
        assert_same(&run(&case, &device), &want, name);
    }
}

/// However the blocks are ordered, none of the points that find a table full is forgotten, and the
/// next call knows nothing of them.
#[test]
fn lost_points_are_counted_in_any_order_of_blocks() {
    let data: Vec<f32> = (0..1000).flat_map(|i| [-50.0 + 0.2 * (i % 500) as f32, (i / 500) as f32, 0.0]).collect();
    let points = Points::new(&data, 3).unwrap();
    for (name, device) in kernel_devices() {
        for order in [RowOrder::FirstSeen, RowOrder::Sorted] {
            // More cells than bits are kept for, so that sorted rows need a table too.
            let params = VoxelizeParams { voxel_size: [0.1; 3], order, ..VoxelizeParams::default() };
            for blocks in 0..6 {
                set_block_order(blocks);
                let mut voxelizer = Voxelizer::new(&device.stream().unwrap(), &params).unwrap();
                let mut voxels = voxelizer.output().unwrap();
                let small = |voxelizer: &mut Voxelizer, mask| match &mut voxelizer.side {
                    Side::Gpu(workspace) => workspace.mask = mask,
                    Side::Cpu(_) => unreachable!("a device with kernels"),
                };
                small(&mut voxelizer, Some(63));
                voxelizer.run(points, &mut voxels).unwrap();
                // 64 cells have a place; all others have a point each, but for some of two at the
                // edges of cells.
                for told in [voxels.num_voxels().unwrap_err(), voxels.report().unwrap_err()] {
                    let told = told.to_string();
                    let count = told.strip_prefix("internal error: ").and_then(|t| t.split_once(' ')).unwrap().0;
                    let count: usize = count.parse().unwrap();
                    assert!((800..1000).contains(&count), "{name}, {order:?}, {blocks}: {told}");
                }
                small(&mut voxelizer, None);
                voxelizer.run(points, &mut voxels).unwrap();
                let want = voxelize(points, &params, &Device::cpu()).unwrap().read().unwrap();
                assert_same(&voxels.read().unwrap(), &want, &format!("{name}, {order:?}, {blocks}"));
            }
        }
    }
}
