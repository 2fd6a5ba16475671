//! What a drive is: its inputs, their poses, the maps that are made of them, and runs over them.
//!
//! The command, the Python package and its Ray jobs are doors over this crate: a rule about inputs,
//! origins, poses or map folders stands here, once.
#![forbid(unsafe_code)]

mod error;
pub mod inputs;
mod json_line;
pub mod maps;
mod observer;
pub mod poses;
mod results;
pub mod runs;
mod text;
mod thinned;

pub use error::{DataError, is_of_input};
pub use inputs::{find_inputs, natural_order, sort_naturally};
pub use json_line::json_line;
pub use maps::{
    BlockMap, BlockRow, BlockSettings, is_ndt_map, ndt_map_bytes, path_from, read_moments, read_ndt_map,
    read_ndt_map_within, read_ndt_moments, read_ndt_moments_within, write_ndt_map, write_ndt_moments,
};
pub use observer::Observer;
pub use pointmill_core::ndt::NdtMomentsTable;
pub use poses::{find_log_poses, is_deskewed, log_stamp, log_stamp_ns, moment_ns};
pub use results::{ResultArrays, ResultKind, read_result, read_result_within, result_bytes, write_result};
pub use text::grouped;
pub use thinned::thinned;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
