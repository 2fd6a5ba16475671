//! The pose of matches some of which are wrong.

use pointmill_core::rigid::{Rigid, nearest_rotation, rotate, subtract, wide};

/// Steps of the schedule.
const STEPS: usize = 24;
/// How much less the cost is smoothed, from step to step.
const SHARPER: f64 = 1.4;

/// The pose with the smallest weighted sum of squared distances; none of fewer than three pairs.
pub(super) fn closest(pairs: &[[[f32; 3]; 2]], weights: &[f64]) -> Option<Rigid> {
    let total: f64 = weights.iter().sum();
    if weights.iter().filter(|w| **w > 0.0).count() < 3 {
        return None;
    }
    let mut means = [[0.0; 3]; 2];
    for (pair, w) in pairs.iter().zip(weights) {
        for side in 0..2 {
            (0..3).for_each(|k| means[side][k] += w * f64::from(pair[side][k]) / total);
        }
    }
    let mut moments = [[0.0; 3]; 3];
    for (pair, w) in pairs.iter().zip(weights) {
        let [s, t] = [0, 1].map(|side| subtract(wide(pair[side]), means[side]));
        (0..9).for_each(|k| moments[k / 3][k % 3] += w * t[k / 3] * s[k % 3]);
    }
    let (rotation, _) = nearest_rotation(&moments);
    let translation = subtract(means[1], rotate(&rotation, means[0]));
    let rigid = Rigid { rotation, translation };
    rigid.translation.iter().chain(rotation.as_flattened()).all(|x| x.is_finite()).then_some(rigid)
}

/// Squared distance of a pair at a pose.
pub(super) fn residual(rigid: &Rigid, pair: &[[f32; 3]; 2]) -> f64 {
    let d = subtract(rigid.apply(wide(pair[0])), wide(pair[1]));
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}

/// The pose by graduated non-convexity with truncated least squares at `width`.
///
/// **Source**: Yang, Antonante, Tzoumas and Carlone, Graduated Non-Convexity for Robust Spatial
/// Perception, 2020.
pub(super) fn robust(pairs: &[[[f32; 3]; 2]], width: f64) -> Option<Rigid> {
    let mut weights = vec![1.0; pairs.len()];
    let mut rigid = closest(pairs, &weights)?;
    let limit = width * width;
    let largest = pairs.iter().map(|pair| residual(&rigid, pair)).fold(0.0, f64::max);
    if largest <= limit {
        return Some(rigid);
    }
    let mut mu = limit / (2.0 * largest - limit);
    for _ in 0..STEPS {
        for (pair, w) in pairs.iter().zip(&mut weights) {
            let r = residual(&rigid, pair);
            *w = if r >= (mu + 1.0) / mu * limit {
                0.0
            } else if r <= mu / (mu + 1.0) * limit {
                1.0
            } else {
                (width * (mu * (mu + 1.0)).sqrt() / r.sqrt() - mu).clamp(0.0, 1.0)
            };
        }
        rigid = closest(pairs, &weights)?;
        mu *= SHARPER;
    }
    Some(rigid)
}
