//! `--visualize` of `icp`: the source moving onto the target.

use super::report::metres;
use crate::failure::Failure;
use crate::inputs::rows;
use crate::picture::save_scene;
use crate::text::{counted, grouped, label, titled};
use pointmill::icp::{Fit, Iteration, Registration, Search, Searcher};
use pointmill::{Device, Pose};
use pointmill_io::{Place, Scan};
use pointmill_view::{IcpIteration, icp_scene, require_memory};
use std::path::Path;

/// Draws all poses on the way, and the distances at the last.
pub(super) fn write(
    path: &Path,
    extension: &str,
    device: &Device,
    (names, [source, target]): ([&str; 2], [&Scan; 2]),
    found: &Registration,
) -> Result<(), Failure> {
    let trace = &found.fit.trace;
    let frames = if matches!(extension, "png" | "html") { 1 } else { trace.len() };
    require_memory(frames, 3 * (source.cloud.len() + target.cloud.len()))?;
    let iteration = |at: &Iteration| IcpIteration {
        target_from_source: at.target_from_source,
        stage: at.stage,
        pairs: at.pairs,
        rmse: at.rmse,
    };
    let iterations: Vec<IcpIteration> = trace.iter().map(iteration).collect();
    let distances = distances(device, [source, target], &found.target_from_source)?;
    let Fit { fitness, inlier_rmse, .. } = found.fit;
    let end = if found.converged() { "converged" } else { found.status.as_str() };
    let steps = counted(found.iterations, "iteration");
    let end = format!("{end}, {steps}, rmse {} m, fitness {fitness:.4}", metres(inlier_rmse));
    let title = title(names, [source, target], &end);
    save_scene(Place::named(path), &icp_scene(&title, &source.xyz(), &target.xyz(), &iterations, &distances))
}

/// The title of a picture of two clouds.
pub(crate) fn title([from, to]: [&str; 2], [source, target]: [&Scan; 2], end: &str) -> String {
    let [n, m] = [source, target].map(|scan| grouped(scan.cloud.len()));
    let title = format!("{} ({n} points) onto {} ({m}): {end}", label(from), label(to));
    titled(&title, source.cloud.origin())
}

/// The distance of each point of the aligned source to the nearest of the target; infinite where it
/// has none.
pub(crate) fn distances(device: &Device, [source, target]: [&Scan; 2], pose: &Pose) -> Result<Vec<f64>, Failure> {
    let searcher = Searcher::new(&device.stream()?, rows(target)?, Search::Auto)?;
    let aligned: Vec<_> = source.xyz().into_iter().map(|p| pose.apply(p)).collect();
    let nearest = searcher.nearest(&searcher.relative(&aligned)?, None)?;
    Ok(nearest.iter().map(|one| one.map_or(f64::INFINITY, |one| f64::from(one.distance_squared).sqrt())).collect())
}
