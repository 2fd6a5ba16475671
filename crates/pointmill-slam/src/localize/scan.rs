//! A scan as alignment and search take it: a few of its points, the ground below the sensor, and
//! what it sees in each direction.

use super::params::LocalizerParams;
use crate::sampling::{POINTS, Sampler};
use pointmill::internals::{memory, par};
use pointmill::{Result, Rows};
use pointmill_core::rigid::dot;
use rayon::prelude::*;

/// A point so many metres above the ground is no ground.
pub(super) const ABOVE_GROUND: f64 = 0.5;
/// The ground is looked for up to so many metres from the sensor.
const GROUND_RANGE: f64 = 20.0;
/// The share of the points there that are lower than the ground.
const BELOW_GROUND: f64 = 0.05;
/// Bins of a turn and of the sine of the elevation.
const TURN: usize = 128;
const RISE: usize = 64;
/// Most points that are put into bins.
const MOST_SEEN: usize = 20_000;

/// Points of a scan in the sensor's frame.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    /// The first point of each cube.
    pub(super) keys: Vec<[f64; 3]>,
    /// Whether each is above the ground.
    pub(super) above: Vec<bool>,
    /// Height of the ground.
    pub(super) ground: f64,
    /// Points of the scan that are finite and in range.
    pub(super) usable: usize,
    pub(super) view: View,
}

impl Scan {
    pub(super) fn new(points: &Rows<'_>, params: &LocalizerParams, sampler: &mut Sampler) -> Result<Self> {
        let usable = sampler.sample(points, None, &params.sampling())?.usable;
        let keys = every(&sampler.samples()?, params.max_points)?;
        let ground = params.sensor_height.map_or_else(|| lowest(&keys), |height| -height);
        let above = memory::collect(keys.iter().map(|p| p[2] > ground + ABOVE_GROUND))?;
        Ok(Self { keys, above, ground, usable, view: View::new(points, [params.min_range, params.max_range])? })
    }

    /// Points for a search: those above the ground within a range if there are enough, else all.
    pub(super) fn landmarks(&self, range: f64, most: usize) -> Result<Vec<[f64; 3]>> {
        let near = |p: &[f64; 3]| dot(*p, *p) < range * range;
        let above = self.keys.iter().zip(&self.above).filter(|(p, above)| **above && near(p)).map(|(p, _)| *p);
        let above: Vec<_> = above.collect();
        every(if above.len() >= most.min(64) { &above } else { &self.keys }, most)
    }
}

/// At most so many points, evenly.
fn every(points: &[[f64; 3]], most: usize) -> Result<Vec<[f64; 3]>> {
    let n = points.len().min(most);
    memory::collect((0..n).map(|i| points[i * points.len() / n]))
}

/// The height of the ground around the sensor.
fn lowest(points: &[[f64; 3]]) -> f64 {
    let near = |p: &&[f64; 3]| p[0] * p[0] + p[1] * p[1] < GROUND_RANGE * GROUND_RANGE;
    let mut heights: Vec<f64> = points.iter().filter(near).map(|p| p[2]).collect();
    heights.sort_unstable_by(f64::total_cmp);
    heights.get((heights.len() as f64 * BELOW_GROUND) as usize).copied().unwrap_or(0.0)
}

/// The least and the largest distance of a scan's points in each direction.
#[derive(Clone, Debug)]
pub(super) struct View {
    bins: Vec<[f64; 2]>,
}

/// What a scan says of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// A point is as far away as the place.
    Confirmed,
    /// All points in its direction are farther away.
    SeenThrough,
    /// Nothing is there, or something in front of it.
    Unknown,
}

impl View {
    /// What every k-th point shows, of those in range.
    fn new(points: &Rows<'_>, range: [f64; 2]) -> Result<Self> {
        let [near, far] = range.map(|range| range * range);
        let step = points.len().div_ceil(MOST_SEEN).max(1);
        let bin =
            |k: usize| Some(points.point(k * step)).filter(|p| (near..=far).contains(&dot(*p, *p))).and_then(Self::bin);
        let seen = (0..points.len().div_ceil(step)).into_par_iter().with_min_len(par::grain(POINTS)).map(bin);
        let mut bins = memory::filled(TURN * RISE, [f64::INFINITY, 0.0])?;
        for (turn, rise, range) in memory::collect_parallel(seen)?.into_iter().flatten() {
            let [least, most] = &mut bins[rise * TURN + turn];
            *least = least.min(range);
            *most = most.max(range);
        }
        Ok(Self { bins })
    }

    /// The bin of a direction, along the turn and the rise, and the distance.
    fn bin(p: [f64; 3]) -> Option<(usize, usize, f64)> {
        let range = dot(p, p).sqrt();
        let flat = p[0].abs() + p[1].abs();
        if !(range.is_finite() && flat > 0.0) {
            return None;
        }
        // From 0 to 4 around, as an angle but for a smooth distortion.
        let around = if p[1] >= 0.0 { 1.0 - p[0] / flat } else { 3.0 + p[0] / flat };
        let turn = (around * (TURN as f64 / 4.0)) as usize % TURN;
        let rise = ((p[2] / range + 1.0) * (RISE as f64 / 2.0)) as usize;
        Some((turn, rise.min(RISE - 1), range))
    }

    /// What the scan says of a place in the sensor's frame, to so many metres.
    pub(super) fn look(&self, p: [f64; 3], within: f64) -> Sight {
        let Some((turn, rise, range)) = Self::bin(p) else { return Sight::Unknown };
        let (mut nearest, mut there) = (f64::INFINITY, false);
        for rise in rise.saturating_sub(1)..=(rise + 1).min(RISE - 1) {
            for turn in [turn + TURN - 1, turn, turn + 1] {
                let [least, most] = self.bins[rise * TURN + turn % TURN];
                nearest = nearest.min(least);
                there |= (least - range).abs() <= within || (most - range).abs() <= within;
            }
        }
        match nearest {
            _ if there => Sight::Confirmed,
            nearest if nearest.is_finite() && nearest > range + 1.5 * within => Sight::SeenThrough,
            _ => Sight::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_tells_what_is_there_from_what_is_hidden() {
        let mut points = Vec::new();
        for step in 0..2000 {
            let (sine, cosine) = (f64::from(step) * 0.001 * std::f64::consts::PI).sin_cos();
            points.extend([-1.0, 0.0, 1.0, 2.0].map(|z| [20.0 * cosine, 20.0 * sine, z]));
        }
        let view = View::new(&Rows::from(&points[..]), [0.0, 100.0]).unwrap();
        for angle in [0.0, 1.0, 2.5, 4.0, 6.2f64] {
            let at = |r: f64| [r * angle.cos(), r * angle.sin(), 0.5];
            let seen = [10.0, 19.0, 21.0, 30.0].map(|r| view.look(at(r), 2.0));
            assert_eq!(seen, [Sight::SeenThrough, Sight::Confirmed, Sight::Confirmed, Sight::Unknown], "{angle}");
        }
        assert_eq!(view.look([1.0, 0.0, 30.0], 2.0), Sight::Unknown);
        assert_eq!(view.look([0.0; 3], 2.0), Sight::Unknown);
        assert_eq!(view.look([f64::NAN; 3], 2.0), Sight::Unknown);
    }
}
