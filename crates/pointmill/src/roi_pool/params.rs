//! Parameters of pooling and of boxes.

use crate::{Argument, BoxOrigin, Result, ensure};
use pointmill_core::names;
pub use pointmill_kernels::roi_pool::PoolMode;

/// Most voxels of a box.
pub const MAX_VOXELS: u64 = (1 << 32) - 1;

/// Parameters of RoI-aware pooling: plain values, which [`RoiPoolParams::validate`] checks, and
/// every pooler when it is made.
///
/// With the feature `serde` they have the names that the command prints.
///
/// ```
/// use pointmill::BoxOrigin;
/// use pointmill::roi_pool::{PoolMode, RoiLayout, RoiPoolParams};
/// let params = RoiPoolParams { mode: PoolMode::Mean, layout: RoiLayout::Sparse, ..RoiPoolParams::default() };
/// assert_eq!((params.out_size, params.origin), ([12, 12, 12], BoxOrigin::BottomCenter));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct RoiPoolParams {
    /// Voxels of a box along its length, width and height; default 12 each.
    pub out_size: [u32; 3],
    /// M, most points of a voxel: the first in input order stay; 0 keeps none. Default 127, for
    /// which a row of the dense layout has 128 numbers.
    #[cfg_attr(feature = "serde", serde(rename = "max_points"))]
    pub max_points_per_voxel: u32,
    /// How features are reduced; default maximum.
    pub mode: PoolMode,
    /// Which point of a box its `cz` is; default the centre of the bottom face.
    pub origin: BoxOrigin,
    /// Metres by which a box is longer and wider on each side; default 0.
    pub margin: f32,
    /// The shape of the result; default dense.
    pub layout: RoiLayout,
    /// Whether the result lists the kept points of each voxel; default yes.
    pub lists: bool,
}

/// The shape of a result, with B boxes, C channels and M of
/// [`RoiPoolParams::max_points_per_voxel`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoiLayout {
    /// `pooled`, `argmax` `[B, ox, oy, oz, C]`; `point_indices` `[B, ox, oy, oz, M + 1]`: the
    /// count, then the kept points, then zeros.
    #[default]
    Dense,
    /// `pooled`, `argmax` as above; the kept points without padding: `row_splits`
    /// `[B * ox * oy * oz + 1]` and `indices`.
    Csr,
    /// The non-empty voxels alone, R of them: `coords` `[R, 4]` (box, ix, iy, iz), `pooled`,
    /// `argmax` `[R, C]`, `row_splits` `[R + 1]` and `indices`.
    Sparse,
}

names!(RoiLayout { Dense = "dense", Csr = "csr", Sparse = "sparse" });

impl Default for RoiPoolParams {
    fn default() -> Self {
        Self {
            out_size: [12; 3],
            max_points_per_voxel: 127,
            mode: PoolMode::Max,
            origin: BoxOrigin::BottomCenter,
            margin: 0.0,
            layout: RoiLayout::Dense,
            lists: true,
        }
    }
}

impl RoiPoolParams {
    /// Voxels of a box.
    pub(super) fn voxels(&self) -> usize {
        self.out_size.iter().map(|&n| n as usize).product()
    }

    pub(super) fn boxes(&self) -> BoxParams {
        BoxParams { origin: self.origin, margin: self.margin }
    }

    /// Checks everything that does not depend on boxes and points.
    ///
    /// ```
    /// use pointmill::roi_pool::RoiPoolParams;
    /// let params = RoiPoolParams { out_size: [4, 4, 0], ..RoiPoolParams::default() };
    /// assert_eq!(params.validate().unwrap_err().to_string(), "out_size[2]: expected 1 to 2147483647, got 0");
    /// ```
    ///
    /// # Errors
    /// Sizes, a cap or a margin out of range.
    pub fn validate(&self) -> Result<()> {
        const AXES: [Argument; 3] = [Argument::OutSizeX, Argument::OutSizeY, Argument::OutSizeZ];
        for (axis, &n) in self.out_size.iter().enumerate() {
            ensure((1..=i32::MAX as u32).contains(&n), AXES[axis], format_args!("1 to {}", i32::MAX), n)?;
        }
        let expected = format_args!("at most {MAX_VOXELS} voxels a box");
        let got = self.out_size.map(|n| n.to_string()).join(" x ");
        let voxels = self.out_size.iter().map(|&n| u128::from(n)).product::<u128>();
        ensure(voxels <= u128::from(MAX_VOXELS), Argument::OutSize, expected, got)?;
        let expected = format_args!("0 to {}", i32::MAX - 1);
        let got = self.max_points_per_voxel;
        ensure(self.max_points_per_voxel < i32::MAX as u32, Argument::MaxPointsPerVoxel, expected, got)?;
        self.boxes().validate()
    }
}

/// How boxes are read: plain values, which [`BoxParams::validate`] checks, and every operator that
/// takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct BoxParams {
    /// Which point of a box its `cz` is; default the centre of the bottom face.
    pub origin: BoxOrigin,
    /// Metres by which a box is longer and wider on each side; default 0.
    pub margin: f32,
}

impl BoxParams {
    /// Checks the margin.
    ///
    /// # Errors
    /// A margin that is negative or not finite.
    pub fn validate(&self) -> Result<()> {
        let expected = "a finite margin >= 0 m";
        ensure(self.margin.is_finite() && self.margin >= 0.0, Argument::Margin, expected, self.margin)
    }
}
