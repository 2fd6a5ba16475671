//! Parallel primitives on a device, for operators and for anyone who needs them: sorting, prefix sums, compaction, hash tables.

mod hash;
mod scan;
mod sort;
mod sum;
#[cfg(test)]
mod tests;

pub use hash::{HashKey, hash_slots};
pub use scan::{compact, exclusive_scan};
pub(crate) use sort::{Pairs, passes_for};
pub use sort::{SortKey, Sorter};
pub(crate) use sum::{BLOCK, sum};
