//! Voxelization.

use crate::{Measurement, Sweep, time};
use pointmill::voxelize::{Outputs, RowOrder, VoxelizeParams, Voxelizer};
use pointmill::{Result, Rows, Stream};

/// Voxelizes a cloud whose points lie on the device: means in both orders, padded points, and a full-size result that needs no wait.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn voxelize(stream: &Stream, sweep: &Sweep, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let means = Outputs { voxels: false, point_to_voxel: false, ..Outputs::default() };
    let points = Outputs { mean: None, point_to_voxel: false, ..Outputs::default() };
    let sorted = RowOrder::Sorted;
    let cases = [
        ("mean", RowOrder::FirstSeen, means),
        ("mean, sorted", sorted, means),
        ("points", RowOrder::FirstSeen, points),
        ("points, no wait", RowOrder::FirstSeen, Outputs { padded: true, ..points }),
        ("everything", RowOrder::FirstSeen, Outputs { lists: true, ..Outputs::default() }),
    ];
    let (n, columns) = (sweep.cloud.len(), sweep.cloud.columns());
    let buffer = stream.upload(sweep.cloud.data())?;
    let mut measured = Vec::new();
    for (name, order, outputs) in cases {
        let max_voxels = VoxelizeParams::default().max_voxels.max(if outputs.padded { 0 } else { n as u32 });
        let params =
            VoxelizeParams { voxel_size: sweep.voxel_size, order, outputs, max_voxels, ..VoxelizeParams::default() };
        let mut voxelizer = Voxelizer::new(stream, &params)?;
        let mut voxels = voxelizer.output()?;
        let input = Rows::on_device(&buffer, n, columns)?;
        let waits = !params.outputs.padded;
        let times = time(stream, rounds, || {
            voxelizer.run(input, &mut voxels)?;
            if waits { voxels.num_voxels().map(drop) } else { Ok(()) }
        })?;
        let rows = voxels.num_voxels()?;
        let floor = floor_bytes(&params, n, columns, rows);
        let case = format!("voxelize {}: {name}", sweep.name);
        let measurement = Measurement::new(&case, stream, (n, columns), times, floor, copy_rate);
        measured.push(Measurement { voxels: Some(rows), ..measurement });
    }
    Ok(measured)
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
