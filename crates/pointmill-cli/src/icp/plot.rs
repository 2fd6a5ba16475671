//! `--plot`: the same alignment with each search, and the time of each iteration.

use super::target::Onto;
use crate::failure::Failure;
use crate::interrupt;
use crate::picture::save;
use crate::text::{grouped, titled};
use pointmill::Device;
use pointmill::icp::{Registration, Search};
use pointmill_bench::icp_iterations;
use pointmill_io::Scan;
use pointmill_view::{IcpSeries, icp_plot, require_memory};
use std::path::Path;

/// Aligns with each search on the CPU, and on the device if that is another; then draws.
pub(super) fn write(
    path: &Path,
    extension: &str,
    device: &Device,
    source: &Scan,
    onto: &Onto,
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
    let series: Vec<IcpSeries> = lines.iter().map(|(name, ms)| IcpSeries { name, ms }).collect();
    let rmse: Vec<f64> = found.fit.trace.iter().map(|look| look.rmse).collect();
    let [from, onto] = clouds.map(|cloud| grouped(cloud.len()));
    let title = titled(&format!("{from} points onto {onto}"), source.cloud.origin());
    let plot = icp_plot(&title, &series, &rmse);
    require_memory(1, rmse.len())?;
    let encode = || if extension == "svg" { plot.encode_svg().into_bytes() } else { plot.image().encode_png() };
    save(path, 1, || Ok(encode()))
}
