//! Maps of normal distributions in files: cells, moments, and maps by blocks.

mod blocks;
mod build;
mod cells;
mod moments;

pub use blocks::path_from::path_from;
pub use blocks::{BlockMap, BlockRow, BlockSettings, Folder, OnFile, Parts, Store, Version, read_moments};
pub use build::{Added, BLOCK, Build, BuildOptions, Item, refuse_one_input_twice};
pub use cells::{is_ndt_map, ndt_map_bytes, read_ndt_map, read_ndt_map_within, write_ndt_map};
pub use moments::{read_ndt_moments, read_ndt_moments_within, write_ndt_moments};
