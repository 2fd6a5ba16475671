//! Sums over the points of each cell: they can be added up and taken away again.

use super::cpu::sum::{self, Sums};
use crate::device::on_threads;
use crate::rows::check_origin;
use crate::{Argument, Error, Result, Rows, ensure, memory};
use pointmill_core::ndt::{Moments, NdtLattice, NdtMomentsTable, cell_of, key_of};

/// Sums over the points of each occupied cell.
///
/// **Determinism**: integers, so that points, parts and threads may come in any order; equal points
/// give equal moments, bit by bit. **Order**: cells by (z, y, x).
///
/// **Limits**: cells from -2^20 to below 2^20 on each axis, fewer than 2^25 points a cell; past
/// these a call is an error and nothing changes.
#[derive(Clone, Debug, PartialEq)]
pub struct NdtMoments {
    lattice: NdtLattice,
    sums: Sums,
    points: u64,
    non_finite: u64,
}

impl NdtMoments {
    /// No points yet, in cells of `resolution` metres.
    ///
    /// # Errors
    /// A resolution that is not finite and positive, or whose reciprocal is no normal `f32`.
    pub fn new(resolution: f64) -> Result<Self> {
        Ok(Self { lattice: lattice_of(resolution)?, sums: Vec::new(), points: 0, non_finite: 0 })
    }

    /// No points yet, in the same cells about another origin, in metres; see
    /// [`NdtBuilder::about`](super::NdtBuilder::about).
    ///
    /// # Errors
    /// An origin that is not finite.
    pub fn about(self, origin: [f64; 3]) -> Result<Self> {
        check_origin(origin)?;
        Ok(Self::of(self.lattice.about(origin), Vec::new(), 0, 0))
    }

    /// Moments from a table, such as one that was read from a file; [`NdtMoments::table`] is the
    /// way back.
    ///
    /// # Errors
    /// Cells that do not ascend or are outside of the lattice, counts out of range, sums that so
    /// many points cannot have; numbers of points that do not add up.
    ///
    /// ```
    /// use pointmill::Rows;
    /// use pointmill::ndt::NdtMoments;
    /// let mut moments = NdtMoments::new(2.0)?;
    /// moments.add(Rows::f32(&[0.5, 0.5, 0.5, /**/ f32::NAN, 0.0, 0.0], 3)?)?;
    /// assert_eq!(NdtMoments::from_table(&moments.table()?)?, moments);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn from_table(table: &NdtMomentsTable) -> Result<Self> {
        table
            .check_cells()
            .map_err(|e| Error::argument(Argument::Cells, e.expected, format!("{} in {}", e.got, e.field)))?;
        table.check_points().map_err(|e| Error::argument(Argument::Points, e.expected, e.got))?;
        let sums = memory::collect(table.cells.iter().map(|(cell, moments)| (key_of(*cell), *moments)))?;
        Ok(Self::of(table.lattice, sums, table.points, table.non_finite))
    }

    /// The moments as a table, which files hold.
    ///
    /// # Errors
    /// Out of memory.
    pub fn table(&self) -> Result<NdtMomentsTable> {
        let cells = memory::collect(self.cells().map(|(cell, moments)| (cell, *moments)))?;
        Ok(NdtMomentsTable { lattice: self.lattice, points: self.points, non_finite: self.non_finite, cells })
    }

    /// Of sums by key, and so many points.
    pub(super) const fn of(lattice: NdtLattice, sums: Sums, points: u64, non_finite: u64) -> Self {
        Self { lattice, sums, points, non_finite }
    }

    /// A copy.
    pub(super) fn copied(&self) -> Result<Self> {
        let sums = memory::collect(self.sums.iter().copied())?;
        Ok(Self { sums, ..Self::of(self.lattice, Sums::new(), self.points, self.non_finite) })
    }

    /// Adds the points of a cloud. Rows with a coordinate that is not finite are left out and
    /// counted.
    ///
    /// # Errors
    /// A point outside of the lattice, too many in a cell, 2^64 points or more in all; nothing was
    /// added then.
    pub fn add<'a>(&mut self, cloud: impl Into<Rows<'a>>) -> Result<()> {
        let cloud = cloud.into();
        cloud.check_points(Argument::Points, &crate::Device::cpu().stream()?)?;
        let cloud = cloud.relative_to(self.lattice.origin());
        let summed = on_threads(|| sum::sum(&cloud, &self.lattice))?;
        let points = more_points([self.points, self.non_finite], [cloud.len() as u64, summed.non_finite])?;
        self.sums = if self.sums.is_empty() { summed.sums } else { sum::merge(&self.sums, &summed.sums)? };
        [self.points, self.non_finite] = points;
        Ok(())
    }

    /// Adds the points of others.
    ///
    /// # Errors
    /// Moments of another lattice, too many points in a cell, 2^64 points or more in all; nothing
    /// was added then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.same_lattice(other)?;
        let points = more_points([self.points, self.non_finite], [other.points, other.non_finite])?;
        self.sums = sum::merge(&self.sums, &other.sums)?;
        [self.points, self.non_finite] = points;
        Ok(())
    }

    /// Takes away points that were added.
    ///
    /// # Errors
    /// Moments of another lattice, or of points that are not among these, as far as sums can tell;
    /// nothing was taken away then.
    pub fn subtract(&mut self, part: &Self) -> Result<()> {
        self.same_lattice(part)?;
        let fits = part.points <= self.points && part.non_finite <= self.non_finite;
        let expected = format_args!("at most {} points, {} of them not finite", self.points, self.non_finite);
        ensure(fits, Argument::Part, expected, format_args!("{}, {}", part.points, part.non_finite))?;
        self.sums = sum::subtract(&self.sums, &part.sums)?;
        self.points -= part.points;
        self.non_finite -= part.non_finite;
        Ok(())
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
    pub const fn non_finite(&self) -> u64 {
        self.non_finite
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

/// The lattice of cells of a size.
pub(super) fn lattice_of(resolution: f64) -> Result<NdtLattice> {
    NdtLattice::new(resolution).map_err(|_| {
        let expected = "a size in metres, 3e-39 to 8.5e37";
        Error::argument(Argument::Resolution, expected, resolution)
    })
}

/// Numbers of points, and of those that are not finite, with more of both. Those of a file can be
/// anything.
pub(super) fn more_points(before: [u64; 2], more: [u64; 2]) -> Result<[u64; 2]> {
    let [points, non_finite] = [0, 1].map(|i| before[i].checked_add(more[i]));
    points.zip(non_finite).map(|(points, non_finite)| [points, non_finite]).ok_or_else(|| {
        let got = format!("{} and {}", before[0], more[0]);
        Error::argument(Argument::Points, "fewer than 2^64 in all", got)
    })
}

/// Refuses another lattice.
pub(super) fn same(lattice: &NdtLattice, other: &NdtLattice) -> Result<()> {
    if lattice.origin() != other.origin() {
        let [expected, got] = [lattice, other].map(|lattice| format!("{:?}", lattice.origin()));
        return Err(Error::argument(Argument::Origin, expected, got));
    }
    if lattice != other {
        let cells = |lattice: &NdtLattice| format!("cells of {} m", lattice.unit());
        return Err(Error::argument(Argument::Resolution, cells(lattice), cells(other)));
    }
    Ok(())
}
