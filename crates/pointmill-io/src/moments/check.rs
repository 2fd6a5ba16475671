//! What holds for every table, read or to be written.

use super::columns::COLUMNS;
use pointmill_core::ndt::{MAX_CELL, MAX_COUNT, Moments, STEPS};

/// What is wrong: the part, what was wanted there and what was found.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) field: String,
    pub(super) wanted: String,
    pub(super) found: String,
}

impl Wrong {
    pub(super) fn new(field: impl Into<String>, wanted: impl Into<String>, found: impl ToString) -> Self {
        Self { field: field.into(), wanted: wanted.into(), found: found.to_string() }
    }
}

/// Checks row after row: the order of cells, and that sums are such as points can have.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: usize,
    last: Option<[i32; 3]>,
    points: u64,
}

impl Rows {
    pub(super) fn next(&mut self, cell: [i32; 3], moments: &Moments) -> Result<(), Wrong> {
        let row = self.rows;
        let in_row = |column: usize| format!("column `{}`, row {row}", COLUMNS[column].0);
        for (k, &c) in cell.iter().enumerate() {
            if !(-MAX_CELL..MAX_CELL).contains(&c) {
                return Err(Wrong::new(in_row(k), format!("from {} to {}", -MAX_CELL, MAX_CELL - 1), c));
            }
        }
        let [x, y, z] = cell;
        let key = [z, y, x];
        if let Some([lz, ly, lx]) = self.last.filter(|&last| last >= key) {
            let wanted = format!("a cell after ({lx}, {ly}, {lz}) by (z, y, x)");
            return Err(Wrong::new(format!("row {row}"), wanted, format!("({x}, {y}, {z})")));
        }
        if !(1..=MAX_COUNT).contains(&moments.count) {
            return Err(Wrong::new(in_row(3), format!("from 1 to {MAX_COUNT}"), moments.count));
        }
        // Offsets reach half an edge to each side.
        let half = STEPS as i64 / 2;
        let count = i64::from(moments.count);
        let within = |column: usize, value: i64, low: i64, high: i64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(Wrong::new(in_row(column), format!("from {low} to {high} for {count} points"), value))
        };
        for (k, &sum) in moments.sum.iter().enumerate() {
            within(4 + k, sum, -half * count, half * count)?;
        }
        let most = half * half * count;
        for (k, &product) in moments.products.iter().enumerate() {
            let square = matches!(k, 0 | 3 | 5);
            within(7 + k, product, if square { 0 } else { -most }, most)?;
        }
        self.last = Some(key);
        self.rows += 1;
        self.points += u64::from(moments.count);
        Ok(())
    }

    /// Whether the rows have as many points as said.
    pub(super) fn end(&self, points: u64, nonfinite: u64) -> Result<(), Wrong> {
        if self.points.checked_add(nonfinite) == Some(points) {
            return Ok(());
        }
        let wanted = format!("{} in cells and {nonfinite} not finite", self.points);
        Err(Wrong::new("points", wanted, format!("{points} of both")))
    }
}
