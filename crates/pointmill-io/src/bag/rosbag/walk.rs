//! A walk over the records of a ROS 1 bag.

use super::super::file::{File, MessageIndexEntry};
use super::super::found::Found;
use super::record::{Fields, Head, connection_type, inner, op, time_at};
use super::{sizes_of, unpack};
use crate::bytes::u32_at;
use crate::error::IoError;
use crate::fault::bail;
use std::collections::BTreeMap;

/// A walk that has come so far.
pub(super) struct Walk<'w, 'a> {
    file: &'w mut File<'a>,
    found: &'w mut Found<'a>,
    /// The messages of each connection, as the index of chunks says.
    counts: BTreeMap<u16, u64>,
    /// Records of connections and of the index of chunks, outside of chunks.
    told: [u64; 2],
}

/// A chunk and the index that follows it.
struct Chunk {
    head: Head,
    index: Vec<(u16, Vec<u8>)>,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(file: &'w mut File<'a>, found: &'w mut Found<'a>) -> Self {
        Self { file, found, counts: BTreeMap::new(), told: [0; 2] }
    }

    /// Walks to the end; what was found before an error stays.
    pub(super) fn all(&mut self, at: u64) -> Result<(), IoError> {
        let head = Head::read(self.file, at)?;
        let path = self.file.path;
        if head.fields.op != op::BAG {
            bail!(self.file.at(at), BadHeader, "first record", "the header of a bag", ("op {}", head.fields.op));
        }
        if !head.fields.encryptor().is_empty() {
            let encryptor = head.fields.encryptor();
            bail!(self.file.at(at), UnsupportedFormat, "encryptor", "none", "`{encryptor}`");
        }
        let index = head.fields.index_at(path)?;
        let wanted = [head.fields.connection_count(path)?, head.fields.chunk_count(path)?].map(u64::from);
        if (head.end()..self.file.length).contains(&index) {
            // What is wrong there is an error when the walk comes there.
            self.connections(index, wanted[0]).or_else(|e| if e.is_damage() { Ok(()) } else { Err(e) })?;
        }
        let end = self.records(head.end())?;
        if index == 0 || index > end {
            let found = if index == 0 { "none; the bag was not closed".into() } else { format!("{end} bytes") };
            let wanted = if index == 0 { "an index".into() } else { format!("an index at byte {index}") };
            bail!(self.file.at(end), Truncated, "index", wanted, found);
        }
        for ((name, wanted), found) in ["connections", "chunks"].into_iter().zip(wanted).zip(self.told) {
            if wanted == found {
                continue;
            }
            let (field, wanted_of) = (format!("index of {name}"), format!("{wanted}, as the header of the bag says"));
            if found < wanted {
                bail!(self.file.at(end), Truncated, field, wanted_of, found);
            }
            bail!(self.file.at(end), SizeMismatch, field, wanted_of, found);
        }
        let counts: Vec<_> = std::mem::take(&mut self.counts).into_iter().collect();
        self.found.compare(&counts, "the index of chunks says", end)
    }

    /// Takes the connections at the start of the index, if all are there. Where some are not,
    /// chunks tell them, and each chunk is looked into until they have.
    fn connections(&mut self, start: u64, count: u64) -> Result<(), IoError> {
        for takes in [false, true] {
            let mut at = start;
            for _ in 0..count {
                let head = Head::read(self.file, at)?;
                if head.fields.op != op::CONNECTION {
                    return Ok(());
                }
                if takes {
                    self.connection(&head)?;
                }
                at = head.end();
            }
        }
        Ok(())
    }

    /// Takes all records from a place on; where the last one ends.
    fn records(&mut self, mut at: u64) -> Result<u64, IoError> {
        let mut chunk: Option<Chunk> = None;
        while at < self.file.length {
            let head = match Head::read(self.file, at) {
                Ok(head) => head,
                Err(e) => {
                    self.last(chunk)?;
                    return Err(e);
                }
            };
            at = head.end();
            if head.fields.op == op::INDEX {
                if let Some(chunk) = chunk.as_mut().filter(|_| !self.found.salvage) {
                    chunk.index.push(entries(self.file, &head)?);
                }
                continue;
            }
            chunk.take().map_or(Ok(()), |chunk| self.finish(chunk))?;
            match head.fields.op {
                op::CHUNK => chunk = Some(Chunk { head, index: vec![] }),
                op::CONNECTION => {
                    self.connection(&head)?;
                    self.told[0] += 1;
                }
                op::CHUNK_INFO => self.chunk_info(&head)?,
                op::MESSAGE => self.saw(&head.fields, 0, head.at)?,
                other => bail!(self.file.at(head.at), BadValue, "op of a record", "2, or 4 to 7", other),
            }
        }
        self.last(chunk)?;
        Ok(at)
    }

