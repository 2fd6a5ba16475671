//! Parameters of samples and neighbours.

use crate::{Argument, Result, ensure};
use pointmill_core::params;
use pointmill_core::params::Params as _;
use pointmill_kernels::points::MOST_NEAREST;

pub use pointmill_core::points::{BallPick, Fill, Start};

params! {
    /// Parameters of furthest point sampling.
    ///
    /// ```
    /// use pointmill::points::{FurthestParams, Start};
    /// let params = FurthestParams { start: Start::NearestToMean, ..FurthestParams::default() };
    /// assert_eq!(params.number, 1024);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FurthestParams {
        /// Points that are taken of each item. Where an item has fewer, its first finite point is
        /// repeated.
        pub number: u32 = 1024, if |number: u32| (1..1 << 30).contains(&number) => "1 or more, below 2^30";
        /// The first of them: the first finite point, or the one nearest to the mean.
        pub start: Start = Start::First;
    }
}

impl FurthestParams {
    /// Checks everything that does not depend on the points.
    ///
    /// # Errors
    /// A number of 0.
    pub fn validate(&self) -> Result<()> {
        Ok(self.check()?)
    }
}

params! {
    /// Parameters of a ball query.
    ///
    /// ```
    /// use pointmill::points::BallParams;
    /// let refused = BallParams { radius: 0.0, ..BallParams::default() }.validate().unwrap_err();
    /// assert_eq!(refused.to_string(), "radius: expected a finite radius above 0, got 0");
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BallParams {
        /// Points at this distance in metres and farther are outside.
        pub radius: f32 = 1.0, if |radius: f32| radius > 0.0 && radius.is_finite() => "a finite radius above 0";
        /// Points that are nearer than this are outside, but not those at the centre itself.
        pub min_radius: f32 = 0.0, if |radius: f32| radius >= 0.0 && radius.is_finite() => "a finite radius of 0 or more";
        /// Most points of a ball, 1 to 256.
        pub most: u32 = 32, if |most: u32| (1..=MOST_NEAREST).contains(&most) => "1 to 256";
        /// Which points are taken where a ball has more: the first in input order, or the nearest.
        pub pick: BallPick = BallPick::First;
        /// What stands behind them where it has fewer: the first of them, or -1. A ball without points
        /// has -1.
        pub fill: Fill = Fill::First;
    }
}

impl BallParams {
    /// Checks everything that does not depend on the points.
    ///
    /// # Errors
    /// A radius that is not finite and positive, a `min_radius` that is not below it, a `most`
    /// below 1 or above 256.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let expected = format_args!("below radius, which is {}", self.radius);
        ensure(self.min_radius < self.radius, Argument::MinRadius, expected, self.min_radius)
    }

    /// The squares of both radii, in `f32`.
    pub(super) fn squares(&self) -> [f32; 2] {
        [self.min_radius * self.min_radius, self.radius * self.radius]
    }
}

params! {
    /// Parameters of the search for nearest neighbours.
    ///
    /// ```
    /// assert_eq!(pointmill::points::KnnParams::default().k, 3);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct KnnParams {
        /// Neighbours of each query, 1 to 256.
        pub k: u32 = 3, if |k: u32| (1..=MOST_NEAREST).contains(&k) => "1 to 256";
    }
}

impl KnnParams {
    /// Checks everything that does not depend on the points.
    ///
    /// # Errors
    /// Fewer than 1 neighbour or more than 256.
    pub fn validate(&self) -> Result<()> {
        Ok(self.check()?)
    }
}
