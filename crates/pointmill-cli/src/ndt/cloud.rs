//! Points with every bit of their file.

use crate::inputs::Exact;
use pointmill::Rows;
use pointmill::{Error, PointCloud};

/// The points of an input.
#[derive(Debug)]
pub(super) enum Cloud {
    F32(PointCloud),
    /// x, y, z of each, where `f32` would lose some of it.
    F64(Vec<f64>),
}

impl Cloud {
    /// The points without those at (0, 0, 0), if these are dropped; and how many were.
    pub(super) fn new(read: Exact, drop_zeros: bool) -> Result<(Self, usize), Error> {
        let kept = |xyz: [f64; 3]| xyz != [0.0; 3];
        let len = read.cloud.len();
        let cloud = match read.xyz_f64 {
            Some(xyz) if drop_zeros => {
                let rows = xyz.as_chunks::<3>().0.iter().filter(|p| kept(**p));
                Self::F64(rows.copied().flatten().collect())
            }
            Some(xyz) => Self::F64(xyz),
            None if drop_zeros && read.cloud.points().iter_xyz().any(|p| !kept(p.map(f64::from))) => {
                let rows = read.cloud.points().iter_xyz().filter(|p| kept(p.map(f64::from)));
                Self::F32(PointCloud::new(rows.flatten().collect(), 3)?)
            }
            None => Self::F32(read.cloud),
        };
        let zeros = len - cloud.len();
        Ok((cloud, zeros))
    }

    /// The number of points.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::F32(cloud) => cloud.len(),
            Self::F64(xyz) => xyz.len() / 3,
        }
    }

    /// The type of the coordinates.
    pub(super) const fn element(&self) -> &'static str {
        match self {
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
        }
    }

    /// The points, as the library takes them.
    pub(super) fn view(&self) -> Result<Rows<'_>, Error> {
        match self {
            Self::F32(cloud) => Rows::f32(cloud.data(), cloud.columns()),
            Self::F64(xyz) => Rows::f64(xyz, 3),
        }
    }

    /// x, y, z of each.
    pub(super) fn xyz(&self) -> Vec<[f64; 3]> {
        match self {
            Self::F32(cloud) => cloud.points().iter_xyz().map(|p| p.map(f64::from)).collect(),
            Self::F64(xyz) => xyz.as_chunks().0.to_vec(),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/ndt_cloud.rs"]
mod tests;
