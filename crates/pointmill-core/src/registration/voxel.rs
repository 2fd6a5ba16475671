//! Voxels that a cloud is thinned by.

/// The voxels of `voxel` metres about a centre that a box reaches, numbered in the order z, y, x.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoxelNumbers {
    centre: [f64; 3],
    voxel: f64,
    /// The least cells of the box.
    least: [i64; 3],
    /// Bits of a number below those of y, and below those of z.
    shifts: [u32; 2],
    /// The largest number.
    last: u64,
}

/// The cell of a coordinate about a centre; of numbers past `i64` the nearest `i64`.
#[inline(always)]
pub fn cell(x: f64, centre: f64, voxel: f64) -> i64 {
    let cells = (x - centre) / voxel;
    let whole = cells as i64;
    if (whole as f64) > cells { whole.saturating_sub(1) } else { whole }
}

impl VoxelNumbers {
    /// The voxels between the corners `low` and `high`; none where they have no number of 63 bits.
    ///
    /// ```
    /// use pointmill_core::registration::voxel::VoxelNumbers;
    /// let numbers = VoxelNumbers::new([-1.0; 3], [2.0, 0.5, 0.0], [0.0; 3], 1.0).unwrap();
    /// assert_eq!([[-1.0; 3], [2.0, -0.5, -0.1], [0.0; 3]].map(|p| numbers.of(p)), [0, 3, 0b1_1_01]);
    /// assert!(VoxelNumbers::new([-1e9; 3], [1e9; 3], [0.0; 3], 1e-3).is_none());
    /// ```
    pub fn new(low: [f64; 3], high: [f64; 3], centre: [f64; 3], voxel: f64) -> Option<Self> {
        let (mut least, mut most, mut bits) = ([0; 3], [0; 3], [0; 3]);
        for k in 0..3 {
            least[k] = cell(low[k], centre[k], voxel);
            most[k] = cell(high[k], centre[k], voxel).checked_sub(least[k])? as u64;
            bits[k] = u64::BITS - most[k].leading_zeros();
        }
        let shifts = [bits[0], bits[0] + bits[1]];
        (shifts[1] + bits[2] <= 63).then(|| {
            let last = most[2] << shifts[1] | most[1] << shifts[0] | most[0];
            Self { centre, voxel, least, shifts, last }
        })
    }

    /// The number of the voxel of a point of the box.
    #[inline(always)]
    pub fn of(&self, p: [f64; 3]) -> u64 {
        let at = |k: usize| (cell(p[k], self.centre[k], self.voxel) - self.least[k]) as u64;
        at(2) << self.shifts[1] | at(1) << self.shifts[0] | at(0)
    }

    /// The largest number.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// A point about the centre.
    #[inline(always)]
    pub fn about(&self, p: [f64; 3]) -> [f64; 3] {
        crate::vector::subtract(p, self.centre)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Numbers are in the order of cells, which are those of the textbook.
        #[test]
        fn numbers_have_the_order_of_cells(
            a in [-900.0..900.0f64, -900.0..900.0f64, -900.0..900.0f64],
            b in [-900.0..900.0f64, -900.0..900.0f64, -900.0..900.0f64],
            voxel in 1e-3..1e3f64,
        ) {
            let (centre, corner) = ([1.0, -20.0, 300.0], [900.0; 3]);
            let numbers = VoxelNumbers::new(corner.map(|x| -x), corner, centre, voxel).unwrap();
            let cells = |p: [f64; 3]| [2, 1, 0].map(|k| libm::floor((p[k] - centre[k]) / voxel) as i64);
            prop_assert_eq!(numbers.of(a).cmp(&numbers.of(b)), cells(a).cmp(&cells(b)));
            prop_assert!(numbers.of(a) <= numbers.last());
        }
    }

    #[test]
    fn cells_at_the_edges() {
        let cells = |x: f64| cell(x, 0.0, 0.5);
        assert_eq!([0.0, -0.0, 0.5, -0.5, -1e-300, 0.75].map(cells), [0, 0, 1, -1, -1, 1]);
        assert_eq!([f64::INFINITY, f64::NEG_INFINITY].map(cells), [i64::MAX, i64::MIN]);
        // One voxel for all, and one bit too many.
        assert_eq!(VoxelNumbers::new([5.0; 3], [5.0; 3], [0.0; 3], 1e-9).unwrap().last(), 0);
        let edge = f64::from(1u32 << 21);
        let wide = |more: f64| VoxelNumbers::new([0.0; 3], [edge - 1.0, edge - 1.0, edge - 1.0 + more], [0.0; 3], 1.0);
        assert_eq!(wide(0.0).map(|n| n.last()), Some((1 << 63) - 1));
        assert_eq!(wide(1.0), None);
        assert_eq!(VoxelNumbers::new([f64::MIN; 3], [f64::MAX; 3], [0.0; 3], 1.0), None);
    }
}
