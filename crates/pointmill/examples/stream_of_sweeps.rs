//! Voxelizes sweep after sweep with a worker that keeps its memory:
//! `cargo run --release -p pointmill --example stream_of_sweeps`.

use pointmill::voxelize::{Outputs, VoxelizeParams, Voxelizer};
use pointmill::{Device, Result};
use pointmill_synth::{Drive, DriveParams};
use std::time::Instant;

fn main() -> Result<()> {
    let drive = Drive::new(DriveParams { azimuth_steps: 500, ..DriveParams::default() });
    let outputs = Outputs { voxels: false, ..Outputs::default() };
    let params = VoxelizeParams { outputs, ..VoxelizeParams::default() };

    let stream = Device::auto().stream()?;
    let mut voxelizer = Voxelizer::new(&stream, &params)?;
    // The result keeps its memory too: after the largest sweep a call allocates nothing.
    let mut voxels = voxelizer.output()?;
    for i in 0..drive.len() {
        let sweep = drive.sweep(i);
        let start = Instant::now();
        voxelizer.run(&sweep, &mut voxels)?;
        // On a GPU the call above returns once its work is queued; this one waits for the number of
        // rows.
        let rows = voxels.num_voxels()?;
        println!("sweep {i}: {} points, {rows} voxels, {:.2?}", sweep.len(), start.elapsed());
    }
    Ok(())
}
