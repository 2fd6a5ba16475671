//! How well a point fits a cell, and how that changes with the pose.

use crate::eigen::{Symmetric, times};
use crate::euler::{Turn, product};
use crate::float::exp;
use crate::rigid::{add, dot, rotate, subtract};

/// Values that are added up over the points of a scan: see [`Terms`].
pub const TERMS: usize = 30;

/// Constants of a mixture of a Gaussian and a constant, fitted to a Gaussian: Magnusson, The Three-Dimensional Normal-Distributions Transform, 2009, equation 6.8.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtScore {
    /// Height, negative.
    pub d1: f64,
    /// Steepness.
    pub d2: f64,
}

/// The parameters that an alignment optimizes: x, y, z in metres, then roll, pitch and yaw in radians; the rotation is `Rx(roll) * Ry(pitch) * Rz(yaw)`.
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

/// What a point adds: the sum of its terms, the largest, whether it has one; gradient, and Hessian as its upper triangle by rows, of minus the sum of terms.
pub type Terms = [f64; TERMS];

impl NdtScore {
    /// The constants for cells of `unit` metres, with an outlier ratio of 0.55. Not for kernels: logarithms.
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
        let [x, y, z] = [Turn::by(pose[3]), Turn::by(pose[4]), Turn::by(pose[5])];
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

    /// A point and how it moves with the pose.
    #[inline(always)]
    pub fn place(&self, p: [f64; 3]) -> PosedPoint {
        let mut point = PosedPoint { at: self.apply(p), first: [[0.0; 3]; 3], second: [[0.0; 3]; 6] };
        let mut i = 0;
        while i < 3 {
            point.first[i] = rotate(&self.first[i], p);
            i += 1;
        }
        let mut i = 0;
        while i < 6 {
            point.second[i] = rotate(&self.second[i], p);
            i += 1;
        }
        point
    }
}

/// A point of a scan at a pose, and how it moves with the angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PosedPoint {
    /// Where it is, in the frame of the map.
    pub at: [f64; 3],
    /// By roll, pitch, yaw.
    first: [[f64; 3]; 3],
    /// By pairs of them, as in [`PreparedPose`].
    second: [[f64; 3]; 6],
}

impl PosedPoint {
    /// Adds the terms of a cell with this mean and inverse covariance.
    #[inline(always)]
    pub fn add(&self, score: &NdtScore, mean: [f64; 3], inverse: &Symmetric, terms: &mut Terms) {
        let q = subtract(self.at, mean);
        let cq = times(inverse, q);
        let term = -score.d1 * exp(-score.d2 / 2.0 * dot(q, cq));
        terms[0] += term;
        terms[1] = if term > terms[1] { term } else { terms[1] };
        terms[2] = 1.0;
        // Minus the term has this factor before what the chain rule gives.
        let factor = score.d2 * term;
        // How fast the point moves with the pose: a metre a metre, and as `first` says. Times the inverse, and along `cq`.
        let rows = [
            [inverse[0], inverse[1], inverse[2]],
            [inverse[1], inverse[3], inverse[4]],
            [inverse[2], inverse[4], inverse[5]],
        ];
        let (mut along, mut turned) = ([cq[0], cq[1], cq[2], 0.0, 0.0, 0.0], [[0.0; 3]; 3]);
        let mut i = 0;
        while i < 3 {
            along[3 + i] = dot(cq, self.first[i]);
            turned[i] = times(inverse, self.first[i]);
            i += 1;
        }
        let mut i = 0;
        while i < 6 {
            terms[3 + i] += factor * along[i];
            i += 1;
        }
        let (mut at, mut pair) = (9, 0);
        let mut i = 0;
        while i < 6 {
            let mut j = i;
            while j < 6 {
                let bend = if j < 3 {
                    rows[i][j]
                } else if i < 3 {
                    turned[j - 3][i]
                } else {
                    pair += 1;
                    dot(self.first[i - 3], turned[j - 3]) + dot(cq, self.second[pair - 1])
                };
                terms[at] += factor * (bend - score.d2 * along[i] * along[j]);
                at += 1;
                j += 1;
            }
            i += 1;
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
        let mut terms = [0.0; TERMS];
        prepared.place(p).add(score, MEAN, inverse, &mut terms);
        terms
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
