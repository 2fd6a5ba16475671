//! The CPU path: one thread in a single pass, or more threads on parts of the cells, with the same bits.
//!
//! Points become keys, keys become cells with sums, and cells, in the order asked for, become rows.

mod cells;
mod keys;
mod lists;
mod parallel;
mod rows;
mod runs;
mod scatter;
mod serial;
mod table;
#[cfg(test)]
mod tests;

pub(super) use scatter::scatter;

use super::result::{Lists, Mean, Shape};
use super::{Job, Voxels};
use crate::device::Buffer;
use crate::{Points, Result, VoxelGrid, memory};
use cells::{Cells, Wanted};
use keys::Key;
use pointmill_core::half::f16_bits_from_f32;
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
    lists: Option<&'a mut Lists>,
    sources: &'a mut Vec<(u32, u32)>,
    counters: Counters,
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
    /// Of the tables of cells.
    seed: Seed,
}

pub(super) fn run(job: &Job<'_>, points: Points<'_>, workspace: &mut Workspace, out: &mut Voxels) -> Result<()> {
    let mut splits = std::mem::take(host(&mut out.voxel_splits));
    let done = fill(job, points, workspace, &mut splits, out);
    // Of a call that failed nothing can be read, but buffers know their lengths.
    *host(&mut out.voxel_splits) = splits;
    out.sync_len();
    done
}

fn fill(
    job: &Job<'_>,
    points: Points<'_>,
    workspace: &mut Workspace,
    splits: &mut Vec<u32>,
    out: &mut Voxels,
) -> Result<()> {
    let params = job.params;
    let shape = Shape {
        points: points.len(),
        columns: points.columns(),
        max_points: params.max_points_per_voxel.unwrap_or(0) as usize,
        coord_columns: job.coord_columns(),
        samples: job.samples(),
        rows_bound: job.rows_bound(),
        padded: params.outputs.padded,
    };
    out.shape = shape;

    // Half-precision means are first made in single precision.
    let Workspace { seed, narrow, wide, means, sources } = workspace;
    splits.clear();
    let mut output = Output {
        rows: 0,
        coords: host(&mut out.coords),
        num_points: host(&mut out.num_points),
        voxels: out.voxels.as_mut().map(host),
        mean: match &mut out.mean {
            None => None,
            Some(Mean::F32(b)) => Some(host(b)),
            Some(Mean::F16(_)) => Some(means),
        },
        point_rows: match &mut out.point_to_voxel {
            Some(b) => {
                memory::resize(host(b), points.len(), 0)?;
                Some(bytemuck::cast_slice_mut(host(b)))
            }
            None => None,
        },
        lists: out.lists.as_mut(),
        sources,
        counters: Counters::default(),
    };
    if let Some(lists) = &mut output.lists {
        let row_splits = host(&mut lists.row_splits);
        row_splits.clear();
        row_splits.push(0);
    }
    for index in 0..shape.samples {
        let range = job.row_splits.map_or(0..points.len(), |s| s[index]..s[index + 1]);
        let sample = Sample {
            points,
            batch_index: job.row_splits.map(|_| index),
            grid: job.grid,
            strict: params.strict_range,
            sorted: params.order == super::RowOrder::Sorted,
            max_voxels: params.max_voxels as usize,
            max_points: params.max_points_per_voxel.unwrap_or(u32::MAX),
            seed: *seed,
            range,
        };
        memory::push(splits, output.rows as u32)?;
        if keys::narrow(job.grid) {
            run_sample(&sample, narrow, &mut output, &out.shape)?;
        } else {
            run_sample(&sample, wide, &mut output, &out.shape)?;
        }
    }
    let rows = output.rows;
    memory::push(splits, rows as u32)?;
    output.counters.voxels = rows as u32;
    finish(&mut output, &out.shape)?;
    let counters = output.counters;

    if let Some(Mean::F16(b)) = &mut out.mean {
        let half = host(b);
        half.clear();
        memory::extend(half, means.iter().map(|&m| f16_bits_from_f32(m)))?;
    }
    out.counters.write(&[counters])?;
    out.for_host.tell(counters.voxels)
}

/// Appends the rows of one sample.
fn run_sample<K: Key>(sample: &Sample<'_>, w: &mut Cpu<K>, out: &mut Output<'_>, shape: &Shape) -> Result<()> {
    let wanted = Wanted {
        sums: out.mean.is_some(),
        lists: out.voxels.is_some() || out.lists.is_some(),
        point_rows: out.point_rows.is_some(),
    };
    let threads = rayon::current_num_threads();
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
        coords: rows_mut(out.coords, shape.coord_columns, first..end)?,
        num_points: rows_mut(out.num_points, 1, first..end)?,
        mean: out.mean.as_mut().map(|all| rows_mut(all, shape.columns, first..end)).transpose()?,
        voxels: out
            .voxels
            .as_mut()
            .map(|all| rows_mut(all, shape.max_points * shape.columns, first..end))
            .transpose()?,
        sources: out.lists.is_some().then(|| &mut out.sources[..end - first]),
    };
    let order_end = if sample.sorted { sample.grid.num_cells() } else { sample.range.end as u64 };
    let in_rows = merge.write(0, order_end, rows);
    if let Some(lists) = &mut out.lists {
        let (row_splits, indices) = (host(&mut lists.row_splits), host(&mut lists.indices));
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
fn finish(output: &mut Output<'_>, shape: &Shape) -> Result<()> {
    let rows = output.rows;
    output.counters.kept = output.num_points[..rows].iter().map(|&n| n as u32).sum();
    let padded = if shape.padded { shape.rows_bound } else { rows };
    pad(output.coords, shape.coord_columns, rows..padded, -1)?;
    pad(output.num_points, 1, rows..padded, 0)?;
    if let Some(voxels) = &mut output.voxels {
        pad(voxels, shape.max_points * shape.columns, rows..padded, 0.0)?;
    }
    if let Some(means) = &mut output.mean {
        pad(means, shape.columns, rows..padded, 0.0)?;
    }
    if let Some(lists) = &mut output.lists {
        host(&mut lists.indices).truncate(output.counters.kept as usize);
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
    all[rows.start * columns..].par_chunks_mut(1 << 16).for_each(|values| values.fill(value));
    Ok(())
}

fn host<T: bytemuck::Pod>(buffer: &mut Buffer<T>) -> &mut Vec<T> {
    buffer.host_mut().expect("the CPU path has CPU buffers")
}
