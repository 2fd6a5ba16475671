//! Distances between poses, absolute, relative and by segments.

use super::params::Delta;
use super::result::{Drift, PoseErrors, Relative, Segments, Statistics};
use pointmill::internals::memory;
use pointmill::{Pose, Result};
use pointmill_core::rigid::{dot, subtract};

/// A pair off by more than this part of its distance is left out.
const METRES_TOLERANCE: f64 = 0.1;

/// A length of the vector.
fn norm(v: [f64; 3]) -> f64 {
    dot(v, v).sqrt()
}

/// Metres from the first pose to each.
pub(super) fn lengths(poses: &[Pose]) -> impl ExactSizeIterator<Item = f64> {
    let mut along = 0.0;
    let mut last = poses.first().map(Pose::translation);
    poses.iter().map(move |pose| {
        let here = pose.translation();
        along += last.map_or(0.0, |last| norm(subtract(here, last)));
        last = Some(here);
        along
    })
}

/// How far two poses are apart: metres and radians.
pub(super) fn apart(a: &Pose, b: &Pose) -> [f64; 2] {
    let turn = a.inverse().compose(b).rotation_vector();
    [norm(subtract(a.translation(), b.translation())), norm(turn)]
}

/// How far two motions are apart.
pub(super) fn motions_apart([from, to]: [&Pose; 2], [truth_from, truth_to]: [&Pose; 2]) -> [f64; 2] {
    let motion = from.inverse().compose(to);
    let error = truth_from.inverse().compose(truth_to).inverse().compose(&motion);
    [norm(error.translation()), norm(error.rotation_vector())]
}

pub(super) fn statistics(errors: &[[f64; 2]]) -> Result<PoseErrors> {
    let of = |k: usize| memory::collect(errors.iter().map(|e| e[k])).map(Statistics::of);
    Ok(PoseErrors { translation: of(0)?, rotation: Some(of(1)?) })
}

/// Two trajectories of as many poses, and the metres along the truth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside<'a> {
    pub(super) estimate: &'a [Pose],
    pub(super) truth: &'a [Pose],
    pub(super) lengths: &'a [f64],
}

impl Beside<'_> {
    fn error(&self, i: usize, j: usize) -> [f64; 2] {
        motions_apart([&self.estimate[i], &self.estimate[j]], [&self.truth[i], &self.truth[j]])
    }

    /// Errors of all pairs that are so far apart.
    pub(super) fn relative(&self, delta: Delta) -> Result<Relative> {
        let partner = |i: usize| match delta {
            Delta::Frames(n) => i.checked_add(n).filter(|j| *j < self.truth.len()),
            Delta::Metres(metres) => self.nearest_along(i, metres),
        };
        let mut errors = Vec::new();
        for (i, j) in (0..self.truth.len()).filter_map(|i| Some((i, partner(i)?))) {
            memory::push(&mut errors, self.error(i, j))?;
        }
        Ok(Relative { delta, pairs: errors.len(), errors: statistics(&errors)? })
    }

    /// The later pose that is nearest to so many metres along, if it is near enough.
    fn nearest_along(&self, i: usize, metres: f64) -> Option<usize> {
        let off = |j: usize| (self.lengths[j] - self.lengths[i] - metres).abs();
        let later = i + 1;
        let beyond = later + self.lengths.get(later..)?.partition_point(|l| l - self.lengths[i] < metres);
        // Of poses at one place the first.
        let first_at = |j: usize| later + self.lengths[later..].partition_point(|l| *l < self.lengths[j]);
        let before = (beyond > later).then(|| first_at(beyond - 1));
        let best = match (before, (beyond < self.lengths.len()).then_some(beyond)) {
            (Some(a), Some(b)) => Some(if off(a) <= off(b) { a } else { b }),
            (a, b) => a.or(b),
        }?;
        (off(best) <= METRES_TOLERANCE * metres).then_some(best)
    }

    /// The drift over segments of these lengths, from every so many poses.
    pub(super) fn drift(&self, segment_lengths: &[f64], every: usize) -> Drift {
        let mut drift = Drift::default();
        let mut all = [0.0; 2];
        for &length in segment_lengths {
            let (mut sum, mut segments) = ([0.0; 2], 0);
            for i in (0..self.truth.len()).step_by(every) {
                let j = self.lengths.partition_point(|l| *l <= self.lengths[i] + length);
                if j == self.lengths.len() {
                    break;
                }
                let error = self.error(i, j);
                (0..2).for_each(|k| sum[k] += error[k] / length);
                segments += 1;
            }
            if segments > 0 {
                let [translation, rotation] = sum.map(|x| x / segments as f64);
                drift.by_length.push(Segments { length, segments, translation, rotation });
                drift.segments += segments;
                (0..2).for_each(|k| all[k] += sum[k]);
            }
        }
        if drift.segments > 0 {
            let [translation, rotation] = all.map(|x| x / drift.segments as f64);
            (drift.translation, drift.rotation) = (Some(translation), Some(rotation));
        }
        drift
    }
}
