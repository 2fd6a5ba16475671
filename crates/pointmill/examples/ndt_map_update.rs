//! Keeps an ndt map current: adds drives, takes one away again, and aligns a scan: `cargo run --release -p pointmill --example ndt_map_update`.

use pointmill::ndt::{AlignParams, NdtGrid, NdtMoments, NdtParams};
use pointmill::{Coordinates, Device, PointCloud, Result};
use pointmill_synth::{Drive, DriveParams};

/// The sweep in the frame of the world, as rows of x, y, z.
fn in_world(sweep: &PointCloud, world_from_sensor: &[[f64; 4]; 4]) -> Vec<f64> {
    let of = |p: [f32; 3], row: &[f64; 4]| (0..3).fold(row[3], |sum, i| sum + row[i] * f64::from(p[i]));
    sweep.points().iter_xyz().flat_map(|p| [0, 1, 2].map(|row| of(p, &world_from_sensor[row]))).collect()
}

fn main() -> Result<()> {
    let drive = Drive::new(DriveParams { azimuth_steps: 500, ..DriveParams::default() });
    let world = |i: usize| in_world(&drive.sweep(i), &drive.world_from_sensor(i));

    // Sums of cells of 2 m. They are whole numbers, so that parts add up, and can be taken away, without error.
    let mut map = NdtMoments::new(2.0)?;
    (0..8).try_for_each(|i| map.add(Coordinates::f64(&world(i), 3)?))?;
    let mut outdated = NdtMoments::new(2.0)?;
    outdated.add(Coordinates::f64(&world(0), 3)?)?;
    map.subtract(&outdated)?;
    println!("{} points in {} cells", map.points(), map.len());

    let stream = Device::auto().stream()?;
    let grid = NdtGrid::from_cells(map.finish(&NdtParams::default())?, 2.0, &stream)?;
    let scan = drive.sweep(4);
    let truth = drive.world_from_sensor(4);
    // x, y, z in metres, roll, pitch, yaw in radians: 30 cm beside the true place.
    let guess = [truth[0][3] + 0.3, truth[1][3] - 0.1, truth[2][3], 0.0, 0.0, truth[1][0].atan2(truth[0][0])];
    let scan = Coordinates::f32(scan.data(), scan.columns())?;
    let found = &grid.align(scan, &[guess], &AlignParams::default())?[0];
    let off = (found.pose[0] - truth[0][3]).hypot(found.pose[1] - truth[1][3]);
    println!("{:?} after {} steps, {:.3} m off the true place", found.stop, found.iterations, off);
    Ok(())
}
