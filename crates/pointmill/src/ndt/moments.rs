//! Sums over the points of each cell: they can be added up and taken away again.

use super::cloud::NdtCloud;
use super::cpu::sum::{self, Sums};
use super::{NdtCells, NdtParams};
use crate::device::on_threads;
use crate::{Argument, Error, Result, memory};
use pointmill_core::ndt::{MAX_CELL, MAX_COUNT, Moments, NdtLattice, STEPS, cell_of, in_lattice, key_of};

/// Sums over the points of each occupied cell.
///
/// **Determinism**: integers, so that points, parts and threads may come in any order; equal points give equal moments, bit by bit. **Order**: cells by (z, y, x).
///
/// **Limits**: cells from -2^20 to below 2^20 on each axis, fewer than 2^25 points a cell; past these a call is an error and nothing changes.
#[derive(Clone, Debug, PartialEq)]
pub struct NdtMoments {
    lattice: NdtLattice,
    sums: Sums,
    points: u64,
    nonfinite: u64,
}

impl NdtMoments {
    /// No points yet, in cells of `resolution` metres.
    ///
    /// # Errors
    /// A resolution that is not finite and positive, or whose reciprocal is no normal `f32`.
    pub fn new(resolution: f64) -> Result<Self> {
        Ok(Self { lattice: lattice_of(resolution)?, sums: Vec::new(), points: 0, nonfinite: 0 })
    }

    /// Of the sums of cells that were made before, such as those of a file; the sums of `points` points, of which `nonfinite` are in no cell.
    ///
    /// **Order**: cells (x, y, z) by (z, y, x), each once, as [`NdtMoments::cells`] gives them.
    ///
    /// # Errors
    /// Cells that do not ascend or are outside of the lattice, counts out of range, sums that so many points cannot have; numbers of points that do not add up.
    ///
    /// ```
    /// use pointmill::ndt::{NdtCloud, NdtMoments};
    /// let mut moments = NdtMoments::new(2.0)?;
    /// moments.add(NdtCloud::f32(&[0.5, 0.5, 0.5, /**/ f32::NAN, 0.0, 0.0], 3)?)?;
    /// let cells: Vec<_> = moments.cells().map(|(cell, sums)| (cell, *sums)).collect();
    /// assert_eq!(NdtMoments::from_cells(*moments.lattice(), &cells, 2, 1)?, moments);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn from_cells(lattice: NdtLattice, cells: &[([i32; 3], Moments)], points: u64, nonfinite: u64) -> Result<Self> {
        let mut sums = Sums::new();
        memory::room(&mut sums, cells.len())?;
        let mut counted = 0;
        for (cell, moments) in cells {
            check_cell(*cell, moments)?;
            let key = key_of(*cell);
            if let Some((last, _)) = sums.last().filter(|(last, _)| *last >= key) {
                let got = format!("{cell:?} after {:?}", cell_of(*last));
                return Err(Error::argument(Argument::Cells, "coordinates that ascend by (z, y, x)", got));
            }
            counted += u64::from(moments.count);
            sums.push((key, *moments));
        }
        // Not by addition, which a number from outside could take past 2^64.
        if points.checked_sub(nonfinite) != Some(counted) {
            let expected = format!("{counted} in cells and {nonfinite} that are not finite");
            return Err(Error::argument(Argument::Points, expected, format!("{points} of both")));
        }
        Ok(Self { lattice, sums, points, nonfinite })
    }

    /// Of sums by key, and so many points.
    pub(super) const fn of(lattice: NdtLattice, sums: Sums, points: u64, nonfinite: u64) -> Self {
        Self { lattice, sums, points, nonfinite }
    }

    /// A copy.
    pub(super) fn copied(&self) -> Result<Self> {
        let sums = memory::collect(self.sums.iter().copied())?;
        Ok(Self { sums, ..Self::of(self.lattice, Sums::new(), self.points, self.nonfinite) })
    }

    /// Adds the points of a cloud. Rows with a coordinate that is not finite are left out and counted.
    ///
    /// # Errors
    /// A point outside of the lattice, too many in a cell, 2^64 points or more in all; nothing was added then.
    pub fn add(&mut self, cloud: NdtCloud<'_>) -> Result<()> {
        cloud.check_points(Argument::Points, &crate::Device::cpu().stream()?)?;
        let summed = on_threads(|| sum::sum(&cloud, &self.lattice))?;
        let points = more_points([self.points, self.nonfinite], [cloud.len() as u64, summed.nonfinite])?;
        self.sums = if self.sums.is_empty() { summed.sums } else { sum::merge(&self.sums, &summed.sums)? };
        [self.points, self.nonfinite] = points;
        Ok(())
    }

    /// Adds the points of others.
    ///
    /// # Errors
    /// Moments of another lattice, too many points in a cell, 2^64 points or more in all; nothing was added then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.same_lattice(other)?;
        let points = more_points([self.points, self.nonfinite], [other.points, other.nonfinite])?;
        self.sums = sum::merge(&self.sums, &other.sums)?;
        [self.points, self.nonfinite] = points;
        Ok(())
    }

    /// Takes away points that were added.
    ///
    /// # Errors
    /// Moments of another lattice, or of points that are not among these, as far as sums can tell; nothing was taken away then.
    pub fn subtract(&mut self, part: &Self) -> Result<()> {
        self.same_lattice(part)?;
        if part.points > self.points || part.nonfinite > self.nonfinite {
            let expected = format!("at most {} points, {} of them not finite", self.points, self.nonfinite);
            return Err(Error::argument(Argument::Part, expected, format!("{}, {}", part.points, part.nonfinite)));
        }
        self.sums = sum::subtract(&self.sums, &part.sums)?;
        self.points -= part.points;
        self.nonfinite -= part.nonfinite;
        Ok(())
    }

    /// The cells as normal distributions.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn finish(&self, params: &NdtParams) -> Result<NdtCells> {
        NdtCells::new(self, params)
    }

    /// The lattice of the cells.
    pub const fn lattice(&self) -> &NdtLattice {
        &self.lattice
    }

    /// How many points were added, those that are not finite among them.
    pub const fn points(&self) -> u64 {
        self.points
    }

    /// How many of them have a coordinate that is not finite.
    pub const fn nonfinite(&self) -> u64 {
        self.nonfinite
    }

    /// The number of occupied cells.
    pub const fn len(&self) -> usize {
        self.sums.len()
    }

    /// Whether no cell is occupied.
    pub const fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The occupied cells (x, y, z) and their sums, by (z, y, x).
    pub fn cells(&self) -> impl ExactSizeIterator<Item = ([i32; 3], &Moments)> {
        self.sums.iter().map(|(key, moments)| (cell_of(*key), moments))
    }

    pub(super) const fn sums(&self) -> &Sums {
        &self.sums
    }

    fn same_lattice(&self, other: &Self) -> Result<()> {
        same(&self.lattice, &other.lattice)
    }
}

