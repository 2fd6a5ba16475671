//! The columns of a row.

use super::super::file::File;
use super::super::wire::{Encoding, Wire};
use super::page::{Cell, Database, varint};
use crate::error::IoError;
use crate::fault::bail;

/// The longest list of a row's types that is read, in bytes.
const LONGEST_HEAD: u64 = 256;

/// The longest text that makes a table, in bytes.
const LONGEST_SQL: u64 = 64 << 10;

/// A row and the types of its columns.
pub(super) struct Record<'d> {
    database: &'d Database,
    cell: Cell,
    /// For each column its type, and where it starts in the content.
    columns: Vec<(u64, u64)>,
}

/// Bytes of a value of a type.
const fn size(kind: u64) -> u64 {
    match kind {
        1..=4 => kind,
        5 => 6,
        6 | 7 => 8,
        12.. => (kind - 12) / 2,
        _ => 0,
    }
}

impl<'d> Record<'d> {
    pub(super) fn read(file: &mut File<'_>, database: &'d Database, cell: &Cell) -> Result<Self, IoError> {
        let at = file.at(cell.at);
        let bytes = database.content(file, cell, 0, cell.length.min(LONGEST_HEAD))?;
        let Some((head, mut next)) =
            varint(&bytes).filter(|&(head, n)| (n as u64..=bytes.len() as u64).contains(&head))
        else {
            bail!(at, BadValue, "types of a row", "at most {LONGEST_HEAD} bytes in the row", "others");
        };
        let (mut columns, mut start) = (vec![], head);
        while (next as u64) < head {
            let Some((kind, n)) = varint(&bytes[next..head as usize]).filter(|(kind, _)| ![10, 11].contains(kind))
            else {
                bail!(at, BadValue, "type of a column", "a type of SQLite", ("none of column {}", columns.len()));
            };
            columns.push((kind, start));
            (next, start) = (next + n, start.saturating_add(size(kind)));
        }
        if start > cell.length {
            bail!(at, SizeMismatch, "row", "{start} bytes, as its types say", ("{} bytes", cell.length));
        }
        Ok(Self { database, cell: *cell, columns })
    }

    fn value(&self, file: &mut File<'_>, column: usize) -> Result<(u64, Vec<u8>), IoError> {
        match self.columns.get(column) {
            Some(&(kind, start)) => Ok((kind, self.database.content(file, &self.cell, start, size(kind))?)),
            None => Ok((0, vec![])),
        }
    }

    /// A whole number; `None` for no value.
    pub(super) fn integer(&self, file: &mut File<'_>, column: usize, field: &str) -> Result<Option<i64>, IoError> {
        let at = file.at(self.cell.at);
        match self.value(file, column)? {
            (0, _) => Ok(None),
            (kind @ (8 | 9), _) => Ok(Some(kind as i64 - 8)),
            (1..=6, bytes) => {
                let first = if bytes[0] < 0x80 { 0 } else { -1 };
                Ok(Some(bytes.iter().fold(first, |value, &byte| value << 8 | i64::from(byte))))
            }
            (kind, _) => bail!(at, BadValue, field, "a whole number", "type {kind}"),
        }
    }

    /// A short text.
    pub(super) fn text(&self, file: &mut File<'_>, column: usize, field: &str) -> Result<String, IoError> {
        let at = file.at(self.cell.at);
        let kind = self.columns.get(column).map_or(0, |column| column.0);
        if kind < 13 || kind.is_multiple_of(2) {
            bail!(at, BadValue, field, "a text", "type {kind}");
        }
        let bytes = self.value(file, column)?.1;
        let path = file.path;
        let wire = Wire::new(path, &[], Encoding::Ros1)?;
        wire.text_of(field, &bytes).map(str::to_owned).map_err(|e| e.at(Some(self.cell.at)))
    }

    /// The text that made a table.
    pub(super) fn sql(&self, file: &mut File<'_>, column: usize) -> Result<String, IoError> {
        let size = self.columns.get(column).map_or(0, |column| size(column.0));
        if size > LONGEST_SQL {
            bail!(file.at(self.cell.at), LimitExceeded, "text of a table", "at most {LONGEST_SQL} bytes", size);
        }
        let bytes = self.value(file, column)?.1;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Bytes.
    pub(super) fn blob(&self, file: &mut File<'_>, column: usize, field: &str) -> Result<Vec<u8>, IoError> {
        match self.value(file, column)? {
            (kind, bytes) if kind >= 12 && kind.is_multiple_of(2) => Ok(bytes),
            (kind, _) => bail!(file.at(self.cell.at), BadValue, field, "bytes", "type {kind}"),
        }
    }

    /// Whether a column has bytes.
    pub(super) fn has_blob(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|&(kind, _)| kind >= 12 && kind.is_multiple_of(2))
    }
}
