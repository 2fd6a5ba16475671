//! Parallel primitives on a device: the radix sort for everybody, sums for the operators. Hash
//! tables and prefix sums are parts of kernels; the tests run them alone.

mod sort;
mod sum;
#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use sort::{Pairs, passes_for};
pub use sort::{SortKey, Sorter};
pub(crate) use sum::BLOCK;
#[doc(hidden)]
pub use sum::{fold, sum};
