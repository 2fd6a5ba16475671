//! From batches to the rows of a cloud.

use super::batch::{Batch, Values};
use super::buffers::Found;
use super::read::{expect_points, read};
use super::schema::{Column, Kind};
use crate::error::IoError;
use crate::limits::Bounds;
use crate::records::{Columns, Entry, Part, Strided, Table};
use crate::rows::Rows;
use crate::source::Source;
use crate::threads::on_threads;
use crate::warning::Warning;
use crate::window::Window;

/// Reads the rows of a table with x, y and z.
pub(crate) fn read_rows(source: &mut Source<'_>, bounds: &Bounds) -> Result<Rows, IoError> {
    let mut table = None;
    let mut left_out = vec![];
    let rest = read(&mut Window::new(source), bounds, expect_points, |window, columns, batches, _| {
        if let Some(table) = &mut table {
            return push(window, bounds, table, columns, batches);
        }
        left_out.extend(columns.iter().filter(|c| !matches!(c.kind, Kind::Numbers(_))).map(|c| c.name.clone()));
        table = Some(Table::new(entries(window, bounds, columns)?));
        Ok(())
    })?;
    let mut rows = table.expect("the schema makes it").into_rows(rest);
    if !left_out.is_empty() {
        rows.warnings.push(Warning::LeftOut { columns: left_out });
    }
    Ok(rows)
}

/// A column for each one of numbers.
fn entries(window: &Window<'_, '_>, bounds: &Bounds, columns: &[Column]) -> Result<Columns, IoError> {
    let numbers = columns.iter().enumerate().filter_map(|(token, column)| match column.kind {
        Kind::Numbers(dtype) => Some(Entry::new(&*column.name, dtype, token, 0)),
        Kind::Text(_) | Kind::Categories { .. } | Kind::Other => None,
    });
    Columns::new(window, bounds, numbers.collect(), 0)
}

/// Adds the rows of batches, each batch on any thread.
fn push(
    window: &Window<'_, '_>,
    bounds: &Bounds,
    table: &mut Table,
    columns: &[Column],
    batches: &[Batch],
) -> Result<(), IoError> {
    let rows: Vec<_> = batches.iter().map(|batch| batch.rows).collect();
    let all = rows.iter().fold(table.len() as u64, |all, &rows| all.saturating_add(rows as u64));
    bounds.check_points(window.source(), all)?;
    let wanted = table.tokens();
    let found = batches.iter().map(|batch| batch.find(window, columns, &wanted)).collect::<Result<Vec<_>, _>>()?;
    let parts = table.extend(window, &rows, |j, entry| {
        let Some(values) = found.iter().zip(&rows).find_map(|(found, &rows)| (rows > 0).then_some(&found[j][0])) else {
            return Ok(None);
        };
        let first = values.first(entry.dtype.bytes())?;
        Ok(strided(&first, entry).first_whole(entry.dtype))
    })?;
    let items: Vec<(&Vec<_>, Part<'_>)> = found.iter().zip(parts).collect();
    on_threads(items, |(found, part)| fill(found, part)).into_iter().collect()
}

/// Fills rows with the values that were found.
fn fill(found: &[Values<Found<'_>>], mut part: Part<'_>) -> Result<(), IoError> {
    let mut memory: Vec<Values<Vec<u8>>> = vec![];
    memory.resize_with(found.len(), Default::default);
    for (found, memory) in found.iter().flatten().zip(memory.iter_mut().flatten()) {
        found.unpack(memory)?;
    }
    let bytes = |j: usize, k: usize| found[j][k].bytes(&memory[j][k]);
    part.fill(|j, entry| strided(bytes(j, 0), entry), |j| bytes(j, 1));
    Ok(())
}

/// The values of a column.
fn strided<'b>(bytes: &'b [u8], entry: &Entry) -> Strided<'b> {
    Strided { bytes, at: 0, step: entry.dtype.bytes(), big_endian: false }
}
