//! Memory that the system may refuse, for what is made of clouds that are there already.

use crate::error::IoError;
use crate::fault::fault;
use std::collections::TryReserveError;
use std::path::Path;

/// Collects values of a known number.
pub(crate) fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(values.len())?;
    all.extend(values);
    Ok(all)
}

/// Adds values, of which there are `count`.
pub(crate) fn extend<T>(
    all: &mut Vec<T>,
    count: usize,
    values: impl IntoIterator<Item = T>,
) -> Result<(), TryReserveError> {
    all.try_reserve(count)?;
    all.extend(values);
    Ok(())
}

/// Adds a value.
pub(crate) fn push<T>(all: &mut Vec<T>, value: T) -> Result<(), TryReserveError> {
    if all.len() == all.capacity() {
        all.try_reserve(1)?;
    }
    all.push(value);
    Ok(())
}

/// Leaves out the rows of values that are not kept; the others move up.
pub(crate) fn retain_rows<T: Copy>(values: &mut Vec<T>, kept: &[bool]) {
    let each = values.len() / kept.len().max(1);
    let mut to = 0;
    for (i, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
        values.copy_within(i * each..(i + 1) * each, to);
        to += each;
    }
    values.truncate(to);
}

/// The error for memory of a cloud that is refused: of so many rows of some columns.
pub(crate) fn refused<E>(path: &Path, rows: usize, columns: usize) -> impl Fn(E) -> IoError {
    let bytes = 4 * rows.saturating_mul(columns);
    let path = path.to_owned();
    move |_| fault!(path.as_path(), OutOfMemory, "memory", "{bytes} bytes or more", "a refusal")
}
