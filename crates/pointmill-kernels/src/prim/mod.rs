//! Parallel primitives: what several operators need, each with kernels of its own and device
//! functions to build on.
//!
//! All of them give the same result in every run: ranks follow input order, sorting is stable, and
//! the slot that a key gets in a hash table, which does depend on timing, never reaches a result.

pub mod compact;
pub mod hash;
mod length;
pub mod scan;
mod search;
pub mod sort;
pub mod sum;

pub use length::{BLOCK, Length, WARPS};
pub(crate) use search::{last_where, partition_point};

/// The kernels of this module.
pub const KERNELS: &[crate::Properties] = {
    use compact::Compact;
    use hash::{InsertU32, InsertU64};
    use scan::Scan;
    use sort::{CountU32, CountU64, PassU32, PassU64, Starts};
    properties![Scan, Compact, InsertU32, InsertU64, CountU32, CountU64, Starts, PassU32, PassU64]
};
