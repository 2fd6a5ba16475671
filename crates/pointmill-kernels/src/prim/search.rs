//! Search in ascending numbers.

/// The first of the numbers from `start` on for which `holds` is not true, where it is true for none behind it;
/// `end` if it is for all.
#[inline(always)]
pub(crate) fn partition_point(start: u32, end: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (start, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The last of `len` numbers for which `holds` is true, where it is for the first, which is not asked, and for no
/// other behind one for which it is not.
#[inline(always)]
pub(crate) fn last_where(len: u32, holds: impl Fn(u32) -> bool) -> u32 {
    partition_point(1, len, holds) - 1
}
