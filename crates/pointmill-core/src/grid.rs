//! The regular grid of voxelization: which cell a point falls into, decided once for every device.

use crate::Aabb;
use thiserror::Error;

/// Why a voxel size and a range do not make a grid.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum GridError {
    /// A voxel size that is zero, negative, NaN or infinite.
    #[error("voxel_size[{axis}]: expected a finite size > 0 m, got {got}")]
    VoxelSize {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// The size given.
        got: f32,
    },
    /// A range that is empty, inverted or not finite.
    #[error("range[{axis}]: expected finite min < max, got {min}..{max}")]
    Range {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// The lower bound given.
        min: f32,
        /// The upper bound given.
        max: f32,
    },
    /// An axis with no cell or with more than an `i32` coordinate can name.
    #[error("grid[{axis}]: expected 1 to 2147483647 cells, got {cells} ((max - min) / voxel_size, rounded)")]
    Cells {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// The number of cells the range asks for.
        cells: f32,
    },
    /// A voxel so small that a grid around all points would have more cells than an axis or a
    /// 64-bit id can name.
    #[error("voxel_size: expected {0} x {1} x {2} m or more for a grid around all points, got {3} x {4} x {5} m", least[0], least[1], least[2], got[0], got[1], got[2])]
    TooSmall {
        /// The smallest size of these proportions that fits.
        least: [f32; 3],
        /// The size given.
        got: [f32; 3],
    },
    /// More cells than a 64-bit id can name.
    #[error("grid: expected at most 2^63 cells, got {0} x {1} x {2}", dims[0], dims[1], dims[2])]
    TooManyCells {
        /// Cells along x, y, z.
        dims: [u32; 3],
    },
}

/// A regular grid over a range: cell of a point, id of a cell.
///
/// **Arithmetic** (f32, the same bits on every device): `q = (p - min) / size` per axis, one
/// subtraction and one true IEEE division; the cell is `floor(q)` and a point is in iff
/// `0 <= floor(q) < dims` on all axes, tested on the float, so NaN and infinities are out.
/// `dims = round_half_away_from_zero((max - min) / size)`.
///
/// No other range test is made: where the range is not a whole number of cells, the last cell
/// reaches past `max`.
/// [`VoxelGrid::range`] gives the range for callers that want the strict test too.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoxelGrid {
    range: Aabb,
    size: [f32; 3],
    dims: [u32; 3],
}

impl VoxelGrid {
    /// The grid of cells of `size` metres over `range`.
    ///
    /// # Errors
    /// A size that is not finite and positive, a range that is empty or not finite, an axis with no
    /// or more than 2^31 - 1 cells, more than 2^63 cells in all.
    pub fn new(size: [f32; 3], range: Aabb) -> Result<Self, GridError> {
        let mut dims = [0; 3];
        for axis in 0..3 {
            let (s, min, max) = (size[axis], range.min[axis], range.max[axis]);
            if !(s.is_finite() && s > 0.0) {
                return Err(GridError::VoxelSize { axis, got: s });
            }
            if !(min.is_finite() && max.is_finite() && min < max) {
                return Err(GridError::Range { axis, min, max });
            }
            let cells = libm::roundf((max - min) / s);
            if !(1.0..2_147_483_648.0).contains(&cells) {
                return Err(GridError::Cells { axis, cells });
            }
            dims[axis] = cells as u32;
        }
        let cells = dims.iter().map(|&d| u128::from(d)).product::<u128>();
        if cells > 1 << 63 {
            return Err(GridError::TooManyCells { dims });
        }
        Ok(Self { range, size, dims })
    }

