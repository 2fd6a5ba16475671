//! Works on points that already lie on the device, without copies between the steps:
//! `cargo run --release -p pointmill --example points_on_gpu`. Without a GPU the same program runs
//! on the CPU.

use pointmill::voxelize::{Reduction, VoxelizeParams, Voxelizer, scatter};
use pointmill::{Aabb, Device, Result, Rows};
use pointmill_synth::{Drive, DriveParams};

fn main() -> Result<()> {
    let sweep = Drive::new(DriveParams { azimuth_steps: 500, ..DriveParams::default() }).sweep(0);
    let stream = Device::auto().stream()?;
    // Memory of another CUDA library comes in by `Buffer::from_raw_cuda`, its stream by
    // `Stream::from_raw_cuda`.
    let points = stream.upload(sweep.data())?;

    let params = VoxelizeParams::dynamic([0.5; 3], Aabb::new([-50.0, -50.0, -4.0], [50.0, 50.0, 8.0]));
    let mut voxelizer = Voxelizer::new(&stream, &params)?;
    let mut voxels = voxelizer.output()?;
    let input = Rows::on_device(&points, sweep.len(), sweep.columns())?;
    voxelizer.run(input, &mut voxels)?;

    // The highest value of each column in each voxel; the third is the height.
    let highest = scatter(&voxels, input, Reduction::Max)?;
    let rows = voxels.num_voxels()?;
    let highest = highest.read(rows * sweep.columns())?;
    let tallest = highest.chunks_exact(sweep.columns()).map(|row| row[2]).fold(f32::MIN, f32::max);
    println!("{}: {rows} voxels, the highest point is at z = {tallest:.2} m", stream.device());
    Ok(())
}
