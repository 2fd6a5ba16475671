//! Grids of normal distributions.

use crate::{Measurement, NdtCase, time};
use pointmill::ndt::{Covariance, NdtAlignParams, NdtBuilder, NdtGrid, NdtParams, Neighbourhood, ndt_grid};
use pointmill::{Pose, Result, Rows, Stream};

/// Bytes of a row: cell, count, two means, covariance and inverse, eigenvalues, normal.
const ROW_BYTES: usize = 12 + 4 + 4 * 24 + 2 * 48;
/// Edge of a cell in metres.
const RESOLUTION: f64 = 2.0;
/// How a map for alignment is made.
const PARAMS: NdtParams = NdtParams { min_points: 6, covariance: Covariance::Autoware, eigen_ratio: 0.01 };

/// Builds the grid of a cloud that lies on the device, with the waits for the numbers of cells and
/// rows.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn ndt_build(stream: &Stream, case: &NdtCase, rounds: usize, copy_rate: f64) -> Result<Measurement> {
    let n = case.points.len() / 3;
    let buffer = stream.upload(&case.points)?;
    let mut builder = NdtBuilder::new(stream, RESOLUTION, &PARAMS)?;
    let mut grid = builder.finish()?;
    let times = time(stream, rounds, || {
        builder.clear()?;
        builder.add(Rows::on_device(&buffer, n, 3)?)?;
        builder.finish_into(&mut grid)
    })?;
    let floor = n * 12 + grid.len() * ROW_BYTES;
    let m = Measurement::new(&format!("ndt build: {}", case.name), stream, (n, 3), times, floor as u64, copy_rate);
    Ok(Measurement { voxels: Some(grid.len()), ..m })
}

/// Lists the rows near each point of a cloud that lies on the device, in the grid of that cloud.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn ndt_search(stream: &Stream, case: &NdtCase, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let n = case.points.len() / 3;
    let buffer = stream.upload(&case.points)?;
    let cloud = Rows::on_device(&buffer, n, 3)?;
    let grid = ndt_grid(cloud, RESOLUTION, &PARAMS, &stream.device())?;
    let mut measured = Vec::new();
    let mut add = |name: &str, bytes: usize, search: &dyn Fn() -> Result<usize>| -> Result<()> {
        let times = time(stream, rounds, || search().map(drop))?;
        let floor = n * 16 + grid.len() * 24 + search()? * bytes;
        let name = format!("ndt {name}: {}", case.name);
        let m = Measurement::new(&name, stream, (n, 3), times, floor as u64, copy_rate);
        measured.push(Measurement { voxels: Some(grid.len()), ..m });
        Ok(())
    };
    add("radius 2 m", 12, &|| Ok(grid.radius_search(cloud, RESOLUTION)?.len()))?;
    add("27 cells", 4, &|| Ok(grid.neighbours(cloud, Neighbourhood::TwentySeven)?.len()))?;
    Ok(measured)
}

/// Scores and aligns a scan of about 5,000 points that lies on the device, with one guess and with
/// many.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn ndt_align(stream: &Stream, case: &NdtCase, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let map = ndt_grid(Rows::f32(&case.points, 3)?, RESOLUTION, &PARAMS, &stream.device())?;
    let step = (case.points.len() / 3).div_ceil(5_000);
    let scan: Vec<f32> = case.points.chunks_exact(3).step_by(step).flatten().copied().collect();
    let n = scan.len() / 3;
    let buffer = stream.upload(&scan)?;
    let scan = Rows::on_device(&buffer, n, 3)?;
    let guess = Pose::from_xyzrpy([0.4, -0.3, 0.05, 0.0, 0.0, 0.03])?;
    let place = |i: u8| Pose::from_xyzrpy([0.01 * f64::from(i) - 0.5, 0.2, 0.0, 0.0, 0.0, 0.02]);
    let guesses: Vec<Pose> = (0..100).map(place).collect::<Result<_, _>>()?;
    let mut measured = Vec::new();
    let mut add = |name: &str, poses: usize, work: &dyn Fn(&NdtGrid) -> Result<()>| -> Result<()> {
        let times = time(stream, rounds, || work(&map))?;
        let floor = poses * (n * 12 + map.len() * 72);
        let name = format!("ndt {name}: {}", case.name);
        let m = Measurement::new(&name, stream, (n, 3), times, floor as u64, copy_rate);
        measured.push(Measurement { voxels: Some(map.len()), ..m });
        Ok(())
    };
    add("score, 1 pose", 1, &|map| map.score(scan, &[guess]).map(drop))?;
    add("score, 100 poses", 100, &|map| map.score(scan, &guesses).map(drop))?;
    let params = NdtAlignParams::default();
    let steps = map.align(scan, &[guess], &params)?[0].iterations;
    add(&format!("align, {steps} steps"), steps + 1, &|map| map.align(scan, &[guess], &params).map(drop))?;
    let all: usize = map.align(scan, &guesses, &params)?.iter().map(|found| found.iterations + 1).sum();
    add("align, 100 guesses", all, &|map| map.align(scan, &guesses, &params).map(drop))?;
    let alone = [guess];
    let scans = [(scan, &alone[..]); 64];
    add("align, 64 scans", 64 * (steps + 1), &|map| map.align_many(&scans, &params).map(drop))?;
    Ok(measured)
}
