//! A batch: some rows of a table.

use super::buffers::{Buffers, Codec, Found};
use super::flat::{Broken, Table as Flat};
use super::schema::{Column, Kind, Layout};
use crate::error::IoError;
use crate::fault::bail;
use crate::window::Window;
use std::ops::Range;

/// Bytes of a view of a text.
pub(super) const VIEW: usize = 16;

/// Rows of the columns.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) rows: usize,
    /// Bytes of the values of all columns of numbers.
    bytes: u64,
    /// Whether each column has nulls.
    has_nulls: Vec<bool>,
    /// For each column its buffers.
    of: Vec<Range<usize>>,
    buffers: Buffers,
}

/// The values of a column, and a bit for each row whether it has one; no bits where all have.
pub(super) type Values<T> = [T; 2];

impl Batch {
    /// Checks what a batch says of its rows and buffers.
    pub(super) fn new(
        window: &Window<'_, '_>,
        columns: &[Column],
        header: &Flat<'_>,
        body: Vec<u8>,
        i: usize,
    ) -> Result<Self, IoError> {
        let field = |part: &str| format!("batch {i}{part}");
        let broken = |e: Broken| e.error(window, &field(""));
        let rows = header.i64(0).map_err(broken)?;
        let nodes: Vec<[i64; 2]> = header.structs(1).map_err(broken)?;
        let places: Vec<[i64; 2]> = header.structs(2).map_err(broken)?;
        let compression = header.table(3).map_err(broken)?;
        let codec = compression.map(|table| Ok((table.u8(0)?, table.u8(1)?))).transpose().map_err(broken)?;
        let codec = match codec {
            None => None,
            Some((0, 0)) => Some(Codec::Lz4),
            Some((1, 0)) => Some(Codec::Zstd),
            Some((codec, _)) => {
                let wanted = "LZ4 or ZSTD of each buffer";
                bail!(window, UnsupportedFormat, (field(": compression")), wanted, "codec {codec}");
            }
        };
        // Each column of views has some buffers more.
        let mut more = header.structs::<1>(4).map_err(broken)?.into_iter().map(|[n]| usize::try_from(n).unwrap_or(0));
        let (mut of, mut firsts, mut node, mut buffer) = (vec![], vec![], 0, 0_usize);
        for Column { parts, .. } in columns {
            firsts.push(node);
            node += parts.nodes;
            let views = more.by_ref().take(parts.views).fold(0, usize::saturating_add);
            of.push(buffer..buffer.saturating_add(parts.buffers).saturating_add(views));
            buffer = of[of.len() - 1].end;
        }
        if nodes.len() != node || places.len() != buffer {
            let wanted = format!("{node} nodes and {buffer} buffers");
            bail!(window, BadHeader, (field("")), wanted, ("{} and {}", nodes.len(), places.len()));
        }
        for (&first, column) in firsts.iter().zip(columns) {
            let [length, nulls] = nodes[first];
            if length != rows || !(0..=rows).contains(&nulls) {
                let wanted = format!("{rows} rows");
                let found = format!("{length} rows, {nulls} nulls");
                bail!(window, SizeMismatch, (field(&format!(": column `{}`", column.name))), wanted, found);
            }
        }
        let has_nulls = firsts.iter().map(|&first| nodes[first][1] != 0).collect();
        // Before memory is taken for as many.
        let most = body.len() as u64 * codec.map_or(1, Codec::growth);
        let width = |column: &Column| match column.kind {
            Kind::Numbers(dtype) | Kind::Categories { dtype, .. } => dtype.bytes(),
            Kind::Text(Layout::Views) => VIEW,
            Kind::Text(_) | Kind::Other => 0,
        };
        let width = columns.iter().map(width).sum::<usize>() as u64;
        let bytes = u64::try_from(rows).ok().and_then(|rows| rows.checked_mul(width)).filter(|&bytes| bytes <= most);
        let Some(bytes) = bytes else {
            let wanted = format!("at most {most} bytes, which its {} bytes can be", body.len());
            bail!(window, SizeMismatch, (field("")), wanted, "{rows} rows of {width} bytes");
        };
        // A writer gives each buffer bytes of its own, so that work is bounded by the file.
        let named = places.iter().fold(0, |sum: i64, [_, length]| sum.saturating_add(*length.max(&0)));
        if codec.is_some() && u64::try_from(named).is_ok_and(|named| named > body.len() as u64) {
            let wanted = format!("buffers of at most {} bytes, each with bytes of its own", body.len());
            bail!(window, SizeMismatch, (field("")), wanted, "{named} bytes");
        }
        let buffers = Buffers { body, places, codec, batch: i };
        Ok(Self { rows: rows as usize, bytes, has_nulls, of, buffers })
    }

    /// The bytes that compressed columns of numbers become, as they say.
    pub(super) fn unpacked(&self, columns: &[Column]) -> u64 {
        let numbers = columns.iter().zip(&self.of).filter(|(column, _)| matches!(column.kind, Kind::Numbers(_)));
        let said = numbers.flat_map(|(_, of)| [of.start, of.start + 1]).map(|i| self.buffers.unpacked(i));
        said.fold(0, u64::saturating_add).max(self.bytes)
    }

    /// Whether the values are compressed.
    pub(super) fn is_packed(&self) -> bool {
        self.buffers.codec.is_some()
    }

    /// Whether a column has no value in some row.
    pub(super) fn has_nulls(&self, column: usize) -> bool {
        self.has_nulls[column]
    }

    /// Where the first `wanted` bytes of a buffer of a column are. Memory that they need is counted.
    pub(super) fn find_part<'b, 'w: 'b>(
        &'b self,
        window: &Window<'_, 'w>,
        column: usize,
        buffer: usize,
        wanted: usize,
        name: &str,
    ) -> Result<Found<'b>, IoError> {
        self.buffers.find(window, self.of[column].start + buffer, wanted, name)
    }

    /// The number of buffers of a column.
    pub(super) fn parts(&self, column: usize) -> usize {
        self.of[column].len()
    }

    /// Where the values of some columns of numbers are. Memory that they need is counted.
    pub(super) fn find<'b, 'w: 'b>(
        &'b self,
        window: &Window<'_, 'w>,
        columns: &[Column],
        wanted: &[usize],
    ) -> Result<Vec<Values<Found<'b>>>, IoError> {
        let find = |&column: &usize| {
            let Column { name, kind, .. } = &columns[column];
            let width = if let Kind::Numbers(dtype) = kind { dtype.bytes() } else { 0 };
            let first = self.of[column].start;
            let bits = || self.buffers.find(window, first, self.rows.div_ceil(8), name);
            let values = self.buffers.find(window, first + 1, self.rows * width, name)?;
            Ok([values, if self.has_nulls(column) { bits()? } else { Found::Plain(&[]) }])
        };
        wanted.iter().map(find).collect()
    }
}
