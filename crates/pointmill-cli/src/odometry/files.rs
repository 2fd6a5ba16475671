//! What a drive leaves behind besides its poses: map and picture.

use super::args::OdometryArgs;
use crate::failure::Failure;
use crate::interrupt::undivided;
use crate::outputs::plan_file;
use crate::picture::{plan, save_scene};
use crate::text::{counted, grouped, titled};
use crate::track::Track;
use pointmill::Error;
use pointmill::pipelines::odometry::Odometry;
use pointmill_io::{Place, WriteOptions, write};
use pointmill_view::{DriveScene, require_memory};
use std::path::Path;

/// Checks the names of all outputs, before any work.
pub(super) fn check(args: &OdometryArgs, inputs: &[&Path]) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        plan_file("--out", out, &["txt"], inputs)?;
    }
    if let Some(map) = &args.map {
        plan_file("--map", map, &["ply", "pcd", "npz"], inputs)?;
    }
    args.visualize.as_deref().map_or(Ok(()), |path| plan(path, &["png", "html"]).map(drop))
}

/// Writes the map and draws it. Returns the number of its points.
pub(super) fn write_map(
    args: &OdometryArgs,
    odometry: &Odometry,
    track: &Track,
    length: f64,
    origin: [f64; 3],
    sweeps: Option<DriveScene>,
) -> Result<Option<usize>, Failure> {
    if args.map.is_none() && args.visualize.is_none() {
        return Ok(None);
    }
    let mut points = odometry.map()?;
    points.iter_mut().for_each(|p| (0..3).for_each(|axis| p[axis] += origin[axis]));
    if let Some(path) = &args.map {
        let exact = points.as_flattened();
        let rows: Vec<f32> = exact.iter().map(|x| *x as f32).collect();
        let rows = pointmill::Points::new(&rows, 3).map_err(Error::from)?;
        let named = pointmill_io::NamedPoints {
            xyz_f64: Some(exact),
            ..pointmill_io::NamedPoints::new(rows, &["x", "y", "z"])
        };
        undivided(|| write(Place { path, follow_links: true }, named, &WriteOptions::default()))?;
    }
    if let Some(path) = &args.visualize {
        require_memory(1, points.len())?;
        let left = titled(&format!("{}, {length:.1} m", counted(track.poses().len(), "sweep")), origin);
        let right = format!("{} points, voxels of {} m", grouped(points.len()), args.voxel);
        let drive = sweeps.unwrap_or_else(|| DriveScene::new(1));
        save_scene(path, &drive.finish(&format!("{left}; {right}"), &points, track.poses()))?;
    }
    Ok(Some(points.len()))
}
