//! A message of a bag, from its place.

use super::chunk::unpack;
use super::index::Place;
use super::record::{File, Record, inner, parse};
use crate::error::{Detail, IoError};
use crate::limits::Limits;
use crate::source::ReadSeek;
use std::path::Path;
use std::sync::Arc;

/// A chunk that is kept for the next message: where it starts, and its content.
pub(super) type Kept = Option<(u64, Arc<Vec<u8>>)>;

/// Reads a message, and checks that it is the one that the index names.
pub(super) fn message(
    path: &Path,
    reader: &mut dyn ReadSeek,
    place: &Place,
    limits: &Limits,
    kept: &mut Kept,
) -> Result<Vec<u8>, IoError> {
    let mut file = File::new(path, reader, limits.max_memory)?;
    if place.chunk == 0 {
        let head = file.head(place.at)?;
        let content = file.content(&head)?;
        return body(path, place, head.op, &content);
    }
    let chunk = match kept.take().filter(|(at, _)| *at == place.chunk) {
        Some((_, chunk)) => chunk,
        None => {
            let head = file.head(place.chunk)?;
            Arc::new(unpack(&mut file, &head, limits)?)
        }
    };
    *kept = Some((place.chunk, chunk.clone()));
    let at = usize::try_from(place.at).unwrap_or(usize::MAX);
    let Some(record) = inner(path, place.chunk, &chunk, at)? else {
        return Err(other(path, place, format!("{} bytes in the chunk", chunk.len())));
    };
    body(path, place, record.op, record.content)
}

/// The bytes of the message in a record.
fn body(path: &Path, place: &Place, op: u8, content: &[u8]) -> Result<Vec<u8>, IoError> {
    match parse(path, place.chunk, op, content)? {
        Record::Message { channel, time, data } if (channel, time) == (place.channel, place.time) => Ok(data.to_vec()),
        Record::Message { channel, time, .. } => Err(other(path, place, format!("channel {channel} at {time} ns"))),
        _ => Err(other(path, place, format!("opcode {op}"))),
    }
}

/// The index names a message that is not there.
fn other(path: &Path, place: &Place, found: String) -> IoError {
    let field = format!("message at byte {} of the chunk at {}", place.at, place.chunk);
    let wanted = format!("a message of channel {} at {} ns, as the index says", place.channel, place.time);
    IoError::BadValue(Detail::new(path, field, wanted, found).at(Some(place.chunk)))
}