    /// Takes the messages of a chunk whose index may be cut: behind the last one of a bag that was
    /// closed come connections.
    fn last(&mut self, chunk: Option<Chunk>) -> Result<(), IoError> {
        let Some(chunk) = chunk else { return Ok(()) };
        self.count(&chunk.head)?;
        self.scan(&chunk.head)
    }

    /// Takes the connection of a record outside of chunks.
    fn connection(&mut self, head: &Head) -> Result<(), IoError> {
        let data = head.small(self.file)?;
        self.take_connection(head.at, &head.fields, &data)
    }

    fn take_connection(&mut self, near: u64, fields: &Fields, data: &[u8]) -> Result<(), IoError> {
        let path = self.file.path;
        let (id, topic) = (fields.connection(path)?, fields.topic_name(path)?);
        let kind = connection_type(path, near, data)?;
        self.found.channel(near, id, &topic, &kind, "ros1")
    }

    /// Counts the messages that the index tells of a chunk.
    fn chunk_info(&mut self, head: &Head) -> Result<(), IoError> {
        self.told[1] += 1;
        let data = head.small(self.file)?;
        let (counts, rest) = data.as_chunks::<8>();
        if !rest.is_empty() {
            bail!(
                self.file.at(head.at),
                SizeMismatch,
                "index of chunks",
                "whole entries",
                ("{} bytes more", rest.len())
            );
        }
        for count in counts {
            // One past the numbers of connections has no messages that were read.
            if let Ok(id) = u16::try_from(u32_at(count, 0)) {
                *self.counts.entry(id).or_default() += u64::from(u32_at(count, 4));
            }
        }
        Ok(())
    }

    fn count(&mut self, head: &Head) -> Result<(), IoError> {
        let sizes = sizes_of(self.file, head)?;
        self.found.count(head.at, sizes)
    }

    /// Takes the messages of a chunk from its index, if that tells all; else from its content.
    fn finish(&mut self, chunk: Chunk) -> Result<(), IoError> {
        self.count(&chunk.head)?;
        if self.found.salvage || chunk.index.is_empty() || !chunk.index.iter().all(|(id, _)| self.found.knows(*id)) {
            return self.scan(&chunk.head);
        }
        for (id, entries) in chunk.index {
            for entry in entries.as_chunks::<12>().0 {
                let at = u64::from(u32_at(entry, 8));
                self.found.saw(MessageIndexEntry::new(time_at(entry, 0), chunk.head.at, at, id))?;
            }
        }
        Ok(())
    }

    /// Takes all from the content of a chunk.
    fn scan(&mut self, head: &Head) -> Result<(), IoError> {
        self.scan_whole(head).or_else(|e| self.found.forgive(e))
    }

    fn scan_whole(&mut self, head: &Head) -> Result<(), IoError> {
        let bytes = unpack(self.file, head, self.found.limits, 0)?;
        let mut at = 0;
        while let Some(record) = inner(self.file.path, head.at, &bytes, at)? {
            match record.fields.op {
                op::CONNECTION => self.take_connection(head.at, &record.fields, record.data)?,
                op::MESSAGE => self.saw(&record.fields, head.at, at as u64)?,
                other => bail!(self.file.at(head.at), BadValue, "op of a record in a chunk", "2 or 7", other),
            }
            at = record.next;
        }
        Ok(())
    }

    fn saw(&mut self, fields: &Fields, chunk: u64, at: u64) -> Result<(), IoError> {
        let path = self.file.path;
        let (time, id) = (fields.time_ns(path)?, fields.connection(path)?);
        self.found.saw(MessageIndexEntry::new(time, chunk, at, id))
    }
}

/// The connection and the entries of the index of a chunk's messages.
fn entries(file: &mut File<'_>, head: &Head) -> Result<(u16, Vec<u8>), IoError> {
    let path = file.path;
    match head.fields.index_version(path)? {
        1 => {}
        version => bail!(file.at(head.at), UnsupportedFormat, "ver of an index", "1", version),
    }
    let (id, count) = (head.fields.connection(path)?, head.fields.entries(path)?);
    if u64::from(count) * 12 != head.length {
        let wanted = format!("{count} entries of 12 bytes");
        bail!(file.at(head.at), SizeMismatch, "index of a chunk", wanted, ("{} bytes", head.length));
    }
    Ok((id, head.small(file)?))
}
