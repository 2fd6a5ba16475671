//! Where the alignment of a sweep starts: at the prediction, or at the best of several places where
//! that does not fit.
//!
//! A turn of a few degrees that the motion before does not predict takes points at ten metres
//! farther than a voxel, and the alignment then ends beside the truth. The share of the points that
//! lie by the map tells the places apart. Starts are scored and aligned with a thinned sweep.

use super::engine::{Engine, Linearize};
use super::normal_equations::NormalEquations;
use pointmill::{Pose, Result};
use pointmill_core::icp::pairs::{Linearization, STEP_TERMS};
use pointmill_core::icp::pose::step_hessian;
use pointmill_core::icp::spread::Spread;
use pointmill_core::linear::{Square, eigen};
use pointmill_core::odometry::order::thinned;
use pointmill_core::trig::sin_cos_f64;

/// The map explains a point that is within this part of a voxel of a point of the map.
const NEAR: f64 = 0.3;
/// Width of the weights in voxels that starts are scored and aligned with.
const WIDTH: f64 = 0.5;
/// An alignment of the thinned sweep ends with a shorter step in voxels, or after so many.
const STEP: f64 = 0.05;
const STEPS: usize = 20;
const MIN_PAIRS: f64 = 10.0;
/// The prediction fits if the map explains this part of what it explained lately, and the sweep
/// lies within so many voxels of it.
const FITS: f64 = 0.9;
const MOVED: f64 = 0.5;
/// The search goes no farther if the map explains this part.
pub(super) const ENOUGH: f64 = 0.85;
/// What the map of one sweep is expected to explain of the next.
const FIRST: f64 = 0.45;
/// Starts are turned by multiples of this angle about each axis, up to so many.
const TURN: f64 = 0.14;
const RINGS: [i32; 3] = [1, 2, 4];
/// Starts are moved by half voxels along each axis, up to so many.
const HALF_VOXELS: i32 = 8;
/// So many of the starts with the best scores are aligned: turned, moved, and places of old.
const TURNED: usize = 6;
const SLID: usize = 4;
const OF_OLD: usize = 12;
/// Two shares differ if they do by so many standard deviations.
pub(super) const DEVIATIONS: f64 = 2.0;

/// A place that the thinned sweep was aligned to.
#[derive(Clone, Copy, Debug)]
struct Place {
    pose: Pose,
    /// The share of its points that the map explains there.
    explained: f64,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) pose: Pose,
    /// Whether the map explains as much at another place.
    pub(super) ambiguous: bool,
}

/// How much of a sweep the map explains at a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Explained {
    /// The share of the keypoints that lie by the map.
    pub(super) share: f64,
    /// The share, times that part of the keypoints with a neighbour within a voxel that lie by the
    /// map: surfaces that are beside those of the map lower it, places that are new do not.
    pub(super) sharp: f64,
}

/// Looks for the place of a sweep.
pub(super) struct Search<'a> {
    engine: &'a mut dyn Engine,
    voxel: f64,
    spread: Spread,
    keypoints: usize,
    /// All places that the thinned sweep was aligned to.
    places: Vec<Place>,
}

impl<'a> Search<'a> {
    pub(super) const fn new(engine: &'a mut dyn Engine, voxel: f64, spread: Spread, keypoints: usize) -> Self {
        Self { engine, voxel, spread, keypoints, places: Vec::new() }
    }

    /// Looks around a prediction and the pose before it. `expected` is the share that the map
    /// explained lately.
    pub(super) fn around(&mut self, predicted: &Pose, before: &Pose, expected: Option<f64>) -> Result<Option<Answer>> {
        let standing = self.apart(predicted, before) < MOVED * self.voxel;
        let starts = if standing { vec![*predicted] } else { vec![*predicted, *before] };
        self.align_best(starts, 1)?;
        let expected = expected.unwrap_or(FIRST);
        let fits = |best: Option<Place>, part: f64| best.is_some_and(|place| place.explained >= part * expected);
        if let Some(place) = self.best().filter(|place| fits(Some(*place), FITS)) {
            if !self.is_aside(predicted, &place.pose) {
                return Ok(Some(Answer { pose: place.pose, ambiguous: false }));
            }
        } else {
            for (ring, far) in RINGS.into_iter().enumerate() {
                let inner = if ring == 0 { 0 } else { RINGS[ring - 1] };
                let centres =
                    if standing || ring + 1 == RINGS.len() { &[before][..] } else { &[before, predicted][..] };
                let starts = centres.iter().flat_map(|centre| turned(centre, inner, far)).collect();
                self.align_best(starts, TURNED)?;
                if fits(self.best(), ENOUGH) {
                    break;
                }
            }
        }
        if self.best().is_some_and(|best| self.is_aside(predicted, &best.pose)) {
            self.slide()?;
        }
        self.answer(predicted)
    }

