//! Parameters of odometry, their limits, and their checks.

use super::scale::SMALLEST;
use crate::sampling::Sampling;
use pointmill::icp::Metric;
use pointmill::{Argument, Error, Result};

/// Points of a map's voxel at most.
const MAX_POINTS_PER_VOXEL: usize = 64;
/// A sweep is sampled in cells of this part of the voxel size for the map.
const MAP_SAMPLING: f64 = 0.5;

/// Parameters of odometry: plain values. [`validate`](Self::validate) checks them, as
/// [`Odometry::new`](super::Odometry::new) does.
///
/// ```
/// use pointmill_slam::odometry::OdometryParams;
/// let indoors = OdometryParams { voxel_size: Some(0.3), max_range: 30.0, min_range: 0.3, ..OdometryParams::default() };
/// indoors.validate()?;
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct OdometryParams {
    /// Edge in metres of the voxels of the map. The alignment looks for neighbours within one to
    /// three of it. Default none: the largest up to 1 m with which the first sweep has 600
    /// voxels, and 0.1 at least; [`Odometry::voxel_size`](super::Odometry::voxel_size) tells it.
    pub voxel_size: Option<f64>,
    /// Points nearer to the sensor than these metres are left out. Default 1.
    pub min_range: f64,
    /// Points farther from the sensor than these metres are left out, and voxels farther from it
    /// leave the map. Default 100.
    pub max_range: f64,
    /// The number of points that a voxel of the map keeps; 1 to 64, default 20. Points closer
    /// together than the voxel size by the square root of this number are left out.
    pub max_points_per_voxel: usize,
    /// The error metric to minimize, one of [`METRICS`](Self::METRICS). Default point-to-plane.
    pub metric: Metric,
    /// Width in metres of the Geman-McClure weight of residuals in the last steps of
    /// point-to-plane. Default 0.1. The first steps, and point-to-point, take a wider one that
    /// follows from how far predictions were off.
    pub robust_width: f64,
    /// Whether motion within a sweep is taken out where points have times. Default yes.
    pub deskew: bool,
    /// Most steps of an alignment: a limit for those that do not converge. Default 500.
    pub max_iterations: usize,
    /// Whether points of voxels that leave the map are kept for
    /// [`Odometry::map`](super::Odometry::map). They are not aligned with. Default no.
    pub keep_map: bool,
}

impl Default for OdometryParams {
    fn default() -> Self {
        Self {
            voxel_size: None,
            min_range: 1.0,
            max_range: 100.0,
            max_points_per_voxel: 20,
            metric: Metric::PointToPlane,
            robust_width: 0.1,
            deskew: true,
            max_iterations: 500,
            keep_map: false,
        }
    }
}

impl OdometryParams {
    /// The error metrics that odometry takes.
    pub const METRICS: &'static [Metric] = &[Metric::PointToPlane, Metric::PointToPoint];

    /// Which points of a sweep are used.
    pub(super) const fn sampling(&self, voxel_size: f64) -> Sampling {
        Sampling {
            range: [self.min_range, self.max_range],
            cell_size: MAP_SAMPLING * voxel_size,
            keypoint_cell_size: Some(voxel_size),
            view: false,
        }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        let positive = |argument, x: f64| match x.is_finite() && x > 0.0 {
            true => Ok(()),
            false => Err(Error::argument(argument, "finite metres > 0", x)),
        };
        let smallest = self.voxel_size.unwrap_or(SMALLEST);
        positive(Argument::VoxelSize, smallest)?;
        positive(Argument::RobustWidth, self.robust_width)?;
        if !(self.min_range.is_finite() && self.min_range >= 0.0) {
            return Err(Error::argument(Argument::MinRange, "finite metres >= 0", self.min_range));
        }
        self.sampling(smallest).validate()?;
        if !(1..=MAX_POINTS_PER_VOXEL).contains(&self.max_points_per_voxel) {
            let expected = format!("1 to {MAX_POINTS_PER_VOXEL}");
            return Err(Error::argument(Argument::MaxPointsPerVoxel, expected, self.max_points_per_voxel));
        }
        if !Self::METRICS.contains(&self.metric) {
            let names: Vec<_> = Self::METRICS.iter().map(|metric| metric.as_str()).collect();
            return Err(Error::argument(Argument::Metric, names.join(" or "), self.metric));
        }
        if self.max_iterations == 0 {
            return Err(Error::argument(Argument::MaxIterations, "at least 1", 0));
        }
        Ok(())
    }
}
