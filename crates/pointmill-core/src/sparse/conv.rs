//! Cells, and which of them a sparse convolution pairs.

/// The most cells along an axis.
pub const MAX_CELLS: u32 = 1 << 30;
/// The largest stride and padding along an axis, and the most cells a kernel spans.
pub const MAX_SPAN: u32 = 1 << 29;
/// The most offsets of a kernel.
pub const MAX_OFFSETS: u32 = 4096;

/// What a sparse convolution does with the cells.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConvKind {
    /// The outputs are the inputs, in their order.
    #[default]
    Submanifold,
    /// An output wherever the kernel reaches an input.
    Strided,
    /// Back from the outputs of a strided layer to its inputs.
    Inverse,
    /// Each input spreads over all offsets of the kernel.
    Transposed,
}

crate::names!(ConvKind {
    Submanifold = "submanifold",
    Strided = "strided",
    Inverse = "inverse",
    Transposed = "transposed",
});

/// A batch of grids of one shape. A cell is item, z, y, x.
///
/// ```
/// use pointmill_core::sparse::CellGrid;
/// let grid = CellGrid { batch: 2, shape: [4, 5, 6] };
/// assert_eq!(grid.id([1, 0, 0, 2]), Some(122));
/// assert_eq!(grid.cell(122), [1, 0, 0, 2]);
/// assert_eq!(grid.id([0, 0, 5, 0]), None);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellGrid {
    /// The number of items.
    pub batch: u32,
    /// Cells along z, y, x, at most [`MAX_CELLS`].
    pub shape: [u32; 3],
}

impl CellGrid {
    /// The number of cells of all items; `None` from 2^63.
    pub fn cells(&self) -> Option<u64> {
        let [z, y, x] = self.shape.map(u64::from);
        // 2^30 each, so two of them fit.
        (z * y).checked_mul(x)?.checked_mul(u64::from(self.batch)).filter(|&cells| cells < 1 << 63)
    }

    /// The number of a cell: by item, then by z, y and x. `None` where there is none.
    #[inline(always)]
    pub fn id(&self, [item, z, y, x]: [i32; 4]) -> Option<u64> {
        let [depth, height, width] = self.shape;
        // A number below 0 is a large one here.
        if item as u32 >= self.batch || z as u32 >= depth || y as u32 >= height || x as u32 >= width {
            return None;
        }
        let plane = item as u64 * depth as u64 + z as u64;
        Some((plane * height as u64 + y as u64) * width as u64 + x as u64)
    }

    /// The cell of a number that [`CellGrid::id`] gave.
    #[inline(always)]
    pub fn cell(&self, id: u64) -> [i32; 4] {
        let [depth, height, width] = self.shape.map(|n| n as u64);
        let row = id / width;
        let plane = row / height;
        [(plane / depth) as i32, (plane % depth) as i32, (row % height) as i32, (id % width) as i32]
    }
}

/// The kernel of a convolution, along z, y, x.
///
/// Offset number `(kz * Ky + ky) * Kx + kx` pairs the cell `c` of the coarse grid with the cell
/// `c * stride - padding + k * dilation` of the fine one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Offsets along each axis, 1 or more.
    pub kernel: [u32; 3],
    /// Fine cells from one coarse cell to the next, 1 or more.
    pub stride: [u32; 3],
    /// Fine cells before the first one that the kernel starts at.
    pub padding: [u32; 3],
    /// Fine cells from one offset to the next, 1 or more.
    pub dilation: [u32; 3],
}

impl Window {
    /// The number of offsets; `None` from 2^32.
    pub fn offsets(&self) -> Option<u32> {
        let [z, y, x] = self.kernel;
        z.checked_mul(y)?.checked_mul(x)
    }

    /// Whether the window has a size that [`Window::fine`] and [`Window::coarse`] can compute with.
    pub fn fits(&self) -> bool {
        (0..3).all(|a| {
            let span = u64::from(self.kernel[a]) * u64::from(self.dilation[a]);
            let [stride, padding] = [self.stride[a], self.padding[a]];
            span <= u64::from(MAX_SPAN) && stride <= MAX_SPAN && padding <= MAX_SPAN
        })
    }

    /// The coarse shape of a fine one; `None` where no coarse cell is left along an axis.
    pub fn coarse_shape(&self, fine: [u32; 3]) -> Option<[u32; 3]> {
        let mut coarse = [0; 3];
        for a in 0..3 {
            let span = u64::from(self.dilation[a]) * (u64::from(self.kernel[a]) - 1) + 1;
            let room = (u64::from(fine[a]) + 2 * u64::from(self.padding[a])).checked_sub(span)?;
            coarse[a] = (room / u64::from(self.stride[a]) + 1) as u32;
        }
        Some(coarse)
    }

