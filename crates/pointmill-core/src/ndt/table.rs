//! Sums of a map's cells as a plain table: what a file holds, and what the library takes and gives.

use super::{MAX_CELL, MAX_COUNT, Moments, NdtLattice, STEPS};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use thiserror::Error;

/// Sums over the points of each occupied cell of a map.
///
/// **Order**: cells by (z, y, x), each once. **Units**: whole steps of the lattice, as [`Moments`]
/// says.
///
/// The fields are public, so a table can hold anything; [`NdtMomentsTable::check`] says whether
/// points can have made it.
///
/// ```
/// use pointmill_core::ndt::{Moments, NdtLattice, NdtMomentsTable};
/// let cells = vec![([40_000, 21_000, 0], Moments::of([1, -2, 3]))];
/// let mut table = NdtMomentsTable { lattice: NdtLattice::new(2.0)?, points: 2, non_finite: 1, cells };
/// assert!(table.check().is_ok());
/// table.cells[0].1.sum[0] = 600_000;
/// assert_eq!(
///     table.check().unwrap_err().to_string(),
///     "column `sum_x`, row 0: expected from -524288 to 524288 for 1 points, got 600000"
/// );
/// # Ok::<(), pointmill_core::ndt::LatticeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NdtMomentsTable {
    /// The lattice of the cells.
    pub lattice: NdtLattice,
    /// How many points were added: the counts of all cells, and [`NdtMomentsTable::non_finite`].
    pub points: u64,
    /// How many of them have a coordinate that is not finite and are in no cell.
    pub non_finite: u64,
    /// The cells (x, y, z) and their sums.
    pub cells: Vec<([i32; 3], Moments)>,
}

/// Why no points can have made a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: expected {expected}, got {got}")]
pub struct NdtTableError {
    /// The part of the table: a column and a row, a row, or `points`.
    pub field: String,
    /// What was expected there.
    pub expected: String,
    /// What is there.
    pub got: String,
}

impl NdtMomentsTable {
    /// The names of the columns: the cell, the count, the sums of the offsets and of their
    /// products.
    pub const COLUMNS: [&str; 13] =
        ["x", "y", "z", "count", "sum_x", "sum_y", "sum_z", "xx", "xy", "xz", "yy", "yz", "zz"];

    /// Checks everything: [`check_cells`](Self::check_cells), then
    /// [`check_points`](Self::check_points).
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), NdtTableError> {
        self.check_cells()?;
        self.check_points()
    }

    /// Checks that cells ascend and lie in the lattice, and that their sums are such as points can
    /// have.
    ///
    /// # Errors
    /// The first row and column that is wrong.
    pub fn check_cells(&self) -> Result<(), NdtTableError> {
        let mut last: Option<[i32; 3]> = None;
        for (row, &(cell, ref moments)) in self.cells.iter().enumerate() {
            check_row(row, cell, moments)?;
            let [x, y, z] = cell;
            let key = [z, y, x];
            if let Some([lz, ly, lx]) = last.filter(|last| *last >= key) {
                let expected = format!("a cell after ({lx}, {ly}, {lz}) by (z, y, x)");
                return Err(wrong(format!("row {row}"), expected, format!("({x}, {y}, {z})")));
            }
            last = Some(key);
        }
        Ok(())
    }

    /// Checks that the cells hold as many points as were added and are finite.
    ///
    /// # Errors
    /// Numbers of points that do not add up.
    pub fn check_points(&self) -> Result<(), NdtTableError> {
        let in_cells: u64 = self.cells.iter().map(|(_, moments)| u64::from(moments.count)).sum();
        // Not by addition, which a number from outside could take past 2^64.
        if self.points.checked_sub(self.non_finite) == Some(in_cells) {
            return Ok(());
        }
        let expected = format!("{in_cells} in cells and {} not finite", self.non_finite);
        Err(wrong("points", expected, format!("{} of both", self.points)))
    }
}

/// Checks a row by itself.
fn check_row(row: usize, cell: [i32; 3], moments: &Moments) -> Result<(), NdtTableError> {
    let in_row = |column: usize| format!("column `{}`, row {row}", NdtMomentsTable::COLUMNS[column]);
    for (k, &c) in cell.iter().enumerate() {
        if !(-MAX_CELL..MAX_CELL).contains(&c) {
            return Err(wrong(in_row(k), format!("from {} to {}", -MAX_CELL, MAX_CELL - 1), c));
        }
    }
    if !(1..=MAX_COUNT).contains(&moments.count) {
        return Err(wrong(in_row(3), format!("from 1 to {MAX_COUNT}"), moments.count));
    }
    // An offset reaches half an edge to each side, so that no sum of them has more, and nothing
    // computed of them overflows.
    let (half, count) = (STEPS as i64 / 2, i64::from(moments.count));
    let within = |column: usize, value: i64, low: i64, high: i64| {
        if (low..=high).contains(&value) {
            return Ok(());
        }
        Err(wrong(in_row(column), format!("from {low} to {high} for {count} points"), value))
    };
    for (k, &sum) in moments.sum.iter().enumerate() {
        within(4 + k, sum, -half * count, half * count)?;
    }
    let most = half * half * count;
    for (k, &product) in moments.products.iter().enumerate() {
        let square = matches!(k, 0 | 3 | 5);
        within(7 + k, product, if square { 0 } else { -most }, most)?;
    }
    Ok(())
}

fn wrong(field: impl Into<String>, expected: String, got: impl ToString) -> NdtTableError {
    NdtTableError { field: field.into(), expected, got: got.to_string() }
}
