//! Where source points are, and how far a change of the pose moves them.

use super::pairs::Linearization;
use crate::float::sqrt;
use crate::linear::Square;
use crate::rigid::{Rigid, add, dot, rotate, subtract};

/// A search looks farther than the nearest point by so many times the last step: steps become
/// shorter, and points far from the pivot move more than most.
const MARGIN: f64 = 3.0;

/// Mean and covariance of points, by their number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: [f64; 3],
    /// The covariance, rows first.
    pub covariance: Square<3>,
}

impl Spread {
    /// Of no points.
    pub const NONE: Self = Self { mean: [0.0; 3], covariance: [[0.0; 3]; 3] };

    /// Root mean square distance from the mean.
    #[inline(always)]
    pub fn size(&self) -> f64 {
        let c = &self.covariance;
        let square = c[0][0] + c[1][1] + c[2][2];
        sqrt(if square > 0.0 { square } else { 0.0 })
    }

    /// Where steps are taken at a pose.
    #[inline(always)]
    pub fn at(&self, pose: Rigid) -> Linearization {
        let size = self.size();
        Linearization { pose, pivot: pose.apply(self.mean), length: if size > 0.0 { size } else { 1.0 } }
    }

    /// Root mean square motion of the points between two poses.
    #[inline(always)]
    pub fn motion(&self, from: &Rigid, to: &Rigid) -> f64 {
        let by = [
            subtract(to.rotation[0], from.rotation[0]),
            subtract(to.rotation[1], from.rotation[1]),
            subtract(to.rotation[2], from.rotation[2]),
        ];
        let mean = add(rotate(&by, self.mean), subtract(to.translation, from.translation));
        let mut square = dot(mean, mean);
        let mut i = 0;
        while i < 3 {
            let part = dot(by[i], rotate(&self.covariance, by[i]));
            square += if part > 0.0 { part } else { 0.0 };
            i += 1;
        }
        sqrt(square)
    }
}

/// Metres by which searches look farther after a step, so that the next poses can do without: only
/// where steps are short beside the distances of pairs does it pay.
#[inline(always)]
pub fn margin(step: f64, rmse: f64) -> f32 {
    if MARGIN * step < rmse { (MARGIN * step) as f32 } else { 0.0 }
}
