//! LiDAR point-cloud operators on CPU and GPU, with the same bits on both.
//!
//! - [`voxelize`]: sweeps into voxels for detectors, fast *and* deterministic;
//! - [`downsample`]: clouds with one point for each voxel;
//! - [`roi_pool`]: RoI-aware pooling of features in oriented boxes, with gradients, and points in
//!   boxes;
//! - [`boxes`]: overlaps of boxes, and suppression of detections;
//! - [`sparse`]: the front end of sparse detectors: one point of each cell, cells in the
//!   order of curves, larger cells, pairs of convolutions, sweeps in one frame, pillars;
//! - [`ndt`]: maps as cells of normal distributions, from sums that can be added up and taken away
//!   again; scoring and aligning scans;
//! - [`icp`]: iterative closest point: point-to-point, point-to-plane and GICP, with exact nearest
//!   neighbours;
//! - [`registration::level`]: where an upright scan is in such a map, without a guess;
//!
//! The crate `pointmill-slam` joins the operators: a trajectory from sweeps, poses in a map, and
//! how far they are from the truth.
//!
//! An operator takes host slices or device memory, runs on a [`Device`], and returns its result
//! where it ran.
//!
//! ```
//! use pointmill::voxelize::{VoxelizeParams, voxelize};
//! use pointmill::{Device, PointCloud};
//!
//! let cloud = PointCloud::new(vec![0.05, 0.0, 0.0, 0.9, 0.15, 0.0, 0.0, 0.5, 7.0, 0.0, 0.0, 0.1], 4)?;
//! let voxels = voxelize(&cloud, &VoxelizeParams::default(), &Device::cpu())?.read()?;
//! assert_eq!(voxels.num_points, [2, 1]);
//! assert_eq!(voxels.coords, [25, 270, 270, 25, 270, 305]); // z, y, x
//! # Ok::<(), pointmill::Error>(())
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod argument;
mod arrays;
pub mod boxes;
mod centre;
pub mod device;
pub mod downsample;
mod error;
pub mod icp;
#[doc(hidden)]
pub mod internals;
pub mod interop;
mod ints;
mod memory;
pub mod ndt;
mod par;
pub mod points;
pub mod prim;
pub mod registration;
pub mod roi_pool;
mod rows;
mod scatter;
mod seed;
pub mod sparse;
#[cfg(any(test, feature = "testing"))]
mod testing;
pub mod voxelize;
pub mod worker;

pub use argument::Argument;
pub use arrays::{AnyArray, AnyBuffer, Value, differences};
#[cfg(feature = "twin")]
pub use device::TwinFault;
pub use device::{
    Buffer, Device, DeviceInfo, Embedded, EmbeddedModule, Event, Graph, Stream, num_threads, set_num_threads,
};
pub(crate) use error::ensure;
pub use error::{Error, Result};
pub use ints::Ints;
pub use pointmill_core::array::{ArrayView, Dtype, NamedArrays, Values};
pub use pointmill_core::rigid::NotRigid;
pub use pointmill_core::{
    Aabb, BoxOrigin, CloudError, ElementType, GridError, LocalOrigin, OrientedBox, PointCloud, Points, Pose,
    UnknownName, VoxelGrid, auto_origin,
};
pub use pointmill_core::{params, record};
pub use rows::{Element, Rows, bf16, f16};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
