//! Bags of ROS 1, format 2.0: records of a header and data, messages in chunks.

mod record;
mod walk;

use super::body::{Body, check_size, other};
use super::chunk::{Compression, Packed};
use super::file::{File, MessageIndexEntry};
use super::found::Found;
use crate::error::{IoError, excerpt};
use crate::fault::bail;
use crate::limits::Limits;
use record::{Fields, Head, inner, op};
use std::path::Path;
use walk::Walk;

/// How a bag of any version starts.
pub(crate) const NAME: &[u8] = b"#ROSBAG ";

/// How a bag of the version that is read starts.
const MAGIC: &[u8] = b"#ROSBAG V2.0\n";

/// Checks the first bytes; where the first record starts.
pub(super) fn start(file: &mut File<'_>) -> Result<u64, IoError> {
    let found = file.bytes(0, file.length.min(MAGIC.len() as u64))?;
    if found == MAGIC {
        return Ok(MAGIC.len() as u64);
    }
    let (wanted, shown) = (MAGIC.escape_ascii().to_string(), excerpt(&found));
    if MAGIC.starts_with(&found) && !found.is_empty() {
        bail!(file.at(0), Truncated, "first bytes", wanted, shown);
    }
    if found.starts_with(NAME) {
        let wanted = "a ROS 1 bag of version 2.0, which `rosbag` writes since ROS Diamondback";
        bail!(file.at(0), UnsupportedFormat, "version", wanted, shown);
    }
    bail!(file.at(0), BadHeader, "first bytes", wanted, shown)
}

/// Walks over the records of a file from one on; what was found before an error stays.
pub(super) fn walk<'a>(file: &mut File<'a>, found: &mut Found<'a>, at: u64) -> Result<(), IoError> {
    Walk::new(file, found).all(at)
}

/// The bytes of a chunk, unpacked and in the file.
fn sizes_of(file: &File<'_>, head: &Head) -> Result<[u64; 2], IoError> {
    Ok([u64::from(head.fields.unpacked(file.path)?), head.length])
}

/// Reads the content of a chunk, while `held` bytes of others are held.
fn unpack(file: &mut File<'_>, head: &Head, limits: &Limits, held: u64) -> Result<Vec<u8>, IoError> {
    if head.fields.op != op::CHUNK {
        bail!(file.at(head.at), BadValue, "record", "a chunk", ("op {}", head.fields.op));
    }
    let size = u64::from(head.fields.unpacked(file.path)?);
    let compression = match &*head.fields.packing(file.path)? {
        "none" => Compression::None,
        "lz4" => Compression::Lz4,
        "bz2" => Compression::Bz2,
        other => {
            let found = excerpt(other.as_bytes());
            bail!(file.at(head.at), UnsupportedFormat, "compression", "none, lz4 or bz2", found);
        }
    };
    let data = head.content(file)?;
    let chunk = Packed { at: head.at, size, sum: 0, compression, data: &data };
    // What is held of the file counts too.
    chunk.unpack(file, limits, held.saturating_add(data.len() as u64))
}

/// The bytes of the chunk at a place, unpacked and in the file.
pub(super) fn sizes(file: &mut File<'_>, at: u64) -> Result<[u64; 2], IoError> {
    let head = Head::read(file, at)?;
    sizes_of(file, &head)
}

/// The content of a chunk, while `held` bytes of others are held.
pub(super) fn chunk(file: &mut File<'_>, at: u64, limits: &Limits, held: u64) -> Result<Vec<u8>, IoError> {
    let head = Head::read(file, at)?;
    unpack(file, &head, limits, held)
}

/// The message at a place outside of chunks.
pub(super) fn message(file: &mut File<'_>, place: &MessageIndexEntry, most: u64) -> Result<Vec<u8>, IoError> {
    let head = Head::read(file, place.at)?;
    check_size(file.at(place.at), head.length, most)?;
    check(file.path, place, &head.fields)?;
    head.content(file)
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
    Ok(Some(Body { length, data: check(path, place, &record.fields).map(|()| record.data) }))
}

/// Checks that a record is the message of the index.
fn check(path: &Path, place: &MessageIndexEntry, fields: &Fields) -> Result<(), IoError> {
    if fields.op != op::MESSAGE {
        return Err(other(path, place, format!("op {}", fields.op)));
    }
    let (channel, time) = (fields.connection_id(path)?, fields.time_ns(path)?);
    if (channel, time) != (u32::from(place.channel), place.log_time_ns) {
        return Err(other(path, place, format!("connection {channel} at {time} ns")));
    }
    Ok(())
}