    /// Looks beside a place that the surfaces do not determine.
    pub(super) fn beside(&mut self, pose: &Pose) -> Result<Option<Answer>> {
        self.align(*pose)?;
        self.slide()?;
        self.answer(pose)
    }

    /// Whether the sensor is farther from where it was expected than half a voxel.
    fn is_aside(&self, predicted: &Pose, pose: &Pose) -> bool {
        apart(predicted, pose, 0.0) > MOVED * self.voxel
    }

    /// Looks at places of old.
    pub(super) fn among(&mut self, poses: Vec<Pose>) -> Result<Option<Answer>> {
        let Some(last) = poses.last().copied() else { return Ok(None) };
        self.align_best(poses, OF_OLD)?;
        self.slide()?;
        self.answer(&last)
    }

    /// How much of the whole sweep the map explains.
    pub(super) fn explained(&mut self, pose: &Pose) -> Result<Explained> {
        let share = self.near(pose, NEAR, self.keypoints)?;
        let around = self.near(pose, 1.0, self.keypoints)?;
        Ok(Explained { share, sharp: if around > 0.0 { share * share / around } else { 0.0 } })
    }

    /// How far two poses are apart for a point of the sweep.
    fn apart(&self, a: &Pose, b: &Pose) -> f64 {
        apart(a, b, arm(&self.spread))
    }

    /// The share of the first keypoints with a neighbour within so many voxels.
    fn near(&mut self, pose: &Pose, voxels: f64, first: usize) -> Result<f64> {
        let (at, within) = (self.spread.at(*pose.rigid()), (voxels * self.voxel) as f32);
        let request = Linearize { at, width: self.voxel, within, first };
        Ok(self.engine.linearize(&request)?[0] / first as f64)
    }

    /// The terms of the normal equations of the thinned sweep, and where they are taken.
    fn linearize(&mut self, pose: &Pose) -> Result<(Linearization, [f64; STEP_TERMS])> {
        let at = self.spread.at(*pose.rigid());
        let request = Linearize { at, width: WIDTH * self.voxel, within: self.voxel as f32, first: self.thinned() };
        Ok((at, self.engine.linearize(&request)?))
    }

    /// The number of keypoints of the thinned sweep.
    const fn thinned(&self) -> usize {
        thinned(self.keypoints as u32) as usize
    }

