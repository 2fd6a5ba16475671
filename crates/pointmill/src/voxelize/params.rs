//! Parameters of voxelization.

use crate::{Aabb, Argument, Error, Result, VoxelGrid, ensure};
use pointmill_core::names;

/// Parameters of voxelization: plain values, which [`VoxelizeParams::validate`] checks, and every
/// voxelizer when it is made.
///
/// With the feature `serde` they have the names that the command prints.
///
/// ```
/// use pointmill::Aabb;
/// use pointmill::voxelize::{RowOrder, VoxelizeParams};
/// let params = VoxelizeParams { order: RowOrder::Sorted, ..VoxelizeParams::default() };
/// assert_eq!(params.range, Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoxelizeParams {
    /// Edge lengths of a voxel along x, y, z in metres; default 0.2.
    pub voxel_size: [f32; 3],
    /// The range that is cut into voxels, in metres; default -54, -54, -5 to 54, 54, 3.
    pub range: Aabb,
    /// Most rows, of each sample; default 160,000.
    pub max_voxels: u32,
    /// Most points of a voxel; `None` keeps all of them (dynamic voxelization); default 10.
    #[cfg_attr(feature = "serde", serde(rename = "max_points"))]
    pub max_points_per_voxel: Option<u32>,
    /// Which points of a voxel of more stay; default the first.
    pub pick: Pick,
    /// The order of the rows; default first-seen.
    pub order: RowOrder,
    /// Whether points must also lie in `min <= p < max`; default no. It matters where the range is
    /// not a whole number of voxels.
    pub strict_range: bool,
    /// What to compute.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub outputs: Outputs,
}

/// Which points of a voxel stay where it has more than [`VoxelizeParams::max_points_per_voxel`].
/// Those that stay are in input order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Pick {
    /// The first in input order.
    #[default]
    First,
    /// By chance, every choice as likely: the seed, the sample and the cell decide, on every device
    /// alike.
    Random {
        /// The seed.
        seed: u64,
    },
    /// The values of a column take turns, one point each, in input order: with the time lag of
    /// several sweeps none of them is starved. 0 and -0 are the same value, and so are all NaN.
    RoundRobin {
        /// The column, counted from 0.
        column: u32,
    },
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowOrder {
    /// By the smallest index of the voxel's points.
    #[default]
    FirstSeen,
    /// By the cell's id, `(z * grid_y + y) * grid_x + x`.
    Sorted,
}

names!(RowOrder { FirstSeen = "first-seen", Sorted = "sorted" });

/// The element type of means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeanType {
    /// `f32`.
    #[default]
    F32,
    /// `f16`: the `f32` mean, rounded once to nearest even.
    F16,
}

names!(MeanType { F32 = "f32", F16 = "f16" });

/// Which arrays a call computes besides `coords` and `num_points`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outputs {
    /// Means, `[V, C]`; default `f32`.
    pub mean: Option<MeanType>,
    /// The kept points, `[V, M, C]`, zero-padded; default yes. Not with dynamic voxelization.
    pub voxels: bool,
    /// The row of each point, `[N]`; default yes.
    pub point_to_voxel: bool,
    /// The points of each voxel without padding; default no.
    pub lists: bool,
    /// Whether the arrays have `max_voxels` rows a sample, all written: unused rows have
    /// coordinates -1 and are zero elsewhere; default no. Then nobody needs to know the number of
    /// voxels to use them.
    pub padded: bool,
}

impl Default for Outputs {
    fn default() -> Self {
        Self { voxels: true, mean: Some(MeanType::F32), point_to_voxel: true, lists: false, padded: false }
    }
}

impl Default for VoxelizeParams {
    fn default() -> Self {
        Self::new([0.2; 3], Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]))
    }
}

impl VoxelizeParams {
    /// Defaults, but for voxel size and range.
    pub fn new(voxel_size: [f32; 3], range: Aabb) -> Self {
        Self {
            voxel_size,
            range,
            max_voxels: 160_000,
            max_points_per_voxel: Some(10),
            pick: Pick::First,
            order: RowOrder::FirstSeen,
            strict_range: false,
            outputs: Outputs::default(),
        }
    }

    /// Dynamic voxelization: every point of every voxel, with lists for
    /// [`scatter`](super::scatter).
    pub fn dynamic(voxel_size: [f32; 3], range: Aabb) -> Self {
        Self {
            max_points_per_voxel: None,
            max_voxels: super::MAX_POINTS as u32,
            outputs: Outputs { voxels: false, lists: true, ..Outputs::default() },
            ..Self::new(voxel_size, range)
        }
    }

    /// Whether lists are made: if asked for, and for the means of dynamic voxelization.
    pub fn needs_lists(&self) -> bool {
        self.outputs.lists || (self.max_points_per_voxel.is_none() && self.outputs.mean.is_some())
    }

    /// Checks everything that does not depend on the points.
    ///
    /// ```
    /// use pointmill::voxelize::VoxelizeParams;
    /// let params = VoxelizeParams { max_voxels: 0, ..VoxelizeParams::default() };
    /// assert_eq!(params.validate().unwrap_err().to_string(), "max_voxels: expected 1 to 1073741823, got 0");
    /// ```
    ///
    /// # Errors
    /// Caps out of range, a voxel size and a range that make no grid, outputs that exclude each
    /// other.
    pub fn validate(&self) -> Result<()> {
        self.grid().map(drop)
    }

    /// The cap and the rule by which points are chosen, where these are not the first.
    pub(super) fn chosen(&self) -> Option<(u32, Pick)> {
        self.max_points_per_voxel.filter(|_| self.pick != Pick::First).map(|most| (most, self.pick))
    }

    /// The grid of checked parameters.
    pub(super) fn grid(&self) -> Result<VoxelGrid> {
        let rows = super::MAX_POINTS as u32;
        let expected = format_args!("1 to {rows}");
        ensure((1..=rows).contains(&self.max_voxels), Argument::MaxVoxels, expected, self.max_voxels)?;
        match self.max_points_per_voxel {
            None if self.outputs.voxels => Err(Error::argument(
                Argument::OutputsVoxels,
                "false with dynamic voxelization (max_points_per_voxel = None), whose voxels have no common length",
                true,
            )),
            Some(0) => Err(Error::argument(Argument::MaxPointsPerVoxel, "1 or more", 0)),
            Some(m) if m > super::MAX_POINTS_PER_VOXEL => {
                let expected = format!("1 to {}, or None for all points", super::MAX_POINTS_PER_VOXEL);
                Err(Error::argument(Argument::MaxPointsPerVoxel, expected, m))
            }
            _ => Ok(VoxelGrid::new(self.voxel_size, self.range)?),
        }
    }
}
