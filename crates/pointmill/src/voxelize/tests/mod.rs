//! Answers from outside, parity of all paths, and what must be refused.

mod cells;
mod errors;
mod exchange;
mod fixtures;
mod parity;
mod picks;
mod rows;
mod seeds;

use super::*;
use crate::{AnyArray, f16};

/// Equal bit for bit, NaN included.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

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

/// Panics where two results differ, naming the arrays.
fn assert_same(got: &VoxelArrays, want: &VoxelArrays, what: &str) {
    assert_eq!(got.report, want.report, "{what}: report");
    assert_eq!(crate::differences(got, want), [""; 0], "{what}");
}
