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
#![forbid(unsafe_code)]

mod array;
mod atomic_write;
mod bin;
mod bytes;
mod column_guess;
mod dataset;
mod destination;
pub mod detections;

mod e57;
mod error;
mod fault;
mod feather;
mod field;
mod format;
mod inspect;
mod las;
mod limits;
mod lz4;
pub mod mcap;
mod merge;
mod named_points;
mod names;
mod npy;
mod npz;
mod pcd;
mod plain_text;
mod ply;
mod polygon;
mod poses;
mod read;
mod records;
mod region;
mod rows;
mod safe_open;
mod same_file;
mod scan;
mod source;
mod text;
mod threads;
mod times;
mod unfinished;
mod values;
mod warning;
mod wide_column;
mod window;
mod write;
mod zstd;

pub use array::{Array, ArrayData};
pub use atomic_write::write_whole;
pub use bin::write_bin;
pub use dataset::Dataset;
pub use destination::{Destination, Place};
pub use error::{Detail, IoError, escape, is_plain};
pub use field::Field;
pub use format::Format;
pub use las::{Survey, hush_decoder_panics};
pub use limits::Limits;
pub use merge::{merge, merge_common};
pub use named_points::NamedPoints;
pub use npy::{read_npy, read_npy_within, write_npy};
pub use npz::{npz_bytes, points_npz_bytes, read_npz, read_npz_only, read_npz_within, write_npz, write_points_npz};
pub use pcd::write_pcd;
pub use ply::write_ply;
pub use pointmill_core::LocalOrigin;
pub use pointmill_core::array::{About, ArrayView, Dtype, NamedArrays};
pub use polygon::Polygon;
pub use poses::{
    PoseFormat, PoseOptions, PoseWarning, Poses, find_poses, pose_bytes, read_poses, stamped_pose_bytes, write_poses,
    write_stamped_poses,
};
pub use read::{ReadOptions, read, read_from};
pub use region::Region;
pub use safe_open::open_own;
pub use scan::Scan;
pub use threads::{max_threads, set_max_threads};
pub use times::{LaterTimes, TimeUnit, Times};
pub use unfinished::{abandon_writes, remove_abandoned};
pub use warning::Warning;
pub use wide_column::WideColumn;
pub use write::{WriteOptions, write};

/// What other crates read and write files of their own formats with.
pub mod files {
    pub use crate::atomic_write::{write_first, write_synced};
    pub use crate::error::excerpt;
    pub use crate::feather::{Layout, read_table, write_table};
    pub use crate::npz::{ORIGIN, finite_origin, npz_has};
    pub use crate::safe_open::{is_own_folder, kind_of_file, open_in_folder};
    pub use crate::source::open_at;
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
