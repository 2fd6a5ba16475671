//! A chunk: its first point uncompressed, then the differences of the other points.

use super::fields::decoder;
use super::guard::guarded;
use super::packing::{Layout, NO_CODE, Packing};
use super::table::Chunk;
use crate::bytes::u32_at;
use crate::error::IoError;
use crate::fault::{At, bail, fault};
use crate::window::WINDOW;

/// Unpacks the points of chunk `i` and gives them to `push`, block after block. Returns how many of
/// the bytes the chunk has.
pub(super) fn read(
    at: At<'_>,
    packing: &Packing,
    i: usize,
    chunk: &Chunk,
    bytes: &[u8],
    mut push: impl FnMut(&[u8]) -> Result<(), IoError>,
) -> Result<usize, IoError> {
    let record = packing.record;
    // Nothing is compressed. Octrees have many such chunks.
    if chunk.points == 1 && bytes.len() >= record {
        return push(&bytes[..record]).map(|()| bytes.len());
    }
    if packing.layout == Layout::Layers {
        check_layers(at, packing, i, chunk, bytes)?;
    }
    let broken = |found: String| {
        let wanted = format!("{} points of {record} bytes in {} bytes", chunk.points, bytes.len());
        fault!(at, Decompress, "chunk {i}", wanted, found)
    };
    if packing.layout != Layout::Layers && bytes[record.min(bytes.len())..].starts_with(&NO_CODE) {
        return Err(broken(format!("codes that start with {NO_CODE:02x?}")));
    }
    let mut decoder = decoder(packing, bytes).map_err(|e| broken(e.to_string()))?;
    let mut left = chunk.points;
    let mut block = vec![0; left.min((WINDOW / record) as u64) as usize * record];
    while left > 0 {
        let step = left.min((block.len() / record) as u64);
        let out = &mut block[..step as usize * record];
        guarded(|| decoder.decompress_many(out).map_err(|e| e.to_string())).map_err(broken)?;
        push(out)?;
        left -= step;
    }
    Ok(decoder.get().position() as usize)
}

/// Size in bytes of what a chunk of layers begins with: the first point, the number of points, and
/// the length of each layer.
fn head(packing: &Packing) -> usize {
    packing.record + 4 + 4 * packing.layers
}

/// The number of points of a chunk of layers, and the length of each layer; `None` if the bytes end
/// before.
fn layers<'b>(packing: &Packing, bytes: &'b [u8]) -> Option<(u64, impl Iterator<Item = u32> + Clone + use<'b>)> {
    let numbers = bytes.get(packing.record..head(packing))?.chunks_exact(4).map(|number| u32_at(number, 0));
    Some((u64::from(u32_at(bytes, packing.record)), numbers.skip(1)))
}

/// The number of points and of bytes of the chunk of layers that begins here; `None` if the bytes
/// end before it does.
pub(super) fn measure(packing: &Packing, bytes: &[u8]) -> Option<(u64, usize)> {
    let (points, lengths) = layers(packing, bytes)?;
    let length = head(packing) as u64 + lengths.map(u64::from).sum::<u64>();
    Some((points, usize::try_from(length).ok().filter(|&length| length <= bytes.len())?))
}

/// Checks the lengths of the layers, because the decoder allocates memory by some of them, and the
/// first bytes of the layers.
fn check_layers(at: At<'_>, packing: &Packing, i: usize, chunk: &Chunk, bytes: &[u8]) -> Result<(), IoError> {
    let head = head(packing);
    let Some((count, lengths)) = layers(packing, bytes) else {
        bail!(at, Truncated, "chunk {i}: head", "{head} bytes", ("{} bytes", bytes.len()));
    };
    if count != chunk.points {
        let wanted = format!("{}, as the table of chunks says", chunk.points);
        bail!(at, SizeMismatch, "chunk {i}: number of points", wanted, count);
    }
    let (sum, room) = (lengths.clone().map(u64::from).sum::<u64>(), (bytes.len() - head) as u64);
    if sum > room {
        bail!(at, Truncated, "chunk {i}: layers", "{sum} bytes", "{room} bytes");
    }
    let mut start = head;
    for (layer, length) in lengths.enumerate() {
        let end = start + length as usize;
        if bytes[start..end].starts_with(&NO_CODE) {
            bail!(at, Decompress, "chunk {i}: layer {layer}", "arithmetic codes", "{NO_CODE:02x?} at its start");
        }
        start = end;
    }
    Ok(())
}
