//! MCAP: records behind each other, messages in chunks or outside of them.

mod record;
mod walk;

use super::body::{Body, check_size, other};
use super::chunk::{Compression, Packed};
use super::file::{File, MessageIndexEntry};
use super::found::Found;
use crate::error::{IoError, excerpt};
use crate::fault::bail;
use crate::limits::Limits;
use record::{Head, Record, inner, parse};
use std::path::Path;
use walk::Walk;

pub(crate) use record::MAGIC;

/// Checks the first bytes; where the first record starts.
pub(super) fn start(file: &mut File<'_>) -> Result<u64, IoError> {
    file.start()
}

/// Walks over the records of a file from one on; what was found before an error stays.
pub(super) fn walk<'a>(file: &mut File<'a>, found: &mut Found<'a>, at: u64) -> Result<(), IoError> {
    Walk::new(file, found).all(at)
}

/// Reads the content of a chunk, while `held` bytes of others are held.
fn unpack(file: &mut File<'_>, head: &Head, limits: &Limits, held: u64) -> Result<Vec<u8>, IoError> {
    let packed = file.content(head)?;
    let Record::Chunk { size, sum, compression, data } = parse(file.path, head.at, head.op, &packed)? else {
        bail!(file.at(head.at), BadValue, "record", "a chunk", ("opcode {}", head.op));
    };
    let compression = match compression {
        "" => Compression::None,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        other => {
            let wanted = "none, lz4 or zstd";
            bail!(file.at(head.at), UnsupportedFormat, "compression", wanted, excerpt(other.as_bytes()));
        }
    };
    let chunk = Packed { at: head.at, size, sum, compression, data };
    // What is held of the file counts too.
    chunk.unpack(file, limits, held.saturating_add(packed.len() as u64))
}

/// The bytes of a chunk, unpacked and in the file.
pub(super) fn sizes(file: &mut File<'_>, at: u64) -> Result<[u64; 2], IoError> {
    let head = file.head(at)?;
    Ok([file.unpacked(&head)?, head.length])
}

/// The content of a chunk, while `held` bytes of others are held.
pub(super) fn chunk(file: &mut File<'_>, at: u64, limits: &Limits, held: u64) -> Result<Vec<u8>, IoError> {
    let head = file.head(at)?;
    unpack(file, &head, limits, held)
}

/// The message at a place outside of chunks.
pub(super) fn message(file: &mut File<'_>, place: &MessageIndexEntry, most: u64) -> Result<Vec<u8>, IoError> {
    let head = file.head(place.at)?;
    check_size(file.at(place.at), head.length, most)?;
    let content = file.content(&head)?;
    body(file.path, place, head.op, &content).map(<[u8]>::to_vec)
}

/// The message at a place of a chunk's content; `None` if nothing is there.
pub(super) fn message_in<'c>(
    path: &Path,
    place: &MessageIndexEntry,
    chunk: &'c [u8],
    at: usize,
) -> Result<Option<Body<'c>>, IoError> {
    let Some(record) = inner(path, place.chunk, chunk, at)? else { return Ok(None) };
    let length = (record.next - at) as u64;
    Ok(Some(Body { length, data: body(path, place, record.op, record.content) }))
}

/// The bytes of the message in a record.
fn body<'c>(path: &Path, place: &MessageIndexEntry, op: u8, content: &'c [u8]) -> Result<&'c [u8], IoError> {
    match parse(path, place.chunk, op, content)? {
        Record::Message { channel, time, data } if (channel, time) == (place.channel, place.log_time_ns) => Ok(data),
        Record::Message { channel, time, .. } => Err(other(path, place, format!("channel {channel} at {time} ns"))),
        _ => Err(other(path, place, format!("opcode {op}"))),
    }
}
