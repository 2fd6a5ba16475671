//! The CPU path: one thread in a single pass, or more threads on parts of the cells, with the same bits.

mod lists;
mod parallel;
mod serial;
mod table;

use super::result::{Lists, Mean, Shape};
use super::{Job, MAX_POINTS, ScatterMode, Voxels};
use crate::device::{Buffer, Stream};
use crate::{Points, Result, VoxelGrid};
use pointmill_core::half::f16_bits_from_f32;
use pointmill_core::mean::{canonical, larger, mean_from_sum};
use pointmill_kernels::voxelize::{Counters, ForHost};
use std::ops::Range;

/// No row.
const NONE: u32 = u32::MAX;
/// In place of a cell id: the point is outside the grid.
const OUT_OF_RANGE: u64 = u64::MAX;
/// In place of a cell id: the point has a NaN or an infinity in x, y or z.
const NON_FINITE: u64 = u64::MAX - 1;
/// Fewer points than this are not worth waking other threads for.
const PARALLEL_POINTS: usize = if cfg!(test) { 1 } else { 16_384 };

/// Memory that calls use again.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    serial: serial::Workspace,
    parallel: parallel::Workspace,
    /// Rows of the points.
    rows: Vec<u32>,
    /// Where the next point of each list goes.
    next: Vec<u32>,
}

/// The arrays of the result as vectors, empty at first.
struct Output<'a> {
    coords: &'a mut Vec<i32>,
    num_points: &'a mut Vec<i32>,
    voxels: Option<&'a mut Vec<f32>>,
    /// Sums first, then means, in `f32`.
    mean: Option<&'a mut Vec<f32>>,
    /// `[N]` rows, all bits set for none.
    rows: &'a mut Vec<u32>,
    counters: Counters,
}

/// What one sample asks of a path.
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
}

pub(super) fn run(job: &Job<'_>, points: Points<'_>, workspace: &mut Workspace, out: &mut Voxels) -> Result<()> {
    let params = job.params;
    let shape = Shape {
        points: points.len(),
        columns: points.columns(),
        max_points: params.max_points_per_voxel.unwrap_or(0) as usize,
        coord_columns: job.coord_columns(),
        samples: job.samples(),
        rows_bound: job.samples().saturating_mul(params.max_voxels as usize),
        padded: params.outputs.padded,
    };
    let bound = if shape.padded { shape.rows_bound } else { shape.rows_bound.min(shape.points) };
    if bound > MAX_POINTS {
        let expected = format!("samples x max_voxels of at most {MAX_POINTS} in a padded result");
        return Err(crate::Error::argument("max_voxels", expected, bound));
    }
    out.shape = Shape { rows_bound: bound, ..shape };

    // Half-precision means are summed in single precision: in the workspace's vector, which then is converted.
    let mut f32_means = std::mem::take(&mut workspace.serial.means);
    let mut splits = std::mem::take(cleared(host(&mut out.voxel_splits)));
    let mut output = Output {
        coords: cleared(host(&mut out.coords)),
        num_points: cleared(host(&mut out.num_points)),
        voxels: out.voxels.as_mut().map(host),
        mean: match &mut out.mean {
            None => None,
            Some(Mean::F32(b)) => Some(host(b)),
            Some(Mean::F16(_)) => Some(&mut f32_means),
        },
        rows: &mut workspace.rows,
        counters: Counters::default(),
    };
    output.rows.resize(points.len(), NONE);
    let threads = rayon::current_num_threads();
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
            range,
        };
        splits.push(output.num_points.len() as u32);
        if threads > 1 && sample.range.len() >= PARALLEL_POINTS {
            parallel::run(&sample, &mut workspace.parallel, &mut output, shape.max_points);
        } else {
            serial::run(&sample, &mut workspace.serial, &mut output, shape.max_points);
        }
    }
    let rows = output.num_points.len();
    splits.push(rows as u32);
    output.counters.voxels = rows as u32;
    finish(&mut output, rows, &out.shape);
    let counters = output.counters;

    *host(&mut out.voxel_splits) = splits;
    if let Some(Mean::F16(b)) = &mut out.mean {
        let half = cleared(host(b));
        half.extend(f32_means.iter().map(|&m| f16_bits_from_f32(m)));
    }
    workspace.serial.means = f32_means;
    if let Some(lists) = &mut out.lists {
        let num_points = &host(&mut out.num_points)[..rows];
        let (row_splits, indices) = (host(&mut lists.row_splits), host(&mut lists.indices));
        lists::fill(&workspace.rows, num_points, row_splits, indices, &mut workspace.next);
    }
    if let Some(point_to_voxel) = &mut out.point_to_voxel {
        let target = host(point_to_voxel);
        target.resize(points.len(), 0);
        bytemuck::cast_slice_mut::<i32, u32>(target).copy_from_slice(&workspace.rows);
    }
    out.counters.write(&[counters])?;
    out.for_host.write(&[ForHost { voxels: counters.voxels, lost: 0 }])?;
    out.sync_len();
    Ok(())
}

