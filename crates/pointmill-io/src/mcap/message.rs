//! A message of a bag, from its place.

use super::chunk::unpack;
use super::held::Held;
use super::record::{File, MessageIndexEntry, Record, inner, parse};
use crate::error::IoError;
use crate::fault::fault;
use crate::limits::Limits;
use crate::source::ReadSeek;
use std::path::Path;
use std::sync::Arc;

/// Reads a message, and checks that it is the one that the index names. If `is_last`, it will not
/// be read again soon.
pub(super) fn message(
    path: &Path,
    reader: &mut dyn ReadSeek,
    place: &MessageIndexEntry,
    limits: &Limits,
    held: &mut Held<Arc<Vec<u8>>>,
    is_last: bool,
) -> Result<Vec<u8>, IoError> {
    let mut file = File::new(path, reader, limits.max_memory)?;
    if place.chunk == 0 {
        let head = file.head(place.at)?;
        let content = file.content(&head)?;
        return body(path, place, head.op, &content);
    }
    let chunk = match held.get(place.chunk) {
        Some(chunk) => chunk,
        None => {
            let head = file.head(place.chunk)?;
            let size = file.unpacked(&head)?;
            held.make_room(size.saturating_add(head.length));
            let chunk = Arc::new(unpack(&mut file, &head, limits, held.bytes())?);
            held.put(place, size, chunk.clone());
            chunk
        }
    };
    if is_last {
        held.read(place.chunk);
    }
    let at = usize::try_from(place.at).unwrap_or(usize::MAX);
    let Some(record) = inner(path, place.chunk, &chunk, at)? else {
        return Err(other(path, place, format!("{} bytes in the chunk", chunk.len())));
    };
    // Messages in messages would take time for each.
    if (record.next - at) as u64 > u64::from(place.room) && place.room < u32::MAX {
        let wanted = format!("at most {} bytes, where the next message of the index starts", place.room);
        let found = format!("{} bytes", record.next - at);
        let field = format!("message at byte {} of the chunk at {}", place.at, place.chunk);
        return Err(fault!(path, BadValue, field, wanted, found).at(Some(place.chunk)));
    }
    body(path, place, record.op, record.content)
}

/// The bytes of the message in a record.
fn body(path: &Path, place: &MessageIndexEntry, op: u8, content: &[u8]) -> Result<Vec<u8>, IoError> {
    match parse(path, place.chunk, op, content)? {
        Record::Message { channel, time, data } if (channel, time) == (place.channel, place.log_time_ns) => {
            Ok(data.to_vec())
        }
        Record::Message { channel, time, .. } => Err(other(path, place, format!("channel {channel} at {time} ns"))),
        _ => Err(other(path, place, format!("opcode {op}"))),
    }
}

/// The index names a message that is not there.
fn other(path: &Path, place: &MessageIndexEntry, found: String) -> IoError {
    let field = format!("message at byte {} of the chunk at {}", place.at, place.chunk);
    let wanted = format!("a message of channel {} at {} ns, as the index says", place.channel, place.log_time_ns);
    fault!(path, BadValue, field, wanted, found).at(Some(place.chunk))
}
