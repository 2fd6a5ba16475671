//! The CPU path: one thread in a single pass, or more threads on parts of the cells, with the same
//! bits.
//!
//! Points become keys, keys become cells with sums, and cells, in the order asked for, become rows.

mod cells;
mod keys;
mod lists;
mod parallel;
mod pick;
mod rows;
mod runs;
mod scatter;
mod serial;
mod table;
#[cfg(test)]
mod tests;

pub(super) use scatter::scatter;

use super::arrays::Extent;
use super::{Job, MeanType, Pick, Voxels};
use crate::arrays::vector;
use crate::device::Buffer;
use crate::rows::Feature;
use crate::{Points, Result, VoxelGrid, f16, memory, par};
use cells::{Cells, Wanted};
use keys::Key;
use pointmill_core::hash::Seed;
use pointmill_kernels::voxelize::Counters;
use rayon::prelude::*;
use rows::{MAX_PARTS, Merge, Rows};
use std::ops::Range;

/// No row.
const NONE: u32 = u32::MAX;
/// Fewer points than this are not worth waking other threads for.
const PARALLEL_POINTS: usize = if cfg!(test) { 1 } else { 16_384 };

/// Memory that calls use again.
#[derive(Debug)]
pub(super) struct Workspace {
    seed: Seed,
    narrow: Cpu<u32>,
    wide: Cpu<u64>,
    /// Single-precision means of half-precision results.
    means: Vec<f32>,
    /// Part and cell of each row of a sample.
    sources: Vec<(u32, u32)>,
}

impl Workspace {
    pub(super) fn new() -> Self {
        let (narrow, wide) = (Cpu::default(), Cpu::default());
        Self { seed: crate::seed::seed(), narrow, wide, means: Vec::new(), sources: Vec::new() }
    }
}

/// Memory for one type of keys.
#[derive(Debug, Default)]
struct Cpu<K> {
    chunks: Vec<parallel::Chunk<K>>,
    parts: Vec<Cells<K>>,
}

/// The arrays of the result; what lies behind the rows so far is left from earlier calls.
struct Output<'a> {
    rows: usize,
    coords: &'a mut Vec<i32>,
    num_points: &'a mut Vec<i32>,
    voxels: Option<&'a mut Vec<f32>>,
    mean: Option<&'a mut Vec<f32>>,
    /// `[N]` rows, all bits set for none.
    point_rows: Option<&'a mut [u32]>,
    /// Where each row's points start, and the points.
    lists: Option<(&'a mut Vec<u32>, &'a mut Vec<u32>)>,
    /// Where each sample's rows start; for batches.
    voxel_splits: Option<&'a mut Vec<u32>>,
    sources: &'a mut Vec<(u32, u32)>,
    counters: Counters,
}

impl Output<'_> {
    /// A sample begins, or the last one ends.
    fn push_split(&mut self) -> Result<()> {
        self.voxel_splits.as_mut().map_or(Ok(()), |splits| memory::push(splits, self.rows as u32))
    }
}

/// One sample and what is asked of it.
struct Sample<'a> {
    points: Points<'a>,
    range: Range<usize>,
    /// The sample's number, if there is a batch.
    batch_index: Option<usize>,
    grid: &'a VoxelGrid,
    strict: bool,
    sorted: bool,
    max_voxels: usize,
    /// M, or no limit.
    max_points: u32,
    /// How points of a cell of more are chosen, where these are not the first.
    chosen: Option<Pick>,
    /// Of the tables of cells.
    seed: Seed,
}

/// Fills the arrays of the result.
pub(super) fn run(
    job: &Job<'_>,
    extent: &Extent,
    points: Points<'_>,
    workspace: &mut Workspace,
    out: &mut Voxels,
) -> Result<()> {
    let done = fill(job, extent, points, workspace, out);
    // Of a call that failed nothing can be read, but buffers know their lengths.
    out.arrays.sync_len();
    done
}

fn fill(job: &Job<'_>, extent: &Extent, points: Points<'_>, workspace: &mut Workspace, out: &mut Voxels) -> Result<()> {
    let (params, outputs) = (job.params, &extent.outputs);
    // Half-precision means are first made in single precision.
    let Workspace { seed, narrow, wide, means, sources } = workspace;
    let (stream, slots) = out.arrays.slots();
    let [coords, num_points, voxels, mean, point_to_voxel, row_splits, indices, voxel_splits] = slots;
    let (single, mut half) = match outputs.mean {
        None => (None, None),
        Some(MeanType::F32) => (Some(vector(mean, stream)?), None),
        Some(MeanType::F16) => (Some(&mut *means), Some(vector::<f16>(mean, stream)?)),
    };
    let mut output = Output {
        rows: 0,
        coords: vector(coords, stream)?,
        num_points: vector(num_points, stream)?,
        voxels: if outputs.voxels { Some(vector(voxels, stream)?) } else { None },
        mean: single,
        point_rows: None,
        lists: if extent.lists { Some((vector(row_splits, stream)?, vector(indices, stream)?)) } else { None },
        voxel_splits: if job.row_splits.is_some() { Some(vector(voxel_splits, stream)?) } else { None },
        sources,
        counters: Counters::default(),
    };
    if outputs.point_to_voxel {
        let rows = vector::<i32>(point_to_voxel, stream)?;
        memory::resize(rows, points.len(), 0)?;
        output.point_rows = Some(bytemuck::cast_slice_mut(rows));
    }
    if let Some((row_splits, _)) = &mut output.lists {
        row_splits.clear();
        memory::push(row_splits, 0)?;
    }
    if let Some(splits) = &mut output.voxel_splits {
        splits.clear();
    }
    for index in 0..extent.samples {
        let range = job.row_splits.map_or(0..points.len(), |s| s[index]..s[index + 1]);
        let sample = Sample {
            points,
            batch_index: job.row_splits.map(|_| index),
            grid: job.grid,
            strict: params.strict_range,
            sorted: params.order == super::RowOrder::Sorted,
            max_voxels: params.max_voxels as usize,
            max_points: params.max_points_per_voxel.unwrap_or(u32::MAX),
            chosen: params.chosen().map(|(_, pick)| pick),
            seed: *seed,
            range,
        };
        output.push_split()?;
        if keys::narrow(job.grid) {
            run_sample(&sample, narrow, &mut output, extent)?;
        } else {
            run_sample(&sample, wide, &mut output, extent)?;
        }
    }
    output.push_split()?;
    output.counters.voxels = output.rows as u32;
    finish(&mut output, extent)?;
    let counters = output.counters;
    if let Some(half) = &mut half {
        half.clear();
        memory::extend(half, means.iter().map(|&m| f16::narrow(m)))?;
    }
    out.counters.write(&[counters])?;
    out.for_host.tell(counters.voxels)
}

