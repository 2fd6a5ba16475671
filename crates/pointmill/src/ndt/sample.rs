//! A few points of a scan: where it is, and what it determines.

use crate::centre::{aside, centre_of, reach_of};
use crate::{Result, Rows, memory};

/// Runs of points that a sample of a scan consists of, and their length. A device copies a run at a
/// time.
const RUNS: usize = 8;
const RUN: usize = 128;
/// Zero is a good pivot of a scan whose middle is so many times as far away as most of its points are
/// from there.
const ASIDE: f64 = 8.0;

/// Points of a scan that are finite and not all zero, in runs that are evenly spaced.
pub(super) fn runs(scan: &Rows<'_>) -> Result<Vec<[f64; 3]>> {
    let mut points = Vec::new();
    if scan.len() <= RUNS * RUN {
        add(&mut points, scan, 0..scan.len())?;
        return Ok(points);
    }
    for run in 0..RUNS {
        let first = run * (scan.len() - RUN) / (RUNS - 1);
        add(&mut points, &scan.part(first, RUN), 0..RUN)?;
    }
    // Such as a scan that has its points at one end.
    if points.is_empty() { spaced(scan) } else { Ok(points) }
}

/// As many points, each evenly spaced; a scan on a device is copied.
pub(super) fn spaced(scan: &Rows<'_>) -> Result<Vec<[f64; 3]>> {
    let mut points = Vec::new();
    let n = scan.len().min(RUNS * RUN);
    add(&mut points, scan, (0..n).map(|k| k * scan.len() / n))?;
    Ok(points)
}

/// Adds some points of a scan.
fn add(points: &mut Vec<[f64; 3]>, scan: &Rows<'_>, rows: impl ExactSizeIterator<Item = usize>) -> Result<()> {
    memory::room(points, points.len() + rows.len())?;
    scan.on_host(|scan| {
        let wanted = |p: &[f64; 3]| p.iter().all(|x| x.is_finite()) && *p != [0.0; 3];
        points.extend(rows.map(|i| scan.point(i)).filter(wanted));
        Ok(())
    })
}

/// The point that a scan is turned about: the one before where that is not far from the scan, or within
/// so many metres; else the middle of most of its points. About a point that is far away, a turn moves the scan by more than it
/// is wide, and shifts and turns cannot be told apart.
pub fn pivot_of(scan: &Rows<'_>, before: [f64; 3], reach: f64) -> Result<[f64; 3]> {
    pivot(&runs(scan)?, before, reach)
}

/// As [`pivot_of`], of some points of the scan.
pub(super) fn pivot(sample: &[[f64; 3]], before: [f64; 3], reach: f64) -> Result<[f64; 3]> {
    let centre = centre_of(sample);
    let near = sample.is_empty() || aside(centre, before) <= reach.max(ASIDE * reach_of(sample, centre)?);
    Ok(if near { before } else { centre })
}

/// The points in an order in which the first few are from all of the scan.
pub(super) fn mixed(points: &[[f64; 3]]) -> impl Iterator<Item = [f64; 3]> + '_ {
    // A prime that divides no number of points below it.
    const STRIDE: usize = 7919;
    (0..points.len()).map(|k| points[k * STRIDE % points.len()])
}
