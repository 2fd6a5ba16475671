//! The place of a cell on a curve that fills the grid.

/// The most bits of a coordinate.
pub const MAX_DEPTH: u32 = 16;

/// The curve along which cells are ordered.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The Z curve: bit `i` of x, y, z becomes bit `3i + 2`, `3i + 1`, `3i`.
    #[default]
    Z = 0,
    /// The Z curve with x and y exchanged.
    ZTrans = 1,
    /// The Hilbert curve.
    Hilbert = 2,
    /// The Hilbert curve with x and y exchanged.
    HilbertTrans = 3,
}

crate::names!(Order { Z = "z", ZTrans = "z-trans", Hilbert = "hilbert", HilbertTrans = "hilbert-trans" });

impl Order {
    /// The order with this number; of a higher one the last.
    #[inline(always)]
    pub const fn of_number(number: u32) -> Self {
        match number {
            0 => Self::Z,
            1 => Self::ZTrans,
            2 => Self::Hilbert,
            _ => Self::HilbertTrans,
        }
    }
}

/// The code of a cell of an item of a batch: the item, above the [`position`].
///
/// ```
/// use pointmill_core::sparse::{Order, code};
/// assert_eq!(code(0, [1, 0, 0], 1, Order::Z), 0b100);
/// assert_eq!(code(3, [1, 0, 0], 1, Order::ZTrans), 3 << 3 | 0b010);
/// assert_eq!(code(0, [1, 0, 0], 1, Order::Hilbert), 7);
/// ```
#[inline(always)]
pub const fn code(item: u32, cell: [u32; 3], depth: u32, order: Order) -> u64 {
    (item as u64) << (3 * depth) | position(cell, depth, order)
}

/// The position of a cell on the curve through all `8^depth` cells. Coordinates are below
/// `2^depth`, and the depth is at most [`MAX_DEPTH`].
///
/// The upper `3d` bits are the position, at depth `d`, of the larger cell that holds this one.
#[inline(always)]
pub const fn position(cell: [u32; 3], depth: u32, order: Order) -> u64 {
    let [x, y, z] = cell;
    match order {
        Order::Z => interleaved([x, y, z]),
        Order::ZTrans => interleaved([y, x, z]),
        Order::Hilbert => hilbert([x, y, z], depth),
        Order::HilbertTrans => hilbert([y, x, z], depth),
    }
}

/// The bits of three numbers in turn, those of the first highest.
#[inline(always)]
const fn interleaved(axes: [u32; 3]) -> u64 {
    spread(axes[0]) << 2 | spread(axes[1]) << 1 | spread(axes[2])
}

/// Bit `i` of a number below 2^16 at `3i`.
#[inline(always)]
const fn spread(value: u32) -> u64 {
    let v = value as u64;
    let v = (v | v << 16) & 0x0000_0000_ff00_00ff;
    let v = (v | v << 8) & 0x0000_00f0_0f00_f00f;
    let v = (v | v << 4) & 0x0000_0c30_c30c_30c3;
    (v | v << 2) & 0x0000_2492_4924_9249
}

/// The position on the Hilbert curve. Source: Skilling, Programming the Hilbert curve, 2004.
#[inline(always)]
const fn hilbert(axes: [u32; 3], depth: u32) -> u64 {
    let [mut x, mut y, mut z] = axes;
    let mut bit = depth;
    while bit > 0 {
        bit -= 1;
        let below = (1 << bit) - 1;
        // Each axis turns the curve within the half it is in: either x is mirrored, or x and the
        // axis are exchanged.
        if (x >> bit) & 1 != 0 {
            x ^= below;
        }
        let other = if (y >> bit) & 1 != 0 { below } else { 0 };
        let exchanged = (x ^ y) & below & !other;
        x ^= other ^ exchanged;
        y ^= exchanged;
        let other = if (z >> bit) & 1 != 0 { below } else { 0 };
        let exchanged = (x ^ z) & below & !other;
        x ^= other ^ exchanged;
        z ^= exchanged;
    }
    // From Gray code to a number: each bit is the parity of those from it upward.
    let mut number = interleaved([x, y, z]);
    number ^= number >> 1;
    number ^= number >> 2;
    number ^= number >> 4;
    number ^= number >> 8;
    number ^= number >> 16;
    number ^ number >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::collections::BTreeSet;

    #[test]
    fn a_curve_goes_through_all_cells() {
        for &order in Order::ALL {
            let depth = 3;
            let cells = (0..512u32).map(|i| [i & 7, i >> 3 & 7, i >> 6]);
            let mut at = std::vec![None; 512];
            cells.for_each(|cell| at[position(cell, depth, order) as usize] = Some(cell));
            let path: std::vec::Vec<_> = at.into_iter().map(|cell| cell.unwrap()).collect();
            if matches!(order, Order::Hilbert | Order::HilbertTrans) {
                let steps = path.windows(2).map(|w| (0..3).map(|k| w[0][k].abs_diff(w[1][k])).sum::<u32>());
                assert!(steps.into_iter().all(|step| step == 1), "neighbours follow each other");
            }
            let different: BTreeSet<_> = path.iter().collect();
            assert_eq!(different.len(), 512);
        }
    }

    #[test]
    fn a_larger_cell_has_the_upper_bits() {
        let mut state = 1u32;
        for _ in 0..2000 {
            let cell = [(); 3].map(|()| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 16
            });
            for &order in Order::ALL {
                for depth in [1, 3, 10] {
                    let less = MAX_DEPTH - depth;
                    let larger = position(cell.map(|c| c >> less), depth, order);
                    assert_eq!(position(cell, MAX_DEPTH, order) >> (3 * less), larger, "{order} {cell:?}");
                }
            }
            let bits = (0..16).map(|i| {
                let bit = |k: usize| u64::from(cell[k] >> i & 1);
                bit(0) << (3 * i + 2) | bit(1) << (3 * i + 1) | bit(2) << (3 * i)
            });
            assert_eq!(position(cell, MAX_DEPTH, Order::Z), bits.sum::<u64>());
        }
    }
}
