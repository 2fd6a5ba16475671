//! Clouds and poses in files.

mod columns;
mod find;
mod pickled;
mod poses;
mod reader;
mod scan;
mod views;
mod writer;

pub(crate) use find::{find_inputs, find_log_poses, log_stamp};
pub(crate) use poses::{read_poses, write_poses};
pub(crate) use reader::{options_of, origin_of, read};
pub(crate) use scan::Scan;
pub(crate) use writer::write;
