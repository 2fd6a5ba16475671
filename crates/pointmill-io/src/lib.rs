//! Point clouds and arrays, from files and into files.
//!
//! A file becomes a [`Scan`] through [`read`], a stream through [`read_from`]; arrays come as an [`Array`] from [`read_npy`] and
//! [`read_npz`] and go as an [`ArrayView`] through [`write_npy`] and [`write_npz`]; clouds go through [`write_bin`], and with the names of
//! their columns, as [`NamedPoints`], through [`write_ply`] and [`write_pcd`]. With the feature
//! `arrow`, the sums of an ndt map's cells are kept in Arrow IPC files: `read_ndt_moments`, `write_ndt_moments`. Three rules hold for all of it:
//!
//! - a size that a file claims is checked against the bytes that are there before memory is taken for it;
//! - an error names the file, the field, what was wanted and what was found, control characters escaped: [`IoError`];
//! - a file is written whole or not at all: [`write_whole`].
//!
//! ```
//! use pointmill_io::{ArrayView, ReadOptions, read, write_npy};
//! let path = std::env::temp_dir().join(format!("pointmill-lesson-{}.npy", std::process::id()));
//! write_npy(&path, &ArrayView::f64(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]))?;
//! let scan = read(&path, &ReadOptions::default())?;
//! assert_eq!(scan.cloud.points().xyz(0), [1.0, 2.0, 3.0]);
//! let warnings: Vec<_> = scan.warnings.iter().map(ToString::to_string).collect();
//! assert_eq!(warnings, ["values of f64 were cast to f32", "1 of 2 points are not finite"]);
//! # std::fs::remove_file(&path).ok();
//! # Ok::<(), pointmill_io::IoError>(())
//! ```
#![forbid(unsafe_code)]

mod abandoned;
mod array;
mod bin;
mod destination;
mod error;
mod format;
mod inputs;
mod las;
mod limits;
#[cfg(feature = "arrow")]
mod moments;
mod named;
mod npy;
mod npz;
mod order;
mod own;
mod pattern;
mod pcd;
mod ply;
mod read;
mod scan;
mod source;
mod table;
mod whole;
mod window;

pub use abandoned::{abandon_writes, remove_abandoned};
pub use array::{Array, ArrayData};
pub use bin::write_bin;
pub use destination::{Destination, Place};
pub use error::{Detail, IoError, escape, is_plain};
pub use format::{Format, UnknownFormat};
pub use inputs::find_inputs;
pub use las::hush_decoder_panics;
pub use limits::Limits;
#[cfg(feature = "arrow")]
pub use moments::{read_ndt_moments, read_ndt_moments_within, write_ndt_moments};
pub use named::NamedPoints;
pub use npy::{read_npy, read_npy_within, write_npy};
pub use npz::{read_npz, read_npz_only, read_npz_within, write_npz, write_points_npz};
pub use order::natural_order;
pub use own::open_own;
pub use pcd::write_pcd;
pub use ply::write_ply;
pub use pointmill_core::array::{ArrayView, Dtype, NamedArrays};
pub use pointmill_core::ndt::NdtMomentsTable;
pub use read::{read, read_from};
pub use scan::{Field, ReadOptions, Scan, Warning};
pub use whole::write_whole;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
