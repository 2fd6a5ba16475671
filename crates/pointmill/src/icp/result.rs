//! What an alignment reports beside the pose.

use crate::{Pose, registration};
use pointmill_core::icp::pose::is_observable;
use pointmill_core::linear::{Square, eigen, inverse};
use pointmill_core::{record, record_without_serde};

record! {
    /// Points that were left out of a cloud.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct Dropped {
        /// Points with a coordinate that is not finite.
        pub non_finite: usize,
        /// Points at exactly (0, 0, 0), where the parameters leave them out.
        pub zeros: usize,
    }
}

record! {
    /// The milliseconds of one iteration. Only times differ from run to run.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct Timing {
        /// Milliseconds of moving the source and finding neighbours.
        pub search_ms: f64,
        /// Milliseconds of linearizing: adding up the terms of all pairs.
        pub reduce_ms: f64,
        /// Milliseconds of solving for the next pose.
        pub solve_ms: f64,
    }
}

record! {
    /// One iteration: the pairs at a pose, and the step from there.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct Iteration {
        /// The stage of the schedule.
        pub stage: usize,
        /// The pose at which the pairs were searched.
        pub target_from_source: Pose,
        /// The number of pairs.
        pub pairs: usize,
        /// Source points with another pair than at the pose before; in the first iteration all of
        /// them.
        pub changed: usize,
        /// Source points whose neighbour was searched for. For the others the neighbour was proved
        /// to be the same.
        pub searched: usize,
        /// Root mean square distance of the pairs in metres.
        pub rmse: f64,
        /// Root mean square motion in metres of the source points to the next pose; 0 in the last
        /// iteration.
        pub step: f64,
        /// The times of the iteration.
        #[cfg_attr(feature = "serde", serde(flatten))]
        pub timing: Timing,
    }
}

record_without_serde! {
    /// Which directions of motion the pairs determine.
    ///
    /// A motion is a translation and a rotation about [`Fit::pivot`]. Rotations are in metres: the
    /// motion of a point whose distance from the pivot is the root mean square distance of the
    /// source points.
    ///
    /// With the feature `serde` it serializes with its [`rank`](Self::rank) as the first field.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Observability {
        /// The stiffness of the fit in each direction, divided by the number of pairs; ascending.
        pub eigenvalues: [f64; 6],
        /// The directions: translations along x, y, z, then rotations about them; each of length
        /// one.
        pub directions: [[f64; 6]; 6],
        /// Whether the pairs determine each direction. In the others the pose is the guess.
        pub observable: [bool; 6],
    }
}

impl Observability {
    /// What the pairs of an alignment determine.
    #[doc(hidden)]
    pub const fn new(eigenvalues: [f64; 6], directions: [[f64; 6]; 6], observable: [bool; 6]) -> Self {
        Self { eigenvalues, directions, observable }
    }

    pub(super) fn of(hessian: &Square<6>, pairs: f64) -> Self {
        if pairs <= 0.0 {
            let directions = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
            return Self { eigenvalues: [0.0; 6], directions, observable: [false; 6] };
        }
        let (values, directions) = eigen(hessian);
        let observable = std::array::from_fn(|k| is_observable(&values, k));
        Self { eigenvalues: values.map(|v| v / pairs), directions, observable }
    }

    /// The number of directions that are determined.
    pub fn rank(&self) -> usize {
        self.observable.iter().filter(|o| **o).count()
    }
}

/// [`Observability`] as serde writes it.
#[cfg(feature = "serde")]
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ObservabilityRecord {
    /// How many directions the pairs determine.
    rank: usize,
    /// Stiffness of the fit in each direction, ascending.
    eigenvalues: [f64; 6],
    /// The directions: translation along x, y, z, then rotation about them, in metres.
    directions: [[f64; 6]; 6],
    /// Whether the pairs determine each direction.
    observable: [bool; 6],
}

#[cfg(feature = "serde")]
impl serde::Serialize for Observability {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let &Self { eigenvalues, directions, observable } = self;
        ObservabilityRecord { rank: self.rank(), eigenvalues, directions, observable }.serialize(to)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Observability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Observability".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        ObservabilityRecord::json_schema(generator)
    }
}

record! {
    /// What icp reports beside the pose.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Fit {
        /// The number of pairs divided by the number of source points that were not left out, in
        /// the last stage.
        pub fitness: f64,
        /// Root mean square distance of the pairs at the pose, in metres; 0 without pairs.
        pub inlier_rmse: f64,
        /// The number of pairs at the pose.
        pub num_inliers: usize,
        /// Which directions the pairs determine.
        pub observability: Observability,
        /// The mean of the source points at the pose, in the frame of the target, in metres.
        pub pivot: [f64; 3],
        /// Source points that were left out.
        pub source_dropped: Dropped,
        /// Target points that were left out.
        pub target_dropped: Dropped,
        /// Milliseconds for reading both clouds, sorting, trees and normals, in all stages.
        pub prepare_ms: f64,
        /// The iterations, in the order in which they were made.
        pub trace: Vec<Iteration>,
    }
}

/// The pose that icp found, how certain it is, and how the alignment got there.
///
/// **Hessian**: second derivatives of half the weighted sum of squared residuals, by a translation
/// in metres and a rotation vector in radians about [`Fit::pivot`], in the axes of the target; for
/// point-to-plane and GICP products of first derivatives. **Covariance**: the inverse of the
/// Hessian times the mean of the squared residuals, where all directions are determined. It assumes
/// that all pairs are right and their errors independent, so that the true uncertainty is larger.
pub type Registration = registration::Registration<Fit>;

/// The covariance of a pose whose residuals have this sum of squares, with `freedom` more of them
/// than the pose has numbers.
pub(super) fn covariance(hessian: &Square<6>, squares: f64, freedom: f64) -> Option<Square<6>> {
    let by = squares / freedom.max(1.0);
    let covariance = inverse(hessian)?.map(|row| row.map(|x| x * by));
    covariance.as_flattened().iter().all(|x| x.is_finite()).then_some(covariance)
}
