//! What a drive is: its inputs, their poses, the maps that are made of them, and runs over them.
//!
//! The command, the Python package and its Ray jobs are doors over this crate: a rule about inputs,
//! origins, poses or map folders stands here, once.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
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

pub use error::{DataError, Needs, is_of_input};
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
pub use thinned::{FirstOfVoxel, thinned};

/// The examples of this README are tests, and so are those of the project's pages, which use all libraries up to this one.
#[cfg(doctest)]
mod pages {
    macro_rules! pages {
        ($($name:ident: $path:literal,)*) => { $(#[doc = include_str!($path)] mod $name {})* };
    }
    pages! {
        readme: "../README.md",
        project: "../../../README.md",
        boxes: "../../../docs/boxes.md",
        evaluate: "../../../docs/evaluate.md",
        files: "../../../docs/files.md",
        icp: "../../../docs/icp.md",
        localize: "../../../docs/localize.md",
        ndt: "../../../docs/ndt.md",
        odometry: "../../../docs/odometry.md",
        register: "../../../docs/register.md",
        roi_pool: "../../../docs/roi_pool.md",
        voxelize: "../../../docs/voxelize.md",
    }
}
