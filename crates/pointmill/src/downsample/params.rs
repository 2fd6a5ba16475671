//! Parameters of downsampling.

use crate::{Result, VoxelGrid};
use pointmill_core::{names, params};

params! {
    /// Parameters of downsampling: plain values, which every downsampler checks when it is made.
    ///
    /// ```
    /// use pointmill::downsample::{DownsampleParams, Keep};
    /// let params = DownsampleParams { keep: Keep::Centre, ..DownsampleParams::default() };
    /// assert_eq!(params.voxel_size, [0.2; 3]);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DownsampleParams {
        /// Edge lengths of a voxel along x, y, z in metres.
        pub voxel_size: [f32; 3] = [0.2; 3];
        /// Point of a voxel: the mean of all columns of its points, its first point, the one nearest to
        /// its centre, or one at random.
        pub keep: Keep = Keep::Mean;
        /// What decides with a random point.
        pub seed: u64 = 0;
    }
}

/// Which point stands for a voxel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The mean of all columns of its points, as [`voxelize`](crate::voxelize) computes it.
    #[default]
    Mean,
    /// Its first point in input order.
    First,
    /// The point nearest to its centre; of several the first.
    ///
    /// **Arithmetic** (`f64`): the centre is `min + (cell + 0.5) * voxel_size` on each axis; the
    /// distance is `dx * dx + dy * dy + dz * dz`.
    Centre,
    /// One of its points, each with the same chance. The seed and the index of the voxel's first
    /// point decide.
    Random,
}

names!(Keep { Mean = "mean", First = "first", Centre = "centre", Random = "random" });

impl Keep {
    /// Whether a point is chosen on the host from the lists of voxels.
    pub(super) fn chooses(self) -> bool {
        matches!(self, Self::Centre | Self::Random)
    }
}

impl DownsampleParams {
    /// Defaults, but for the voxel size.
    pub fn new(voxel_size: [f32; 3]) -> Self {
        Self { voxel_size, ..Self::default() }
    }

    /// Checks everything that does not depend on the points.
    ///
    /// ```
    /// use pointmill::downsample::DownsampleParams;
    /// let refused = DownsampleParams::new([1.0, 0.0, 1.0]).validate().unwrap_err();
    /// assert_eq!(refused.to_string(), "voxel_size[1]: expected a finite size > 0 m, got 0");
    /// ```
    ///
    /// # Errors
    /// A voxel size that is not finite and positive.
    pub fn validate(&self) -> Result<()> {
        VoxelGrid::around(self.voxel_size, super::NOWHERE)?;
        Ok(())
    }
}
