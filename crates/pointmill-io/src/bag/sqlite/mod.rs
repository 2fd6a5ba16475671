//! Bags of ROS 2 in SQLite: the rows of two tables of a database file, read without SQL.
//!
//! The file format is read here instead of by SQLite's own library. That one needs a C compiler and
//! files with names, and whatever a database makes it execute, such as triggers and views, it executes.
//! Of the format only tables are read; each of their pages is visited once, so that no file makes the
//! walk longer than itself.

mod page;
mod record;
mod schema;
mod walk;

use super::body::check_size;
use super::file::{File, MessageIndexEntry};
use super::found::Found;
use crate::error::IoError;
use crate::fault::{bail, fault};
use page::Database;
use record::Record;
use std::ffi::OsString;
use std::path::Path;
use walk::Walk;

/// How every database starts.
pub(super) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The first bytes of it, by which files are told apart.
pub(crate) const NAME: &[u8] = b"SQLite f";

/// Where a row lies, and which of its columns has the message.
#[derive(Clone, Copy)]
struct Row {
    page: u32,
    cell: u16,
    column: u16,
}

impl Row {
    /// As the place of a message.
    const fn place(self) -> u64 {
        (self.page as u64) << 32 | (self.cell as u64) << 16 | self.column as u64
    }

    const fn of(place: u64) -> Self {
        Self { page: (place >> 32) as u32, cell: (place >> 16) as u16, column: place as u16 }
    }
}

/// Checks the header of the database.
pub(super) fn start(file: &mut File<'_>) -> Result<u64, IoError> {
    Database::read(file).map(|_| 0)
}

/// Walks over the topics and messages; what was found before an error stays.
pub(super) fn walk<'a>(file: &mut File<'a>, found: &mut Found<'a>) -> Result<(), IoError> {
    let database = Database::read(file)?;
    Walk::new(file, found, &database).all()
}

/// The message in a row.
pub(super) fn message(file: &mut File<'_>, place: &MessageIndexEntry, most: u64) -> Result<Vec<u8>, IoError> {
    let (row, database) = (Row::of(place.at), Database::read(file)?);
    let cell = database.cell(file, row.page, row.cell)?;
    check_size(file.at(cell.at), cell.length, most)?;
    let record = Record::read(file, &database, &cell)?;
    record.blob(file, usize::from(row.column), "data")
}

/// Refuses a database with changes that still lie beside it.
pub(super) fn check_beside(path: &Path) -> Result<(), IoError> {
    for ending in ["-wal", "-journal"] {
        let mut beside = OsString::from(path);
        beside.push(ending);
        let length = std::fs::symlink_metadata(&beside).map_or(0, |data| data.len());
        if length > 0 && path.is_file() {
            let found = format!(
                "{length} bytes in {}; close what records the bag, or run `sqlite3 {} 'pragma wal_checkpoint(truncate)'`",
                Path::new(&beside).display(),
                path.display()
            );
            return Err(fault!(path, UnsupportedFormat, "bag", "a database without changes beside it", found));
        }
    }
    Ok(())
}

/// Checks the first bytes.
fn check_magic(file: &File<'_>, first: &[u8]) -> Result<(), IoError> {
    if first == MAGIC {
        return Ok(());
    }
    let wanted = r"SQLite format 3\0, with which a database begins that is not encrypted";
    let shown = if first.is_empty() { "nothing".into() } else { first.escape_ascii().to_string() };
    if MAGIC.starts_with(first) && !first.is_empty() {
        bail!(file.at(0), Truncated, "first bytes", wanted, shown);
    }
    bail!(file.at(0), BadHeader, "first bytes", wanted, shown)
}
