//! A message of a bag, from its place.

use super::body::{check_size, other};
use super::container::Container;
use super::file::{File, MessageIndexEntry};
use super::held::Held;
use crate::error::IoError;
use crate::fault::{At, fault};
use crate::limits::Limits;
use std::sync::Arc;

/// Reads a message of at most so many bytes, and checks that it is the one that the index names. If
/// `is_last`, it will not be read again soon.
pub(super) fn message(
    container: Container,
    file: &mut File<'_>,
    place: &MessageIndexEntry,
    limits: &Limits,
    held: &mut Held<Arc<Vec<u8>>>,
    most: u64,
    is_last: bool,
) -> Result<Vec<u8>, IoError> {
    let path = file.path;
    if place.chunk == 0 {
        return container.message(file, place, most);
    }
    let chunk = match held.get(place.of_chunk()) {
        Some(chunk) => chunk,
        None => {
            let [size, packed] = container.sizes(file, place.chunk)?;
            held.make_room(size.saturating_add(packed));
            let chunk = Arc::new(container.chunk(file, place.chunk, limits, held.bytes())?);
            held.put(place, size, chunk.clone());
            chunk
        }
    };
    if is_last {
        held.read(place.of_chunk());
    }
    let at = usize::try_from(place.at).unwrap_or(usize::MAX);
    let Some(body) = container.message_in(path, place, &chunk, at)? else {
        return Err(other(path, place, format!("{} bytes in the chunk", chunk.len())));
    };
    check_size(At { path, offset: Some(place.chunk) }, body.length, most)?;
    // Messages in messages would take time for each.
    if body.length > u64::from(place.room) && place.room < u32::MAX {
        let wanted = format!("at most {} bytes, where the next message of the index starts", place.room);
        let found = format!("{} bytes", body.length);
        let field = format!("message at byte {} of the chunk at {}", place.at, place.chunk);
        return Err(fault!(path, BadValue, field, wanted, found).at(Some(place.chunk)));
    }
    body.data.map(<[u8]>::to_vec)
}