/// Pads and counts what is done.
fn finish(output: &mut Output<'_>, rows: usize, shape: &Shape) {
    output.counters.kept = output.num_points.iter().map(|&n| n as u32).sum();
    let padded = if shape.padded { shape.rows_bound } else { rows };
    output.coords.resize(padded * shape.coord_columns, -1);
    output.num_points.resize(padded, 0);
    if let Some(voxels) = &mut output.voxels {
        voxels.truncate(rows * shape.max_points * shape.columns);
        voxels.resize(padded * shape.max_points * shape.columns, 0.0);
    }
    if let Some(means) = &mut output.mean {
        means.truncate(rows * shape.columns);
        means.resize(padded * shape.columns, 0.0);
    }
}

impl Sample<'_> {
    /// Ids of the cells of some of the points.
    #[inline]
    fn keys(&self, points: Range<usize>, keys: &mut [u64]) {
        let columns = self.points.columns();
        let data = &self.points.data()[points.start * columns..points.end * columns];
        for (key, p) in keys.iter_mut().zip(data.chunks_exact(columns)) {
            let p = [p[0], p[1], p[2]];
            let wanted = !self.strict || self.grid.range().contains(p);
            *key = match self.grid.cell(p) {
                Some(cell) if wanted => self.grid.id(cell),
                _ if p.iter().all(|v| v.is_finite()) => OUT_OF_RANGE,
                _ => NON_FINITE,
            };
        }
    }

    /// Writes the coordinates of a cell.
    fn write_coords(&self, coords: &mut [i32], id: u64) {
        let [x, y, z] = self.grid.cell_of_id(id);
        let zyx = [z as i32, y as i32, x as i32];
        match self.batch_index {
            None => coords.copy_from_slice(&zyx),
            Some(index) => {
                coords[0] = index as i32;
                coords[1..].copy_from_slice(&zyx);
            }
        }
    }

    /// Appends the coordinates of a cell.
    fn push_coords(&self, coords: &mut Vec<i32>, id: u64) {
        let end = coords.len();
        coords.resize(end + if self.batch_index.is_some() { 4 } else { 3 }, 0);
        self.write_coords(&mut coords[end..], id);
    }
}

/// Turns sums into means.
fn divide(sums: &mut [f32], columns: usize, num_points: &[i32]) {
    for (sums, &n) in sums.chunks_exact_mut(columns).zip(num_points) {
        for sum in sums {
            *sum = mean_from_sum(*sum, n as u32);
        }
    }
}

fn host<T: bytemuck::Pod>(buffer: &mut Buffer<T>) -> &mut Vec<T> {
    buffer.host_mut().expect("the CPU path has CPU buffers")
}

fn cleared<T>(v: &mut Vec<T>) -> &mut Vec<T> {
    v.clear();
    v
}

/// Reduces features over the lists of a result.
pub(super) fn scatter(
    lists: &Lists,
    features: Points<'_>,
    rows: usize,
    stream: &Stream,
    mode: ScatterMode,
) -> Result<Buffer<f32>> {
    use rayon::prelude::*;
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
