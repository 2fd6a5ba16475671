//! One point of each cell: which.

use crate::VoxelGrid;

/// Draws after which a number is taken as it is; each is refused with a chance below one half.
const MAX_DRAWS: u64 = 64;

/// The squared distance of a point from the centre of its cell, in `f64`.
#[inline(always)]
pub fn distance_to_centre(grid: &VoxelGrid, cell: [u32; 3], point: [f32; 3]) -> f64 {
    let mut sum = 0.0;
    for k in 0..3 {
        let size = grid.size()[k] as f64;
        let centre = grid.range().min[k] as f64 + (cell[k] as f64 + 0.5) * size;
        let away = point[k] as f64 - centre;
        sum += away * away;
    }
    sum
}

/// A number below `count`, which is 1 or more, that the seed, the item and the cell decide. Each is
/// as likely as any other: numbers that would be more likely are drawn again.
///
/// ```
/// use pointmill_core::sparse::random_below;
/// assert_eq!(random_below(7, 0, [1, 2, 3], 1), 0);
/// assert!(random_below(7, 0, [1, 2, 3], 10) < 10);
/// ```
#[inline(always)]
pub const fn random_below(seed: u64, item: u32, cell: [u32; 3], count: u32) -> u32 {
    let state = mixed(mixed(seed) ^ ((item as u64) << 32 | cell[0] as u64));
    let state = mixed(state ^ ((cell[1] as u64) << 32 | cell[2] as u64));
    let uneven = count.wrapping_neg() % count;
    let mut draw = 1;
    loop {
        let word = (mixed(state.wrapping_add(draw * 0x9e37_79b9_7f4a_7c15)) >> 32) as u32;
        let product = word as u64 * count as u64;
        if (product as u32 >= uneven) | (draw == MAX_DRAWS) {
            return (product >> 32) as u32;
        }
        draw += 1;
    }
}

/// Bits of which each depends on all of the word (splitmix64).
#[inline(always)]
const fn mixed(word: u64) -> u64 {
    let z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Bits that are in order as the numbers are, -0 before 0.
#[inline(always)]
pub const fn ordered_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 != 0 { !bits } else { bits | 1 << 31 }
}

/// The number of [`ordered_bits`].
#[inline(always)]
pub const fn of_ordered_bits(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 != 0 { bits & !(1 << 31) } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_as_likely_as_any_other() {
        let count = 7;
        let mut seen = [0u32; 7];
        for i in 0..70_000 {
            seen[random_below(3, i % 4, [i, i / 3, 5], count) as usize] += 1;
        }
        assert!(seen.iter().all(|&times| times.abs_diff(10_000) < 400), "{seen:?}");
    }

    #[test]
    fn bits_are_in_the_order_of_numbers() {
        let numbers = [f32::NEG_INFINITY, -2.5, -1e-30, -0.0, 0.0, 1e-30, 1.0, f32::MAX];
        assert!(numbers.windows(2).all(|pair| ordered_bits(pair[0]) < ordered_bits(pair[1])));
        assert!(numbers.iter().all(|&n| of_ordered_bits(ordered_bits(n)).to_bits() == n.to_bits()));
    }
}
