//! Answers from outside, parity of all paths, and what must be refused.

mod errors;
mod exchange;
mod fixtures;
mod parity;
mod seeds;

use super::*;

/// Everything a call returns and everything `scatter` makes of it.
fn run(job: &Case<'_>, device: &Device) -> VoxelArrays {
    let mut voxelizer = Voxelizer::new(&device.stream().unwrap(), &job.params).unwrap();
    let mut voxels = voxelizer.output().unwrap();
    // Twice, so that what the first call leaves behind is used.
    for _ in 0..2 {
        match &job.row_splits {
            Some(splits) => voxelizer.run_batch(job.points, splits, &mut voxels).unwrap(),
            None => voxelizer.run(job.points, &mut voxels).unwrap(),
        }
    }
    voxels.read().unwrap()
}

/// One call.
#[derive(Clone, Debug)]
struct Case<'a> {
    points: Points<'a>,
    row_splits: Option<Vec<usize>>,
    params: VoxelizeParams,
}

/// Equal bit for bit, NaN included.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Panics where two results differ, naming the array.
fn assert_same(got: &VoxelArrays, want: &VoxelArrays, what: &str) {
    assert_eq!(got.report, want.report, "{what}: report");
    assert_eq!(got.coords, want.coords, "{what}: coords");
    assert_eq!(got.num_points, want.num_points, "{what}: num_points");
    assert_eq!(got.point_to_voxel, want.point_to_voxel, "{what}: point_to_voxel");
    assert_eq!(got.voxels.as_deref().map(bits), want.voxels.as_deref().map(bits), "{what}: voxels");
    match (&got.mean, &want.mean) {
        (Some(MeanArray::F32(got)), Some(MeanArray::F32(want))) => assert_eq!(bits(got), bits(want), "{what}: mean"),
        (got, want) => assert_eq!(got, want, "{what}: mean"),
    }
    assert_eq!(got.lists, want.lists, "{what}: lists");
    assert_eq!(got.voxel_splits, want.voxel_splits, "{what}: voxel_splits");
}
