//! How well a point fits a cell, and how that changes with the pose.

use crate::eigen::{ENTRIES, Symmetric, times};
use crate::euler::{AxisRotation, product};
use crate::float::exp;
use crate::rigid::{add, dot, rotate, subtract};

/// Values that are added up over the points of a scan: see [`Terms`].
pub const TERMS: usize = 30;

/// Parts of [`PreparedPose::part_of_terms`].
pub const TERMS_PARTS: usize = 4;

/// Constants of a mixture of a Gaussian and a constant, fitted to a Gaussian: Magnusson, The
/// Three-Dimensional Normal-Distributions Transform, 2009, equation 6.8.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtScore {
    /// Height, negative.
    pub d1: f64,
    /// Steepness.
    pub d2: f64,
}

/// The parameters that an alignment optimizes: x, y, z in metres, then roll, pitch and yaw in
/// radians; the rotation is `Rx(roll) * Ry(pitch) * Rz(yaw)`.
pub type PoseVector = [f64; 6];

/// A pose made ready: the rotation and its derivatives by the angles.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreparedPose {
    translation: [f64; 3],
    rotation: [[f64; 3]; 3],
    /// By roll, pitch, yaw.
    first: [[[f64; 3]; 3]; 3],
    /// By roll twice, roll and pitch, roll and yaw, pitch twice, pitch and yaw, yaw twice.
    second: [[[f64; 3]; 3]; 6],
}

/// What a point adds: the sum of its terms, the largest, whether it has one; gradient, and Hessian
/// as its upper triangle by rows, of minus the sum of terms.
pub type Terms = [f64; TERMS];

impl NdtScore {
    /// The constants for cells of `unit` metres, with an outlier ratio of 0.55. Not for kernels:
    /// logarithms.
    ///
    /// ```
    /// let score = pointmill_core::ndt::NdtScore::new(2.0);
    /// assert!((score.d1 + 4.196518).abs() < 1e-6 && (score.d2 - 0.248479).abs() < 1e-6);
    /// ```
    pub fn new(unit: f64) -> Self {
        const OUTLIERS: f64 = 0.55;
        let c1 = 10.0 * (1.0 - OUTLIERS);
        let c2 = OUTLIERS / (unit * unit * unit);
        let d3 = -libm::log(c2);
        let d1 = -libm::log(c1 + c2) - d3;
        let d2 = -2.0 * libm::log((-libm::log(c1 * libm::exp(-0.5) + c2) - d3) / d1);
        Self { d1, d2 }
    }

    /// The term of a point `q` metres from the mean of a cell with this inverse covariance.
    #[inline(always)]
    pub fn term(&self, q: [f64; 3], inverse: &Symmetric) -> f64 {
        -self.d1 * exp(-self.d2 / 2.0 * dot(q, times(inverse, q)))
    }
}

impl PreparedPose {
    /// Makes a pose ready.
    #[inline(always)]
    pub fn new(pose: &PoseVector) -> Self {
        let [x, y, z] = [AxisRotation::by(pose[3]), AxisRotation::by(pose[4]), AxisRotation::by(pose[5])];
        let [dx, dy, dz] = [x.derived(), y.derived(), z.derived()];
        Self {
            translation: [pose[0], pose[1], pose[2]],
            rotation: product(x, y, z),
            first: [product(dx, y, z), product(x, dy, z), product(x, y, dz)],
            second: [
                product(dx.derived(), y, z),
                product(dx, dy, z),
                product(dx, y, dz),
                product(x, dy.derived(), z),
                product(x, dy, dz),
                product(x, y, dz.derived()),
            ],
        }
    }

    /// A point in the frame of the map.
    #[inline(always)]
    pub fn apply(&self, p: [f64; 3]) -> [f64; 3] {
        add(rotate(&self.rotation, p), self.translation)
    }

    /// The terms of a point `p` of the scan, by the chain rule from what the cells near it add up
    /// to.
    #[inline(always)]
    pub fn terms(&self, p: [f64; 3], near: &NearTerms) -> Terms {
        let mut terms = [0.0; TERMS];
        if !near.found {
            return terms;
        }
        // Calls with constants, so that the compiler sees what the parts share.
        self.part_of_terms(0, p, near, |at, term| terms[at] = term);
        self.part_of_terms(1, p, near, |at, term| terms[at] = term);
        self.part_of_terms(2, p, near, |at, term| terms[at] = term);
        self.part_of_terms(3, p, near, |at, term| terms[at] = term);
        terms
    }

    /// Calls `set` with one of [`TERMS_PARTS`] parts of what [`Self::terms`] returns, and the
    /// places: what has to do with roll, pitch or yaw, and the rest.
    #[inline(always)]
    pub fn part_of_terms(&self, part: usize, p: [f64; 3], near: &NearTerms, mut set: impl FnMut(usize, f64)) {
        let mut set = |at: usize, term: f64| set(at, if near.found { term } else { 0.0 });
        let [sum, sx, sy, sz, bend @ ..] = &near.sums;
        let slope = [*sx, *sy, *sz];
        if part == 3 {
            set(0, *sum);
            set(1, near.largest);
            set(2, 1.0);
            let mut i = 0;
            while i < 3 {
                set(3 + i, slope[i]);
                set(9 + i, bend[i]);
                i += 1;
            }
            set(15, bend[3]);
            set(16, bend[4]);
            set(20, bend[5]);
            return;
        }
        // This angle, and the next in a circle. With the translation a point moves a metre a metre.
        let (angle, next) = (part, if part == 2 { 0 } else { part + 1 });
        let moves = rotate(&self.first[angle], p);
        let next_moves = rotate(&self.first[next], p);
        // How fast the slope changes with the angle.
        let turned = times(bend, moves);
        set(6 + angle, dot(slope, moves));
        set(12 + angle, turned[0]);
        set(17 + angle, turned[1]);
        set(21 + angle, turned[2]);
        let bent = |pair: usize| dot(slope, rotate(&self.second[pair], p));
        // Places in the upper triangle of the angles.
        let twice = if angle == 0 { 0 } else { 1 + 2 * angle };
        let both = if angle == 2 { 2 } else { 1 + 3 * angle };
        set(24 + twice, dot(moves, turned) + bent(twice));
        // The angle that comes first moves, the other turns.
        let mixed = if part == 2 { dot(next_moves, turned) } else { dot(moves, times(bend, next_moves)) };
        set(24 + both, mixed + bent(both));
    }
}

