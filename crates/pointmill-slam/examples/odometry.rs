//! Poses of sweeps, as rows of 12 numbers: `cargo run -r --example odometry [SWEEP..]`.
//!
//! Without files the sweeps are those of a synthetic drive, and the errors against its true poses
//! go to stderr with the times.

use pointmill::{Device, PointCloud, Pose};
use pointmill_io::{ReadOptions, read};
use pointmill_slam::odometry::{Odometry, OdometryParams};
use pointmill_slam::trajectory::{EvaluationParams, Trajectory, evaluate};
use pointmill_synth::{Drive, DriveParams, Scene};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let drive =
        Drive::new(DriveParams { scene: Scene::Loop, sweeps: 20, azimuth_steps: 1000, ..DriveParams::default() });
    let from_file = |file: &PathBuf| Ok(read(file, &ReadOptions::default())?.cloud);
    let sweeps: Vec<PointCloud> = match files.is_empty() {
        true => (0..drive.len()).map(|i| drive.sweep(i)).collect(),
        false => files.iter().map(from_file).collect::<Result<_, Box<dyn Error>>>()?,
    };

    let mut odometry = Odometry::new(&Device::cpu().stream()?, &OdometryParams::default())?;
    let mut poses = Vec::new();
    let mut milliseconds = Vec::new();
    for sweep in &sweeps {
        let start = Instant::now();
        let step = odometry.push(sweep, None)?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        poses.push(step.world_from_sensor);
        let rows: Vec<_> = step.world_from_sensor.matrix()[..3].iter().flatten().map(f64::to_string).collect();
        println!("{}", rows.join(" "));
    }
    milliseconds.sort_by(f64::total_cmp);
    eprintln!("{} sweeps, median {:.2} ms", sweeps.len(), milliseconds[milliseconds.len() / 2]);

    if files.is_empty() {
        let truth = |i: usize| Pose::from_matrix(&drive.world_from_sensor(i));
        let first = truth(0)?.inverse();
        let truth = (0..drive.len()).map(|i| Ok(first * truth(i)?)).collect::<Result<_, pointmill::NotRigid>>()?;
        let found = evaluate(&Trajectory::new(poses)?, &Trajectory::new(truth)?, &EvaluationParams::default())?;
        eprintln!("{:.1} m, absolute error {:.4} m", found.length, found.absolute.translation.rmse);
        assert!(found.absolute.translation.rmse < 0.1);
    }
    Ok(())
}
