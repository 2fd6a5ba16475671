//! Keeps an ndt map current: adds drives, takes one away again, and aligns a scan:
//! `cargo run --release -p pointmill --example ndt_map_update`.

use pointmill::ndt::{NdtAlignParams, NdtGrid, NdtMoments, NdtParams};
use pointmill::{Device, PointCloud, Pose, Result, Rows};
use pointmill_synth::{Drive, DriveParams};

/// The sweep in the frame of the world, as rows of x, y, z.
fn in_world(sweep: &PointCloud, world_from_sensor: &Pose) -> Vec<f64> {
    sweep.points().iter_xyz().flat_map(|p| world_from_sensor.apply(p.map(f64::from))).collect()
}

fn main() -> Result<()> {
    let drive = Drive::new(DriveParams { azimuth_steps: 500, ..DriveParams::default() });
    let world_from_sensor = |i: usize| Pose::from_matrix(&drive.world_from_sensor(i));
    let world = |i: usize| -> Result<_> { Ok(in_world(&drive.sweep(i), &world_from_sensor(i)?)) };

    // Sums of cells of 2 m. They are whole numbers, so that parts add up, and can be taken away,
    // without error.
    let mut map = NdtMoments::new(2.0)?;
    (0..8).try_for_each(|i| map.add(Rows::f64(&world(i)?, 3)?))?;
    let mut outdated = NdtMoments::new(2.0)?;
    outdated.add(Rows::f64(&world(0)?, 3)?)?;
    map.subtract(&outdated)?;
    println!("{} points in {} cells", map.points(), map.len());

    let stream = Device::auto().stream()?;
    let grid = NdtGrid::from_cells(map.finish(&NdtParams::default())?, *map.lattice(), &stream)?;
    let scan = drive.sweep(4);
    let truth = world_from_sensor(4)?;
    // 30 cm beside the true place.
    let guess = Pose::from_translation([0.3, -0.1, 0.0]) * truth;
    let scan = Rows::f32(scan.data(), scan.columns())?;
    let found = &grid.align(scan, &[guess], &NdtAlignParams::default())?[0];
    let [x, y, _] = (found.target_from_source * truth.inverse()).translation();
    println!("{} after {} steps, {:.3} m off the true place", found.status, found.iterations, x.hypot(y));
    Ok(())
}
