//! Morton codes of points, and where a tree over sorted codes splits.

/// Steps along an axis: 2^21, three times 21 bits.
const STEPS: f32 = 2_097_152.0;

/// What maps points of a box onto whole numbers, cubes of one size.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MortonGrid {
    low: [f32; 3],
    scale: f32,
}

impl MortonGrid {
    /// The grid over the box from `low` to `high`.
    #[inline(always)]
    pub fn new(low: [f32; 3], high: [f32; 3]) -> Self {
        let (x, y, z) = (high[0] - low[0], high[1] - low[1], high[2] - low[2]);
        let xy = if x > y { x } else { y };
        let edge = if xy > z { xy } else { z };
        let scale = STEPS / edge;
        // A box of one point, or one too large or small to divide by, has one cube.
        Self { low, scale: if scale > 0.0 && scale < f32::MAX { scale } else { 0.0 } }
    }

    /// The code of a point: bits of x, y, z in turn, 63 in all, x the highest.
    ///
    /// ```
    /// use pointmill_core::icp::morton::MortonGrid;
    /// let grid = MortonGrid::new([0.0; 3], [1.0; 3]);
    /// assert_eq!(grid.code([0.0; 3]), 0);
    /// assert_eq!(grid.code([1.0, 1.0, 1.0]), (1 << 63) - 1);
    /// assert_eq!(grid.code([0.5, 0.0, 0.0]), 1 << 62);
    /// ```
    #[inline(always)]
    pub fn code(&self, p: [f32; 3]) -> u64 {
        let step = |axis: usize| {
            let at = (p[axis] - self.low[axis]) * self.scale;
            // The cast makes zero of what is below it and of NaN.
            if at >= STEPS - 1.0 { STEPS as u32 - 1 } else { at as u32 }
        };
        spread(step(0)) << 2 | spread(step(1)) << 1 | spread(step(2))
    }
}

/// The low 21 bits, two zeros between each two of them.
#[inline(always)]
const fn spread(x: u32) -> u64 {
    let x = x as u64 & 0x1f_ffff;
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// Where the sorted codes `first..end` split in two: the first code that has the highest bit in which they differ, or the middle where all are equal.
///
/// There are at least two codes; `code` gives the one at an index. Both parts have at least one.
#[inline(always)]
pub fn split(first: usize, end: usize, code: impl Fn(usize) -> u64) -> usize {
    let (low, high) = (code(first), code(end - 1));
    if low == high {
        return first + (end - first) / 2;
    }
    let bit = 1u64 << (63 - (low ^ high).leading_zeros());
    // The first code has the bit clear, the last has it set.
    let (mut clear, mut set) = (first, end - 1);
    while set - clear > 1 {
        let middle = clear + (set - clear) / 2;
        if code(middle) & bit == 0 {
            clear = middle;
        } else {
            set = middle;
        }
    }
    set
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn codes_are_bits_in_turn(p in prop::array::uniform3(0u32..1 << 21)) {
            let grid = MortonGrid { low: [0.0; 3], scale: 1.0 };
            let code = grid.code(p.map(|x| x as f32));
            for axis in 0..3 {
                let bits = (0..21).map(|b| (code >> (3 * b + 2 - axis) & 1) << b).sum::<u64>();
                prop_assert_eq!(bits, u64::from(p[axis]));
            }
        }

        #[test]
        fn both_sides_of_a_split_differ_in_its_bit(mut codes in prop::collection::vec(0u64..64, 2..40)) {
            codes.sort_unstable();
            let at = split(0, codes.len(), |i| codes[i]);
            prop_assert!(at > 0 && at < codes.len());
            if codes[0] == codes[codes.len() - 1] {
                prop_assert_eq!(at, codes.len() / 2);
            } else {
                let prefix = |c: &u64| c >> (63 - (codes[0] ^ codes[codes.len() - 1]).leading_zeros());
                let parts: Vec<u64> = codes.iter().map(prefix).collect();
                prop_assert!(parts[..at].iter().all(|p| *p == parts[0]) && parts[at..].iter().all(|p| *p == parts[0] + 1));
            }
        }
    }

    #[test]
    fn what_lies_outside_or_has_no_extent_has_a_code() {
        let grid = MortonGrid::new([0.0; 3], [4.0, 1.0, 2.0]);
        assert_eq!(grid.code([-1.0, -1e30, f32::NEG_INFINITY]), 0);
        assert_eq!(grid.code([9.0, 1e30, f32::INFINITY]), (1 << 63) - 1);
        for (low, high) in [([1.0; 3], [1.0; 3]), ([-3e38; 3], [3e38; 3]), ([0.0; 3], [1e-44; 3])] {
            let grid = MortonGrid::new(low, high);
            assert_eq!((grid.code(low), grid.code(high)), (0, 0));
        }
    }
}
