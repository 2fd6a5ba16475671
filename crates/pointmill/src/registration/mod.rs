//! Results of alignments: one family for [`icp`](crate::icp) and [`ndt`](crate::ndt).
//!
//! A [`Registration`] holds what every alignment returns. Its field [`fit`](Registration::fit)
//! holds what only one operator returns: an [`icp::Fit`](crate::icp::Fit) or an
//! [`NdtFit`](crate::ndt::NdtFit).

pub mod global;
pub mod level;

use crate::{Argument, Pose, Result, ensure};
use pointmill_core::{names, record_without_serde};

/// Why an alignment ended.
///
/// ```
/// use pointmill::registration::Status;
/// assert!(Status::StepBelow.converged() && !Status::Cycle.converged());
/// assert_eq!(Status::MaxIterations.to_string(), "max-iterations");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// No pair changed, so no further step can: the exact fixed point of point-to-point ICP without
    /// weights.
    Fixed,
    /// A step was shorter than asked for: [`step_tolerance`](crate::icp::IcpParams::step_tolerance)
    /// of ICP, [`epsilon`](crate::ndt::NdtAlignParams::epsilon) of NDT.
    StepBelow,
    /// The same pairs came back again and again, with steps that are not short.
    Cycle,
    /// The alignment made as many steps as the parameters allow.
    MaxIterations,
    /// No point of the source has a pair: a cloud is empty, or nothing is within reach.
    NoPairs,
    /// The clouds do not determine the pose. ICP: all weights are zero, or some directions kept the
    /// guess, see
    /// [`Observability`](crate::icp::Observability). NDT: no direction improves the fit, or the
    /// surfaces that the scan meets leave a shift or a turn open.
    Degenerate,
}

names!(Status {
    Fixed = "fixed",
    StepBelow = "step-below",
    Cycle = "cycle",
    MaxIterations = "max-iterations",
    NoPairs = "no-pairs",
    Degenerate = "degenerate",
});

impl Status {
    /// Whether the pose is an answer: a step was short enough, or no pair changed, and the pairs
    /// determine all directions.
    pub const fn converged(self) -> bool {
        matches!(self, Self::Fixed | Self::StepBelow)
    }
}

record_without_serde! {
    /// The pose that an alignment found, and how certain it is.
    ///
    /// An alignment that fails is a `Registration` too; its status gives the reason. **Units and
    /// frames**: metres and radians, in the frame of the target.
    ///
    /// With the feature `serde` a registration serializes as one object: these fields, `converged`,
    /// and the fields of `fit` beside them.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Registration<Fit> {
        /// The pose of the source in the frame of the target. It is always finite and rigid.
        pub target_from_source: Pose,
        /// Why the alignment ended.
        pub status: Status,
        /// The number of steps, in all stages.
        pub iterations: usize,
        /// Second derivatives of the cost by the six numbers of the pose; the operator defines
        /// both.
        pub hessian: [[f64; 6]; 6],
        /// The uncertainty of the same six numbers; none where the Hessian is not positive definite
        /// or a direction is not determined.
        pub covariance: Option<[[f64; 6]; 6]>,
        /// What the operator reports beside the pose.
        pub fit: Fit,
    }
}

impl<Fit> Registration<Fit> {
    /// The result of an alignment.
    #[doc(hidden)]
    pub const fn new(
        target_from_source: Pose,
        status: Status,
        iterations: usize,
        hessian: [[f64; 6]; 6],
        covariance: Option<[[f64; 6]; 6]>,
        fit: Fit,
    ) -> Self {
        Self { target_from_source, status, iterations, hessian, covariance, fit }
    }

    /// Whether the pose is an answer; see [`Status::converged`].
    pub const fn converged(&self) -> bool {
        self.status.converged()
    }
}

/// [`Registration`] as serde writes it.
#[cfg(feature = "serde")]
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Record<'a, Fit> {
    /// The pose of the source in the frame of the target, as the rows of a 4x4 matrix.
    target_from_source: &'a Pose,
    /// Why the alignment ended.
    status: Status,
    /// Whether the pose is an answer.
    converged: bool,
    /// The number of steps, in all stages.
    iterations: usize,
    /// Second derivatives of the cost by the six numbers of the pose.
    hessian: &'a [[f64; 6]; 6],
    /// The uncertainty of the same six numbers; null where the Hessian is not positive definite or
    /// a direction is not determined.
    covariance: &'a Option<[[f64; 6]; 6]>,
    #[serde(flatten)]
    fit: &'a Fit,
}

#[cfg(feature = "serde")]
impl<Fit: serde::Serialize> serde::Serialize for Registration<Fit> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { target_from_source, status, iterations, hessian, covariance, fit } = self;
        let (status, iterations, converged) = (*status, *iterations, self.converged());
        Record { target_from_source, status, converged, iterations, hessian, covariance, fit }.serialize(to)
    }
}

#[cfg(feature = "schema")]
impl<Fit: schemars::JsonSchema> schemars::JsonSchema for Registration<Fit> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Registration_{}", Fit::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Record::<Fit>::json_schema(generator)
    }
}

/// Refuses a pose that is not rigid, as arithmetic with infinite numbers makes one.
#[doc(hidden)]
pub fn check_pose(argument: Argument, pose: &Pose) -> Result<()> {
    ensure(pose.is_rigid(), argument, "a finite rigid transform", format_args!("{:?}", pose.matrix()))
}
