//! Morton codes of points, and where a tree over sorted codes splits.

use core::cmp::Ordering;

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

/// Where the sorted codes `first..end` split in two: the first code that has the highest bit in
/// which they differ, or the middle where all are equal.
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

/// A number with the order of a float; zeros of both signs differ.
#[inline(always)]
pub const fn ordered(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// The float of a number that [`ordered`] made.
#[inline(always)]
pub const fn from_ordered(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 0 { !key } else { key ^ 1 << 31 })
}

/// The order of points that have one code.
///
/// One point far away makes the cubes of all codes large. Points of a cube then follow the curve
/// through their own box; those that are in one cube of that follow a curve through all floats, as
/// steps of which their bits are taken. So only copies are equal, however far apart the scales of a
/// cloud are, and any part of the order lies together.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubeOrder {
    grid: MortonGrid,
}

impl CubeOrder {
    /// Of points whose box goes from `low` to `high`.
    #[inline(always)]
    pub fn new(low: [f32; 3], high: [f32; 3]) -> Self {
        Self { grid: MortonGrid::new(low, high) }
    }

    /// Which of two points comes first.
    ///
    /// ```
    /// use core::cmp::Ordering;
    /// use pointmill_core::icp::morton::CubeOrder;
    /// let order = CubeOrder::new([0.0; 3], [1e17, 1e17, 0.0]);
    /// assert_eq!(order.of([0.5; 3], [3.0, 3.0, 0.0]), Ordering::Less);
    /// assert_eq!(order.of([0.5; 3], [0.5; 3]), Ordering::Equal);
    /// ```
    #[inline(always)]
    pub fn of(&self, a: [f32; 3], b: [f32; 3]) -> Ordering {
        match self.grid.code(a).cmp(&self.grid.code(b)) {
            Ordering::Equal => along_floats(a, b),
            order => order,
        }
    }
}

/// Which of two points comes first where codes have all 32 bits of each axis: the axis whose
/// numbers differ in the highest bit decides, of several the first.
#[inline(always)]
fn along_floats(a: [f32; 3], b: [f32; 3]) -> Ordering {
    let (x, y, z) = ((ordered(a[0]), ordered(b[0])), (ordered(a[1]), ordered(b[1])), (ordered(a[2]), ordered(b[2])));
    // The highest bit of `p` is below that of `q`.
    let below = |p: u32, q: u32| p < q && p < p ^ q;
    let differ = |pair: (u32, u32)| pair.0 ^ pair.1;
    let xy = if below(differ(x), differ(y)) { y } else { x };
    let (a, b) = if below(differ(xy), differ(z)) { z } else { xy };
    a.cmp(&b)
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

    /// Bits of x, y, z in turn, 32 of each.
    fn all_bits(p: [f32; 3]) -> u128 {
        let p = p.map(|x| u128::from(ordered(x)));
        (0..32).map(|b| (0..3).map(|axis| (p[axis] >> b & 1) << (3 * b + 2 - axis)).sum::<u128>()).sum()
    }

    proptest! {
        #[test]
        fn points_of_a_cube_follow_the_curve_through_all_floats(
            a in prop::array::uniform3(prop::num::f32::NORMAL | prop::num::f32::ZERO | prop::num::f32::SUBNORMAL), b in prop::array::uniform3(prop::num::f32::ANY),
            same in 0usize..8, bits in 0u32..24
        ) {
            // Often equal along an axis, or but for the last bits.
            let near = |k: usize| if same >> k & 1 == 1 { a[k] } else { f32::from_bits(a[k].to_bits() ^ b[k].to_bits() >> bits >> 8) };
            let b = [near(0), near(1), near(2)];
            prop_assume!(b.iter().all(|x| x.is_finite()));
            // A grid of one cube.
            let order = CubeOrder::new([1.0; 3], [1.0; 3]);
            prop_assert_eq!(order.of(a, b), all_bits(a).cmp(&all_bits(b)));
            prop_assert_eq!(ordered(a[0]).cmp(&ordered(b[0])), a[0].total_cmp(&b[0]));
            prop_assert_eq!(from_ordered(ordered(a[0])).to_bits(), a[0].to_bits());
            let fine = CubeOrder::new([-1.0; 3], [1.0; 3]);
            prop_assert_eq!(fine.of(a, b), fine.grid.code(a).cmp(&fine.grid.code(b)).then(all_bits(a).cmp(&all_bits(b))));
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
