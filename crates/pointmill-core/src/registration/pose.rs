//! The pose of matches some of which are wrong.

use super::Match;
use crate::float::sqrt;
use crate::rigid::Rigid;
use crate::svd::svd;
use crate::vector::{multiply, rotate, subtract, transpose, wide};

/// Steps of the schedule.
const STEPS: u32 = 24;
/// How much less the cost is smoothed, from step to step.
const SHARPER: f64 = 1.4;
/// Times that all matches near the pose make it anew.
const ROUNDS: u32 = 2;

/// A pose, and how many of all matches agree with it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Brings the first points of matches onto the second.
    pub pose: Rigid,
    /// Matches within the width; 0 where there is no pose.
    pub inliers: u64,
    /// Their mean distance in whole micrometres.
    pub micrometres: u64,
}

/// Squared distance of a match at a pose.
#[inline(always)]
pub fn residual(pose: &Rigid, of: &Match) -> f64 {
    let d = subtract(pose.apply(wide(of[0])), wide(of[1]));
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}

/// The pose with the smallest weighted sum of squared distances, and whether there is one.
#[inline(always)]
fn closest(len: usize, of: impl Fn(usize) -> Match, weight: impl Fn(usize) -> f64) -> (Rigid, bool) {
    let (mut total, mut used, mut means) = (0.0, 0, [[0.0; 3]; 2]);
    let mut i = 0;
    while i < len {
        let (w, pair) = (weight(i), of(i));
        total += w;
        used += if w > 0.0 { 1 } else { 0 };
        let mut k = 0;
        while k < 6 {
            means[k / 3][k % 3] += w * pair[k / 3][k % 3] as f64;
            k += 1;
        }
        i += 1;
    }
    let mut k = 0;
    while k < 6 {
        means[k / 3][k % 3] /= total;
        k += 1;
    }
    let mut moments = [[0.0; 3]; 3];
    i = 0;
    while i < len {
        let (w, pair) = (weight(i), of(i));
        let (s, t) = (subtract(wide(pair[0]), means[0]), subtract(wide(pair[1]), means[1]));
        let mut k = 0;
        while k < 9 {
            moments[k / 3][k % 3] += w * t[k / 3] * s[k % 3];
            k += 1;
        }
        i += 1;
    }
    let of = svd(&moments);
    let rotation = multiply(&transpose(&of.left), &of.right);
    let translation = subtract(means[1], rotate(&rotation, means[0]));
    let pose = Rigid { rotation, translation };
    (pose, used >= 3 && pose.is_finite())
}

impl Agreement {
    /// The pose of the `part_len` matches of `part` by graduated non-convexity with truncated least
    /// squares at `width` metres; then, twice, that of all `len` matches within the width.
    ///
    /// **Source**: Yang, Antonante, Tzoumas and Carlone, Graduated Non-Convexity for Robust Spatial
    /// Perception, 2020.
    #[inline(always)]
    pub fn of(
        (part_len, part): (usize, impl Fn(usize) -> Match),
        (len, all): (usize, impl Fn(usize) -> Match),
        width: f64,
    ) -> Self {
        let limit = width * width;
        let (mut pose, mut mu) = (Rigid::IDENTITY, 0.0);
        let mut step = 0;
        // One place in the code for the closest pose of all steps: a kernel holds it once.
        while step <= STEPS + ROUNDS {
            let robust = step <= STEPS;
            let weight = |i: usize| {
                if step == 0 {
                    return 1.0;
                }
                let r = residual(&pose, &if robust { part(i) } else { all(i) });
                if !robust {
                    if r <= limit { 1.0 } else { 0.0 }
                } else if r >= (mu + 1.0) / mu * limit {
                    0.0
                } else if r <= mu / (mu + 1.0) * limit {
                    1.0
                } else {
                    (width * sqrt(mu * (mu + 1.0)) / sqrt(r) - mu).clamp(0.0, 1.0)
                }
            };
            let number = if robust { part_len } else { len };
            let (next, there) = closest(number, |i| if robust { part(i) } else { all(i) }, weight);
            if there {
                pose = next;
            } else if robust {
                return Self { pose: Rigid::IDENTITY, inliers: 0, micrometres: 0 };
            }
            if step == 0 {
                let (mut largest, mut i) = (0.0, 0);
                while i < part_len {
                    let r = residual(&pose, &part(i));
                    largest = if r > largest { r } else { largest };
                    i += 1;
                }
                // Where all fit there is nothing to leave out.
                step = if largest <= limit { STEPS } else { 0 };
                mu = limit / (2.0 * largest - limit);
            } else {
                mu *= SHARPER;
            }
            step += 1;
        }
        let (mut inliers, mut sum, mut i) = (0, 0.0, 0);
        while i < len {
            let r = residual(&pose, &all(i));
            if r <= limit {
                inliers += 1;
                sum += sqrt(r);
            }
            i += 1;
        }
        let mean = sum / if inliers > 0 { inliers as f64 } else { 1.0 };
        Self { pose, inliers, micrometres: (mean * 1e6) as u64 }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::rigid::exponential;
    use std::vec::Vec;

    fn matches(truth: &Rigid) -> Vec<Match> {
        let at = |i: usize| [(i * 7 % 11) as f32, (i * 5 % 13) as f32, (i * 3 % 7) as f32];
        (0..40).map(|i| [at(i), truth.apply(wide(at(i))).map(|x| x as f32)]).collect()
    }

    #[test]
    fn wrong_matches_are_left_out() {
        let truth = Rigid { rotation: exponential([0.3, -2.0, 0.7]), translation: [5.0, -3.0, 1.0] };
        let mut all = matches(&truth);
        (0..15).for_each(|i| all[2 * i][1] = [20.0 - i as f32, 3.0 * i as f32, -9.0]);
        let found = Agreement::of((24, |i| all[i]), (40, |i| all[i]), 0.5);
        let off = truth.inverse().after(&found.pose);
        assert!(off.translation.iter().all(|x| x.abs() < 1e-5), "{found:?}");
        assert!(found.inliers == 25 && found.micrometres < 10, "{found:?}");
    }

    #[test]
    fn fewer_than_three_matches_have_no_pose() {
        let all = matches(&Rigid::IDENTITY);
        assert_eq!(Agreement::of((2, |i| all[i]), (2, |i| all[i]), 0.5).inliers, 0);
        let exact = Agreement::of((3, |i| all[i]), (40, |i| all[i]), 0.5);
        assert_eq!((exact.inliers, exact.micrometres), (40, 0));
        let nan = Agreement::of((3, |i| [all[i][0], [f32::NAN; 3]]), (40, |i| all[i]), 0.5);
        assert_eq!(nan.inliers, 0);
    }
}
