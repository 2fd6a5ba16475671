//! Threads by row and group of columns.

use crate::prim::BLOCK;
use crate::simt::*;

/// The row of this thread and its group of columns, where each row has so many groups. The division
/// of 64 bits is of the block: it takes long.
#[inline(always)]
pub(crate) fn row_and_group(groups: u32) -> (u32, u32) {
    let first = block_index() as u64 * BLOCK as u64;
    let (row, rest) = if first >> 32 == 0 {
        (first as u32 / groups, first as u32 % groups)
    } else {
        ((first / groups as u64) as u32, (first % groups as u64) as u32)
    };
    let at = rest as u64 + thread_index() as u64;
    if at >> 32 == 0 {
        (row + at as u32 / groups, at as u32 % groups)
    } else {
        (row + (at / groups as u64) as u32, (at % groups as u64) as u32)
    }
}
