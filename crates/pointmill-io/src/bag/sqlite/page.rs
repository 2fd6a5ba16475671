//! The pages of a database: the header, the nodes of tables, and the rest of long rows.

use super::super::file::File;
use super::{MAGIC, check_magic};
use crate::error::IoError;
use crate::fault::bail;

/// Bytes of the header of a database.
const HEADER: u64 = 100;

/// The most pages of a long row that are read at once, if those before followed each other.
const TOGETHER: u64 = 64;

/// What the header of a database says.
pub(super) struct Database {
    /// Bytes of a page.
    size: u64,
    /// Bytes of a page that are used.
    usable: u64,
    /// Bytes of the database, as far as the header says.
    pub(super) length: u64,
}

/// A node of a table: rows, or nodes below it.
pub(super) enum Node {
    Rows { cells: Vec<Cell> },
    Nodes { pages: Vec<u32> },
}

/// A row.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The number of the row.
    pub(super) id: i64,
    /// Bytes of its content.
    pub(super) length: u64,
    /// Where its content starts in the file.
    pub(super) at: u64,
    /// Bytes of the content that lie there.
    local: u64,
    /// The page with the rest, else 0.
    rest: u32,
}

/// A number of one to nine bytes, and how many.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(9).enumerate() {
        if i == 8 {
            return Some((value << 8 | u64::from(byte), 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

fn u16_of(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_of(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Database {
    pub(super) fn read(file: &mut File<'_>) -> Result<Self, IoError> {
        let head = file.bytes(0, file.length.min(HEADER))?;
        check_magic(file, &head[..head.len().min(MAGIC.len())])?;
        if (head.len() as u64) < HEADER {
            bail!(file.at(0), Truncated, "header", "{HEADER} bytes", ("{} bytes", head.len()));
        }
        let size = match u16_of(&head, 16) {
            1 => 65536,
            size => u64::from(size),
        };
        if !size.is_power_of_two() || size < 512 {
            bail!(file.at(16), BadHeader, "page size", "a power of two from 512 to 65536", size);
        }
        if head[19] > 2 {
            bail!(file.at(19), UnsupportedFormat, "version", "1 or 2", (head[19]));
        }
        if head[21..24] != [64, 32, 32] {
            bail!(file.at(21), BadHeader, "payload fractions", "64, 32 and 32", ("{:?}", &head[21..24]));
        }
        let usable = size - u64::from(head[20]);
        if usable < 480 {
            bail!(file.at(20), BadHeader, "used bytes of a page", "480 or more", usable);
        }
        if let encoding @ (2 | 3) = u32_of(&head, 56) {
            let wanted = "texts in UTF-8, as ROS 2 writes them";
            bail!(file.at(56), UnsupportedFormat, "encoding", wanted, "UTF-16 (number {encoding})");
        }
        // Old versions of SQLite leave the number of pages as it was.
        let pages = if u32_of(&head, 24) == u32_of(&head, 92) { u64::from(u32_of(&head, 28)) } else { 0 };
        Ok(Self { size, usable, length: pages * size })
    }

    /// Where a page starts, which lies whole in the file.
    fn place(&self, file: &File<'_>, page: u32) -> Result<u64, IoError> {
        let Some(before) = page.checked_sub(1) else {
            bail!(file.at(0), BadValue, "page", "a number of 1 or more", "0");
        };
        let at = u64::from(before) * self.size;
        if at + self.size > file.length {
            // Past the end of the database too, a page was never there.
            if self.length > 0 && at + self.size > self.length {
                let wanted = format!("one of {} pages", self.length / self.size);
                bail!(file.at(0), BadValue, "page", wanted, page);
            }
            let wanted = format!("page {page} of {} bytes", self.size);
            bail!(file.at(at), Truncated, "page", wanted, ("{} bytes", file.length.saturating_sub(at)));
        }
        Ok(at)
    }

    /// The node in a page.
    pub(super) fn node(&self, file: &mut File<'_>, page: u32) -> Result<Node, IoError> {
        let at = self.place(file, page)?;
        let bytes = file.bytes(at, self.size)?;
        let (is_rows, count, pointers) = self.head(file, page, at, &bytes)?;
        if is_rows {
            let mut cells = Vec::with_capacity(count);
            for i in 0..count {
                let start = usize::from(u16_of(&bytes, pointers + 2 * i));
                let Some(cell) = bytes[..self.usable as usize].get(start..).filter(|_| start >= pointers + 2 * count)
                else {
                    bail!(file.at(at), BadValue, "place of a row", "a place in page {page}", start);
                };
                cells.push(self.row(file, at + start as u64, at + self.usable, cell)?);
            }
            return Ok(Node::Rows { cells });
        }
        let mut pages = Vec::with_capacity(count + 1);
        for i in 0..count {
            let start = usize::from(u16_of(&bytes, pointers + 2 * i));
            let Some(child) = bytes[..self.usable as usize].get(start..start + 4) else {
                bail!(file.at(at), BadValue, "place of a node", "a place in page {page}", start);
            };
            pages.push(u32_of(child, 0));
        }
        pages.push(u32_of(&bytes, pointers - 4));
        Ok(Node::Nodes { pages })
    }

    /// Whether a page has rows, how many cells it has, and where their places start.
    fn head(&self, file: &File<'_>, page: u32, at: u64, bytes: &[u8]) -> Result<(bool, usize, usize), IoError> {
        let head = if page == 1 { HEADER as usize } else { 0 };
        let (kind, count) = (bytes[head], usize::from(u16_of(bytes, head + 3)));
        let pointers = match kind {
            13 => head + 8,
            5 => head + 12,
            _ => {
                let wanted = format!("5 or 13 in page {page}, a node of a table with row ids");
                bail!(file.at(at), BadValue, "kind of page", wanted, kind);
            }
        };
        if (pointers + 2 * count) as u64 > self.usable {
            bail!(file.at(at), BadValue, "cells", "as many as fit page {page}", count);
        }
        Ok((kind == 13, count, pointers))
    }

    /// A row of a page, without its other rows.
    pub(super) fn cell(&self, file: &mut File<'_>, page: u32, index: u16) -> Result<Cell, IoError> {
        let at = self.place(file, page)?;
        // A page with rows has no less than these bytes in front of the places.
        let front = if page == 1 { HEADER + 12 } else { 12 };
        let bytes = file.bytes(at, front)?;
        let (is_rows, count, pointers) = self.head(file, page, at, &bytes)?;
        if !is_rows || usize::from(index) >= count {
            bail!(file.at(at), BadValue, "row", "row {index} of page {page}, as when it was opened", "none");
        }
        let place = file.bytes(at + pointers as u64 + 2 * u64::from(index), 2)?;
        let start = u64::from(u16_of(&place, 0));
        if start >= self.usable {
            bail!(file.at(at), BadValue, "place of a row", "a place in page {page}", start);
        }
        let head = file.bytes(at + start, (self.usable - start).min(22))?;
        // The number of the page with the rest may lie further on.
        let cell = self.front(file, at + start, at + self.usable, &head)?;
        match cell.local < cell.length {
            true => {
                let rest = file.bytes(cell.at + cell.local, 4)?;
                Ok(Cell { rest: u32_of(&rest, 0), ..cell })
            }
            false => Ok(cell),
        }
    }

    /// The row that starts at a place; `bytes` go to the end of its page.
    fn row(&self, file: &File<'_>, at: u64, end: u64, bytes: &[u8]) -> Result<Cell, IoError> {
        let cell = self.front(file, at, end, bytes)?;
        let rest = (cell.at - at + cell.local) as usize;
        Ok(Cell { rest: if cell.local < cell.length { u32_of(bytes, rest) } else { 0 }, ..cell })
    }

    /// A row without the page of its rest.
    fn front(&self, file: &File<'_>, at: u64, end: u64, bytes: &[u8]) -> Result<Cell, IoError> {
        let numbers = varint(bytes).and_then(|(length, n)| {
            let (id, m) = varint(&bytes[n..])?;
            Some((length, id as i64, n + m))
        });
        let Some((length, id, front)) = numbers else {
            bail!(file.at(at), BadValue, "row", "its length and number in its page", "the end of the page");
        };
        if length > file.length.max(self.length) {
            let wanted = format!("at most the {} bytes of the file", file.length);
            bail!(file.at(at), BadValue, "length of a row", wanted, length);
        }
        let (most, least) = (self.usable - 35, (self.usable - 12) * 32 / 255 - 23);
        let local = match length {
            _ if length <= most => length,
            _ => Some(least + (length - least) % (self.usable - 4)).filter(|&n| n <= most).unwrap_or(least),
        };
        let start = at + front as u64;
        if start + local + if local < length { 4 } else { 0 } > end {
            bail!(file.at(at), BadValue, "row", "{local} bytes in its page", ("{} bytes", end.saturating_sub(start)));
        }
        Ok(Cell { id, length, at: start, local, rest: 0 })
    }

    /// Bytes of the content of a row, which has as many.
    pub(super) fn content(&self, file: &mut File<'_>, cell: &Cell, from: u64, count: u64) -> Result<Vec<u8>, IoError> {
        if from + count <= cell.local {
            return file.bytes(cell.at + from, count);
        }
        if from + count > file.length {
            bail!(
                file.at(cell.at),
                Truncated,
                "row",
                ("{} bytes", from + count),
                ("{} bytes in the file", file.length)
            );
        }
        let mut out = file.room(count)?;
        let mut at = cell.local;
        if from < at {
            out.extend(file.bytes(cell.at + from, at - from)?);
        }
        self.chain(file, cell, from + count, |_, data| {
            let skip = from.saturating_sub(at).min(data.len() as u64) as usize;
            let left = (count - out.len() as u64).min((data.len() - skip) as u64) as usize;
            out.extend_from_slice(&data[skip..skip + left]);
            at += data.len() as u64;
            Ok(())
        })?;
        Ok(out)
    }

    /// Gives each page of a row behind its first to a check.
    pub(super) fn check_whole(
        &self,
        file: &mut File<'_>,
        cell: &Cell,
        mut check: impl FnMut(u32) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        self.chain(file, cell, cell.length, |page, _| check(page))
    }

    /// Gives the number and the content of each page behind the first of a row, up to an end.
    fn chain(
        &self,
        file: &mut File<'_>,
        cell: &Cell,
        end: u64,
        mut each: impl FnMut(u32, &[u8]) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        if end > file.length {
            bail!(file.at(cell.at), Truncated, "row", "{end} bytes", ("{} bytes in the file", file.length));
        }
        let (used, size) = (self.usable - 4, self.size as usize);
        let (mut page, mut at, mut together) = (cell.rest, cell.local, 1);
        while at < end {
            let start = self.place(file, page)?;
            let count = (end - at).div_ceil(used).min(together).min((file.length - start) / self.size);
            let bytes = file.bytes(start, count * self.size)?;
            together = (2 * together).min(TOGETHER);
            for data in bytes.chunks_exact(size) {
                each(page, &data[4..self.usable as usize])?;
                let next = u32_of(data, 0);
                at += used;
                if page.checked_add(1) != Some(next) {
                    (page, together) = (next, 1);
                    break;
                }
                page = next;
            }
        }
        Ok(())
    }
}