    /// Scores starts and aligns the best.
    fn align_best(&mut self, starts: Vec<Pose>, most: usize) -> Result<()> {
        let mut scored = Vec::with_capacity(starts.len());
        for pose in starts {
            let (_, terms) = self.linearize(&pose)?;
            scored.push((terms[3], pose));
        }
        // Of equal scores the first.
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, pose) in scored.into_iter().take(most) {
            self.align(pose)?;
        }
        Ok(())
    }

    fn align(&mut self, mut pose: Pose) -> Result<()> {
        for _ in 0..STEPS {
            let (at, terms) = self.linearize(&pose)?;
            let equations = NormalEquations::new(at, terms);
            let step = equations.step(&[]);
            let next = Pose::from(equations.moved(&step));
            if !(terms[0] >= MIN_PAIRS && equations.weight() > 0.0 && next.is_rigid()) {
                return Ok(());
            }
            pose = next;
            if step.iter().map(|x| x * x).sum::<f64>().sqrt() < STEP * self.voxel {
                break;
            }
        }
        let explained = self.near(&pose, NEAR, self.thinned())?;
        self.places.push(Place { pose, explained });
        Ok(())
    }

    /// The place that the map explains best; of equal ones the first.
    fn best(&self) -> Option<Place> {
        self.places.iter().copied().reduce(|best, place| if place.explained > best.explained { place } else { best })
    }

    /// Looks beside the best place: walls with windows, pillars and shelves fit again a step farther.
    fn slide(&mut self) -> Result<()> {
        let Some(best) = self.best() else { return Ok(()) };
        let (at, terms) = self.linearize(&best.pose)?;
        let equations = NormalEquations::new(at, terms);
        let hessian = step_hessian(&terms);
        let of_translation: Square<3> = std::array::from_fn(|i| std::array::from_fn(|j| hessian[i][j]));
        let (_, axes) = eigen(&of_translation);
        let mut starts = Vec::new();
        for axis in axes {
            for k in (-HALF_VOXELS..=HALF_VOXELS).filter(|k| *k != 0) {
                let by = axis.map(|x| x * 0.5 * self.voxel * f64::from(k));
                starts.push(Pose::from(equations.moved(&[by[0], by[1], by[2], 0.0, 0.0, 0.0])));
            }
        }
        self.align_best(starts, SLID)
    }

    /// The best place; of two that the whole sweep does not tell apart that nearer to the
    /// prediction.
    fn answer(&mut self, predicted: &Pose) -> Result<Option<Answer>> {
        let Some(best) = self.best() else { return Ok(None) };
        let elsewhere = |place: &&Place| self.apart(&best.pose, &place.pose) > self.voxel;
        let rival =
            self.places.iter().filter(elsewhere).copied().reduce(|a, b| if b.explained > a.explained { b } else { a });
        let Some(rival) = rival else { return Ok(Some(Answer { pose: best.pose, ambiguous: false })) };
        let share = self.near(&best.pose, NEAR, self.keypoints)?;
        let other = self.near(&rival.pose, NEAR, self.keypoints)?;
        let ambiguous = (share - other).abs() < DEVIATIONS * deviation(share.max(other), self.keypoints);
        let takes_rival = match ambiguous {
            true => self.apart(predicted, &rival.pose) < self.apart(predicted, &best.pose),
            false => other > share,
        };
        Ok(Some(Answer { pose: if takes_rival { rival.pose } else { best.pose }, ambiguous }))
    }
}

/// A pose turned about the sensor by multiples of an angle: those of a cube that are not in the
/// inner one. The innermost has the pose itself.
fn turned(pose: &Pose, inner: i32, far: i32) -> impl Iterator<Item = Pose> + '_ {
    let cube = (-far..=far).flat_map(move |x| (-far..=far).flat_map(move |y| (-far..=far).map(move |z| [x, y, z])));
    let outside = move |turn: &[i32; 3]| inner == 0 || turn.iter().any(|n| n.abs() > inner);
    let turn = |[x, y, z]: [i32; 3]| {
        Pose::exp(&[0.0, 0.0, 0.0, TURN * f64::from(x), TURN * f64::from(y), TURN * f64::from(z)])
    };
    cube.filter(outside).map(move |by| pose.compose(&turn(by)))
}

/// The standard deviation of the difference of two shares of so many points.
pub(super) fn deviation(share: f64, points: usize) -> f64 {
    (2.0 * share * (1.0 - share) / points as f64).sqrt()
}

/// The distance of the points of a sweep from the sensor: the root mean square.
pub(super) fn arm(spread: &Spread) -> f64 {
    let [x, y, z] = spread.mean;
    let trace = spread.covariance[0][0] + spread.covariance[1][1] + spread.covariance[2][2];
    (x * x + y * y + z * z + trace.max(0.0)).sqrt()
}

/// How far in metres two poses are apart: the motion of a point at a range.
pub(super) fn apart(a: &Pose, b: &Pose, range: f64) -> f64 {
    let off = a.inverse().compose(b);
    let norm = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (sine, _) = sin_cos_f64(0.5 * norm(off.rotation_vector()));
    norm(off.translation()) + 2.0 * range * sine
}
