//! Cells of space, and places in them.
//!
//! A place is a cell and an offset of `f32` from its corner, so that precision does not depend on
//! how far the drive went.

/// A place has a cell if it is nearer to the origin than so many cells along each axis.
pub const FARTHEST: f64 = (1 << 20) as f64;
/// The key of no cell.
pub const NO_CELL: u64 = u64::MAX;
/// Cells about a cell, itself included.
pub const AROUND: u32 = 27;
/// Cells are taken to be nearer by this part of their size than rounding says, so that a search
/// that passes over far cells is exact.
const SLACK: f32 = 1e-6;

/// The cell of a place, if it has one; a place that is not finite has none.
///
/// ```
/// use pointmill_core::odometry::cells::cell_of;
/// assert_eq!(cell_of([0.3, -0.3, 2.0], 0.5), Some([0, -1, 4]));
/// assert_eq!(cell_of([f64::NAN, 0.0, 0.0], 0.5), None);
/// ```
#[inline(always)]
pub fn cell_of(p: [f64; 3], size: f64) -> Option<[i32; 3]> {
    let mut cell = [0; 3];
    let mut k = 0;
    while k < 3 {
        let scaled = p[k] / size;
        if !(1.0 - FARTHEST..FARTHEST).contains(&scaled) {
            return None;
        }
        let whole = scaled as i32;
        cell[k] = if whole as f64 > scaled { whole - 1 } else { whole };
        k += 1;
    }
    Some(cell)
}

/// The number of a cell: 21 bits an axis.
#[inline(always)]
pub const fn key_of(cell: [i32; 3]) -> u64 {
    const HALF: i32 = 1 << 20;
    (cell[0] + HALF) as u64 | ((cell[1] + HALF) as u64) << 21 | ((cell[2] + HALF) as u64) << 42
}

/// A cell beside another. A cell at the border of space is beside cells that hold no place.
#[inline(always)]
pub const fn beside(cell: [i32; 3], by: [i32; 3]) -> [i32; 3] {
    [cell[0] + by[0], cell[1] + by[1], cell[2] + by[2]]
}

/// Which cell about a cell number `i` of [`AROUND`] is: the cell itself, then the others along x, y
/// and z.
#[inline(always)]
pub const fn around(i: u32) -> [i32; 3] {
    const MIDDLE: u32 = AROUND / 2;
    let d = if i == 0 {
        MIDDLE
    } else if i <= MIDDLE {
        i - 1
    } else {
        i
    } as i32;
    [d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1]
}

/// Where a place lies in a cell: its offset from the corner, in metres.
#[inline(always)]
pub fn offset_in(p: [f64; 3], cell: [i32; 3], size: f64) -> [f32; 3] {
    [
        (p[0] - cell[0] as f64 * size) as f32,
        (p[1] - cell[1] as f64 * size) as f32,
        (p[2] - cell[2] as f64 * size) as f32,
    ]
}

/// The place at an offset from the corner of a cell.
#[inline(always)]
pub fn place_in(offset: [f32; 3], cell: [i32; 3], size: f64) -> [f64; 3] {
    [
        cell[0] as f64 * size + offset[0] as f64,
        cell[1] as f64 * size + offset[1] as f64,
        cell[2] as f64 * size + offset[2] as f64,
    ]
}

/// An offset from the corner of a cell, seen from the corner of the cell that is `by` beside it.
#[inline(always)]
pub fn seen_from(offset: [f32; 3], by: [i32; 3], size: f32) -> [f32; 3] {
    [offset[0] - by[0] as f32 * size, offset[1] - by[1] as f32 * size, offset[2] - by[2] as f32 * size]
}

/// The squared distance of two offsets from one corner.
#[inline(always)]
pub fn squared(a: [f32; 3], b: [f32; 3]) -> f32 {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
}

