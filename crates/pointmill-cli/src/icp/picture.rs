//! `--visualize` of `icp`: the source moving onto the target.

use crate::failure::Failure;
#[cfg(feature = "rerun")]
use crate::interrupt::undivided;
use crate::picture::save_scene;
use crate::text::{grouped, titled};
use pointmill::icp::{Iteration, Registration};
use pointmill_io::Scan;
use pointmill_view::{IcpIteration, icp_scene, require_memory};
use std::path::Path;

/// The endings of pictures.
pub(super) const EXTENSIONS: [&str; 4] = ["gif", "png", "html", "rrd"];

/// How to get what this build lacks.
#[cfg(not(feature = "rerun"))]
const WITHOUT: &str = "this build cannot write .rrd; expected .gif, .png or .html, or a build with `--features rerun`";

/// Checks that this build can write a picture, before any work.
pub(super) fn check(path: &Path, extension: &str) -> Result<(), Failure> {
    #[cfg(not(feature = "rerun"))]
    if extension == "rrd" {
        return Err(Failure::Usage(format!("--visualize {}: {WITHOUT}", path.display())));
    }
    let _ = (path, extension);
    Ok(())
}

/// Draws all poses on the way.
pub(super) fn write(
    path: &Path,
    extension: &str,
    [source, target]: [&Scan; 2],
    found: &Registration,
) -> Result<(), Failure> {
    let trace = &found.fit.trace;
    let frames = if matches!(extension, "png" | "html") { 1 } else { trace.len() };
    require_memory(frames, 3 * (source.cloud.len() + target.cloud.len()))?;
    let (origin, source, target) = (source.cloud.origin(), source.xyz(), target.xyz());
    let iteration = |at: &Iteration| IcpIteration {
        target_from_source: at.target_from_source,
        stage: at.stage,
        pairs: at.pairs,
        rmse: at.rmse,
    };
    let iterations: Vec<IcpIteration> = trace.iter().map(iteration).collect();
    #[cfg(feature = "rerun")]
    if extension == "rrd" {
        return Ok(undivided(|| pointmill_view::write_icp_recording(path, &source, &target, &iterations))?);
    }
    let title = format!("{} points onto {}: {}", grouped(source.len()), grouped(target.len()), found.status);
    save_scene(path, &icp_scene(&titled(&title, origin), &source, &target, &iterations))
}
