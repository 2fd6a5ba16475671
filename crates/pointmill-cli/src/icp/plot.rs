//! `--plot`: the same alignment with each search, and the time of each iteration.

use super::IcpTarget;
use super::iterations::icp_iterations;
use crate::failure::Failure;
use crate::interrupt;
use crate::picture::save;
use crate::text::{grouped, titled};
use pointmill::Device;
use pointmill::icp::{Registration, Search};
use pointmill_io::{Place, Scan};
use pointmill_view::{IcpSeries, icp_plot, require_memory};
use std::path::Path;

/// Aligns with each search on the CPU, and on the device if that is another; then draws.
pub(super) fn write(
    path: &Path,
    extension: &str,
    device: &Device,
    source: &Scan,
    onto: &IcpTarget,
    found: &Registration,
) -> Result<(), Failure> {
    let clouds = [source.xyz(), onto.scan.xyz()];
    let cpu = Device::cpu();
    let mut lines = Vec::new();
    for on in [Some(&cpu), Some(device).filter(|device| !device.is_cpu())].into_iter().flatten() {
        for search in [Search::Brute, Search::KdTree, Search::Lbvh] {
            interrupt::check()?;
            lines.push(icp_iterations(on, search, &clouds, &onto.guess, &onto.params)?);
        }
    }
    let stages: Vec<usize> = found.fit.trace.iter().map(|at| at.stage).collect();
    let lines: Vec<_> = lines.into_iter().map(|(name, ms)| (name, at_stages(&stages, &ms))).collect();
    let series: Vec<IcpSeries> = lines.iter().map(|(name, ms)| IcpSeries { name, ms }).collect();
    let rmse: Vec<f64> = found.fit.trace.iter().map(|at| at.rmse).collect();
    let [from, onto] = clouds.map(|cloud| grouped(cloud.len()));
    let title = titled(&format!("{from} points onto {onto}"), source.cloud.origin());
    let plot = icp_plot(&title, &series, &rmse);
    require_memory(1, rmse.len())?;
    let encode = || if extension == "svg" { plot.encode_svg().into_bytes() } else { plot.image().encode_png() };
    save(&Place::named(path), 1, || Ok(encode()))
}

/// Milliseconds of iterations at the places of their stages in the whole alignment, with NaN
/// between. A search that makes fewer steps of each stage than the others stands beside them all
/// the same.
fn at_stages(stages: &[usize], ms: &[(usize, f64)]) -> Vec<f64> {
    let mut placed = vec![f64::NAN; stages.len()];
    for (stage, part) in ms.chunk_by(|a, b| a.0 == b.0).map(|part| (part[0].0, part)) {
        let places = placed.iter_mut().zip(stages).filter(|(_, of)| **of == stage);
        places.zip(part).for_each(|((place, _), (_, ms))| *place = *ms);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_stand_at_their_stage() {
        let stages = [0, 0, 0, 0, 1, 1, 2];
        let short = at_stages(&stages, &[(0, 9.0), (0, 8.0), (1, 7.0), (2, 6.0), (2, 5.0)]);
        let shown = short.iter().map(|ms| if ms.is_nan() { 0.0 } else { *ms }).collect::<Vec<_>>();
        assert_eq!(shown, [9.0, 8.0, 0.0, 0.0, 7.0, 0.0, 6.0]);
        assert_eq!(at_stages(&[0, 0], &[(0, 2.0), (0, 1.0)]), [2.0, 1.0]);
    }
}