/// Values that a cell adds at a point near it: its term, and first and second derivatives of minus
/// the term by x, y, z.
pub const NEAR_TERMS: usize = 10;

/// What the cells near a point of a scan add up to, before the chain rule. Every cell near the
/// point shares the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NearTerms {
    /// Whether there is a cell.
    pub found: bool,
    /// The largest term.
    pub largest: f64,
    /// The sums of what cells add.
    pub sums: [f64; NEAR_TERMS],
}

impl NearTerms {
    /// What a cell with this mean and inverse covariance adds; `x` is the point in the frame of the
    /// map.
    #[inline(always)]
    pub fn of(score: &NdtScore, x: [f64; 3], mean: [f64; 3], inverse: &Symmetric) -> [f64; NEAR_TERMS] {
        let q = subtract(x, mean);
        let cq = times(inverse, q);
        let term = -score.d1 * exp(-score.d2 / 2.0 * dot(q, cq));
        let factor = score.d2 * term;
        let mut values = [term; NEAR_TERMS];
        let mut i = 0;
        while i < 3 {
            values[1 + i] = factor * cq[i];
            i += 1;
        }
        let mut k = 0;
        while k < 6 {
            let (i, j) = ENTRIES[k];
            values[4 + k] = factor * (inverse[k] - score.d2 * cq[i] * cq[j]);
            k += 1;
        }
        values
    }

    /// Adds what a cell adds.
    #[inline(always)]
    pub fn add(&mut self, values: &[f64; NEAR_TERMS]) {
        self.found = true;
        self.largest = if values[0] > self.largest { values[0] } else { self.largest };
        let mut k = 0;
        while k < NEAR_TERMS {
            self.sums[k] += values[k];
            k += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEAN: [f64; 3] = [3.0, -2.0, 0.5];

    fn terms(score: &NdtScore, pose: &PoseVector, p: [f64; 3], inverse: &Symmetric) -> Terms {
        let prepared = PreparedPose::new(pose);
        let mut near = NearTerms::default();
        near.add(&NearTerms::of(score, prepared.apply(p), MEAN, inverse));
        prepared.terms(p, &near)
    }

    fn inverse() -> impl Strategy<Value = Symmetric> {
        // A diagonal that outweighs the rest makes it positive.
        (prop::array::uniform3(2.0f64..9.0), prop::array::uniform3(-0.9f64..0.9))
            .prop_map(|(d, o)| [d[0], o[0], o[1], d[1], o[2], d[2]])
    }

    proptest! {
        #[test]
        fn gradient_and_hessian_equal_finite_differences(
            p in prop::array::uniform3(-2.0f64..2.0), angles in prop::array::uniform3(-1.2f64..1.2), near in prop::array::uniform3(-0.5f64..0.5), inverse in inverse()
        ) {
            let score = NdtScore::new(2.0);
            let turned = PreparedPose::new(&[0.0, 0.0, 0.0, angles[0], angles[1], angles[2]]).apply(p);
            let t = [0, 1, 2].map(|i| MEAN[i] - turned[i] + near[i]);
            let pose = [t[0], t[1], t[2], angles[0], angles[1], angles[2]];
            let here = terms(&score, &pose, p, &inverse);
            let step = 1e-5;
            let mut at = 9;
            for i in 0..6 {
                let moved = |by: f64| {
                    let mut pose = pose;
                    pose[i] += by;
                    terms(&score, &pose, p, &inverse)
                };
                let (up, down) = (moved(step), moved(-step));
                let slope = -(up[0] - down[0]) / (2.0 * step);
                prop_assert!((slope - here[3 + i]).abs() < 1e-6 * (1.0 + slope.abs()), "{i}: {slope} {}", here[3 + i]);
                for j in i..6 {
                    let bend = (up[3 + j] - down[3 + j]) / (2.0 * step);
                    prop_assert!((bend - here[at]).abs() < 1e-5 * (1.0 + bend.abs()), "{i} {j}: {bend} {}", here[at]);
                    at += 1;
                }
            }
        }
    }

    #[test]
    fn constants_of_the_usual_resolutions() {
        let one = NdtScore::new(1.0);
        assert!((one.d1 + 2.217225).abs() < 1e-6 && (one.d2 - 0.433123).abs() < 1e-6, "{one:?}");
    }

    #[test]
    fn a_rotation_is_x_times_y_times_z() {
        let half = core::f64::consts::FRAC_PI_2;
        let p = PreparedPose::new(&[1.0, 2.0, 3.0, half, 0.0, half]).apply([1.0, 0.0, 0.0]);
        // About z first: x to y; then about x: y to z.
        for (got, wanted) in p.iter().zip([1.0, 2.0, 4.0]) {
            assert!((got - wanted).abs() < 1e-15, "{p:?}");
        }
    }
}