    /// The grid of cells of `size` metres around points whose smallest box is `bounds`, with its
    /// corner at a multiple of the size.
    ///
    /// **Arithmetic** (f64, then one cast to f32): from `size * floor(min / size)` to
    /// `size * (floor(max / size) + 1)` on each axis; one cell more where a point in the corner of
    /// the box would be outside for the rounding of [`VoxelGrid::cell`].
    ///
    /// ```
    /// use pointmill_core::{Aabb, VoxelGrid};
    /// let grid = VoxelGrid::around([0.5; 3], Aabb::new([-0.2, 3.0, 1.0], [1.2, 3.4, 2.0]))?;
    /// assert_eq!(*grid.range(), Aabb::new([-0.5, 3.0, 1.0], [1.5, 3.5, 2.5]));
    /// # Ok::<(), pointmill_core::GridError>(())
    /// ```
    ///
    /// # Errors
    /// A size that is not finite and positive, bounds that are not finite; more cells than
    /// [`VoxelGrid::new`] takes, with the smallest size that fits.
    pub fn around(size: [f32; 3], bounds: Aabb) -> Result<Self, GridError> {
        let mut range = bounds;
        for axis in 0..3 {
            let (s, min, max) = (f64::from(size[axis]), f64::from(bounds.min[axis]), f64::from(bounds.max[axis]));
            if !(s.is_finite() && s > 0.0) {
                return Err(GridError::VoxelSize { axis, got: size[axis] });
            }
            if !(min.is_finite() && max.is_finite() && min <= max) {
                return Err(GridError::Range { axis, min: bounds.min[axis], max: bounds.max[axis] });
            }
            range.min[axis] = (s * libm::floor(min / s)) as f32;
            range.max[axis] = ((s * (libm::floor(max / s) + 1.0)) as f32).max(range.min[axis].next_up());
        }
        let too_small = |_| GridError::TooSmall { least: least_size(size, &bounds), got: size };
        let grid = Self::new(size, range).map_err(too_small)?;
        for axis in 0..3 {
            let q = (bounds.max[axis] - range.min[axis]) / size[axis];
            if q >= grid.dims[axis] as f32 {
                // Far from the origin a cell may be less than what numbers of f32 are apart.
                let more = (f64::from(range.max[axis]) + f64::from(size[axis])) as f32;
                range.max[axis] = more.max(range.max[axis].next_up());
            }
        }
        Self::new(size, range).map_err(too_small)
    }

    /// A grid of as many cells of this size from another corner.
    #[inline(always)]
    pub fn moved_to(self, min: [f32; 3]) -> Self {
        let reach = |k: usize| min[k] + self.dims[k] as f32 * self.size[k];
        Self { range: Aabb { min, max: [reach(0), reach(1), reach(2)] }, ..self }
    }

    /// Cells along x, y, z.
    #[inline(always)]
    pub const fn dims(&self) -> [u32; 3] {
        self.dims
    }

    /// Edge lengths of a cell along x, y, z in metres.
    pub const fn size(&self) -> [f32; 3] {
        self.size
    }

    /// The range the grid was made for.
    #[inline(always)]
    pub const fn range(&self) -> &Aabb {
        &self.range
    }

    /// The number of cells, at most 2^63.
    #[inline(always)]
    pub const fn num_cells(&self) -> u64 {
        self.dims[0] as u64 * self.dims[1] as u64 * self.dims[2] as u64
    }

    /// The cell of a point as x, y, z; `None` outside the grid and for points that are not finite.
    #[inline(always)]
    pub fn cell(&self, p: [f32; 3]) -> Option<[u32; 3]> {
        let q = [
            (p[0] - self.range.min[0]) / self.size[0],
            (p[1] - self.range.min[1]) / self.size[1],
            (p[2] - self.range.min[2]) / self.size[2],
        ];
        // floor(q) >= 0 iff q >= 0, and floor(q) < dims iff q < dims, because dims is a whole
        // number that f32 holds exactly; and where both hold, dropping the fraction is the floor.
        // So no floor is needed, on any device.
        let inside = (q[0] >= 0.0)
            & (q[0] < self.dims[0] as f32)
            & (q[1] >= 0.0)
            & (q[1] < self.dims[1] as f32)
            & (q[2] >= 0.0)
            & (q[2] < self.dims[2] as f32);
        if inside { Some([q[0] as i32 as u32, q[1] as i32 as u32, q[2] as i32 as u32]) } else { None }
    }

    /// The linear id of a cell, `(z * dims_y + y) * dims_x + x`.
    #[inline(always)]
    pub const fn id(&self, cell: [u32; 3]) -> u64 {
        (cell[2] as u64 * self.dims[1] as u64 + cell[1] as u64) * self.dims[0] as u64 + cell[0] as u64
    }

