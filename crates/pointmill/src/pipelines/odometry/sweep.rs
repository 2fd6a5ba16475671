//! A sweep as the alignment and the map take it: a few of its points, moved to where they were at one moment.

use super::cells::{Cells, NO_CELL, cell_of, key_of};
use super::params::{KEY_SAMPLING, MAP_SAMPLING, OdometryParams};
use crate::{Result, Rows, memory};
use pointmill_core::rigid::{add, cross};
use rayon::prelude::*;

/// Points that a thread takes at least.
const POINTS: usize = 4096;
/// Terms of the exponential series. A quarter turn in half a sweep is off by 2e-4 of a point's distance, a tenth of that turn by 2e-13.
const TERMS: usize = 8;

/// A point of a sweep, and its time in seconds.
pub(super) type Timed = ([f64; 3], f64);

/// Points of a sweep, the first of each cell, in the order of the sweep.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// For the map.
    pub(super) samples: Vec<Timed>,
    /// For the alignment.
    pub(super) keys: Vec<Timed>,
    /// Points that are finite, in range and have a finite time, if any has.
    pub(super) usable: usize,
    /// Least and largest time of these.
    pub(super) times: Option<[f64; 2]>,
    /// A number that the points of `samples` make.
    pub(super) mark: u64,
}

/// Where sampling keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    cells: Cells,
    keys: Vec<u64>,
}

impl Sampler {
    pub(super) fn sample(&mut self, points: Rows<'_>, times: Option<&[f64]>, params: &OdometryParams) -> Result<Sweep> {
        let [near, far] = [params.min_range, params.max_range].map(|range| range * range);
        let size = MAP_SAMPLING * params.voxel_size;
        let key = |i: usize| {
            let p = points.point(i);
            let range = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
            let usable = range >= near && range <= far && times.is_none_or(|times| times[i].is_finite());
            if usable { cell_of(p, size).map_or(NO_CELL, key_of) } else { NO_CELL }
        };
        memory::room(&mut self.keys, points.len())?;
        (0..points.len()).into_par_iter().with_min_len(POINTS).map(key).collect_into_vec(&mut self.keys);

        let mut sweep = Sweep::default();
        self.cells.clear();
        for (i, key) in self.keys.iter().enumerate().filter(|(_, key)| **key != NO_CELL) {
            sweep.usable += 1;
            let time = times.map_or(0.0, |times| times[i]);
            if times.is_some() {
                let [first, last] = sweep.times.unwrap_or([time; 2]);
                sweep.times = Some([first.min(time), last.max(time)]);
            }
            if self.cells.get_or_put(*key, 0)?.is_none() {
                let p = points.point(i);
                memory::push(&mut sweep.samples, (p, time))?;
                sweep.mark = p.iter().fold(sweep.mark, |mark, x| (mark ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3));
            }
        }
        self.cells.clear();
        for sample in &sweep.samples {
            let cell = cell_of(sample.0, KEY_SAMPLING * params.voxel_size);
            if let Some(cell) = cell
                && self.cells.get_or_put(key_of(cell), 0)?.is_none()
            {
                memory::push(&mut sweep.keys, *sample)?;
            }
        }
        Ok(sweep)
    }
}

/// Points as they are seen from where the sensor is at a moment, if it moves with a constant twist.
pub(super) fn deskewed(points: &[Timed], twist: &[f64; 6], moment: Option<f64>) -> Result<Vec<[f64; 3]>> {
    match moment {
        None => memory::collect(points.iter().map(|(p, _)| *p)),
        Some(moment) => {
            let moved = |&(p, time): &Timed| moved(twist, time - moment, p);
            memory::collect_parallel(points.par_iter().with_min_len(POINTS / TERMS).map(moved))
        }
    }
}

/// A point after so many seconds of a twist, by the series of the exponential map.
fn moved(twist: &[f64; 6], seconds: f64, p: [f64; 3]) -> [f64; 3] {
    let (v, w) = ([twist[0], twist[1], twist[2]], [twist[3], twist[4], twist[5]]);
    let mut term = add(v, cross(w, p)).map(|x| seconds * x);
    let mut to = add(p, term);
    for n in 2..=TERMS {
        let by = seconds / n as f64;
        term = cross(w, term).map(|x| by * x);
        to = add(to, term);
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pose;

    #[test]
    fn points_move_as_the_exponential_map_says() {
        let p = [30.0, -12.0, 1.5];
        for (speed, within) in [(0.5, 1e-8), (3.0, 5e-3)] {
            let twist = [12.0, -0.3, 0.1, 0.2 * speed, -0.1 * speed, speed];
            for seconds in [-0.5, -0.05, 0.0, 0.02, 0.3] {
                let wanted = Pose::exp(&twist.map(|x| x * seconds)).apply(p);
                let got = moved(&twist, seconds, p);
                assert!((0..3).all(|k| (got[k] - wanted[k]).abs() < within), "{got:?} {wanted:?}");
            }
        }
    }
}
