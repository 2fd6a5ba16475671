//! Reductions over the lists of a result.

use super::host;
use crate::device::{Buffer, Stream};
use crate::voxelize::ScatterMode;
use crate::voxelize::result::Lists;
use crate::{Points, Result};
use pointmill_core::mean::{canonical, larger, mean_from_sum};
use rayon::prelude::*;

/// Reduces features over the lists of a result.
pub(in crate::voxelize) fn scatter(
    lists: &Lists,
    features: Points<'_>,
    rows: usize,
    stream: &Stream,
    mode: ScatterMode,
) -> Result<Buffer<f32>> {
    let columns = features.columns();
    let mut output = stream.alloc(rows * columns)?;
    let (splits, indices) = (lists.row_splits.as_slice(), lists.indices.as_slice());
    let (splits, indices) = splits.zip(indices).expect("the CPU path has CPU buffers");
    stream.device().install(|| {
        host(&mut output).par_chunks_mut(columns).with_min_len(256).enumerate().for_each(|(row, out)| {
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
