//! Reductions over the lists of a result.

use super::host;
use crate::arrays::AnyBuffer;
use crate::device::{Buffer, Stream};
use crate::scatter::{Reduction, reduce_lists};
use crate::voxelize::{VoxelArray, Voxels};
use crate::{Points, Result};

/// Reduces features over the lists of a result.
pub(in crate::voxelize) fn scatter(
    voxels: &Voxels,
    features: Points<'_>,
    stream: &Stream,
    how: Reduction,
) -> Result<Buffer<f32>> {
    let (rows, columns) = (voxels.num_voxels()?, features.columns());
    let mut output = stream.alloc(rows * columns)?;
    let list = |array| voxels.arrays.get(array).and_then(AnyBuffer::typed::<u32>).and_then(Buffer::as_slice);
    let lists = list(VoxelArray::RowSplits).zip(list(VoxelArray::Indices));
    let (splits, indices) = lists.expect("the CPU path has CPU buffers");
    let (lists, output_values) = ((&splits[..=rows], Some(indices)), host(&mut output));
    stream.device().install(|| reduce_lists(lists, features.data(), columns, how, output_values, &mut []));
    Ok(output)
}
