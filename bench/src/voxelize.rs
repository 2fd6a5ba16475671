//! Voxelization.

use crate::{Measurement, Sweep, time};
use pointmill::voxelize::{Outputs, RowOrder, VoxelizeParams, Voxelizer};
use pointmill::{Buffer, Result, Rows, Stream};

/// Sweeps of the case of many in one call.
const SWEEPS: usize = 32;
/// Clouds of more points than this are not measured many in one call.
const SMALL: usize = 200_000;

/// Voxelizes a cloud whose points lie on the device: means in both orders, padded points, a
/// full-size result that needs no wait, and small clouds also many in one call.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn voxelize(stream: &Stream, sweep: &Sweep, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let means = Outputs { voxels: false, point_to_voxel: false, ..Outputs::default() };
    let points = Outputs { mean: None, point_to_voxel: false, ..Outputs::default() };
    let (first_seen, sorted) = (RowOrder::FirstSeen, RowOrder::Sorted);
    let one = Input::new(stream, sweep, 1)?;
    let mut measured = Vec::new();
    for (name, order, outputs) in [
        ("mean", first_seen, means),
        ("mean, sorted", sorted, means),
        ("points", first_seen, points),
        ("points, no wait", first_seen, Outputs { padded: true, ..points }),
        ("everything", first_seen, Outputs { lists: true, ..Outputs::default() }),
    ] {
        measured.push(one.measure(sweep, name, (order, outputs), rounds, copy_rate)?);
    }
    if sweep.cloud.len() <= SMALL {
        let many = Input::new(stream, sweep, SWEEPS)?;
        for (name, order) in [("mean, 32 sweeps", first_seen), ("mean, sorted, 32 sweeps", sorted)] {
            measured.push(many.measure(sweep, name, (order, means), rounds, copy_rate)?);
        }
    }
    Ok(measured)
}

/// A cloud on the device, once or several times.
struct Input {
    points: Buffer<f32>,
    columns: usize,
    /// Where each copy starts, if there are several.
    row_splits: Option<Vec<usize>>,
    len: usize,
}

impl Input {
    fn new(stream: &Stream, sweep: &Sweep, copies: usize) -> Result<Self> {
        let n = sweep.cloud.len();
        let points = stream.upload(&sweep.cloud.data().repeat(copies))?;
        let row_splits = (copies > 1).then(|| (0..=copies).map(|copy| copy * n).collect());
        Ok(Self { points, columns: sweep.cloud.columns(), row_splits, len: copies * n })
    }

    fn measure(
        &self,
        sweep: &Sweep,
        name: &str,
        (order, outputs): (RowOrder, Outputs),
        rounds: usize,
        copy_rate: f64,
    ) -> Result<Measurement> {
        let stream = self.points.stream();
        let max_voxels =
            VoxelizeParams::default().max_voxels.max(if outputs.padded { 0 } else { sweep.cloud.len() as u32 });
        let params =
            VoxelizeParams { voxel_size: sweep.voxel_size, order, outputs, max_voxels, ..VoxelizeParams::default() };
        let mut voxelizer = Voxelizer::new(stream, &params)?;
        let mut voxels = voxelizer.output()?;
        let input = Rows::on_device(&self.points, self.len, self.columns)?;
        let times = time(stream, rounds, || {
            match &self.row_splits {
                None => voxelizer.run(input, &mut voxels)?,
                Some(splits) => voxelizer.run_batch(input, splits, &mut voxels)?,
            }
            if params.outputs.padded { Ok(()) } else { voxels.num_voxels().map(drop) }
        })?;
        let rows = voxels.num_voxels()?;
        let floor = floor_bytes(&params, self.len, self.columns, rows);
        let case = format!("voxelize {}: {name}", sweep.name);
        let measurement = Measurement::new(&case, stream, (self.len, self.columns), times, floor, copy_rate);
        Ok(Measurement { voxels: Some(rows), ..measurement })
    }
}

/// Points read once, each output written once.
fn floor_bytes(params: &VoxelizeParams, n: usize, columns: usize, rows: usize) -> u64 {
    let outputs = &params.outputs;
    let rows_written = if outputs.padded { params.max_voxels as usize } else { rows };
    let m = params.max_points_per_voxel.unwrap_or(0) as usize;
    let mut row = 4 * 4;
    row += if outputs.voxels { m * columns * 4 } else { 0 };
    row += if outputs.mean.is_some() { columns * 4 } else { 0 };
    let per_point = if outputs.point_to_voxel { 4 } else { 0 } + if outputs.lists { 4 } else { 0 };
    (n * (columns * 4 + per_point) + rows_written * row) as u64
}
