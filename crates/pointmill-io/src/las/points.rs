//! Converts point records to rows.

use super::header::Header;
use super::layout::{Column, columns};
use crate::error::IoError;
use crate::field::Field;
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::source::Source;
use crate::threads::{take_first, zeros};
use crate::warning::Warning;
use crate::wide::{WideColumn, change};
use std::slice::ChunksExact;

/// Records that become rows at a time. They and their rows fit the second-level cache.
const BLOCK: usize = 1024;

/// How records become rows.
#[derive(Debug)]
struct Shape<'h> {
    header: &'h Header,
    columns: Vec<Column>,
    /// The column of GPS times, where the point format has them.
    times: Option<usize>,
    /// The box of the header and a step around it, for the rounding of writers; `None` where the
    /// header gives none.
    bbox: Option<[[f64; 3]; 2]>,
}

/// Rows as they come.
#[derive(Debug)]
pub(super) struct Points<'h> {
    shape: Shape<'h>,
    data: Vec<f32>,
    /// x, y, z of every row.
    exact: Vec<f64>,
    /// GPS times, if the point format has them.
    times: Vec<f64>,
    /// The most that a GPS time changed in the cast to `f32`.
    change: f64,
    /// Number of rows whose memory has been counted against the limit.
    counted: usize,
}

/// Some rows that are there, to be filled on any thread.
#[derive(Debug)]
pub(super) struct Part<'p> {
    shape: &'p Shape<'p>,
    data: &'p mut [f32],
    exact: &'p mut [f64],
    times: &'p mut [f64],
    /// The most that a GPS time changed in the cast to `f32`, so far.
    pub(super) change: f64,
}

impl Part<'_> {
    /// Fills the next rows from their records.
    pub(super) fn fill(&mut self, bytes: &[u8]) {
        let record = self.shape.header.record;
        bytes.chunks(BLOCK * record).for_each(|block| self.fill_block(block.chunks_exact(record)));
    }

    /// Fills the next rows, column after column: how a column is decoded is then decided once.
    fn fill_block(&mut self, records: ChunksExact<'_, u8>) {
        let Shape { header, columns, times, .. } = self.shape;
        let rows = records.len();
        let (data, exact) = (take_first(&mut self.data, rows * columns.len()), take_first(&mut self.exact, 3 * rows));
        let out = data.chunks_exact_mut(columns.len()).zip(exact.as_chunks_mut().0);
        for (record, (row, exact)) in records.clone().zip(out) {
            *exact = header.coordinates(record);
            (0..3).for_each(|axis| row[axis] = exact[axis] as f32);
        }
        for (j, column) in columns.iter().enumerate().skip(3) {
            column.fill(records.clone().zip(data[j..].iter_mut().step_by(columns.len())));
        }
        if let Some(column) = times.map(|times| &columns[times]) {
            let out = take_first(&mut self.times, rows);
            out.iter_mut().zip(records).for_each(|(to, record)| {
                *to = column.double(record);
                self.change = change(self.change, *to as f32, *to);
            });
        }
    }
}

impl<'h> Points<'h> {
    pub(super) fn new(source: &Source<'_>, bounds: &Bounds, header: &'h Header) -> Result<Self, IoError> {
        let columns = columns(header.format);
        bounds.check_columns(source, columns.len())?;
        let boxed = (0..3).all(|axis| header.min[axis] <= header.max[axis]);
        let around =
            |corner: [f64; 3], sign: f64| std::array::from_fn(|axis| corner[axis] + sign * header.scale[axis].abs());
        let bbox = boxed.then(|| [around(header.min, -1.0), around(header.max, 1.0)]);
        let times = columns.iter().position(|c| c.name == "gps_time");
        let shape = Shape { header, columns, times, bbox };
        Ok(Self { shape, data: vec![], exact: vec![], times: vec![], change: 0.0, counted: 0 })
    }

    /// Allocates memory for rows whose bytes are known to be in the file.
    pub(super) fn reserve(&mut self, source: &Source<'_>, rows: u64) -> Result<(), IoError> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        self.count(source, rows)?;
        let [data, exact, times] = self.values(rows);
        let taken = self.data.try_reserve_exact(data).and(self.exact.try_reserve_exact(exact));
        taken.and(self.times.try_reserve_exact(times)).map_err(|_| source.out_of_memory(self.bytes(rows)))
    }

    fn count(&mut self, source: &Source<'_>, rows: usize) -> Result<(), IoError> {
        source.take(self.bytes(rows.saturating_sub(self.counted)))?;
        self.counted = self.counted.max(rows);
        Ok(())
    }

