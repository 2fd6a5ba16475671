//! The rabbit's surface: ellipsoids that flow into each other, under a rough coat.

use crate::V3;

/// An ellipsoid: where it is, its radii, and cosine and sine of its turn about z.
struct Part {
    centre: V3,
    radii: V3,
    turn: [f64; 2],
}

const UPRIGHT: [f64; 2] = [1.0, 0.0];
/// Ears lean back by about 27 degrees.
const LEANING: [f64; 2] = [0.891_005_611_655_196_6, 0.453_992_290_682_285_6];

const fn part(centre: V3, radii: V3) -> Part {
    Part { centre, radii, turn: UPRIGHT }
}

/// Metres; it sits on y = 0 and looks along -x. Of each pair the one at +z; the other mirrors it.
const SINGLE: [Part; 5] = [
    part([0.012, 0.047, 0.0], [0.056, 0.044, 0.040]),
    part([-0.030, 0.052, 0.0], [0.026, 0.036, 0.027]),
    part([-0.046, 0.101, 0.0], [0.028, 0.024, 0.023]),
    part([-0.066, 0.093, 0.0], [0.015, 0.013, 0.015]),
    part([0.070, 0.036, 0.0], [0.015, 0.014, 0.014]),
];
const PAIRS: [Part; 5] = [
    part([0.034, 0.036, 0.024], [0.031, 0.033, 0.021]),
    part([0.018, 0.009, 0.029], [0.029, 0.009, 0.012]),
    part([-0.046, 0.010, 0.016], [0.019, 0.010, 0.010]),
    part([-0.036, 0.034, 0.017], [0.011, 0.028, 0.011]),
    Part { centre: [-0.019, 0.144, 0.016], radii: [0.011, 0.036, 0.006], turn: LEANING },
];
/// A box around all of it.
pub(super) const MIDDLE: V3 = [0.0, 0.092, 0.0];
pub(super) const HALF: V3 = [0.088, 0.094, 0.050];

/// How far parts flow into each other, in metres.
const BLEND: f64 = 0.010;
/// The coat's height in metres, and its waves in radians a metre.
const COAT: f64 = 0.000_45;
const WAVES: [V3; 3] = [[310.0, 190.0, 120.0], [-170.0, 330.0, 230.0], [140.0, -260.0, 370.0]];

/// About how far a point is from the surface, in metres; negative inside. Zero exactly on it, and
/// nowhere much more than the distance.
pub(super) fn distance(p: V3) -> f64 {
    let mut all = f64::INFINITY;
    for part in &SINGLE {
        all = joined(all, part.distance(p));
    }
    // The nearer one of a pair is the one on the same side.
    let side = [p[0], p[1], p[2].abs()];
    for part in &PAIRS {
        all = joined(all, part.distance(side));
    }
    all - COAT * coat(p)
}

/// From -1 to 1.
fn coat(p: V3) -> f64 {
    let wave = |w: V3| libm::sin(w[0] * p[0] + w[1] * p[1] + w[2] * p[2]);
    WAVES.map(wave).iter().sum::<f64>() / 3.0
}

/// The smaller distance, rounded off where both are alike.
fn joined(a: f64, b: f64) -> f64 {
    let apart = (a - b).abs();
    let (least, close) = (a.min(b), (BLEND - apart).max(0.0));
    least - close * close / (4.0 * BLEND)
}

impl Part {
    /// The distance of the ellipsoid, exact at its surface and to first order near it.
    fn distance(&self, p: V3) -> f64 {
        let away = [0, 1, 2].map(|k| p[k] - self.centre[k]);
        let [c, s] = self.turn;
        let own = [c * away[0] - s * away[1], s * away[0] + c * away[1], away[2]];
        let length = |v: V3| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
        let scaled = length([0, 1, 2].map(|k| own[k] / self.radii[k]));
        let slope = length([0, 1, 2].map(|k| own[k] / (self.radii[k] * self.radii[k])));
        if slope > 0.0 { scaled * (scaled - 1.0) / slope } else { -self.radii[2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_is_negative_and_the_box_holds_it() {
        assert!(distance([0.01, 0.05, 0.0]) < -0.02 && distance([0.0, 0.3, 0.0]) > 0.05);
        // Nothing on the faces of the box is inside, but the feet stand on its bottom.
        for k in 0..3 {
            for i in 0..40 {
                for j in 0..40 {
                    for sign in [-1.0, 1.0] {
                        let mut p = MIDDLE;
                        p[k] += sign * HALF[k];
                        p[(k + 1) % 3] += HALF[(k + 1) % 3] * (f64::from(i) / 20.0 - 1.0);
                        p[(k + 2) % 3] += HALF[(k + 2) % 3] * (f64::from(j) / 20.0 - 1.0);
                        assert!(distance(p) > 0.0, "{p:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn rays_that_go_by_distances_cannot_pass_through() {
        // Along any short way the distance changes at most so many times as much: rays go that part
        // of it.
        let mut state = 1u64;
        let mut random = || {
            state = crate::hash::mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            crate::hash::unit(state) * 2.0 - 1.0
        };
        let mut steepest: f64 = 0.0;
        for _ in 0..200_000 {
            let p = [0, 1, 2].map(|k| MIDDLE[k] + HALF[k] * random());
            let q = p.map(|v| v + 1e-6 * random());
            let way = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
            if (0.0..0.05).contains(&distance(p)) {
                steepest = steepest.max((distance(p) - distance(q)).abs() / way);
            }
        }
        assert!(steepest < 1.0 / super::super::CAREFUL, "{steepest}");
    }
}
