//! The program `pointmill`: operators on point clouds, on the command line; for its binary, and for
//! the Python package.
//!
//! Arguments go to the library, results to the printer; no algorithm and no file format is
//! implemented here. Results are printed on stdout, everything about them on stderr. Exit codes:
//! [`failure::Failure`]. JSON lines: [`json`].
//!
//! Each command has a folder or a file. What all commands share is the crate `pointmill-batch`.
//! `localize` reads its map as `ndt` does, and `register` draws as `icp` does; no other command
//! imports another.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod changes;
mod cli;
mod clouds;
mod convert;
mod crop;
mod demo;
mod devices;
mod downsample;
mod drive;
mod evaluate;
mod examples;
mod icp;
mod info;
mod localize;
mod man;
mod merge;
mod ndt;
mod odometry;
mod onto;
mod register;
mod roi_pool;
#[cfg(test)]
#[path = "../tests/unit/schema.rs"]
mod schema;
mod see;
mod synth;
mod units;
mod voxelize;

use pointmill_batch::{
    batch, device, failure, flags, inputs, interrupt, json, outputs, picture, pose, printer, stats, stderr, text,
};

use std::ffi::OsString;

pub use info::describe;

/// Runs the program `pointmill` with these arguments, its name first, once in a process. Returns the
/// exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    pointmill_batch::program::main::<cli::Cli>(cli::Cli::commands(), arguments)
}
