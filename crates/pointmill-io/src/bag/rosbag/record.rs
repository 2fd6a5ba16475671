//! The records of a ROS 1 bag: a header of named fields, and data.

use super::super::file::{File, MOST};
use super::super::wire::{Encoding, Wire};
use crate::bytes::u32_at;
use crate::error::{IoError, excerpt};
use crate::fault::{bail, fault};
use std::path::Path;

/// The most bytes of a header. Those of writers have a hundred.
const MOST_HEADER: u64 = 1 << 20;

/// What a record is.
pub(super) mod op {
    pub(crate) const MESSAGE: u8 = 2;
    pub(crate) const BAG: u8 = 3;
    pub(crate) const INDEX: u8 = 4;
    pub(crate) const CHUNK: u8 = 5;
    pub(crate) const CHUNK_INFO: u8 = 6;
    pub(crate) const CONNECTION: u8 = 7;
}

/// The fields of a header that a reader of clouds looks into.
#[derive(Debug, Default)]
pub(super) struct Fields {
    at: u64,
    pub(super) op: u8,
    conn: Option<u32>,
    time: Option<u64>,
    count: Option<u32>,
    version: Option<u32>,
    size: Option<u32>,
    index: Option<u64>,
    connections: Option<u32>,
    chunks: Option<u32>,
    topic: Option<String>,
    compression: Option<String>,
    encryptor: Option<String>,
}

/// The value of a field that must be there.
macro_rules! needed {
    ($($method:ident, $field:ident: $type:ty = $name:literal;)*) => {
        $(pub(super) fn $method(&self, path: &Path) -> Result<$type, IoError> {
            self.$field.clone().ok_or_else(|| {
                let field = format!("field `{}` of a record of op {}", $name, self.op);
                fault!(path, BadHeader, field, "a value", "none").at(Some(self.at))
            })
        })*
    };
}

impl Fields {
    needed! {
        time_ns, time: u64 = "time";
        entries, count: u32 = "count";
        index_version, version: u32 = "ver";
        unpacked, size: u32 = "size";
        index_at, index: u64 = "index_pos";
        connection_count, connections: u32 = "conn_count";
        chunk_count, chunks: u32 = "chunk_count";
        topic_name, topic: String = "topic";
        packing, compression: String = "compression";
        connection_id, conn: u32 = "conn";
    }

    /// The name of what encrypts the bag; empty where nothing does.
    pub(super) fn encryptor(&self) -> &str {
        self.encryptor.as_deref().unwrap_or("")
    }

    /// The number of a connection. Writers count them from 0.
    pub(super) fn connection(&self, path: &Path) -> Result<u16, IoError> {
        let id = self.connection_id(path)?;
        u16::try_from(id).map_err(|_| {
            fault!(path, LimitExceeded, "conn", "a number below 65536; split the bag by topics", id).at(Some(self.at))
        })
    }

    /// Parses a header; `at` is the place that errors name.
    pub(super) fn parse(path: &Path, at: u64, header: &[u8]) -> Result<Self, IoError> {
        let mut fields = Self { at, ..Self::default() };
        let mut op = None;
        each(path, at, header, |wire, name, value| match name {
            b"op" => set(wire, "op", &mut op, number(wire, "op", value)?.map(|[op]: [u8; 1]| op)),
            b"conn" => set(wire, "conn", &mut fields.conn, u32_of(wire, "conn", value)?),
            b"count" => set(wire, "count", &mut fields.count, u32_of(wire, "count", value)?),
            b"ver" => set(wire, "ver", &mut fields.version, u32_of(wire, "ver", value)?),
            b"size" => set(wire, "size", &mut fields.size, u32_of(wire, "size", value)?),
            b"conn_count" => set(wire, "conn_count", &mut fields.connections, u32_of(wire, "conn_count", value)?),
            b"chunk_count" => set(wire, "chunk_count", &mut fields.chunks, u32_of(wire, "chunk_count", value)?),
            b"index_pos" => {
                let place = number(wire, "index_pos", value)?.map(u64::from_le_bytes);
                set(wire, "index_pos", &mut fields.index, place)
            }
            b"time" => {
                let time = number(wire, "time", value)?.map(|time: [u8; 8]| time_at(&time, 0));
                set(wire, "time", &mut fields.time, time)
            }
            b"topic" => set(wire, "topic", &mut fields.topic, text(wire, "topic", value)?),
            b"compression" => set(wire, "compression", &mut fields.compression, text(wire, "compression", value)?),
            b"encryptor" => set(wire, "encryptor", &mut fields.encryptor, text(wire, "encryptor", value)?),
            _ => Ok(()),
        })?;
        let Some(op) = op else {
            return Err(fault!(path, BadHeader, "header of a record", "a field `op`", "none").at(Some(at)));
        };
        Ok(Self { op, ..fields })
    }
}

/// Sets the value of a field, which has one.
fn set<T>(wire: &Wire<'_, '_>, name: &str, field: &mut Option<T>, value: Option<T>) -> Result<(), IoError> {
    if field.is_some() {
        bail!(wire, BadValue, ("field `{}`", name), "one value", "two");
    }
    *field = value;
    Ok(())
}

fn number<const N: usize>(wire: &Wire<'_, '_>, name: &str, value: &[u8]) -> Result<Option<[u8; N]>, IoError> {
    match value.try_into() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(fault!(wire, BadValue, ("field `{}`", name), "{N} bytes", ("{} bytes", value.len()))),
    }
}

