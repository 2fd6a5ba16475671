//! The parameters of an alignment, and its result.

use super::NdtFit;
use crate::registration::{Registration, Status, check_pose};
use crate::{Argument, Error, Pose, Result, Rows, ensure, memory};
use pointmill_core::linear::inverse;
use pointmill_core::ndt::{NdtAlignment, NdtHold, NdtLimits, state};

/// Parameters of the alignment of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NdtAlignParams {
    /// Most steps. Default 30.
    pub max_iterations: usize,
    /// Longest step: the length of all six numbers of the pose, metres and radians alike. Default
    /// 0.1.
    pub step_size: f64,
    /// A shorter step ends the alignment. Default 0.01.
    pub epsilon: f64,
    /// Holds the pose along the way of a vehicle, where the scan does not. Default none; it belongs
    /// to a call, so that files of parameters do not have it.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub regularization: Option<NdtRegularization>,
}

/// Holds a pose near a base pose in the direction that the base faces, its x axis: the score is
/// less by `scale` times the number of points, times the square of the distance along it in metres.
/// What the scan says across stays as it is, and the scores, Hessian and covariance of the result
/// are those of the scan alone.
///
/// **Source**: the regularization of Autoware's `ndt_scan_matcher`, which counts the terms of the
/// points in place of the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtRegularization {
    /// Where the vehicle is by another source, such as GNSS: `target_from_source`.
    pub base: Pose,
    /// The part of the score that a metre from the base costs, for each point; finite, 0 or more.
    /// Autoware's is 0.01.
    pub scale: f64,
}

impl NdtRegularization {
    /// The hold of a scan of so many points.
    fn hold(&self, points: usize) -> Result<NdtHold> {
        check_pose(Argument::Base, &self.base)?;
        ensure(self.scale.is_finite() && self.scale >= 0.0, Argument::Scale, "a finite number >= 0", self.scale)?;
        let [x, y, _] = self.base.translation();
        let [ahead, aside, _] = self.base.rotate([1.0, 0.0, 0.0]);
        let length = (ahead * ahead + aside * aside).sqrt();
        if length < 1e-3 {
            return Err(Error::argument(Argument::Base, "a pose that does not face up or down", "one that does"));
        }
        let weight = self.scale * points as f64;
        Ok(NdtHold { at: [x, y], along: [ahead / length, aside / length], weight })
    }
}

impl Default for NdtAlignParams {
    fn default() -> Self {
        Self { max_iterations: 30, step_size: 0.1, epsilon: 0.01, regularization: None }
    }
}

impl NdtAlignParams {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        self.limits(0).map(drop)
    }

    /// The limits for a scan of so many points, if they are in range.
    pub(super) fn limits(&self, points: usize) -> Result<NdtLimits> {
        for (argument, value) in [(Argument::StepSize, self.step_size), (Argument::Epsilon, self.epsilon)] {
            ensure(value.is_finite() && value > 0.0, argument, "a finite number > 0", value)?;
        }
        let max_iterations = u32::try_from(self.max_iterations)
            .map_err(|_| Error::argument(Argument::MaxIterations, "fewer than 2^32", self.max_iterations))?;
        let hold = self.regularization.map_or_else(|| Ok(NdtHold::default()), |held| held.hold(points))?;
        Ok(NdtLimits { step_size: self.step_size, epsilon: self.epsilon, max_iterations, hold })
    }
}

/// The pose of a scan in a map, and how certain it is.
///
/// **Hessian**: second derivatives of minus the score by x, y, z in metres and roll, pitch, yaw in
/// radians; about the origin of the scan, or about its middle where that is far from the origin.
/// **Covariance**: the inverse of the Hessian where that is positive definite, by this map and scan
/// alone; none where they do not determine the pose.
pub type NdtRegistration = Registration<NdtFit>;

/// A scan about its origin, and its alignments.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) scan: Rows<'a>,
    /// Some of its points.
    pub(super) sample: Vec<[f64; 3]>,
    pub(super) alignments: Vec<NdtAlignment>,
    pub(super) limits: NdtLimits,
    /// The origins of the scan and of the map.
    pub(super) origins: [[f64; 3]; 2],
}

impl<'a> Task<'a> {
    /// The alignments of a scan about the first origin, with some of its points, in a map about the
    /// second.
    pub(super) fn new(
        (scan, sample): (Rows<'a>, Vec<[f64; 3]>),
        origins: [[f64; 3]; 2],
        guesses: &[Pose],
        params: &NdtAlignParams,
    ) -> Result<Self> {
        let held = |held: NdtRegularization| NdtRegularization { base: about(&held.base, origins), ..held };
        let limits =
            NdtAlignParams { regularization: params.regularization.map(held), ..*params }.limits(scan.len())?;
        let local = |guess: &Pose| NdtAlignment::new(&about(guess, origins).xyzrpy());
        Ok(Self { scan, sample, alignments: memory::collect(guesses.iter().map(local))?, limits, origins })
    }

    /// The results of alignments that have ended, in the frame of the map.
    pub(super) fn registrations(&self) -> Result<Vec<NdtRegistration>> {
        memory::collect(self.alignments.iter().map(|one| {
            let found = registration(one, self.scan.len());
            let target_from_source = about(&found.target_from_source, self.origins.map(|origin| origin.map(|o| -o)));
            NdtRegistration { target_from_source, ..found }
        }))
    }
}

/// A pose of a scan about one origin in a map about another; the pose itself where both are zero.
pub(super) fn about(pose: &Pose, [scan, map]: [[f64; 3]; 2]) -> Pose {
    if scan == [0.0; 3] && map == [0.0; 3] { *pose } else { pose.about(scan, map) }
}

/// The result of an alignment that has ended, of a scan of so many points.
fn registration(alignment: &NdtAlignment, points: usize) -> NdtRegistration {
    let (terms, hessian) = (&alignment.terms, alignment.hessian());
    let status = match alignment.state {
        state::CONVERGED => Status::StepBelow,
        state::NO_PAIRS => Status::NoPairs,
        state::SINGULAR => Status::Degenerate,
        _ => Status::MaxIterations,
    };
    Registration {
        target_from_source: alignment.target_from_source(),
        status,
        iterations: alignment.iterations() as usize,
        hessian,
        covariance: if status == Status::Degenerate { None } else { inverse(&hessian) },
        fit: NdtFit {
            oscillations: alignment.oscillations as usize,
            ..NdtFit::new(points, [terms[0], terms[1], terms[2]])
        },
    }
}
