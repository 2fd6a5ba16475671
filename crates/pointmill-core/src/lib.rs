//! The nouns of pointmill and the arithmetic that decides a result.
//!
//! Everything here is `no_std` and is compiled twice: for the host and for the GPU. The CPU path
//! and the kernels call the same functions, which is why both give the same bits:
//!
//! - [`PointCloud`] and [`Points`]: `[N, C]` rows of `f32`, the first three columns x, y, z in
//!   metres;
//! - `LocalOrigin`: the origin that coordinates of maps are about, so that an `f32` can hold them;
//! - [`Aabb`]: an axis-aligned box;
//! - [`Pose`]: where a frame lies in another: matrix, quaternion, angles, composition,
//!   interpolation;
//! - [`names!`]: one spelling for each variant of an enum;
//! - [`VoxelGrid`]: which cell a point falls into, and the 64-bit id of that cell;
//! - [`OrientedBox`]: a box at a heading, what is inside it, and in which of its voxels;
//! - [`boxes`]: how much two such boxes overlap;
//! - [`sparse`]: orders of cells along curves, cells that a sparse convolution pairs, features of
//!   pillars;
//! - [`trig`], [`float`]: sine and cosine of an angle, powers and roots;
//! - [`ndt`]: cells of normal distributions: places, sums, statistics;
//! - [`icp`]: nearest points, what pairs of them say, and the pose they ask for;
//! - [`odometry`]: cells of a local map, surfaces about its points, and motion within a sweep;
//! - [`registration`]: features of surfaces, and the pose of matches some of which are wrong;
//! - [`elevation`]: points turned up or down about their sensor;
//! - [`eigen`]: eigenvalues and eigenvectors of symmetric 3x3 matrices;
//! - [`linear`], [`mod@svd`], [`rigid`]: small systems, singular values, rigid transforms;
//! - [`hash`]: where a cell starts in a hash table;
//! - [`mean`]: the last step of means and maxima;
//! - `array`: borrowed arrays of any shape and element type, and results as named arrays;
//! - [`ElementType`], [`mod@half`]: `f32`, `f16` and `bf16`, rounded once to nearest even.
//!
//! ```
//! use pointmill_core::{Aabb, VoxelGrid};
//! let range = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
//! let grid = VoxelGrid::new([0.2; 3], range)?;
//! assert_eq!(grid.dims(), [540, 540, 40]);
//! assert_eq!(grid.cell([0.1, -54.0, 0.0]), Some([270, 0, 25]));
//! assert_eq!(grid.cell([f32::NAN, 0.0, 0.0]), None);
//! # Ok::<(), pointmill_core::GridError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(target_arch = "nvptx64", feature(core_float_math))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod aabb;
#[cfg(feature = "alloc")]
pub mod array;
pub mod boxes;
mod cloud;
pub mod eigen;
mod element;
pub mod elevation;
mod euler;
pub mod float;
mod grid;
pub mod half;
pub mod hash;
pub mod icp;
pub mod linear;
pub mod mean;
mod names;
pub mod ndt;
pub mod odometry;
mod oriented_box;
#[cfg(feature = "alloc")]
mod origin;
#[cfg(feature = "alloc")]
pub mod params;
pub mod points;
mod pose;
pub mod random;
#[cfg(feature = "alloc")]
pub mod record;
pub mod reduction;
pub mod registration;
pub mod rigid;
pub mod sparse;
pub mod svd;
pub mod trig;
mod vector;

pub use aabb::Aabb;
#[cfg(feature = "alloc")]
pub use cloud::PointCloud;
pub use cloud::{CloudError, Points};
pub use element::ElementType;
pub use grid::{GridError, VoxelGrid};
#[cfg(feature = "alloc")]
pub use names::UnknownName;
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use names::serde_names;
pub use oriented_box::{BoxGrid, BoxOrigin, LINES as BOX_LINES, OrientedBox, Reach, WORDS as BOX_WORDS, line_of};
#[cfg(feature = "alloc")]
pub use origin::{LocalOrigin, UnknownOrigin, WORTH_AN_ORIGIN, about, auto_origin, corner, least};
pub use pose::Pose;
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use schemars;
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
