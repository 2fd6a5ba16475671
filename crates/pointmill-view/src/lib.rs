//! Pictures of point clouds without a window.
//!
//! A [`Scene`] has named layers: points, lines, boxes, voxels and ellipsoids. It is made once and
//! drawn three ways, by the CPU: as a picture ([`Scene::picture`]), as an animation
//! ([`Scene::animation`]), and as one HTML file that draws itself in a browser ([`Scene::page`]).
//! The same input gives the same bytes, on a laptop and on a server without a screen.
//!
//! [`cloud_scene`] shows any cloud. [`VoxelScene`], [`roi_scene`], [`icp_scene`], [`register_scene`], [`ndt_map_scene`], [`ndt_alignment_scene`], [`ndt_score_scene`],
//! [`DriveScene`], [`trajectory_scene`] and [`detection_scene`] make the scenes of the operators, and [`Layer`] makes others. [`icp_plot`] and
//! [`trajectory_plot`] are charts. [`Image::write_png`] and [`Gif`] write files, whole or not at all.
//!
//! ```
//! use pointmill_core::Aabb;
//! use pointmill_view::{Camera, Layer, Paint, Scene};
//! let mut scene = Scene::new("two points", Paint::Height);
//! scene.push(Layer::points("points", &[[1.0, 0.0, 0.0], [2.0, 1.0, 0.5]]));
//! let camera = Camera::birds_eye(Aabb::new([-5.0; 3], [5.0; 3]));
//! let image = scene.draw(&camera, 0, [320, 200])?;
//! assert_eq!(image.encode_png()[..4], *b"\x89PNG");
//! # Ok::<(), pointmill_view::ViewError>(())
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod boxes;
mod camera;
mod caption;
mod chart;
mod cloud;
mod colour;
mod detections;
mod drive;
mod error;
mod file;
mod fixes;
mod framing;
mod gif;
mod html;
mod icp;
mod image;
mod layout;
mod line;
mod memory;
mod ndt;
mod palette;
mod png;
mod quantiles;
mod raster;
mod roi;
mod scene;
mod sheet;
mod trajectory;
mod voxels;

pub use crate::camera::Camera;
pub use crate::chart::Plot;
pub use crate::cloud::{CloudColours, class_colour, cloud_scene, return_number, shown_points, thinned};
pub use crate::colour::turbo;
pub use crate::detections::{BoxFate, DetectionFrame, detection_scene};
pub use crate::drive::DriveScene;
pub use crate::error::{MAX_SIDE, ViewError};
pub use crate::fixes::{DriveFix, DriveStatus};
pub use crate::gif::Gif;
pub use crate::icp::{IcpIteration, IcpSeries, icp_plot, icp_scene, register_scene};
pub use crate::image::{BACKGROUND, Image};
pub use crate::memory::require_memory;
pub use crate::ndt::{NdtEllipsoids, NdtFitNote, ndt_alignment_scene, ndt_map_scene, ndt_score_scene};
pub use crate::roi::{RoiLists, roi_scene, voxel_of_point};
pub use crate::scene::{Layer, Paint, Scene};
pub use crate::trajectory::{trajectory_plot, trajectory_scene};
pub use crate::voxels::VoxelScene;
