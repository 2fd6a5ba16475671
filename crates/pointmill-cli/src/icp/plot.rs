//! `--plot`: the same alignment with each search, and the time of each iteration.

use super::target::{Onto, rows};
use crate::failure::Failure;
use crate::interrupt;
use crate::picture::save;
use crate::text::grouped;
use pointmill::icp::{IcpParams, Registration, Search, align};
use pointmill::{Device, Rows};
use pointmill_io::Scan;
use pointmill_view::{IcpSeries, icp_plot, require_memory};
use std::path::Path;

/// Most pairs of points that brute force looks at in an iteration on the CPU, unless it is asked for: a few seconds.
const MOST_PAIRS: usize = 2_000_000_000;
/// Most steps of it, likewise.
const MOST_STEPS: usize = 2;

/// A line of the plot.
struct Line {
    name: String,
    ms: Vec<f64>,
}

/// Aligns with each search on the CPU, and on the device if that is another; then draws.
pub(super) fn write(
    path: &Path,
    extension: &str,
    device: &Device,
    [source, target]: [&Scan; 2],
    onto: &Onto,
    found: &Registration,
) -> Result<(), Failure> {
    let cpu = Device::cpu();
    let mut lines = Vec::new();
    for on in [Some(&cpu), Some(device).filter(|device| !device.is_cpu())].into_iter().flatten() {
        for search in [Search::Brute, Search::KdTree, Search::Lbvh] {
            interrupt::check()?;
            lines.push(measure(on, search, [source, target], onto)?);
        }
    }
    let series: Vec<IcpSeries> = lines.iter().map(|Line { name, ms }| IcpSeries { name, ms }).collect();
    let rmse: Vec<f64> = found.fit.trace.iter().map(|look| look.rmse).collect();
    let title = format!("{} points onto {}", grouped(source.cloud.len()), grouped(target.cloud.len()));
    let plot = icp_plot(&title, &series, &rmse);
    require_memory(1, rmse.len())?;
    let encode = || if extension == "svg" { plot.encode_svg().into_bytes() } else { plot.image().encode_png() };
    save(path, 1, || Ok(encode()))
}

/// One alignment; brute force on the CPU is bounded unless it is `asked` for.
fn measure(device: &Device, search: Search, [source, target]: [&Scan; 2], onto: &Onto) -> Result<Line, Failure> {
    let asked = &onto.params;
    let mut params = IcpParams { search, ..asked.clone() };
    let name = match search {
        Search::Brute => "brute force",
        Search::KdTree => "kd-tree",
        _ => "LBVH",
    };
    let mut part = String::new();
    let (from, to) = (rows(source)?, rows(target)?);
    let found = if search == Search::Brute && device.is_cpu() && asked.search != Search::Brute {
        params.max_iterations = params.max_iterations.min(MOST_STEPS);
        let every = stride(from.len(), to.len());
        if every > 1 {
            part = format!(", every {every}th point");
        }
        let [from, to] = [source, target].map(|scan| thinned(scan, every));
        align(Rows::f64(&from, 3)?, Rows::f64(&to, 3)?, &onto.guess, &params, device)?
    } else {
        align(from, to, &onto.guess, &params, device)?
    };
    let ms = found.fit.trace.iter().map(|look| look.timing).map(|t| t.search_ms + t.reduce_ms + t.solve_ms);
    Ok(Line { name: format!("{name}, {device}{part}"), ms: ms.collect() })
}

/// The least stride at which two clouds have no more than the most pairs.
fn stride(source: usize, target: usize) -> usize {
    let pairs = |every: usize| source.div_ceil(every) * target.div_ceil(every);
    (1..).find(|every| pairs(*every) <= MOST_PAIRS).unwrap_or(1)
}

/// Every so many of the points.
fn thinned(scan: &Scan, every: usize) -> Vec<f64> {
    scan.xyz().into_iter().step_by(every).flatten().collect()
}

#[cfg(test)]
#[path = "../../tests/unit/icp_plot.rs"]
mod tests;
