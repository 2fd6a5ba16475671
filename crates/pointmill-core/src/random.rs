//! Numbers by chance that a seed and a cell decide: the same on every device and thread.

/// Draws after which a number is taken as it is; each is refused with a chance below one half.
const MAX_DRAWS: u64 = 64;

/// What the draws of a cell of an item follow from.
#[inline(always)]
pub const fn of_cell(seed: u64, item: u32, cell: [u32; 3]) -> u64 {
    let state = mixed(mixed(seed) ^ ((item as u64) << 32 | cell[0] as u64));
    mixed(state ^ ((cell[1] as u64) << 32 | cell[2] as u64))
}

/// A number below `count`, which is 1 or more. Each is as likely as any other: numbers that would
/// be more likely are drawn again.
///
/// ```
/// use pointmill_core::random::{below, of_cell};
/// let state = of_cell(7, 0, [1, 2, 3]);
/// assert_eq!(below(state, 1), 0);
/// assert!(below(state, 10) < 10);
/// ```
#[inline(always)]
pub const fn below(state: u64, count: u32) -> u32 {
    let mut draw = 1;
    loop {
        let word = (mixed(state.wrapping_add(draw * 0x9e37_79b9_7f4a_7c15)) >> 32) as u32;
        let product = word as u64 * count as u64;
        // The remainder is less than the count: mostly nobody needs to know it.
        let is_even = product as u32 >= count || product as u32 >= count.wrapping_neg() % count;
        if is_even | (draw == MAX_DRAWS) {
            return (product >> 32) as u32;
        }
        draw += 1;
    }
}

/// What decides whether point `number` of a cell of `count` is one of some that are taken by chance: it
/// is where this is below how many are still to be taken. Every subset is as likely (selection
/// sampling).
///
/// Source: Knuth, The Art of Computer Programming, volume 2, algorithm 3.4.2 S.
#[inline(always)]
pub const fn chance(state: u64, number: u32, count: u32) -> u32 {
    below(mixed(state.wrapping_add(number as u64)), count - number)
}

/// Bits of which each depends on all of the word (splitmix64).
#[inline(always)]
const fn mixed(word: u64) -> u64 {
    let z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn each_number_is_as_likely_as_any_other() {
        let mut seen = [0u32; 7];
        for i in 0..70_000 {
            seen[below(of_cell(3, i % 4, [i, i / 3, 5]), 7) as usize] += 1;
        }
        assert!(seen.iter().all(|&times| times.abs_diff(10_000) < 400), "{seen:?}");
    }

    #[test]
    fn each_subset_is_as_likely_as_any_other() {
        let mut seen = std::collections::BTreeMap::new();
        for i in 0..30_000 {
            let (state, mut taken) = (of_cell(9, 0, [i, 1, 2]), Vec::new());
            for number in 0..5 {
                if chance(state, number, 5) < 2 - taken.len() as u32 {
                    taken.push(number);
                }
            }
            *seen.entry(taken).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 10, "subsets of 2 of 5");
        assert!(seen.iter().all(|(taken, times)| taken.len() == 2 && times.abs_diff(3_000) < 250), "{seen:?}");
    }
}
