//! Parameters of alignments, their limits, and their checks.

use crate::{Argument, Error, Result, ensure};
use pointmill_core::icp::nearest::{FARTHEST, limit};
use pointmill_core::icp::neighbour_set::MAX_NEIGHBOURS;
use pointmill_core::icp::termination::Rules;
use pointmill_core::names;

pub use pointmill_core::icp::Robust;

/// Most points of a cloud.
pub const MAX_POINTS: usize = (1 << 30) - 1;
/// Fewest neighbours that normals are made from.
const FEWEST_NEIGHBOURS: usize = 3;

/// The error metric that an alignment minimizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The distances between the points of pairs, in closed form. Where clouds overlap in part it
    /// ends beside the true pose, because points without a counterpart pull.
    PointToPoint,
    /// The distances of source points from the tangent planes of the target. It needs normals of
    /// the target, and makes them unless the caller gives some.
    #[default]
    PointToPlane,
    /// Generalized ICP: distances between surface patches, each with the covariance diag(0.001,
    /// 1, 1) along its normal and its tangents. It makes normals of both clouds.
    Gicp,
}

names!(Metric { PointToPoint = "point-to-point", PointToPlane = "point-to-plane", Gicp = "gicp" });

/// How neighbours are searched for. Every search finds the same neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Search {
    /// The fastest: the kd-tree on the CPU, the LBVH on a GPU.
    #[default]
    Auto,
    /// Compares each query with every point. Small clouds, and tests of the other searches.
    Brute,
    /// A tree split at medians. It takes the fewest steps a query; a GPU gets it from the CPU.
    KdTree,
    /// A tree along the Morton curve, which a GPU builds itself.
    Lbvh,
}

names!(Search { Auto = "auto", Brute = "brute", KdTree = "kdtree", Lbvh = "lbvh" });

/// A stage of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Edge in metres of the cells whose points become one, their mean. Default 0, which takes all
    /// points.
    pub voxel_size: f64,
    /// As [`IcpParams::max_distance`]. Default none.
    pub max_distance: Option<f64>,
}

/// Parameters of an alignment: plain values. [`validate`](Self::validate) checks them, as every
/// operation does that takes them.
///
/// ```
/// use pointmill::icp::{IcpParams, Metric, Robust, Stage};
/// let coarse = Stage { voxel_size: 1.0, max_distance: Some(5.0) };
/// let fine = Stage { voxel_size: 0.25, max_distance: Some(1.0) };
/// let params = IcpParams { metric: Metric::Gicp, robust: Robust::Cauchy(0.5), schedule: vec![coarse, fine], ..IcpParams::default() };
/// params.validate()?;
/// assert_eq!((params.max_iterations, params.max_distance), (100, None));
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IcpParams {
    /// The error metric to minimize. Default point-to-plane.
    pub metric: Metric,
    /// How neighbours are searched for; poses and pairs do not depend on it. Default the fastest.
    pub search: Search,
    /// Greatest distance of a pair in metres, inclusive; pairs farther apart do not count. Default
    /// none.
    pub max_distance: Option<f64>,
    /// Weights of pairs by their residuals, with a width in metres. Default all alike.
    pub robust: Robust,
    /// Most steps of a stage. Default 100.
    pub max_iterations: usize,
    /// A shorter step ends a stage: the root mean square motion of the source points, divided by
    /// their root mean square distance from their mean. Default 1e-6.
    pub step_tolerance: f64,
    /// The number of points that a normal is made from, the point itself included; 3 to 32.
    /// Default 20.
    pub neighbours: usize,
    /// Whether points at exactly (0, 0, 0) are left out of both clouds; some sensors write them for
    /// beams without a return. Default no.
    pub drop_zeros: bool,
    /// Stages, one after the other, each from the pose of the one before. Empty is one stage of all
    /// points with `max_distance`, which is not used otherwise. Default empty.
    pub schedule: Vec<Stage>,
}

impl Default for IcpParams {
    fn default() -> Self {
        Self {
            metric: Metric::default(),
            search: Search::default(),
            max_distance: None,
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
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        for stage in self.stages() {
            limit_of(stage.max_distance)?;
            let expected = "a finite size >= 0 m";
            let got = stage.voxel_size;
            ensure(stage.voxel_size.is_finite() && stage.voxel_size >= 0.0, Argument::VoxelSize, expected, got)?;
        }
        if let Some(width) = self.robust.width().filter(|width| !(width.is_finite() && *width > 0.0)) {
            return Err(Error::argument(Argument::Robust, "a finite width > 0 m", width));
        }
        ensure(self.step_tolerance >= 0.0, Argument::StepTolerance, "0 or more", self.step_tolerance)?;
        let expected = format_args!("{FEWEST_NEIGHBOURS} to {MAX_NEIGHBOURS}");
        let got = self.neighbours;
        ensure((FEWEST_NEIGHBOURS..=MAX_NEIGHBOURS).contains(&self.neighbours), Argument::Neighbours, expected, got)
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

/// Checks the number of points of a cloud.
pub(super) fn check_number(argument: Argument, n: usize) -> Result<()> {
    ensure(n <= MAX_POINTS, argument, format_args!("at most {MAX_POINTS} points"), n)
}

/// The key that neighbours within a distance are below.
pub(super) fn limit_of(max_distance: Option<f64>) -> Result<u64> {
    match max_distance {
        None => Ok(FARTHEST),
        Some(distance) if distance >= 0.0 => Ok(limit(distance)),
        Some(distance) => Err(Error::argument(Argument::MaxDistance, "0 m or more", distance)),
    }
}
