//! The result of grid sampling.

use crate::arrays::outputs;
use crate::sparse::Cells;
use crate::{Argument, Error, Ints, Result};
use pointmill_core::record;
use pointmill_kernels::sparse as kernels;

record! {
    /// What grid sampling counted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct GridSampleReport {
        /// Points.
        pub points: usize,
        /// Cells, V.
        pub cells: usize,
        /// Cells beyond the capacity.
        pub cells_dropped: usize,
        /// Points with a NaN or an infinity among x, y, z.
        pub non_finite: usize,
        /// Points outside of the grid.
        pub outside: usize,
        /// Points of cells beyond the capacity.
        pub points_dropped: usize,
    }
}

/// Words of [`kernels::SampleCounts`].
pub(super) const COUNTS: usize = size_of::<kernels::SampleCounts>() / 4;

outputs! {
    /// One point of each cell, on the device that chose it. Nothing of it waits but
    /// [`Sampled::read`].
    pub struct Sampled of SampledArray by SampledSizes { cells, points } reports GridSampleReport {
        /// The cells x, y, z.
        GridCoord = grid_coord: i32 [cells, 3],
        /// The item of each cell.
        Batch = batch: i32 [cells],
        /// The point of each cell that is taken.
        Rows = rows: i32 [cells],
        /// How many points each cell has.
        NumPoints = num_points: i32 [cells] else 0,
        /// The cell of each point, or -1.
        Inverse = inverse: i32 [points],
    }
    words {
        /// [`kernels::SampleCounts`].
        counts = [0; COUNTS],
    }
    state {
        items: u32 = 1,
        /// Where cells end, in metres from the least coordinates, if the grid begins there.
        ends: Option<[f32; 3]> = None,
    }
    /// One point of each cell, on the host. Its fields but the report are its named arrays.
    #[derive(Eq)]
    pub struct SampledArrays {
        /// What was counted.
        report: GridSampleReport,
    }
}

impl Sampled {
    /// Cells that there is room for.
    pub const fn capacity(&self) -> usize {
        self.sizes.cells
    }

    /// Words: cells, cells beyond the capacity, points that are not finite, points outside, points of
    /// cells beyond the capacity.
    pub const fn counts(&self) -> &crate::Buffer<u32> {
        &self.counts
    }

    /// The cells with their items, as the next step takes them: their number stays on the device.
    ///
    /// # Errors
    /// None that a result of a call can have.
    pub fn cells(&self) -> Result<Cells<'_>> {
        let capacity = self.sizes.cells;
        let cells = Cells::new(Ints::on_device(&self.grid_coord, 3 * capacity)?)?;
        cells.batch(Ints::on_device(&self.batch, capacity)?, self.items as usize)?.counted(&self.counts)
    }

    /// Waits for what the call counted.
    ///
    /// # Errors
    /// As [`Sampled::read`].
    pub fn report(&self) -> Result<GridSampleReport> {
        let counts = self.counts.read(COUNTS)?;
        let count = |k: usize| counts.get(k).map_or(0, |&count| count as usize);
        if let Some(ends) = self.ends.filter(|_| count(3) > 0) {
            let [x, y, z] = ends;
            let expected = "a larger size, a range, or points without a stray one";
            let got = format!("{} points beyond all cells: ({x}, {y}, {z}) m from the least coordinates", count(3));
            return Err(Error::argument(Argument::GridSize, expected, got));
        }
        Ok(GridSampleReport {
            points: self.sizes.points,
            cells: count(0),
            cells_dropped: count(1),
            non_finite: count(2),
            outside: count(3),
            points_dropped: count(4),
        })
    }

    fn count(&self) -> Result<(SampledSizes, GridSampleReport)> {
        let report = self.report()?;
        Ok((SampledSizes { cells: report.cells, ..self.sizes }, report))
    }

    /// Waits, and copies the arrays to the host.
    ///
    /// # Errors
    /// Points beyond the cells of a grid that begins at the least coordinates: a stray point, or a size
    /// too small for so wide a cloud. Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<SampledArrays> {
        let (sizes, report) = self.count()?;
        self.host(sizes, report)
    }
}
