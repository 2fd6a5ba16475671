//! Pictures of point clouds without a window.
//!
//! A picture is an [`Image`] in memory, drawn by the CPU: the same input gives the same bytes, on a laptop and on a server without a
//! screen. [`draw_points`], [`draw_cubes`] and [`draw_boxes`] draw clouds, voxels and oriented boxes through a [`Camera`];
//! [`voxelization_picture`] puts input and voxel means side by side, and [`roi_picture`] shows the voxels of boxes; [`icp_animation`] and [`icp_plot`] show a cloud on its way
//! onto another, and what that took; [`drive_picture`] and [`trajectory_plot`] show trajectories of a sensor; [`Image::write_png`] and [`Gif`] write files, whole or not at all.
//!
//! A [`Page`] is the same as one HTML file that draws itself in a browser: [`icp_page`], [`ndt_map_page`], [`ndt_alignment_page`], [`roi_page`], [`trajectory_page`], [`DrivePage`] and
//! [`VoxelPage`] make the pages of the operators, and [`Layer`] makes others.
//!
//! ```
//! use pointmill_core::{Aabb, Points};
//! use pointmill_view::{Camera, Colour, Image, draw_points};
//! let points = Points::new(&[1.0, 0.0, 0.0, 2.0, 1.0, 0.5], 3)?;
//! let mut image = Image::new(320, 200)?;
//! let camera = Camera::birds_eye(Aabb::new([-5.0; 3], [5.0; 3]));
//! draw_points(&mut image, &camera, points, Colour::Height { low: 0.0, high: 1.0 }, 3);
//! assert_eq!(image.encode_png()[..4], *b"\x89PNG");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod boxes;
mod camera;
mod caption;
mod chart;
mod colour;
mod draw;
mod drive;
mod error;
mod file;
mod framing;
mod gif;
mod html;
mod icp;
mod image;
mod legend;
mod line;
mod memory;
mod ndt;
mod palette;
mod png;
mod quantiles;
mod raster;
mod roi;
mod voxelization;

pub use crate::boxes::draw_boxes;
pub use crate::camera::Camera;
pub use crate::chart::Plot;
pub use crate::colour::{Colour, turbo};
pub use crate::draw::{draw_cubes, draw_points};
pub use crate::drive::{drive_picture, trajectory_plot};
pub use crate::error::{MAX_SIDE, ViewError};
pub use crate::gif::Gif;
pub use crate::html::{
    DrivePage, Layer, Page, Paint, VoxelPage, icp_page, ndt_alignment_page, ndt_map_page, roi_page, trajectory_page,
};
#[cfg(feature = "rerun")]
pub use crate::icp::write_icp_recording;
pub use crate::icp::{IcpLook, IcpSeries, icp_animation, icp_picture, icp_plot};
pub use crate::image::{BACKGROUND, Image};
pub use crate::memory::require_memory;
pub use crate::ndt::{NdtEllipsoids, NdtFitNote, ndt_alignment_frames, ndt_alignment_picture, ndt_map_picture};
pub use crate::roi::{RoiLists, roi_picture, voxel_of_point};
pub use crate::voxelization::voxelization_picture;
