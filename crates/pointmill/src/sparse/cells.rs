//! Cells as callers give them.

use crate::device::{Buffer, Stream};
use crate::{Argument, Error, Ints, Result, ensure, par};
use pointmill_core::sparse::MAX_DEPTH;
use pointmill_kernels::prim::Length;
use pointmill_kernels::sparse::CellRows;
use rayon::prelude::*;
use std::ptr::null;

/// Rows that a thread looks at at least.
pub(super) const ROWS_OF_A_THREAD: usize = 8192;
/// Rows of a call at most, and one.
pub(super) const MAX_ROWS: usize = 1 << 30;

/// Cells of a grid, and of which item of a batch each is.
///
/// **Shapes**: coordinates x, y, z `[V, 3]`, and items `[V]`, of `i32` in any order of rows.
///
/// ```
/// use pointmill::sparse::Cells;
/// let cells = Cells::new(&[[0, 0, 0], [3, 1, 2]])?.batch(&[0, 1], 2)?;
/// assert_eq!(cells.len(), 2);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    coords: Ints<'a>,
    batch: Option<Ints<'a>>,
    items: u32,
    count: Option<&'a Buffer<u32>>,
}

impl<'a> Cells<'a> {
    /// Cells of one item.
    ///
    /// # Errors
    /// A number of values that is no multiple of 3; 2^30 cells or more.
    pub fn new(coords: impl Into<Ints<'a>>) -> Result<Self> {
        let coords = coords.into();
        ensure(coords.len().is_multiple_of(3), Argument::Coords, "3 values a row (x, y, z)", coords.len())?;
        ensure(coords.len() / 3 < MAX_ROWS, Argument::Coords, "fewer than 2^30 cells", coords.len() / 3)?;
        Ok(Self { coords, batch: None, items: 1, count: None })
    }

    /// The same of a batch of `items` items: the item of each cell, 0 or more.
    ///
    /// # Errors
    /// Not as many numbers as cells; no items, or 2^31 or more.
    pub fn batch(self, batch: impl Into<Ints<'a>>, items: usize) -> Result<Self> {
        let batch = batch.into();
        let expected = format_args!("{} numbers, as many as cells", self.len());
        ensure(batch.len() == self.len(), Argument::Batch, expected, batch.len())?;
        ensure((1..1 << 31).contains(&items), Argument::Items, "1 to 2147483647 items", items)?;
        Ok(Self { batch: Some(batch), items: items as u32, ..self })
    }

    /// The same where only the device knows how many of the rows there are: the first word of
    /// `count`. Rows behind are not looked at, and no call waits for the number.
    ///
    /// # Errors
    /// A buffer without a word.
    pub fn counted(self, count: &'a Buffer<u32>) -> Result<Self> {
        ensure(!count.is_empty(), Argument::Count, "a buffer of at least one word", 0)?;
        Ok(Self { count: Some(count), ..self })
    }

    /// How many rows there are at most.
    pub const fn len(&self) -> usize {
        self.coords.len() / 3
    }

    /// Whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items the batch has.
    pub const fn items(&self) -> u32 {
        self.items
    }

    pub(super) fn streams(&self) -> [Option<&'a Stream>; 3] {
        [self.coords.stream(), self.batch.and_then(|batch| batch.stream()), self.count.map(Buffer::stream)]
    }

    /// Checks that work on `stream` can reach all of it.
    pub(super) fn check(&self, stream: &Stream) -> Result<()> {
        self.coords.check(Argument::Coords, stream)?;
        if let Some(batch) = &self.batch {
            batch.check(Argument::Batch, stream)?;
        }
        self.count.map_or(Ok(()), |count| stream.check_memory(Argument::Count, "memory of", count.stream()))
    }

    /// How many rows there are, where the host knows.
    pub(super) fn known(&self) -> Option<usize> {
        match self.count {
            None => Some(self.len()),
            Some(count) => count.as_slice().map(|count| self.len().min(count[0] as usize)),
        }
    }

    /// The largest coordinate of host memory that is not below 0.
    pub(super) fn largest(&self, rows: usize) -> Option<u32> {
        let coords = &self.coords.host()?[..3 * rows];
        let all = coords.par_chunks(ROWS_OF_A_THREAD).with_min_len(par::grain(1));
        Some(all.map(|part| part.iter().copied().max().unwrap_or(0)).max().unwrap_or(0).max(0) as u32)
    }

    /// Refuses rows of host memory that are no cells at this depth.
    pub(super) fn check_rows(&self, rows: usize, depth: u32) -> Result<()> {
        if let Some(coords) = self.coords.host() {
            let beyond = |&value: &i32| value as u32 >> depth != 0;
            let all = coords[..3 * rows].par_chunks(3).with_min_len(par::grain(ROWS_OF_A_THREAD));
            if let Some(i) = all.position_first(|row| row.iter().any(beyond)) {
                return Err(refused_cell(depth, format_args!("{:?} in row {i}", &coords[3 * i..][..3])));
            }
        }
        if let Some(batch) = self.batch.and_then(|batch| batch.host())
            && let Some(i) = batch[..rows].iter().position(|&item| item as u32 >= self.items)
        {
            return Err(refused_item(self.items, format_args!("{} in row {i}", batch[i])));
        }
        Ok(())
    }

    /// A cell of host memory, and its item.
    pub(super) fn host_row(&self, i: usize) -> ([u32; 3], u32) {
        let coords = self.coords.host().unwrap_or_default();
        let item = self.batch.and_then(|batch| batch.host()).map_or(0, |batch| batch[i] as u32);
        ([0, 1, 2].map(|k| coords[3 * i + k] as u32), item)
    }

    /// The cells as kernels take them. Host values are first copied to memory of `staging`.
    pub(super) fn staged(&self, staging: &mut [Buffer<i32>; 2]) -> Result<CellRows> {
        let [of_coords, of_batch] = staging;
        Ok(CellRows {
            coords: self.coords.address(of_coords)?,
            batch: self.batch.map_or(Ok(null()), |batch| batch.address(of_batch))?,
            n: Length {
                bound: self.len() as u32,
                exact: self.count.map_or(null(), |count| count.pointer().cast_const()),
            },
        })
    }
}

/// The error of a row that is no cell at this depth.
pub(super) fn refused_cell(depth: u32, got: impl std::fmt::Display) -> Error {
    let most = (1u32 << depth) - 1;
    let way_out = if depth < MAX_DEPTH { ": set a larger depth" } else { ": use a larger grid size" };
    Error::argument(Argument::Coords, format!("coordinates of 0 to {most} at depth {depth}{way_out}"), got)
}

/// The error of a row of an item that is not there.
pub(super) fn refused_item(items: u32, got: impl std::fmt::Display) -> Error {
    Error::argument(Argument::Batch, format!("items of 0 to {}", items - 1), got)
}
