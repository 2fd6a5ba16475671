//! Parameters of a registration without a guess.

use crate::{Argument, Result, ensure};
use pointmill_core::names;

/// How the pose of the matches is refined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refine {
    /// Generalized ICP.
    #[default]
    Gicp,
    /// Point-to-plane ICP.
    Plane,
    /// Not at all: the pose of the matches. Whether the clouds slide along each other is not known then.
    None,
}

names!(Refine { Gicp = "gicp", Plane = "plane", None = "none" });

/// Parameters of [`register`](super::register): plain values, which every call checks.
///
/// ```
/// use pointmill::registration::global::{Refine, RegisterParams};
/// let params = RegisterParams { voxel_size: 0.5, ..RegisterParams::default() };
/// assert_eq!(params.refine, Refine::Gicp);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegisterParams {
    /// Edge length in metres of the cubes whose points are joined to their mean; default 0.3. The
    /// radii of normals and features are multiples of it.
    pub voxel_size: f64,
    /// Whether z is up in both frames. Default false. The pose is then looked for by a search over x,
    /// y, z and yaw, which needs no matches of features.
    pub level: bool,
    /// How the pose is refined; default GICP.
    pub refine: Refine,
}

impl Default for RegisterParams {
    fn default() -> Self {
        Self { voxel_size: 0.3, level: false, refine: Refine::default() }
    }
}

impl RegisterParams {
    /// Checks everything that does not depend on the points.
    ///
    /// # Errors
    /// A voxel size that is not finite and positive.
    pub fn validate(&self) -> Result<()> {
        let size = self.voxel_size;
        ensure(size.is_finite() && size > 0.0, Argument::VoxelSize, "a finite size > 0 m", size)
    }

    /// The radius of the neighbours that make a normal.
    pub(super) fn normal_radius(&self) -> f64 {
        3.0 * self.voxel_size
    }

    /// The radius of the neighbours that make a feature.
    pub(super) fn feature_radius(&self) -> f64 {
        5.0 * self.voxel_size
    }
}
