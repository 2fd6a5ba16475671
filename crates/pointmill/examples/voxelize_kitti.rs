//! Voxelizes a KITTI sweep:
//! `cargo run --release -p pointmill --example voxelize_kitti -- 000000.bin`. Without a file it
//! takes a sweep of the synthetic drive.

use pointmill::voxelize::{VoxelizeParams, voxelize};
use pointmill::{Aabb, Device, PointCloud};
use pointmill_synth::{Drive, DriveParams};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // x, y, z in metres in the frame of the sensor, then intensity.
    let cloud: PointCloud = match std::env::args().nth(1) {
        Some(path) => pointmill_io::read(path, &pointmill_io::ReadOptions::default())?.cloud,
        None => Drive::new(DriveParams::default()).sweep(0),
    };
    let params = VoxelizeParams {
        voxel_size: [0.2; 3],
        range: Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]),
        ..VoxelizeParams::default()
    };
    let device = Device::auto();
    let voxels = voxelize(&cloud, &params, &device)?;
    let report = voxels.report()?;
    println!("{device}: {} points in {} voxels", report.points_kept, voxels.num_voxels()?);
    println!("out of range: {}, not finite: {}", report.out_of_range, report.non_finite);

    // [V, 3] cells as z, y, x, and [V] points of each.
    let arrays = voxels.read()?;
    for (cell, points) in arrays.coords.chunks_exact(3).zip(&arrays.num_points).take(3) {
        println!("cell {cell:?}: {points} points");
    }
    Ok(())
}
