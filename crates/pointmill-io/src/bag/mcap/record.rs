//! The records of an MCAP file, one after the other, each known by its place before its bytes are
//! read.

use super::super::file::{File, MOST};
use super::super::wire::{Encoding, Wire};
use crate::bytes::u64_at;
use crate::error::IoError;
use crate::fault::{bail, fault};
use std::path::Path;

/// How every MCAP file starts and ends.
pub(crate) const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";

/// Bytes of a record in front of its content: an opcode, and the length of the content.
const HEAD: u64 = 9;

/// What a record is.
pub(super) mod op {
    pub(crate) const FOOTER: u8 = 2;
    pub(crate) const SCHEMA: u8 = 3;
    pub(crate) const CHANNEL: u8 = 4;
    pub(crate) const MESSAGE: u8 = 5;
    pub(crate) const CHUNK: u8 = 6;
    pub(crate) const MESSAGE_INDEX: u8 = 7;
    pub(crate) const STATISTICS: u8 = 11;
}

/// A record that lies whole in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) op: u8,
    /// Where it starts.
    pub(super) at: u64,
    /// Bytes of its content.
    pub(super) length: u64,
}

impl Head {
    /// Where the next record starts.
    pub(super) fn end(&self) -> u64 {
        self.at + HEAD + self.length
    }
}

impl File<'_> {
    /// Checks the first bytes; where the first record starts.
    pub(super) fn start(&mut self) -> Result<u64, IoError> {
        self.magic(0, "first bytes")
    }

    /// Checks that the file ends behind its last record.
    pub(super) fn finish(&mut self, at: u64) -> Result<(), IoError> {
        let end = self.magic(at, "last bytes")?;
        if end < self.length {
            let wanted = "the end of the file";
            bail!(self.at(end), SizeMismatch, "last bytes", wanted, ("{} bytes more", self.length - end));
        }
        Ok(())
    }

    fn magic(&mut self, at: u64, field: &str) -> Result<u64, IoError> {
        let found = self.bytes(at, (self.length - at).min(MAGIC.len() as u64))?;
        if found == MAGIC {
            return Ok(at + MAGIC.len() as u64);
        }
        let (wanted, shown) = (r"\x89MCAP0\r\n", found.escape_ascii().to_string());
        let shown = if shown.is_empty() { "nothing".into() } else { shown };
        // An end that is not there was cut off.
        if MAGIC.starts_with(&found) && (at > 0 || !found.is_empty()) {
            bail!(self.at(at), Truncated, field, wanted, shown);
        }
        bail!(self.at(at), BadHeader, field, wanted, shown)
    }

    /// The record at a place.
    pub(super) fn head(&mut self, at: u64) -> Result<Head, IoError> {
        let left = self.length.saturating_sub(at);
        if left < HEAD {
            bail!(self.at(at), Truncated, "record", "a record of 9 bytes or more", "{left} bytes");
        }
        let bytes = self.bytes(at, HEAD)?;
        let (op, length) = (bytes[0], u64_at(&bytes, 1));
        if op == 0 {
            bail!(self.at(at), BadValue, "record", "an opcode of 1 or more", "0");
        }
        if length > left - HEAD {
            bail!(self.at(at), Truncated, "record", "{length} bytes of opcode {op}", ("{} bytes", left - HEAD));
        }
        Ok(Head { op, at, length })
    }

    /// The content of a record, which lies in the file.
    pub(super) fn content(&mut self, head: &Head) -> Result<Vec<u8>, IoError> {
        self.bytes(head.at + HEAD, head.length)
    }

    /// The first bytes of the content of a record, at most so many.
    pub(super) fn front(&mut self, head: &Head, most: u64) -> Result<Vec<u8>, IoError> {
        self.bytes(head.at + HEAD, head.length.min(most))
    }

    /// The bytes that a chunk says it unpacks to; 0 if it is too short to say.
    pub(super) fn unpacked(&mut self, head: &Head) -> Result<u64, IoError> {
        let front = self.front(head, 24)?;
        Ok(if front.len() < 24 { 0 } else { u64_at(&front, 16) })
    }

    /// The content of a record that is small in files of their kind.
    pub(super) fn small(&mut self, head: &Head) -> Result<Vec<u8>, IoError> {
        if head.length > MOST {
            let wanted = format!("at most {MOST} bytes of opcode {}", head.op);
            bail!(self.at(head.at), LimitExceeded, "record", wanted, head.length);
        }
        self.content(head)
    }
}