/// Checks a cell that comes from outside.
fn check_cell(cell: [i32; 3], moments: &Moments) -> Result<()> {
    if !in_lattice(cell) {
        let expected = format!("coordinates from {} to {}", -MAX_CELL, MAX_CELL - 1);
        return Err(Error::argument(Argument::Cells, expected, format!("{cell:?}")));
    }
    if !(1..=MAX_COUNT).contains(&moments.count) {
        let got = format!("{} in cell {cell:?}", moments.count);
        return Err(Error::argument(Argument::Cells, format!("1 to {MAX_COUNT} points"), got));
    }
    // An offset reaches half an edge to each side, so that no sum of them has more, and nothing computed of them overflows.
    let (half, count) = (STEPS as i64 / 2, i64::from(moments.count));
    let squares = [0, 3, 5].iter().all(|&e| moments.products[e] >= 0);
    let sums = moments.sum.iter().all(|s| s.unsigned_abs() <= (half * count) as u64);
    let products = moments.products.iter().all(|p| p.unsigned_abs() <= (half * half * count) as u64);
    if !(squares && sums && products) {
        let got = format!("{:?} and {:?} in cell {cell:?}", moments.sum, moments.products);
        return Err(Error::argument(Argument::Cells, format!("sums of offsets of {count} points"), got));
    }
    Ok(())
}

/// The lattice of cells of a size.
pub(super) fn lattice_of(resolution: f64) -> Result<NdtLattice> {
    NdtLattice::new(resolution).map_err(|_| {
        let expected = "a finite size > 0 m whose reciprocal is a normal f32";
        Error::argument(Argument::Resolution, expected, resolution)
    })
}

/// Numbers of points, and of those that are not finite, with more of both. Those of a file can be anything.
pub(super) fn more_points(before: [u64; 2], more: [u64; 2]) -> Result<[u64; 2]> {
    let [points, nonfinite] = [0, 1].map(|i| before[i].checked_add(more[i]));
    points.zip(nonfinite).map(|(points, nonfinite)| [points, nonfinite]).ok_or_else(|| {
        let got = format!("{} and {}", before[0], more[0]);
        Error::argument(Argument::Points, "fewer than 2^64 in all", got)
    })
}

/// Refuses another lattice.
pub(super) fn same(lattice: &NdtLattice, other: &NdtLattice) -> Result<()> {
    if lattice != other {
        let cells = |lattice: &NdtLattice| format!("cells of {} m", lattice.unit());
        return Err(Error::argument(Argument::Resolution, cells(lattice), cells(other)));
    }
    Ok(())
}