/// The square of the distance along an axis from an offset to the cell so many farther; no more
/// than what [`squared`] gives for a point of that cell.
#[inline(always)]
pub fn gap(at: f32, by: i32, size: f32) -> f32 {
    let gap = if by == 0 {
        0.0
    } else if by > 0 {
        by as f32 * size - at
    } else {
        at - (by + 1) as f32 * size
    };
    let gap = gap - SLACK * size;
    if gap > 0.0 { gap * gap } else { 0.0 }
}

/// The square of the distance from an offset to the cell that is `by` beside; see [`gap`].
#[inline(always)]
pub fn gap_to(at: [f32; 3], by: [i32; 3], size: f32) -> f32 {
    gap(at[0], by[0], size) + gap(at[1], by[1], size) + gap(at[2], by[2], size)
}

/// The square of the least distance of two points of a cell that holds so many.
#[inline(always)]
pub fn spacing(size: f64, cap: u32) -> f32 {
    (size * size / cap as f64) as f32
}

/// Whether a cell leaves a map: its middle is farther than `radius` from a place.
#[inline(always)]
pub fn leaves(cell: [i32; 3], size: f64, middle: [f64; 3], radius: f64) -> bool {
    let d = [
        (cell[0] as f64 + 0.5) * size - middle[0],
        (cell[1] as f64 + 0.5) * size - middle[1],
        (cell[2] as f64 + 0.5) * size - middle[2],
    ];
    d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > radius * radius
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_lie_in_their_cells(p in prop::array::uniform3(-1e5f64..1e5), size in 0.11f64..3.0) {
            let cell = cell_of(p, size).unwrap();
            prop_assert_eq!(cell, p.map(|x| (x / size).floor() as i32));
            let offset = offset_in(p, cell, size);
            let back = place_in(offset, cell, size);
            prop_assert!((0..3).all(|k| (back[k] - p[k]).abs() < 1e-6 && (-1e-6..=size + 1e-6).contains(&f64::from(offset[k]))));
        }

        /// What a search passes over is not nearer than it thinks, also by the rounding of offsets
        /// on borders.
        #[test]
        fn gaps_are_lower_bounds(
            at in prop::array::uniform3(0f32..=1.0), other in prop::array::uniform3(0f32..=1.0), by in prop::array::uniform3(-3i32..=3),
            edge in prop::array::uniform3(0usize..3), size in 0.1f32..3.0
        ) {
            let snap = |x: f32, edge: usize| [x, 0.0, 1.0][edge] * size;
            let at = [0, 1, 2].map(|k| snap(at[k], edge[k]));
            let other = [0, 1, 2].map(|k| snap(other[k], edge[2 - k]));
            prop_assert!(gap_to(at, by, size) <= squared(other, seen_from(at, by, size)));
        }
    }

    #[test]
    fn cells_end_where_space_does() {
        let last = FARTHEST as i32 - 1;
        assert_eq!(cell_of([FARTHEST - 0.5, 1.0 - FARTHEST, -0.0], 1.0), Some([last, -last, 0]));
        for bad in [FARTHEST, -FARTHEST, 0.5 - FARTHEST, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(cell_of([0.0, bad, 0.0], 1.0), None, "{bad}");
        }
        let keys = [[-last; 3], [0; 3], [last; 3]].map(|cell| key_of(beside(cell, [1; 3])));
        assert!(keys[0] < keys[1] && keys[1] < keys[2] && keys[2] < NO_CELL);
    }

    #[test]
    fn cells_around_are_27_and_begin_with_the_cell() {
        let mut all: std::vec::Vec<_> = (0..AROUND).map(around).collect();
        assert_eq!(all[0], [0; 3]);
        assert!(all[1..].windows(2).all(|pair| pair[0].iter().rev().lt(pair[1].iter().rev())));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 27);
    }

    #[test]
    fn cells_leave_by_their_middle() {
        assert!(!leaves([9, 0, 0], 1.0, [0.0, 0.5, 0.5], 9.5) && leaves([9, 0, 0], 1.0, [0.0, 0.5, 0.5], 9.49));
    }
}
