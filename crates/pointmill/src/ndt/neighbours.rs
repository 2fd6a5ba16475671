//! Rows near points.

use crate::device::{Buffer, Stream};
use crate::{Argument, Result, ensure};

/// Rows of a grid near points, as lists side by side, on the grid's device.
///
/// The rows near point `i` are elements `row_splits[i]` to `row_splits[i + 1]` of `rows`.
/// **Order**: that of points; within a radius the nearest row first, of equally near ones the
/// first; around a cell ascending.
///
/// **Limits**: fewer than 2^30 elements in all.
#[derive(Debug)]
#[non_exhaustive]
pub struct NdtNeighbours {
    /// `[N + 1]`.
    pub row_splits: Buffer<u32>,
    /// Rows.
    pub rows: Buffer<u32>,
    /// Squared distances of their means in square metres, for searches within a radius.
    pub distance_squared: Buffer<f64>,
    pub(super) points: usize,
    pub(super) len: usize,
    pub(super) has_distances: bool,
}

/// [`NdtNeighbours`] on the host.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct NdtLists {
    /// `[N + 1]`: where the rows near each point start.
    pub row_splits: Vec<u32>,
    /// Rows.
    pub rows: Vec<u32>,
    /// Squared distances of their means in square metres; empty for cells around a point's.
    pub distance_squared: Vec<f64>,
}

impl NdtNeighbours {
    /// Empty lists to be filled; their buffers grow as needed.
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            row_splits: stream.alloc(0)?,
            rows: stream.alloc(0)?,
            distance_squared: stream.alloc(0)?,
            points: 0,
            len: 0,
            has_distances: false,
        })
    }

    /// Lists that the host has.
    pub(super) fn of(
        stream: &Stream,
        points: usize,
        row_splits: Vec<u32>,
        rows: Vec<u32>,
        distances: Vec<f64>,
    ) -> Result<Self> {
        let (len, has_distances) = (rows.len(), !distances.is_empty());
        let (row_splits, rows) = (Buffer::of_host(stream, row_splits)?, Buffer::of_host(stream, rows)?);
        let distance_squared = Buffer::of_host(stream, distances)?;
        Ok(Self { row_splits, rows, distance_squared, points, len, has_distances })
    }

    /// How many elements the lists have so far, if they can have as many.
    pub(super) fn checked(total: u64) -> Result<u32> {
        ensure(total < 1 << 30, Argument::Points, "fewer than 2^30 rows near them in all", total)?;
        Ok(total as u32)
    }

    /// The number of elements of all lists.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no row is near any point.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The lists on the host.
    ///
    /// # Errors
    /// Whatever the device's work ran into.
    pub fn read(&self) -> Result<NdtLists> {
        Ok(NdtLists {
            row_splits: self.row_splits.read(self.points + 1)?,
            rows: self.rows.read(self.len)?,
            distance_squared: self.distance_squared.read(if self.has_distances { self.len } else { 0 })?,
        })
    }
}
