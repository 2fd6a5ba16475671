//! What a drive leaves behind: poses, map and picture.

use super::args::OdometryArgs;
use super::records::Totals;
use crate::drive::{PosesSoFar, Scans, plan_poses};
use crate::failure::Failure;
use crate::interrupt::{self, undivided};
use crate::outputs::plan_file;
use crate::picture::plan;
use crate::text::{counted, grouped, shown, titled};
use pointmill::Error;
use pointmill_data::runs::OdometryRun;
use pointmill_io::{NamedPoints, Place, WriteOptions, write};
use std::path::Path;

/// Checks the names of all outputs, before any work.
pub(super) fn check(args: &OdometryArgs, inputs: &[&Path]) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        plan_poses(out, args.format_poses, inputs)?;
    }
    if let Some(map) = &args.map_out {
        plan_file("--map-out", map, &["ply", "pcd", "npz", "las", "laz"], inputs)?;
    }
    args.visualize.as_deref().map_or(Ok(()), |path| plan(path, &["png", "gif", "html"]).map(drop))
}

/// Writes all outputs. The poses come first: a map or a picture that fails costs nothing else.
pub(super) fn write_all(
    args: &OdometryArgs,
    run: &OdometryRun,
    scans: Scans,
    origin: [f64; 3],
    totals: &mut Totals,
) -> Result<(), Failure> {
    let trajectory = run.trajectory();
    if let Some(out) = &args.out {
        totals.poses_sha256 = Some(PosesSoFar::write(trajectory, out, args.format_poses)?);
    }
    interrupt::check()?;
    if args.map_out.is_none() && args.visualize.is_none() {
        return Ok(());
    }
    let points = run.map()?;
    if let Some(path) = &args.map_out {
        write_map(path, &points)?;
        totals.map = Some(shown(path));
    }
    if let Some(path) = &args.visualize {
        let way = format!("{}, {:.1} m", counted(trajectory.poses().len(), "sweep"), totals.length);
        let voxels = run.voxel_size().map_or_else(String::new, |size| format!(", voxels of {size} m"));
        let map = format!("{} points{voxels}", grouped(points.len()));
        scans.draw(path, &points, trajectory.poses(), &format!("{}; {map}", titled(&way, origin)))?;
    }
    totals.map_points = Some(points.len());
    Ok(())
}

/// Writes the points of a map, with every bit where the format holds `f64`.
fn write_map(path: &Path, points: &[[f64; 3]]) -> Result<(), Failure> {
    let exact = points.as_flattened();
    let rows: Vec<f32> = exact.iter().map(|x| *x as f32).collect();
    let rows = pointmill::Points::new(&rows, 3).map_err(Error::from)?;
    let named = NamedPoints { xyz_f64: Some(exact), ..NamedPoints::new(rows, &["x", "y", "z"]) };
    Ok(undivided(|| write(Place::named(path), named, &WriteOptions::default()))?)
}