    /// Numbers of values of this number of rows: in the columns, of coordinates and of times.
    fn values(&self, rows: usize) -> [usize; 3] {
        let times = usize::from(self.shape.times.is_some());
        [self.shape.columns.len(), 3, times].map(|each| rows.saturating_mul(each))
    }

    /// Size of this number of rows in bytes.
    fn bytes(&self, rows: usize) -> usize {
        let [data, exact, times] = self.values(rows);
        data.saturating_mul(4).saturating_add(exact.saturating_add(times).saturating_mul(8))
    }

    /// Adds a row for each record in `bytes`.
    pub(super) fn push(&mut self, source: &Source<'_>, bytes: &[u8]) -> Result<(), IoError> {
        let rows = (bytes.len() / self.shape.header.record) as u64;
        let change = self.parts(source, &[rows])?.into_iter().map(|mut part| {
            part.fill(bytes);
            part.change
        });
        let change = change.fold(0.0, f64::max);
        self.changed(change);
        Ok(())
    }

    /// Takes the change of parts that stay.
    pub(super) fn changed(&mut self, change: f64) {
        self.change = self.change.max(change);
    }

    /// More rows, as parts of so many each, to be filled on any thread.
    pub(super) fn parts(&mut self, source: &Source<'_>, rows: &[u64]) -> Result<Vec<Part<'_>>, IoError> {
        let more = usize::try_from(rows.iter().sum::<u64>()).unwrap_or(usize::MAX);
        let all = more.saturating_add(self.exact.len() / 3);
        self.count(source, all)?;
        let ([data, exact, times], bytes) = (self.values(more), self.bytes(all));
        let refused = |_| source.out_of_memory(bytes);
        let Self { data: to_data, exact: to_exact, times: to_times, .. } = self;
        let mut data = zeros(to_data, data).map_err(refused)?;
        let mut exact = zeros(to_exact, exact).map_err(refused)?;
        let mut times = zeros(to_times, times).map_err(refused)?;
        let columns = self.shape.columns.len();
        let each_times = usize::from(self.shape.times.is_some());
        let parts = rows.iter().map(|&rows| {
            let rows = rows as usize;
            Part {
                shape: &self.shape,
                data: take_first(&mut data, rows * columns),
                exact: take_first(&mut exact, 3 * rows),
                times: take_first(&mut times, rows * each_times),
                change: 0.0,
            }
        });
        Ok(parts.collect())
    }

    /// Leaves out some parts of so many rows each; `wrong` has their places, in order.
    #[cfg(feature = "laz")]
    pub(super) fn leave_out(&mut self, rows: &[u64], wrong: &[usize]) {
        let mut kept: Vec<bool> = vec![];
        for (i, &rows) in rows.iter().enumerate() {
            kept.resize(kept.len() + rows as usize, wrong.binary_search(&i).is_err());
        }
        fn retain<T>(values: &mut Vec<T>, kept: &[bool]) {
            let each = values.len() / kept.len().max(1);
            let mut kept = kept.iter().flat_map(|kept| std::iter::repeat_n(*kept, each));
            values.retain(|_| kept.next().unwrap_or_default());
        }
        if !wrong.is_empty() {
            retain(&mut self.data, &kept);
            retain(&mut self.exact, &kept);
            retain(&mut self.times, &kept);
        }
    }

    /// Returns the rows, with a warning if bytes follow them.
    pub(super) fn into_rows(self, rest: u64) -> Rows {
        let mut warnings = vec![];
        if rest > 0 {
            warnings.push(Warning::TrailingBytes { bytes: rest });
        }
        let Shape { columns, times, header, bbox } = self.shape;
        let wide = times.map(|column| WideColumn { column, first: None, values: self.times, change: self.change });
        let fields = columns.iter().map(|c| Field { name: c.name.into(), dtype: c.dtype }).collect();
        Rows {
            data: self.data,
            columns: columns.len(),
            fields: Some(fields),
            xyz_f64: Some(self.exact),
            wide: wide.into_iter().collect(),
            decimals: header.decimals(),
            bbox,
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

    /// The decimals of all coordinates, where the scales are decimal numbers and the offsets have
    /// no more decimals.
    fn decimals(&self) -> Option<u8> {
        let of = |axis: usize| {
            let is_of = |n: i32| {
                let steps = 10_f64.powi(n);
                let whole = (self.scale[axis] * steps).round();
                whole >= 1.0 && self.scale[axis] == whole / steps
            };
            let decimals = (0..=9).find(|&n| is_of(n))?;
            let shift = self.shift[axis] * 10_f64.powi(decimals);
            (shift.fract() == 0.0).then_some(decimals as u8)
        };
        (0..3).map(of).reduce(|a, b| Some(a?.max(b?)))?
    }
}
