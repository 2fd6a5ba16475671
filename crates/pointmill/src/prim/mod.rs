//! Parallel primitives on a device: the radix sort for everybody, sums for the operators. Hash
//! tables and prefix sums are parts of kernels, and alone in tests only.

#[cfg(test)]
mod hash;
#[cfg(test)]
mod scan;
mod sort;
mod sum;
#[cfg(test)]
mod tests;

#[cfg(test)]
use hash::hash_slots;
#[cfg(test)]
use scan::{compact, exclusive_scan};
#[doc(hidden)]
pub use sort::{Pairs, passes_for};
pub use sort::{SortKey, Sorter};
pub(crate) use sum::BLOCK;
#[doc(hidden)]
pub use sum::{fold, sum};
