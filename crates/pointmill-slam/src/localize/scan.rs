//! A scan as alignment and search take it: a few of its points, the ground below the sensor, and
//! what it sees in each direction.

use super::params::LocalizerParams;
use crate::sampling::Sampler;
use pointmill::internals::memory;
use pointmill::{Result, Rows};
use pointmill_core::odometry::view::{RISE, TURN, bin};
use pointmill_core::rigid::dot;

/// A point so many metres above the ground is no ground.
pub(super) const ABOVE_GROUND: f64 = 0.5;
/// The ground is looked for up to so many metres from the sensor.
const GROUND_RANGE: f64 = 20.0;
/// The share of the points there that are lower than the ground.
const BELOW_GROUND: f64 = 0.05;

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
        Ok(Self { keys, above, ground, usable, view: View { bins: sampler.view()? } })
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
    let below = (heights.len() as f64 * BELOW_GROUND) as usize;
    if heights.is_empty() { 0.0 } else { *heights.select_nth_unstable_by(below, f64::total_cmp).1 }
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
    /// What the scan says of a place in the sensor's frame, to so many metres.
    pub(super) fn look(&self, p: [f64; 3], within: f64) -> Sight {
        let Some((turn, rise, range)) = bin(p) else { return Sight::Unknown };
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
    use pointmill::Device;

    #[test]
    fn a_view_tells_what_is_there_from_what_is_hidden() {
        let mut points = Vec::new();
        for step in 0..2000 {
            let (sine, cosine) = (f64::from(step) * 0.001 * std::f64::consts::PI).sin_cos();
            points.extend([-1.0, 0.0, 1.0, 2.0].map(|z| [20.0 * cosine, 20.0 * sine, z]));
        }
        let params = LocalizerParams { min_range: 0.0, max_range: 100.0, ..LocalizerParams::default() };
        let mut sampler = Sampler::new(&Device::cpu().stream().unwrap()).unwrap();
        let view = Scan::new(&Rows::from(&points[..]), &params, &mut sampler).unwrap().view;
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
