//! A chunk: its first point uncompressed, then the differences of the other points.

use super::fields::decoder;
use super::guard::guarded;
use super::packing::{Layout, NO_CODE, Packing};
use super::table::Chunk;
use crate::error::IoError;
use crate::las::header::u32_at;
use crate::las::points::Points;
use crate::window::{WINDOW, Window};

/// Unpacks the points of chunk `i`.
pub(super) fn read(
    window: &Window<'_, '_>,
    packing: &Packing,
    i: usize,
    chunk: &Chunk,
    bytes: &[u8],
    points: &mut Points<'_>,
) -> Result<(), IoError> {
    let record = packing.record;
    let source = window.source();
    // Nothing is compressed. Octrees have many such chunks.
    if chunk.points == 1 && bytes.len() >= record {
        return points.push(source, &bytes[..record]);
    }
    if packing.layout == Layout::Layers {
        check_layers(window, packing, i, chunk, bytes)?;
    }
    let broken = |found: String| {
        let wanted = format!("{} points of {record} bytes in {} bytes", chunk.points, bytes.len());
        IoError::Decompress(window.detail(&format!("chunk {i}"), wanted, found))
    };
    if packing.layout != Layout::Layers && bytes[record.min(bytes.len())..].starts_with(&NO_CODE) {
        return Err(broken(format!("codes that start with {NO_CODE:02x?}")));
    }
    let mut decoder = decoder(packing, bytes).map_err(|e| broken(e.to_string()))?;
    let most = chunk.points.min((WINDOW / record) as u64);
    let mut block = vec![0; most as usize * record];
    let mut left = chunk.points;
    while left > 0 {
        let step = left.min(most);
        let out = &mut block[..step as usize * record];
        guarded(|| decoder.decompress_many(out).map_err(|e| e.to_string())).map_err(broken)?;
        points.push(source, out)?;
        left -= step;
    }
    Ok(())
}

/// Checks the lengths of the layers, because the decoder allocates memory by some of them, and the first bytes of the layers.
fn check_layers(
    window: &Window<'_, '_>,
    packing: &Packing,
    i: usize,
    chunk: &Chunk,
    bytes: &[u8],
) -> Result<(), IoError> {
    let detail =
        |field: &str, wanted: String, found: String| window.detail(&format!("chunk {i}: {field}"), wanted, found);
    let head = packing.record + 4 + 4 * packing.layers;
    if bytes.len() < head {
        let found = format!("{} bytes", bytes.len());
        return Err(IoError::Truncated(detail("head", format!("{head} bytes"), found)));
    }
    let count = u64::from(u32_at(bytes, packing.record));
    if count != chunk.points {
        let wanted = format!("{}, as the table of chunks says", chunk.points);
        return Err(IoError::SizeMismatch(detail("number of points", wanted, count.to_string())));
    }
    let lengths = || (0..packing.layers).map(|layer| u32_at(bytes, packing.record + 4 + 4 * layer));
    let (sum, room) = (lengths().map(u64::from).sum::<u64>(), (bytes.len() - head) as u64);
    if sum > room {
        return Err(IoError::Truncated(detail("layers", format!("{sum} bytes"), format!("{room} bytes"))));
    }
    let mut at = head;
    for (layer, length) in lengths().enumerate() {
        let end = at + length as usize;
        if bytes[at..end].starts_with(&NO_CODE) {
            let (field, found) = (format!("layer {layer}"), format!("{NO_CODE:02x?} at its start"));
            return Err(IoError::Decompress(detail(&field, "arithmetic codes".into(), found)));
        }
        at = end;
    }
    Ok(())
}