/// What a record says, of those that a reader of clouds looks into.
#[derive(Debug)]
pub(super) enum Record<'a> {
    /// The name of a type.
    Schema { id: u16, name: &'a str },
    /// A channel: its topic, its type (0 for none), and how its messages lie in their bytes.
    Channel { id: u16, schema: u16, topic: &'a str, encoding: &'a str },
    /// A message of a channel, and when it was recorded.
    Message { channel: u16, time: u64, data: &'a [u8] },
    /// Records, packed: the size of all, their checksum or 0, and the bytes.
    Chunk { size: u64, sum: u32, compression: &'a str, data: &'a [u8] },
    /// The time and the place of each message of a channel in the chunk in front.
    MessageIndex { channel: u16, entries: Vec<(u64, u64)> },
    /// The number of messages of each channel.
    Statistics { counts: Vec<(u16, u64)> },
    /// Something else.
    Other,
}

/// Parses the content of a record; `at` is the place that errors name.
pub(super) fn parse<'a>(path: &Path, at: u64, op: u8, content: &'a [u8]) -> Result<Record<'a>, IoError> {
    let read = || {
        let mut wire = Wire::new(path, content, Encoding::Ros1)?;
        Ok(match op {
            op::SCHEMA => Record::Schema { id: wire.u16("schema.id")?, name: wire.text("schema.name")? },
            op::CHANNEL => Record::Channel {
                id: wire.u16("channel.id")?,
                schema: wire.u16("channel.schema_id")?,
                topic: wire.text("channel.topic")?,
                encoding: wire.text("channel.message_encoding")?,
            },
            op::MESSAGE => {
                let channel = wire.u16("message.channel_id")?;
                wire.u32("message.sequence")?;
                let time = wire.u64("message.log_time")?;
                wire.u64("message.publish_time")?;
                Record::Message { channel, time, data: wire.bytes("message.data", wire.left())? }
            }
            op::CHUNK => {
                wire.bytes("chunk.times", 16)?;
                let (size, sum) = (wire.u64("chunk.uncompressed_size")?, wire.u32("chunk.uncompressed_crc")?);
                let compression = wire.text("chunk.compression")?;
                let packed = usize::try_from(wire.u64("chunk.records")?).unwrap_or(usize::MAX);
                Record::Chunk { size, sum, compression, data: wire.bytes("chunk.records", packed)? }
            }
            op::MESSAGE_INDEX => {
                let channel = wire.u16("message_index.channel_id")?;
                let entries = wire.sized("message_index.records")?.as_chunks::<16>();
                whole(&wire, "message_index.records", entries.1)?;
                let entry = |entry: &[u8; 16]| (u64_at(entry, 0), u64_at(entry, 8));
                Record::MessageIndex { channel, entries: entries.0.iter().map(entry).collect() }
            }
            op::STATISTICS => {
                wire.bytes("statistics", 42)?;
                let counts = wire.sized("statistics.channel_message_counts")?.as_chunks::<10>();
                whole(&wire, "statistics.channel_message_counts", counts.1)?;
                let count = |count: &[u8; 10]| (u16::from_le_bytes([count[0], count[1]]), u64_at(count, 2));
                Record::Statistics { counts: counts.0.iter().map(count).collect() }
            }
            _ => Record::Other,
        })
    };
    // The record lies whole in its file: what is too short in it was never longer.
    read().map_err(|e| match e {
        IoError::Truncated(detail) | IoError::BadValue(detail) => IoError::BadHeader(detail.at(Some(at))),
        e => e,
    })
}

fn whole(wire: &Wire<'_, '_>, field: &str, rest: &[u8]) -> Result<(), IoError> {
    match rest.len() {
        0 => Ok(()),
        n => Err(fault!(wire, BadValue, field, "whole entries", "{n} bytes more")),
    }
}

/// The record at a place of a chunk's content, and where the next starts; `None` at the end.
pub(super) fn inner<'a>(path: &Path, chunk: u64, bytes: &'a [u8], at: usize) -> Result<Option<Inner<'a>>, IoError> {
    let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else { return Ok(None) };
    let short = |wanted: String| {
        fault!(path, SizeMismatch, "record in a chunk", wanted, ("{} bytes", rest.len())).at(Some(chunk))
    };
    let Some((head, rest)) = rest.split_at_checked(HEAD as usize) else {
        return Err(short(format!("{HEAD} bytes or more")));
    };
    let length = u64_at(head, 1);
    if length > rest.len() as u64 {
        return Err(short(format!("{length} bytes of opcode {}", head[0])));
    }
    let content = &rest[..length as usize];
    Ok(Some(Inner { op: head[0], content, next: at + HEAD as usize + content.len() }))
}

/// A record in a chunk.
#[derive(Debug)]
pub(super) struct Inner<'a> {
    pub(super) op: u8,
    pub(super) content: &'a [u8],
    /// Where the next one starts.
    pub(super) next: usize,
}
