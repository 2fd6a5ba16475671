//! Sweeps into poses.

use crate::{Measurement, time};
use pointmill::{PointCloud, Result, Stream};
use pointmill_slam::odometry::{Odometry, OdometryParams};
use pointmill_synth::{Drive, DriveParams, Scene};

/// Sweeps of the drive.
const SWEEPS: usize = 30;

/// Takes the sweeps of a drive to and fro, so that it never ends. They come from memory of the
/// host, with the time of each point where they are distorted by motion.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn odometry(stream: &Stream, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let mut measured = Vec::new();
    for distorted in [false, true] {
        let params = DriveParams {
            scene: Scene::Loop,
            sweeps: SWEEPS,
            motion_compensated: !distorted,
            ..DriveParams::default()
        };
        let drive = Drive::new(params);
        let sweeps: Vec<(PointCloud, Option<Vec<f64>>)> = (0..SWEEPS)
            .map(|i| {
                let sweep = drive.sweep(i);
                let times = sweep.points().data().chunks_exact(sweep.points().columns()).map(|row| f64::from(row[5]));
                let times = distorted.then(|| times.collect());
                (sweep, times)
            })
            .collect();
        let mut odometry = Odometry::new(stream, &OdometryParams::default())?;
        let mut push = || {
            let i = odometry.len() % (2 * SWEEPS - 2);
            let (sweep, times) = &sweeps[i.min(2 * SWEEPS - 2 - i)];
            odometry.push(sweep, times.as_deref())
        };
        let first = push()?;
        let times = time(stream, rounds, || push().map(drop))?;
        let bytes = first.points * if distorted { 20 } else { 12 };
        let name = format!("odometry: loop{}", if distorted { ", deskewed" } else { "" });
        measured.push(Measurement::new(&name, stream, (first.points, 6), times, bytes as u64, copy_rate));
    }
    Ok(measured)
}
