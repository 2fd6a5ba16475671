//! Arrow IPC files and streams, and Feather 2, which is such a file: tables of named columns, in
//! batches of rows.
//!
//! The format is read without the crates of Arrow: they take memory for, and cut slices by, what a
//! file says. Here every number is compared with the bytes that are there, and no more is unpacked
//! than the rows need.

mod batch;
mod buffers;
mod fixed;
mod flat;
mod named;
mod read;
mod rows;
mod schema;
mod texts;
mod write;

pub(crate) use fixed::read_columns;
pub use fixed::read_table;
pub(crate) use named::{Wanted, read_named};
pub(crate) use rows::read_rows;
pub(crate) use write::write_points;
pub use write::{Layout, write_table};

/// How a file starts, padded to eight bytes, and ends.
pub(crate) const FILE: &[u8] = b"ARROW1";
/// How every message starts, and so a stream.
pub(crate) const STREAM: &[u8] = &[0xff; 4];
/// How files of the first version start, which is another format.
pub(crate) const FEATHER_1: &[u8] = b"FEA1";