    /// The cell with this id, as x, y, z.
    #[inline(always)]
    pub const fn cell_of_id(&self, id: u64) -> [u32; 3] {
        let row = id / self.dims[0] as u64;
        let x = id % self.dims[0] as u64;
        [x as u32, (row % self.dims[1] as u64) as u32, (row / self.dims[1] as u64) as u32]
    }
}

/// The smallest size of the proportions of `size` whose cells around a box are not too many, a
/// little rounded up.
fn least_size(size: [f32; 3], bounds: &Aabb) -> [f32; 3] {
    let extent = [0, 1, 2].map(|axis| f64::from(bounds.max[axis]) - f64::from(bounds.min[axis]));
    let fits = |factor: f64| {
        // Two cells more on each axis than the extent has: at both ends, and where a corner is
        // rounded.
        let cells = [0, 1, 2].map(|axis| extent[axis] / (f64::from(size[axis]) * factor) + 3.0);
        cells.iter().all(|&n| n < 2_147_483_648.0) && cells[0] * cells[1] * cells[2] < 9.2e18
    };
    let (mut low, mut high) = (1.0, 2.0);
    while !fits(high) && high < 1e60 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        *(if fits(middle) { &mut high } else { &mut low }) = middle;
    }
    // Three digits are enough for people, and the last is rounded up.
    [0, 1, 2].map(|axis| {
        let least = f64::from(size[axis]) * high;
        let step = libm::pow(10.0, libm::floor(libm::log10(least)) - 2.0);
        (libm::ceil(least / step) * step) as f32
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(size: [f32; 3], min: [f32; 3], max: [f32; 3]) -> VoxelGrid {
        VoxelGrid::new(size, Aabb::new(min, max)).unwrap()
    }

    #[test]
    fn cells_are_rounded_not_truncated() {
        // 150.4 / 0.1 is 1503.9999 in f32.
        assert_eq!(grid([0.1; 3], [-75.2; 3], [75.2; 3]).dims(), [1504; 3]);
        // 2.5 cells round away from zero.
        assert_eq!(grid([1.0; 3], [0.0; 3], [2.5; 3]).dims(), [3; 3]);
    }

    #[test]
    fn a_point_below_max_can_lie_on_the_grid_edge() {
        let g = grid([0.2; 3], [-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
        let x = 54.0f32.next_down();
        assert!(g.range().contains([x, 0.0, 0.0]));
        assert_eq!(g.cell([x, 0.0, 0.0]), None);
    }

    #[test]
    fn floor_is_not_truncation() {
        let g = grid([1.0; 3], [0.0; 3], [4.0; 3]);
        assert_eq!(g.cell([-0.5, 0.0, 0.0]), None);
        assert_eq!(g.cell([-0.0, 0.0, 3.999]), Some([0, 0, 3]));
        assert_eq!(g.cell([-f32::from_bits(1), 0.0, 0.0]), None);
    }

    #[test]
    fn what_is_not_finite_is_out() {
        let g = grid([1.0; 3], [-2.0; 3], [2.0; 3]);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for axis in 0..3 {
                let mut p = [0.0; 3];
                p[axis] = bad;
                assert_eq!(g.cell(p), None);
            }
        }
    }

    proptest! {
        /// Also where cells are smaller than what coordinates are apart.
        #[test]
        fn a_grid_around_a_box_has_its_corners(
            from in prop::array::uniform3(-1e7f32..1e7),
            extent in prop::array::uniform3(prop_oneof![Just(0.0f32), 0.0f32..10.0]),
            size in prop::array::uniform3(0.02f32..3.0),
        ) {
            let bounds = Aabb::new(from, [0, 1, 2].map(|k| from[k] + extent[k]));
            let g = VoxelGrid::around(size, bounds).unwrap();
            prop_assert!(g.cell(bounds.min).is_some() && g.cell(bounds.max).is_some(), "{g:?}");
        }
    }

    #[test]
    fn a_grid_around_points_has_them_all() {
        let bounds = Aabb::new([-1_000.0, 515.3, -0.0], [1_000.999_94, 517.1, 0.0]);
        let g = VoxelGrid::around([1.0, 0.1, 0.2], bounds).unwrap();
        assert!(g.cell(bounds.min).is_some() && g.cell(bounds.max).is_some());
        // The nearest f32 of 515.3 is below 5,153 times that of 0.1.
        assert_eq!((g.range().min, g.dims()[2]), ([-1000.0, 515.2, 0.0], 1));
        let wide = Aabb::new([0.0; 3], [1e7, 1e7, 1e7]);
        let Err(GridError::TooSmall { least, got }) = VoxelGrid::around([1e-3, 1e-3, 2e-3], wide) else {
            panic!("too many cells")
        };
        assert_eq!(got, [1e-3, 1e-3, 2e-3]);
        assert!(VoxelGrid::around(least, wide).is_ok());
        assert!(VoxelGrid::around(least.map(|s| s * 0.98), wide).is_err());
        let thin = Aabb::new([0.0; 3], [1e9, 0.1, 0.1]);
        let Err(GridError::TooSmall { least, .. }) = VoxelGrid::around([0.1; 3], thin) else { panic!("too long") };
        assert!(VoxelGrid::around(least, thin).is_ok());
        for bad in [f32::NAN, f32::INFINITY] {
            assert!(VoxelGrid::around([0.1; 3], Aabb::new([0.0; 3], [bad, 1.0, 1.0])).is_err());
            assert!(VoxelGrid::around([0.1, bad, 0.1], bounds).is_err());
        }
    }

    proptest! {
        #[test]
        fn every_corner_is_in_a_cell(
            min in prop::array::uniform3(-2e3f32..2e3),
            extent in prop::array::uniform3(0.0f32..500.0),
            size in 0.01f32..3.0,
        ) {
            let bounds = Aabb::new(min, core::array::from_fn(|k| min[k] + extent[k]));
            let g = VoxelGrid::around([size; 3], bounds).unwrap();
            prop_assert!(g.cell(bounds.min).is_some() && g.cell(bounds.max).is_some(), "{:?}", g);
        }
    }

    #[test]
    fn bad_grids_are_named() {
        let range = Aabb::new([0.0; 3], [1.0; 3]);
        for bad in [0.0, -0.1, f32::NAN, f32::INFINITY] {
            assert!(matches!(VoxelGrid::new([0.1, bad, 0.1], range), Err(GridError::VoxelSize { axis: 1, .. })));
        }
        for (min, max) in [(1.0, 1.0), (2.0, 1.0), (f32::NAN, 1.0), (0.0, f32::INFINITY)] {
            let range = Aabb::new([0.0, 0.0, min], [1.0, 1.0, max]);
            assert!(matches!(VoxelGrid::new([0.1; 3], range), Err(GridError::Range { axis: 2, .. })));
        }
        let tiny = VoxelGrid::new([3.0, 0.1, 0.1], range);
        assert_eq!(tiny, Err(GridError::Cells { axis: 0, cells: 0.0 }));
        // max - min overflows f32: infinitely many cells, not a silent grid.
        let wide = VoxelGrid::new([0.1; 3], Aabb::new([-3e38; 3], [3e38; 3]));
        assert!(matches!(wide, Err(GridError::Cells { axis: 0, .. })));
        let many = VoxelGrid::new([1e-3; 3], Aabb::new([-2000.0; 3], [2000.0; 3]));
        assert_eq!(many, Err(GridError::TooManyCells { dims: [4_000_000; 3] }));
    }

    proptest! {
        /// The cell is the textbook formula with floor, for any point near or far.
        #[test]
        fn cell_is_floor_of_the_quotient(
            p in prop::array::uniform3(prop_oneof![any::<f32>(), -60.0f32..60.0]),
            size in prop::array::uniform3(0.05f32..2.0),
        ) {
            let g = grid(size, [-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
            let q: [f32; 3] = core::array::from_fn(|k| libm::floorf((p[k] - g.range().min[k]) / size[k]));
            let inside = (0..3).all(|k| q[k] >= 0.0 && q[k] < g.dims()[k] as f32);
            let want = inside.then(|| q.map(|v| v as u32));
            prop_assert_eq!(g.cell(p), want);
        }

        #[test]
        fn ids_are_invertible(x in 0u32..1440, y in 0u32..1440, z in 0u32..40) {
            let g = grid([0.075, 0.075, 0.2], [-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
            let id = g.id([x, y, z]);
            prop_assert!(id < g.num_cells());
            prop_assert_eq!(g.cell_of_id(id), [x, y, z]);
        }
    }
}
