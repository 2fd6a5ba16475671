//! Converts point records to rows.

use super::header::Header;
use super::layout::{Column, columns};
use crate::error::IoError;
use crate::field::Field;
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::source::Source;
use crate::times::{self, ExactTimes};
use crate::warning::Warning;

/// The rows decoded so far.
#[derive(Debug)]
pub(super) struct Points<'h> {
    header: &'h Header,
    columns: Vec<Column>,
    data: Vec<f32>,
    /// x, y, z of every row.
    exact: Vec<f64>,
    /// GPS times, if the point format has them.
    times: Option<ExactTimes>,
    /// Number of points outside the bounding box of the header. `None` if the header has no valid box.
    outside: Option<usize>,
    /// Number of rows whose memory has been counted against the limit.
    counted: usize,
}

impl<'h> Points<'h> {
    pub(super) fn new(source: &Source<'_>, bounds: &Bounds, header: &'h Header) -> Result<Self, IoError> {
        let columns = columns(header.format);
        bounds.check_columns(source, columns.len())?;
        let boxed = (0..3).all(|axis| header.min[axis] <= header.max[axis]);
        let times = columns.iter().position(|c| times::is_exact(c.name, c.dtype)).map(ExactTimes::of);
        Ok(Self { header, columns, data: vec![], exact: vec![], times, outside: boxed.then_some(0), counted: 0 })
    }

    /// Allocates memory for rows whose bytes are known to be in the file.
    pub(super) fn reserve(&mut self, source: &Source<'_>, rows: u64) -> Result<(), IoError> {
        let (rows, width) = (usize::try_from(rows).unwrap_or(usize::MAX), self.columns.len());
        self.count(source, rows)?;
        let taken = self.data.try_reserve_exact(rows.saturating_mul(width));
        let exact = self.exact.try_reserve_exact(rows.saturating_mul(3));
        let times = self.times.as_mut().map_or(Ok(()), |times| times.room().try_reserve_exact(rows));
        taken.and(exact).and(times).map_err(|_| source.out_of_memory(self.bytes(rows)))
    }

    fn count(&mut self, source: &Source<'_>, rows: usize) -> Result<(), IoError> {
        source.take(self.bytes(rows.saturating_sub(self.counted)))?;
        self.counted = self.counted.max(rows);
        Ok(())
    }

    /// Size of this number of rows in bytes.
    fn bytes(&self, rows: usize) -> usize {
        rows.saturating_mul(4 * self.columns.len() + 24 + if self.times.is_some() { 8 } else { 0 })
    }

    /// Adds a row for each record in `bytes`.
    pub(super) fn push(&mut self, source: &Source<'_>, bytes: &[u8]) -> Result<(), IoError> {
        let (records, width) = (bytes.chunks_exact(self.header.record), self.columns.len());
        let (first, rows) = (self.exact.len() / 3, records.len());
        self.count(source, first + rows)?;
        let taken = self.data.try_reserve(rows * width).and(self.exact.try_reserve(3 * rows));
        let times = self.times.as_mut().map_or(Ok(()), |times| times.room().try_reserve(rows));
        taken.and(times).map_err(|_| source.out_of_memory(self.bytes(first + rows)))?;
        for record in records {
            let xyz = self.header.coordinates(record);
            if let Some(outside) = &mut self.outside {
                *outside += usize::from(!self.header.holds(xyz));
            }
            self.exact.extend(xyz);
            self.data.extend(xyz.map(|v| v as f32));
            self.data.extend(self.columns[3..].iter().map(|column| column.value(record)));
            if let Some(times) = &mut self.times {
                times.push(self.columns[times.column].double(record));
            }
        }
        Ok(())
    }

    /// Returns the rows, with a warning if bytes follow them.
    pub(super) fn into_rows(self, rest: u64) -> Rows {
        let mut warnings = vec![];
        if rest > 0 {
            warnings.push(Warning::TrailingBytes { bytes: rest });
        }
        if let Some(count @ 1..) = self.outside {
            warnings.push(Warning::OutsideBounds { count, points: self.exact.len() / 3 });
        }
        let columns = self.columns.len();
        let fields = self.columns.into_iter().map(|c| Field { name: c.name.into(), dtype: c.dtype }).collect();
        Rows {
            data: self.data,
            columns,
            fields: Some(fields),
            xyz_f64: Some(self.exact),
            times: self.times,
            warnings,
            ..Rows::EMPTY
        }
    }
}

impl Header {
    /// Returns x, y, z of a record.
    fn coordinates(&self, record: &[u8]) -> [f64; 3] {
        std::array::from_fn(|axis| {
            let whole = i32::from_le_bytes(std::array::from_fn(|i| record[4 * axis + i]));
            f64::from(whole) * self.scale[axis] + self.shift[axis]
        })
    }

    /// Whether a point is in the bounding box of the header, or outside by no more than the rounding of writers.
    fn holds(&self, xyz: [f64; 3]) -> bool {
        (0..3).all(|axis| {
            let step = self.scale[axis].abs();
            (self.min[axis] - step..=self.max[axis] + step).contains(&xyz[axis])
        })
    }
}
