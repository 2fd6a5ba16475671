//! How clouds are aligned.

use super::search::{MAX_NEIGHBOURS, Search};
use crate::{Argument, Error, Result};
pub use pointmill_core::icp::Kernel as Robust;
use pointmill_core::icp::turn::Rules;
use pointmill_core::rigid::Rigid;

/// Fewest neighbours that normals are made from.
const FEWEST_NEIGHBOURS: usize = 3;

/// What is made small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The distances of the points of pairs, in closed form. Where clouds overlap in part it ends beside the true pose: points without a partner pull.
    PointToPoint,
    /// The distances of source points from the planes at their neighbours. Normals of the target are needed, and made.
    #[default]
    PointToPlane,
    /// Generalized ICP: distances between surface patches, each a thousandth as thick, as a variance, as it is wide. Normals of both clouds are made.
    Gicp,
}

/// A stage of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// Edge in metres of the cells whose points become one, their mean; 0 takes all points.
    pub voxel_size: f64,
    /// As [`IcpParams::max_distance`].
    pub max_distance: Option<f64>,
}

/// Parameters of an alignment; plain values, checked by [`align`](super::align).
///
/// ```
/// use pointmill::icp::{IcpParams, Metric, Robust, Stage};
/// let coarse = Stage { voxel_size: 1.0, max_distance: Some(5.0) };
/// let fine = Stage { voxel_size: 0.25, max_distance: Some(1.0) };
/// let params = IcpParams { metric: Metric::Gicp, robust: Robust::Cauchy(0.5), schedule: vec![coarse, fine], ..IcpParams::default() };
/// assert_eq!((params.max_iterations, params.max_distance), (100, None));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IcpParams {
    /// What is made small; default point-to-plane.
    pub metric: Metric,
    /// How neighbours are searched for; default the fastest. Poses and pairs do not depend on it.
    pub search: Search,
    /// Pairs that are farther apart than these metres do not count; a pair at the distance does. Default none.
    pub max_distance: Option<f64>,
    /// Where to start: a rigid transform, 4x4, rows first; default identity. A rotation that is a millionth to a thousandth off is taken as the nearest rotation.
    pub target_from_source: [f64; 16],
    /// How pairs are weighed by their residuals, with a width in metres; default alike.
    pub robust: Robust,
    /// Most steps of a stage; default 100.
    pub max_iterations: usize,
    /// A shorter step ends a stage: the root mean square motion of the source points, as a part of their root mean square distance from their mean. Default 1e-6.
    pub step_tolerance: f64,
    /// Points that a normal is made from, the point itself among them; 3 to 32, default 20.
    pub neighbours: usize,
    /// Whether points at exactly (0, 0, 0) are left out of both clouds: some sensors write them where nothing came back. Default no.
    pub drop_zeros: bool,
    /// Stages, one after the other, each from the pose of the one before. Empty is one stage of all points with `max_distance`, which otherwise is not used. Default
    /// empty.
    pub schedule: Vec<Stage>,
}

impl Default for IcpParams {
    fn default() -> Self {
        Self {
            metric: Metric::default(),
            search: Search::default(),
            max_distance: None,
            target_from_source: [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            robust: Robust::None,
            max_iterations: 100,
            step_tolerance: 1e-6,
            neighbours: 20,
            drop_zeros: false,
            schedule: Vec::new(),
        }
    }
}

impl IcpParams {
    /// Where to start, if everything is in range.
    pub(super) fn check(&self) -> Result<Rigid> {
        for stage in self.stages() {
            super::search::limit_of(stage.max_distance)?;
            if !(stage.voxel_size.is_finite() && stage.voxel_size >= 0.0) {
                return Err(Error::argument(Argument::VoxelSize, "a finite size >= 0 m", stage.voxel_size));
            }
        }
        if let Some(width) = self.robust.width().filter(|width| !(width.is_finite() && *width > 0.0)) {
            return Err(Error::argument(Argument::Robust, "a finite width > 0 m", width));
        }
        if self.step_tolerance.is_nan() || self.step_tolerance < 0.0 {
            return Err(Error::argument(Argument::StepTolerance, "0 or more", self.step_tolerance));
        }
        if !(FEWEST_NEIGHBOURS..=MAX_NEIGHBOURS).contains(&self.neighbours) {
            let expected = format!("{FEWEST_NEIGHBOURS} to {MAX_NEIGHBOURS}");
            return Err(Error::argument(Argument::Neighbours, expected, self.neighbours));
        }
        Rigid::from_matrix(&self.target_from_source).map_err(|e| Error::not_rigid(Argument::TargetFromSource, e))
    }

    /// What ends a stage.
    pub(super) fn rules(&self) -> Rules {
        let closed = self.metric == Metric::PointToPoint && self.robust == Robust::None;
        let max_iterations = self.max_iterations as u64;
        Rules { step_tolerance: self.step_tolerance, max_iterations, closed: closed.into() }
    }

    /// The stages, of which there is at least one.
    pub(super) fn stages(&self) -> Vec<Stage> {
        if self.schedule.is_empty() {
            vec![Stage { voxel_size: 0.0, max_distance: self.max_distance }]
        } else {
            self.schedule.clone()
        }
    }
}
