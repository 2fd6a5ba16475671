//! Parameters of grid sampling.

use crate::{Aabb, Argument, Result, VoxelGrid, ensure};
use pointmill_kernels::sparse::pick;

/// Where the grid of a call begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum GridOrigin {
    /// At the least x, y and z of all finite points of the call.
    #[default]
    Min,
    /// At the lower corner of a range. Points outside of its cells are in none; where the range is
    /// no multiple of the size, the number of cells is rounded, as `voxelize` does.
    Range(Aabb),
}

/// Which point of a cell is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Pick {
    /// The first in input order.
    #[default]
    First,
    /// The nearest to the centre of the cell, by the squared distance in `f64`; of several the
    /// first.
    Nearest,
    /// The one with this number in input order, counted from 0, modulo how many the cell has.
    Nth(u32),
    /// One by chance, each as likely: the seed, the item and the cell decide, on every device alike.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl Pick {
    /// The pick as kernels take it.
    pub(super) const fn numbers(self) -> (u32, u64) {
        match self {
            Self::First => (pick::FIRST, 0),
            Self::Nearest => (pick::NEAREST, 0),
            Self::Nth(number) => (pick::NTH, number as u64),
            Self::Random { seed } => (pick::RANDOM, seed),
        }
    }
}

/// Parameters of grid sampling.
///
/// ```
/// use pointmill::sparse::{GridSampleParams, Pick};
/// let params = GridSampleParams { pick: Pick::Random { seed: 7 }, ..GridSampleParams::new([0.05; 3]) };
/// assert!(params.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GridSampleParams {
    /// Edge lengths of a cell along x, y, z in metres; default 0.05.
    pub grid_size: [f32; 3],
    /// Where the grid begins; default at the least coordinates.
    pub origin: GridOrigin,
    /// Which point of a cell is taken; default the first.
    pub pick: Pick,
    /// Cells that the result has room for; default as many as points.
    pub capacity: Option<usize>,
}

impl Default for GridSampleParams {
    fn default() -> Self {
        Self::new([0.05; 3])
    }
}

impl GridSampleParams {
    /// Cells of this size, from the least coordinates, the first point of each.
    pub const fn new(grid_size: [f32; 3]) -> Self {
        Self { grid_size, origin: GridOrigin::Min, pick: Pick::First, capacity: None }
    }

    /// Checks everything that does not depend on the points.
    ///
    /// # Errors
    /// A size that is not finite and above 0, a range that is empty or of too many cells, a
    /// capacity of 0.
    pub fn validate(&self) -> Result<()> {
        ensure(self.capacity != Some(0), Argument::Capacity, "1 or more", 0)?;
        self.grid(1).map(drop)
    }

    /// The grid of an item; where the points say its corner, one about 0 whose cells have ids of
    /// 64 bits with the item.
    pub(super) fn grid(&self, items: u32) -> Result<VoxelGrid> {
        for size in self.grid_size {
            let fits = size.is_finite() && size > 0.0 && size < 1e30;
            ensure(fits, Argument::GridSize, "finite sizes above 0 m", format_args!("{:?}", self.grid_size))?;
        }
        let range = match self.origin {
            GridOrigin::Range(range) => range,
            GridOrigin::Min => {
                let bits = (63 - (u32::BITS - (items - 1).leading_zeros())) / 3;
                Aabb::new([0.0; 3], self.grid_size.map(|size| size * (1u32 << bits) as f32))
            }
        };
        let grid = VoxelGrid::new(self.grid_size, range)?;
        let cells = u128::from(grid.num_cells()) * u128::from(items);
        let expected = "at most 2^63 cells in all items: a larger grid size, or fewer items";
        ensure(cells <= 1 << 63, Argument::GridSize, expected, cells)?;
        Ok(grid)
    }
}