    /// The fine shape of a coarse one; `None` where no cell is left, or more than [`MAX_CELLS`].
    pub fn fine_shape(&self, coarse: [u32; 3]) -> Option<[u32; 3]> {
        let mut fine = [0; 3];
        for a in 0..3 {
            let span = u64::from(self.dilation[a]) * (u64::from(self.kernel[a]) - 1) + 1;
            let all = u64::from(coarse[a].checked_sub(1)?) * u64::from(self.stride[a]) + span;
            let cells = all.checked_sub(2 * u64::from(self.padding[a]))?;
            fine[a] = u32::try_from(cells).ok().filter(|&cells| cells > 0 && cells <= MAX_CELLS)?;
        }
        Some(fine)
    }

    /// How many coarse cells a fine one is paired with at most.
    pub fn most_coarse(&self) -> u64 {
        let most = |a: usize| {
            let (mut step, mut rest) = (self.stride[a], self.dilation[a]);
            while rest > 0 {
                (step, rest) = (rest, step % rest);
            }
            // Every (stride / gcd)-th offset meets a multiple of the stride.
            u64::from(self.kernel[a].div_ceil(self.stride[a] / step))
        };
        most(0) * most(1) * most(2)
    }

    /// Offset number `k` along z, y, x.
    #[inline(always)]
    pub fn offset(&self, k: u32) -> [u32; 3] {
        let [_, y, x] = self.kernel;
        [k / x / y, k / x % y, k % x]
    }

    /// The fine cell that an offset pairs with a coarse one, perhaps outside of the grid.
    #[inline(always)]
    pub fn fine(&self, [item, z, y, x]: [i32; 4], k: [u32; 3]) -> [i32; 4] {
        let along =
            |c: i32, a: usize| c * self.stride[a] as i32 - self.padding[a] as i32 + (k[a] * self.dilation[a]) as i32;
        [item, along(z, 0), along(y, 1), along(x, 2)]
    }

    /// The coarse cell that an offset pairs with a fine one, perhaps outside of the grid; `None`
    /// between two.
    #[inline(always)]
    pub fn coarse(&self, [item, z, y, x]: [i32; 4], k: [u32; 3]) -> Option<[i32; 4]> {
        let along = |c: i32, a: usize| {
            let from = c + self.padding[a] as i32 - (k[a] * self.dilation[a]) as i32;
            let (at, stride) = (from as u32, self.stride[a]);
            if from < 0 {
                None
            } else if stride == 1 {
                Some(from)
            } else if at % stride == 0 {
                Some((at / stride) as i32)
            } else {
                None
            }
        };
        Some([item, along(z, 0)?, along(y, 1)?, along(x, 2)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_say_the_same() {
        let window = Window { kernel: [3, 2, 5], stride: [2, 3, 1], padding: [1, 0, 2], dilation: [1, 2, 3] };
        assert_eq!(window.offsets(), Some(30));
        let mut most = 0;
        for fine in [[0, 0, 0, 0], [1, 4, 5, 6], [0, 7, 6, 12], [0, 12, 12, 12]] {
            let mut met = 0;
            for k in 0..30 {
                let offset = window.offset(k);
                if let Some(coarse) = window.coarse(fine, offset) {
                    assert_eq!(window.fine(coarse, offset), fine);
                    met += 1;
                }
            }
            most = most.max(met);
        }
        assert_eq!((most, window.most_coarse()), (10, 2 * 5));
    }

    #[test]
    fn shapes_are_those_of_dense_layers() {
        let of = |k, s, p, d| Window { kernel: [k; 3], stride: [s; 3], padding: [p; 3], dilation: [d; 3] };
        assert_eq!(of(3, 2, 1, 1).coarse_shape([41, 1440, 5]), Some([21, 720, 3]));
        assert_eq!(of(3, 1, 0, 2).coarse_shape([4, 9, 9]), None);
        assert_eq!(of(3, 2, 1, 1).fine_shape([21, 720, 3]), Some([41, 1439, 5]));
        assert_eq!(of(1, 1, 1, 1).fine_shape([2, 5, 5]), None);
        assert_eq!(of(2, 1 << 29, 0, 1).fine_shape([9, 1, 1]), None);
        assert!(of(3, 2, 1, 1).fits() && !of(3, 1, 0, 1 << 28).fits() && !of(1, u32::MAX, 0, 1).fits());
        let grid = CellGrid { batch: 4, shape: [1 << 30, 1 << 30, 2] };
        assert_eq!(grid.cells(), None);
        let grid = CellGrid { batch: 3, ..grid };
        let last = [2, (1 << 30) - 1, (1 << 30) - 1, 1];
        assert_eq!(grid.cell(grid.id(last).unwrap()), last);
        assert_eq!(grid.id(last), grid.cells().map(|cells| cells - 1));
        assert!([[-1, 0, 0, 0], [0, 0, 0, 2], [3, 0, 0, 0], [0, i32::MIN, 0, 0]].map(|c| grid.id(c)) == [None; 4]);
    }
}