/// Appends the rows of one sample.
fn run_sample<K: Key>(sample: &Sample<'_>, w: &mut Cpu<K>, out: &mut Output<'_>, extent: &Extent) -> Result<()> {
    let wanted = Wanted {
        sums: out.mean.is_some(),
        lists: out.voxels.is_some() || out.lists.is_some() || sample.chosen.is_some(),
        point_rows: out.point_rows.is_some(),
    };
    let threads = par::threads();
    let in_parallel = threads > 1 && sample.range.len() >= PARALLEL_POINTS;
    let parts = if in_parallel { threads.min(MAX_PARTS) } else { 1 };
    w.parts.resize_with(parts.max(w.parts.len()), Cells::default);
    let parts = &mut w.parts[..parts];
    let outside = if in_parallel {
        parallel::find(sample, wanted, &mut w.chunks, parts)?
    } else {
        serial::find(sample, wanted, &mut parts[0])?
    };
    let found = parts.iter().map(|part| part.table.keys.len()).sum::<usize>();
    let (first, end) = (out.rows, out.rows + found.min(sample.max_voxels));
    out.rows = end;
    let merge = Merge { sample, parts, wanted };
    if out.lists.is_some() {
        let most = out.sources.len().max(end - first);
        memory::resize(out.sources, most, (0, 0))?;
    }
    let rows = Rows {
        first,
        coords: rows_mut(out.coords, extent.coord_columns, first..end)?,
        num_points: rows_mut(out.num_points, 1, first..end)?,
        mean: out.mean.as_mut().map(|all| rows_mut(all, extent.columns, first..end)).transpose()?,
        voxels: out
            .voxels
            .as_mut()
            .map(|all| rows_mut(all, extent.max_points * extent.columns, first..end))
            .transpose()?,
        sources: out.lists.is_some().then(|| &mut out.sources[..end - first]),
    };
    let order_end = if sample.sorted { sample.grid.num_cells() } else { sample.range.end as u64 };
    let in_rows = merge.write(0, order_end, rows);
    if let Some((row_splits, indices)) = &mut out.lists {
        lists::append(parts, &out.sources[..end - first], &out.num_points[first..end], row_splits, indices)?;
    }
    if let Some(point_rows) = &mut out.point_rows {
        let point_rows = &mut point_rows[sample.range.clone()];
        if in_parallel {
            parallel::write_points(sample, &w.chunks, parts, point_rows);
        } else {
            serial::write_points(sample, &parts[0], point_rows);
        }
    }
    let counters = &mut out.counters;
    counters.found += found as u32;
    counters.non_finite += outside.non_finite;
    counters.out_of_range += outside.out_of_range;
    let inside = sample.range.len() as u32 - outside.non_finite - outside.out_of_range;
    counters.dropped_voxel += inside - in_rows as u32;
    Ok(())
}

/// Some rows of an array that grows if needed.
fn rows_mut<T: bytemuck::Pod>(all: &mut Vec<T>, columns: usize, rows: Range<usize>) -> Result<&mut [T]> {
    memory::resize(all, all.len().max(rows.end * columns), T::zeroed())?;
    Ok(&mut all[rows.start * columns..rows.end * columns])
}

/// Pads and counts what is done.
fn finish(output: &mut Output<'_>, extent: &Extent) -> Result<()> {
    let rows = output.rows;
    output.counters.kept = output.num_points[..rows].iter().map(|&n| n as u32).sum();
    let padded = extent.rows(rows);
    pad(output.coords, extent.coord_columns, rows..padded, -1)?;
    pad(output.num_points, 1, rows..padded, 0)?;
    if let Some(voxels) = &mut output.voxels {
        pad(voxels, extent.max_points * extent.columns, rows..padded, 0.0)?;
    }
    if let Some(means) = &mut output.mean {
        pad(means, extent.columns, rows..padded, 0.0)?;
    }
    if let Some((_, indices)) = &mut output.lists {
        indices.truncate(output.counters.kept as usize);
    }
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// How often [`pad`] was called in this thread.
    static PADDED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Fills rows to the end of an array; of points these can be megabytes.
fn pad<T: bytemuck::Pod + Send + Sync>(all: &mut Vec<T>, columns: usize, rows: Range<usize>, value: T) -> Result<()> {
    #[cfg(test)]
    PADDED.set(PADDED.get() + 1);
    memory::resize(all, rows.end * columns, value)?;
    all[rows.start * columns..]
        .par_chunks_mut(1 << 16)
        .with_min_len(par::grain(1))
        .for_each(|values| values.fill(value));
    Ok(())
}

fn host<T: bytemuck::Pod>(buffer: &mut Buffer<T>) -> &mut Vec<T> {
    buffer.host_mut().expect("the CPU path has CPU buffers")
}