fn u32_of(wire: &Wire<'_, '_>, name: &str, value: &[u8]) -> Result<Option<u32>, IoError> {
    Ok(number(wire, name, value)?.map(u32::from_le_bytes))
}

fn text(wire: &Wire<'_, '_>, name: &str, value: &[u8]) -> Result<Option<String>, IoError> {
    Ok(Some(wire.text_of(name, value)?.to_owned()))
}

/// Calls `take` with the name and the value of each field.
fn each(
    path: &Path,
    at: u64,
    header: &[u8],
    mut take: impl FnMut(&Wire<'_, '_>, &[u8], &[u8]) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let mut read = || {
        let mut wire = Wire::new(path, header, Encoding::Ros1)?;
        while wire.left() > 0 {
            let field = wire.sized("field of a header")?;
            let Some(equals) = memchr::memchr(b'=', field) else {
                bail!(wire, BadValue, "field of a header", "name=value", (excerpt(field)));
            };
            take(&wire, &field[..equals], &field[equals + 1..])?;
        }
        Ok(())
    };
    // The header lies whole in its file: what is too short in it was never longer.
    read().map_err(|e| match e {
        IoError::Truncated(detail) | IoError::BadValue(detail) => IoError::BadHeader(detail.at(Some(at))),
        e => e,
    })
}

/// The type of a connection's messages, from the data of its record.
pub(super) fn connection_type(path: &Path, at: u64, data: &[u8]) -> Result<String, IoError> {
    let mut found = None;
    each(path, at, data, |wire, name, value| match name {
        b"type" => set(wire, "type", &mut found, text(wire, "type", value)?),
        _ => Ok(()),
    })?;
    found.ok_or_else(|| fault!(path, BadHeader, "connection", "a field `type`", "none").at(Some(at)))
}

/// Seconds and nanoseconds, as nanoseconds.
pub(super) fn time_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) * 1_000_000_000 + u64::from(u32_at(bytes, at + 4))
}

/// A record that lies whole in its file.
#[derive(Debug)]
pub(super) struct Head {
    /// Where it starts.
    pub(super) at: u64,
    pub(super) fields: Fields,
    /// Where its data are.
    pub(super) data: u64,
    /// Bytes of its data.
    pub(super) length: u64,
}

impl Head {
    /// The record at a place.
    pub(super) fn read(file: &mut File<'_>, at: u64) -> Result<Self, IoError> {
        let header = length(file, at, "header of a record")?;
        if header > MOST_HEADER {
            let wanted = format!("at most {MOST_HEADER} bytes");
            bail!(file.at(at), LimitExceeded, "header of a record", wanted, "{header} bytes");
        }
        let bytes = file.bytes(at + 4, header)?;
        let fields = Fields::parse(file.path, at, &bytes)?;
        let length = length(file, at + 4 + header, "data of a record")?;
        Ok(Self { at, fields, data: at + 8 + header, length })
    }

    /// Where the next record starts.
    pub(super) fn end(&self) -> u64 {
        self.data + self.length
    }

    /// The data of the record.
    pub(super) fn content(&self, file: &mut File<'_>) -> Result<Vec<u8>, IoError> {
        file.bytes(self.data, self.length)
    }

    /// The data of a record that is small in files of their kind.
    pub(super) fn small(&self, file: &mut File<'_>) -> Result<Vec<u8>, IoError> {
        if self.length > MOST {
            let wanted = format!("at most {MOST} bytes of op {}", self.fields.op);
            bail!(file.at(self.at), LimitExceeded, "record", wanted, (self.length));
        }
        self.content(file)
    }
}

/// A number of bytes, which lie behind it.
fn length(file: &mut File<'_>, at: u64, field: &str) -> Result<u64, IoError> {
    let left = file.length.saturating_sub(at);
    if left < 4 {
        bail!(file.at(at), Truncated, field, "4 bytes of its length", "{left} bytes");
    }
    let length = u64::from(u32_at(&file.bytes(at, 4)?, 0));
    if length > left - 4 {
        bail!(file.at(at), Truncated, field, "{length} bytes", ("{} bytes", left - 4));
    }
    Ok(length)
}

/// A record in a chunk.
#[derive(Debug)]
pub(super) struct Inner<'a> {
    pub(super) fields: Fields,
    pub(super) data: &'a [u8],
    /// Where the next one starts.
    pub(super) next: usize,
}

/// The record at a place of a chunk's content, and where the next starts; `None` at the end.
pub(super) fn inner<'a>(path: &Path, chunk: u64, bytes: &'a [u8], at: usize) -> Result<Option<Inner<'a>>, IoError> {
    let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else { return Ok(None) };
    let mut wire = Wire::new(path, rest, Encoding::Ros1)?;
    let mut read = || {
        let (header, data) = (wire.sized("header of a record in a chunk")?, wire.sized("data of a record in a chunk")?);
        Ok((header, data, bytes.len() - wire.left()))
    };
    let (header, data, next) = read().map_err(|e| match e {
        IoError::Truncated(detail) => IoError::SizeMismatch(detail.at(Some(chunk))),
        e => e,
    })?;
    Ok(Some(Inner { fields: Fields::parse(path, chunk, header)?, data, next }))
}
