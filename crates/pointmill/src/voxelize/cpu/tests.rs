//! Clouds whose cells were chosen against the tables.

use super::*;
use crate::voxelize::{VoxelizeParams, Voxels};
use crate::{Device, Stream, testing::Random};
use pointmill_core::hash::RUN;

/// A point in the middle of each cell of the grid.
fn points_of(grid: &VoxelGrid, ids: &[u64]) -> Vec<f32> {
    let (min, size) = (grid.range().min, grid.size());
    let middle = |id: u64| grid.cell_of_id(id).map(|c| c as f32 + 0.5);
    let point = |id: &u64| {
        let c = middle(*id);
        [min[0] + c[0] * size[0], min[1] + c[1] * size[1], min[2] + c[2] * size[2], 1.0]
    };
    ids.iter().flat_map(point).collect()
}

/// Voxelizes the cells, checks the rows, and tells whether a table needed the secret, and how many
/// slots all searches looked at.
fn looks(grid: &VoxelGrid, params: &VoxelizeParams, ids: &[u64], stream: &Stream, device: &Device) -> (bool, u64) {
    let data = points_of(grid, ids);
    let points = Points::new(&data, 4).unwrap();
    let mut out = Voxels::new(stream).unwrap();
    let mut workspace = Workspace::new();
    let job = Job { input: points.into(), row_splits: None, params, grid };
    let extent = Extent::new(&job);
    device.install(|| run(&job, &extent, points, &mut workspace, &mut out)).unwrap();
    (out.extent, out.filled) = (extent, true);
    assert_eq!(out.num_voxels().unwrap(), ids.len().min(params.max_voxels as usize));
    let [x, y, z] = grid.cell_of_id(ids[ids.len() / 2]).map(|c| c as i32);
    assert_eq!(out.read().unwrap().coords[ids.len() / 2 * 3..][..3], [z, y, x]);
    let steps = |cells: &Cells<u32>| cells.table.steps_taken();
    let parts = workspace.narrow.parts.iter().map(steps);
    parts.fold((false, ids.len() as u64), |(any, all), (secret, steps)| (any | secret, all + steps))
}

/// The cells of the default grid that a function without a secret scatters least: all that it takes
/// to choose them is this code.
#[test]
fn chosen_cells_take_no_longer_than_random_ones() {
    const N: usize = 12_000;
    let params = VoxelizeParams::default();
    let grid = VoxelGrid::new(params.voxel_size, params.range).unwrap();
    let mut runs: Vec<u64> = (0..grid.num_cells() / RUN).collect();
    runs.sort_unstable_by_key(|run| run.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut chosen: Vec<u64> =
        runs[..N / RUN as usize].iter().flat_map(|run| (0..RUN).map(move |k| run * RUN + k)).collect();
    let mut random = Random(1);
    let any: std::collections::BTreeSet<u64> = (0..N).map(|_| random.below(grid.num_cells())).collect();
    let any: Vec<u64> = any.into_iter().collect();
    for (name, device) in crate::testing::devices().into_iter().filter(|(_, device)| device.is_cpu()) {
        let stream = device.stream().unwrap();
        let (secret, usual) = looks(&grid, &params, &any, &stream, &device);
        assert!(!secret && usual < 2 * N as u64, "{name}: {usual}");
        // As they meet, and in any order.
        for _ in 0..2 {
            let (secret, most) = looks(&grid, &params, &chosen, &stream, &device);
            assert!(secret && most < 5 * usual, "{name}: {most} slots, of random cells {usual}");
            chosen.sort_by_cached_key(|_| random.next());
        }
    }
}

/// What people voxelize needs no secret: lines along each axis, floors, walls, blocks of cells, and
/// sweeps.
#[test]
fn honest_clouds_are_scattered_evenly() {
    let params = VoxelizeParams::default();
    let grid = VoxelGrid::new(params.voxel_size, params.range).unwrap();
    let [x, y, z] = grid.dims().map(u64::from);
    let id = |c: [u64; 3]| (c[2] * y + c[1]) * x + c[0];
    let all = |n: u64, cell: &dyn Fn(u64) -> [u64; 3]| (0..n).map(|i| id(cell(i))).collect::<Vec<u64>>();
    let clouds = [
        ("along x", all(x, &|i| [i, 7, 7])),
        ("along y", all(y, &|i| [7, i, 7])),
        ("along z", all(z, &|i| [7, 7, i])),
        ("a floor", all(20_000, &|i| [i % x, i / x, 3])),
        ("a wall along x", all(x * z, &|i| [i % x, 9, i / x])),
        ("a wall along y", all(y * z, &|i| [9, i % y, i / y])),
        ("a block", all(20_000, &|i| [i % 25, i / 25 % 25, i / 625])),
        ("every fourth of a floor", all(20_000, &|i| [i % 135 * 4, i / 135, 3])),
    ];
    let device = Device::cpu_with_threads(1).unwrap();
    let stream = device.stream().unwrap();
    for (name, ids) in clouds {
        let (secret, most) = looks(&grid, &params, &ids, &stream, &device);
        assert!(!secret && most < 3 * ids.len() as u64, "{name}: {most} slots of {}", ids.len());
    }
    let drive = pointmill_synth::Drive::new(pointmill_synth::DriveParams::default());
    for size in [0.05, 0.2, 0.4] {
        let params = VoxelizeParams { max_voxels: 1 << 20, ..VoxelizeParams::new([size; 3], params.range) };
        let grid = VoxelGrid::new(params.voxel_size, params.range).unwrap();
        let cloud = drive.sweep(0);
        let mut workspace = Workspace::new();
        let job = Job { input: (&cloud).into(), row_splits: None, params: &params, grid: &grid };
        let mut out = Voxels::new(&stream).unwrap();
        device.install(|| run(&job, &Extent::new(&job), cloud.points(), &mut workspace, &mut out)).unwrap();
        let (secret, steps) = workspace.narrow.parts[0].table.steps_taken();
        assert!(!secret && steps < 2 * cloud.len() as u64, "{size} m: {steps} steps");
    }
}

/// Each array has its rest filled once.
#[test]
fn results_are_padded_once() {
    let params = VoxelizeParams { max_voxels: 50, ..VoxelizeParams::default() };
    let params = VoxelizeParams { outputs: crate::voxelize::Outputs { padded: true, ..params.outputs }, ..params };
    let stream = Device::cpu().stream().unwrap();
    PADDED.set(0);
    let mut voxelizer = crate::voxelize::Voxelizer::new(&stream, &params).unwrap();
    let mut voxels = voxelizer.output().unwrap();
    voxelizer.run(Points::new(&[1.0, 2.0, 0.0, 0.5], 4).unwrap(), &mut voxels).unwrap();
    // Coordinates, counts, points and means.
    assert_eq!(PADDED.get(), 4);
}
