//! A walk over the records of an MCAP file.

use super::super::file::{File, MessageIndexEntry};
use super::super::found::Found;
use super::record::{Head, Record, inner, op, parse};
use super::unpack;
use crate::error::IoError;
use crate::fault::bail;
use std::collections::BTreeMap;

/// Bytes of a message in front of its data.
const MESSAGE_HEADER: u64 = 22;

/// A walk that has come so far.
pub(super) struct Walk<'w, 'a> {
    file: &'w mut File<'a>,
    found: &'w mut Found<'a>,
    /// The names of the types.
    schemas: BTreeMap<u16, String>,
}

/// A chunk and the index that follows it.
struct Chunk {
    head: Head,
    index: Vec<(u16, Vec<(u64, u64)>)>,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(file: &'w mut File<'a>, found: &'w mut Found<'a>) -> Self {
        Self { file, found, schemas: BTreeMap::new() }
    }

    /// Walks to the end; what was found before an error stays.
    pub(super) fn all(&mut self, mut at: u64) -> Result<(), IoError> {
        let (mut chunk, mut statistics): (Option<Chunk>, Vec<(u16, u64)>) = (None, vec![]);
        loop {
            let head = match self.file.head(at) {
                Ok(head) => head,
                Err(e) => {
                    // The index of the last chunk may be cut.
                    if let Some(chunk) = chunk.take() {
                        self.count(&chunk.head)?;
                        self.scan(&chunk.head)?;
                    }
                    return Err(e);
                }
            };
            at = head.end();
            if head.op == op::MESSAGE_INDEX {
                if self.found.salvage {
                    continue;
                }
                let content = self.file.small(&head)?;
                if let (Some(chunk), Record::MessageIndex { channel, entries }) =
                    (&mut chunk, self.parse(&head, &content)?)
                {
                    chunk.index.push((channel, entries));
                }
                continue;
            }
            chunk.take().map_or(Ok(()), |chunk| self.finish(chunk))?;
            match head.op {
                op::CHUNK => chunk = Some(Chunk { head, index: vec![] }),
                op::MESSAGE => {
                    let content = self.file.front(&head, MESSAGE_HEADER)?;
                    self.take(head.at, 0, head.at, head.op, &content)?;
                }
                op::SCHEMA | op::CHANNEL => {
                    let content = self.file.small(&head)?;
                    self.take(head.at, 0, head.at, head.op, &content)?;
                }
                op::STATISTICS => {
                    let content = self.file.small(&head)?;
                    if let Record::Statistics { counts } = self.parse(&head, &content)? {
                        statistics = counts;
                    }
                }
                op::FOOTER => break,
                _ => {}
            }
        }
        self.file.finish(at)?;
        self.found.compare(&statistics, "the statistics say", at)
    }

    fn parse<'b>(&self, head: &Head, content: &'b [u8]) -> Result<Record<'b>, IoError> {
        parse(self.file.path, head.at, head.op, content)
    }

    /// Counts what a chunk unpacks to.
    fn count(&mut self, head: &Head) -> Result<(), IoError> {
        let size = self.file.unpacked(head)?;
        self.found.count(head.at, [size, head.length])
    }

    /// Takes the messages of a chunk from its index, if that tells all; else from its content.
    fn finish(&mut self, chunk: Chunk) -> Result<(), IoError> {
        self.count(&chunk.head)?;
        let known = |(channel, _): &(u16, Vec<_>)| self.found.knows(*channel);
        if self.found.salvage || chunk.index.is_empty() || !chunk.index.iter().all(known) {
            return self.scan(&chunk.head);
        }
        for (channel, entries) in chunk.index {
            for (time, at) in entries {
                self.found.saw(MessageIndexEntry::new(time, chunk.head.at, at, channel))?;
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
            self.take(head.at, head.at, at as u64, record.op, record.content)?;
            at = record.next;
        }
        Ok(())
    }

    /// Takes a type, a channel or a message; `near` is the place that errors name.
    fn take(&mut self, near: u64, chunk: u64, at: u64, op: u8, content: &[u8]) -> Result<(), IoError> {
        if chunk > 0 && ![op::SCHEMA, op::CHANNEL, op::MESSAGE].contains(&op) {
            let wanted = "a schema, a channel or a message";
            bail!(self.file.at(near), BadValue, "record in a chunk", wanted, "opcode {op}");
        }
        match parse(self.file.path, near, op, content)? {
            Record::Schema { id, name } => {
                let known = self.schemas.entry(id).or_insert_with(|| name.to_owned());
                if known != name {
                    bail!(self.file.at(near), BadValue, "schema {id}", "`{known}`, as before", "`{name}`");
                }
            }
            Record::Channel { id, schema, topic, encoding } => self.channel(near, id, schema, topic, encoding)?,
            Record::Message { channel, time, .. } => {
                self.found.saw(MessageIndexEntry::new(time, chunk, at, channel))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes a channel whose type is known.
    fn channel(&mut self, near: u64, id: u16, schema: u16, name: &str, encoding: &str) -> Result<(), IoError> {
        let schema_name = match self.schemas.get(&schema) {
            Some(name) => name,
            None if schema == 0 => "",
            None => {
                bail!(self.file.at(near), BadValue, "channel `{name}`", "a schema that is known", "schema {schema}");
            }
        };
        self.found.channel(near, id, name, schema_name, encoding)
    }
}
