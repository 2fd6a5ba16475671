//! Points as text: a line of numbers each, with blanks, tabs, commas or semicolons between them,
//! and perhaps a line of names before the first.

mod line;
mod many;
mod ptx;
mod read;
mod write;

pub(crate) use ptx::{is_ptx, read_rows as read_ptx};
pub(crate) use read::read_rows;
pub(crate) use write::{write_csv, write_xyz};
