//! Maps by blocks: the plane is cut into squares of whole cells, and every square has files of its
//! own.
//!
//! ```text
//! map/
//!   map.json                        what all workers agree on: [`BlockSettings`]
//!   inputs/HASH.json                the row of an input: [`BlockRow`]
//!   blocks/X_Y/HASH.arrow           the sums of one input in one block
//!   X_Y.arrow, X_Y.npz              the sums and the cells of a block, of all inputs
//!   manifest.jsonl                  the rows of all inputs
//! ```
//!
//! A block is named by its place along x and y, in edges of a block. `HASH` is made of the input's
//! name. Every file is written whole or not at all, and its name and its content depend on its
//! input alone, so that work may be repeated, shuffled and killed. The row of an input is its last
//! file: sums without a row are of an input that is not done, and no block counts them.

mod folder;
mod known;
mod map;
mod merge;
mod near;
pub(super) mod path_from;
mod row;
mod settings;
mod store;

pub use folder::Folder;
pub use map::BlockMap;
pub use merge::{Parts, read_moments};
pub use row::BlockRow;
pub use settings::BlockSettings;
pub use store::{OnFile, Store, Version};

/// The name of a block in files: `3_-1`.
pub(crate) fn block_name([x, y]: [i32; 2]) -> String {
    format!("{x}_{y}")
}

/// The block of a name, if it is the name of one.
pub(crate) fn block_of(name: &str) -> Option<[i32; 2]> {
    let (x, y) = name.split_once('_')?;
    let block = [x.parse().ok()?, y.parse().ok()?];
    (block_name(block) == name).then_some(block)
}
