//! Points of items as callers give them.

use crate::device::Stream;
use crate::{Argument, Dtype, Error, Result, Rows, ensure, memory, rows};
use std::ops::Range;

/// Checked points of one argument, and where each item starts.
#[derive(Clone, Debug)]
pub(super) struct Items<'a> {
    pub(super) rows: Rows<'a>,
    /// One more than items.
    pub(super) splits: Vec<u32>,
}

/// Values of rows on the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a> {
    values: &'a [f32],
    columns: usize,
}

impl<'a> Items<'a> {
    /// Checks type, shape and splits: no row is refused. Without splits all rows are one item.
    pub(super) fn new(
        (rows, argument): (Rows<'a>, Argument),
        (splits, of_splits): (Option<&[usize]>, Argument),
        stream: &Stream,
    ) -> Result<Self> {
        rows.check(argument, stream, &[Dtype::F32])?;
        ensure(rows.columns() >= 3, argument, "at least 3 columns: x, y, z first", rows.columns())?;
        ensure(rows.len() < 1 << 30, argument, "fewer than 2^30 points", rows.len())?;
        let splits = checked(splits, of_splits, rows.len())?;
        Ok(Self { rows, splits })
    }

    /// Refuses another number of items.
    pub(super) fn check_items(&self, items: usize, argument: Argument) -> Result<()> {
        let expected = format_args!("{} numbers, one more than items of points", items + 1);
        ensure(self.items() == items, argument, expected, self.splits.len())
    }

    pub(super) const fn items(&self) -> usize {
        self.splits.len() - 1
    }

    /// The rows of an item.
    pub(super) fn item(&self, item: usize) -> Range<usize> {
        self.splits[item] as usize..self.splits[item + 1] as usize
    }

    pub(super) fn host(&self, argument: Argument) -> Result<Values<'a>> {
        host(&self.rows, argument)
    }
}

/// Splits of so many rows; one item without them.
pub(super) fn checked(splits: Option<&[usize]>, argument: Argument, len: usize) -> Result<Vec<u32>> {
    let whole = [0, len];
    let splits = splits.unwrap_or(&whole);
    rows::check_splits(argument, splits, len)?;
    memory::collect(splits.iter().map(|&split| split as u32))
}

/// The values of rows that were checked, for the CPU.
pub(super) fn host<'a>(rows: &Rows<'a>, argument: Argument) -> Result<Values<'a>> {
    let values = rows.host::<f32>().ok_or_else(|| Error::argument(argument, "host memory", "a device"))?;
    Ok(Values { values, columns: rows.columns() })
}

impl<'a> Values<'a> {
    pub(super) fn row(&self, i: usize) -> &'a [f32] {
        &self.values[i * self.columns..][..self.columns]
    }

    pub(super) fn point(&self, i: usize) -> [f32; 3] {
        let row = self.row(i);
        [row[0], row[1], row[2]]
    }
}

pub(super) fn is_finite(p: [f32; 3]) -> bool {
    p.iter().all(|c| c.is_finite())
}
