//! Reads and writes point clouds, arrays and poses.
//!
//! - **Clouds**: [`read`] makes a [`Scan`] of a file, [`read_from`] of a stream, and [`write()`]
//!   makes a file of a scan, a cloud or
//!   [`NamedPoints`]. [`Format`] lists the formats.
//! - **Arrays**: [`read_npy`] and [`read_npz`] return an [`Array`], [`write_npy`] and [`write_npz`]
//!   take an [`ArrayView`].
//! - **Poses**: [`read_poses`] and [`write_poses`] in the formats of [`PoseFormat`].
//!
//! Three rules hold for all of it:
//!
//! - a size that a file claims is checked against the bytes that are there before memory is taken
//!   for it;
//! - an error names the file, the field, what was wanted and what was found, control characters
//!   escaped: [`IoError`];
//! - a file is written whole or not at all: [`write_whole`].
//!
//! ```
//! use pointmill_io::{ArrayView, ReadOptions, read, write_npy};
//! let path = std::env::temp_dir().join(format!("pointmill-lesson-{}.npy", std::process::id()));
//! write_npy(&path, &ArrayView::f64(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]))?;
//! let scan = read(&path, &ReadOptions::default())?;
//! assert_eq!(scan.cloud.points().xyz(0), [1.0, 2.0, 3.0]);
//! let warnings: Vec<_> = scan.warnings.iter().map(ToString::to_string).collect();
//! assert_eq!(warnings, ["1 of 2 points are not finite"]);
//! # std::fs::remove_file(&path).ok();
//! # Ok::<(), pointmill_io::IoError>(())
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod array;
pub mod bag;
mod begin;
mod bin;
mod bytes;
mod column_guess;
mod crs;
mod dataset;
pub mod detections;
mod directions;

mod e57;
mod error;
mod fault;
mod feather;
mod field;
pub mod files;
mod format;
mod formats;
mod inspect;
mod joined;
mod las;
mod limits;
mod lost;
mod lz4;
mod memory;
mod merge;
mod named_points;
mod names;
mod npy;
mod npz;
mod parts;
mod pcd;
mod plain_text;
mod ply;
mod polygon;
mod poses;
mod prj;
mod read;
mod records;
mod region;
mod rows;
mod scan;
mod source;
mod survey;
mod text;
mod threads;
mod tiles;
mod times;
mod unread;
mod values;
mod warning;
mod wide_column;
mod window;
mod write;
mod zstd;

pub use array::{Array, ArrayData};
pub use begin::begin_seconds;
pub use bin::write_bin;
pub use crs::{Crs, Unit, VerticalCrs};
pub use dataset::Dataset;
pub use directions::turn_directions;
pub use error::{Detail, IoError, escape, is_plain};
pub use field::Field;
pub use files::{Destination, Place, abandon_writes, open_own, remove_abandoned, write_whole};
pub use format::Format;
pub use joined::Joined;
pub use las::{class_name, hush_decoder_panics};
pub use limits::Limits;
pub use merge::{merge, merge_common};
pub use named_points::NamedPoints;
pub use npy::{is_transposed, read_npy, read_npy_within, write_npy};
pub use npz::{npz_bytes, points_npz_bytes, read_npz, read_npz_only, read_npz_within, write_npz, write_points_npz};
pub use pcd::write_pcd;
pub use ply::write_ply;
pub use pointmill_core::LocalOrigin;
pub use pointmill_core::array::{About, ArrayView, Dtype, NamedArrays};
pub use polygon::Polygon;
pub use poses::{
    PoseFormat, PoseOptions, PoseWarning, Poses, decimal_seconds, find_poses, pose_bytes, read_poses,
    stamped_pose_bytes, write_poses, write_stamped_poses,
};
pub use prj::prj_of;
pub use read::{ReadOptions, read, read_from};
pub use region::Region;
pub use scan::Scan;
pub use survey::Survey;
pub use threads::{max_threads, set_max_threads};
pub use tiles::{TILES, Tiles, find_tiles, require_empty, tile_edges, write_tiles};
pub use times::{LaterTimes, TimeUnit, Times, UnitSource};
pub use warning::Warning;
pub use wide_column::{Whole, WideColumn};
pub use write::{WriteOptions, write};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
