//! One point of each cell: which.

use crate::VoxelGrid;

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
    fn bits_are_in_the_order_of_numbers() {
        let numbers = [f32::NEG_INFINITY, -2.5, -1e-30, -0.0, 0.0, 1e-30, 1.0, f32::MAX];
        assert!(numbers.windows(2).all(|pair| ordered_bits(pair[0]) < ordered_bits(pair[1])));
        assert!(numbers.iter().all(|&n| of_ordered_bits(ordered_bits(n)).to_bits() == n.to_bits()));
    }
}
