//! Reductions over the lists of a result.

use super::host;
use crate::arrays::AnyBuffer;
use crate::device::{Buffer, Stream};
use crate::voxelize::{ScatterMode, VoxelArray, Voxels};
use crate::{Points, Result, par};
use pointmill_core::mean::{canonical, larger, mean_from_sum};
use rayon::prelude::*;

/// Reduces features over the lists of a result.
pub(in crate::voxelize) fn scatter(
    voxels: &Voxels,
    features: Points<'_>,
    stream: &Stream,
    mode: ScatterMode,
) -> Result<Buffer<f32>> {
    let columns = features.columns();
    let mut output = stream.alloc(voxels.num_voxels()? * columns)?;
    let list = |array| voxels.arrays.get(array).and_then(AnyBuffer::typed::<u32>).and_then(Buffer::as_slice);
    let lists = list(VoxelArray::RowSplits).zip(list(VoxelArray::Indices));
    let (splits, indices) = lists.expect("the CPU path has CPU buffers");
    stream.device().install(|| {
        host(&mut output).par_chunks_mut(columns).with_min_len(par::grain(256)).enumerate().for_each(|(row, out)| {
            let points = &indices[splits[row] as usize..splits[row + 1] as usize];
            out.fill(if mode == ScatterMode::Max { f32::NAN } else { 0.0 });
            for &i in points {
                for (o, &f) in out.iter_mut().zip(features.row(i as usize)) {
                    *o = if mode == ScatterMode::Max { larger(*o, f) } else { *o + f };
                }
            }
            for o in out {
                *o = if mode == ScatterMode::Mean { mean_from_sum(*o, points.len() as u32) } else { canonical(*o) };
            }
        });
    });
    Ok(output)
}
