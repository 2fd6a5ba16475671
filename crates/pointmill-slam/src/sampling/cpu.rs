//! The CPU path.

use super::cells::Cells;
use super::{Sampled, Sampling};
use pointmill::internals::{memory, par};
use pointmill::{Result, Rows};
use pointmill_core::odometry::cells::{NO_CELL, cell_of, key_of};
use pointmill_core::odometry::motion::mark;
use pointmill_core::odometry::view;
use rayon::prelude::*;

/// Points that a thread takes at least.
pub(crate) const POINTS: usize = 4096;

/// A point of a sweep, and its time in seconds.
pub(crate) type Timed = ([f64; 3], f64);

/// Samples and keypoints of a sweep, in the order of the sweep.
#[derive(Debug, Default)]
pub(crate) struct HostSampler {
    cells: Cells,
    /// The cell of each point.
    of_points: Vec<u64>,
    pub(crate) samples: Vec<Timed>,
    pub(crate) keypoints: Vec<Timed>,
    pub(super) view: Vec<[f64; 2]>,
}

impl HostSampler {
    pub(crate) fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>, sampling: &Sampling) -> Result<Sampled> {
        let [near, far] = sampling.squares();
        let key = |i: usize| {
            let p = points.point(i);
            let range = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
            let usable = range >= near && range <= far && times.is_none_or(|times| times[i].is_finite());
            if usable { cell_of(p, sampling.cell_size).map_or(NO_CELL, key_of) } else { NO_CELL }
        };
        memory::room(&mut self.of_points, points.len())?;
        (0..points.len())
            .into_par_iter()
            .with_min_len(par::grain(POINTS))
            .map(key)
            .collect_into_vec(&mut self.of_points);

        let mut sampled = Sampled::default();
        self.samples.clear();
        self.keypoints.clear();
        self.cells.clear();
        let mut before = NO_CELL;
        for (i, key) in self.of_points.iter().enumerate().filter(|(_, key)| **key != NO_CELL) {
            sampled.usable += 1;
            let time = times.map_or(0.0, |times| times[i]);
            if times.is_some() {
                let [first, last] = sampled.times.unwrap_or([time; 2]);
                sampled.times = Some([first.min(time), last.max(time)]);
            }
            // Points of a sweep often lie in the cell of the point before.
            if *key != before && self.cells.get_or_put(*key, 0)?.is_none() {
                let p = points.point(i);
                sampled.mark = sampled.mark.wrapping_add(mark(self.samples.len() as u32, p));
                memory::push(&mut self.samples, (p, time))?;
            }
            before = *key;
        }
        if let Some(size) = sampling.keypoint_cell_size {
            self.cells.clear();
            for sample in &self.samples {
                if let Some(cell) = cell_of(sample.0, size)
                    && self.cells.get_or_put(key_of(cell), 0)?.is_none()
                {
                    memory::push(&mut self.keypoints, *sample)?;
                }
            }
        }
        if sampling.view {
            self.view = seen(points, sampling.squares())?;
        }
        (sampled.samples, sampled.keypoints) = (self.samples.len(), self.keypoints.len());
        Ok(sampled)
    }
    pub(super) fn samples(&self) -> Result<Vec<[f64; 3]>> {
        memory::collect(self.samples.iter().map(|(p, _)| *p))
    }
}

/// What a sweep shows in each direction.
fn seen(points: &Rows<'_>, ranges: [f64; 2]) -> Result<Vec<[f64; 2]>> {
    let step = view::step(points.len());
    let bins = (0..points.len().div_ceil(step)).into_par_iter().with_min_len(par::grain(POINTS));
    let bins = memory::collect_parallel(bins.map(|k| view::seen(points.point(k * step), ranges)))?;
    let mut seen = memory::filled(view::BINS, [f64::INFINITY, 0.0])?;
    for (bin, range) in bins.into_iter().flatten() {
        let [least, most] = &mut seen[bin];
        *least = least.min(range);
        *most = most.max(range);
    }
    Ok(seen)
}
