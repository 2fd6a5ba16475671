//! A chunk: its first point uncompressed, then the differences of the other points.

use super::fields::decoder;
use super::guard::guarded;
use super::packing::{Layout, NO_CODE, Packing};
use super::table::Chunk;
use crate::error::{Detail, IoError};
use crate::las::header::u32_at;
use crate::window::{WINDOW, Window};

/// What is wrong with a chunk, without the file's name, as threads return it.
#[derive(Debug)]
pub(super) struct Wrong {
    class: fn(Box<Detail>) -> IoError,
    field: String,
    wanted: String,
    found: String,
}

impl Wrong {
    pub(super) fn error(self, window: &Window<'_, '_>) -> IoError {
        (self.class)(window.detail(&self.field, self.wanted, self.found))
    }
}

/// Unpacks the points of chunk `i` and gives them to `push`, block after block.
pub(super) fn read<E: From<Wrong>>(
    packing: &Packing,
    i: usize,
    chunk: &Chunk,
    bytes: &[u8],
    mut push: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let record = packing.record;
    // Nothing is compressed. Octrees have many such chunks.
    if chunk.points == 1 && bytes.len() >= record {
        return push(&bytes[..record]);
    }
    if packing.layout == Layout::Layers {
        check_layers(packing, i, chunk, bytes)?;
    }
    let broken = |found: String| {
        let wanted = format!("{} points of {record} bytes in {} bytes", chunk.points, bytes.len());
        Wrong { class: IoError::Decompress, field: format!("chunk {i}"), wanted, found }
    };
    if packing.layout != Layout::Layers && bytes[record.min(bytes.len())..].starts_with(&NO_CODE) {
        return Err(broken(format!("codes that start with {NO_CODE:02x?}")).into());
    }
    let mut decoder = decoder(packing, bytes).map_err(|e| broken(e.to_string()))?;
    let most = chunk.points.min((WINDOW / record) as u64);
    let mut block = vec![0; most as usize * record];
    let mut left = chunk.points;
    while left > 0 {
        let step = left.min(most);
        let out = &mut block[..step as usize * record];
        guarded(|| decoder.decompress_many(out).map_err(|e| e.to_string())).map_err(broken)?;
        push(out)?;
        left -= step;
    }
    Ok(())
}

/// Checks the lengths of the layers, because the decoder allocates memory by some of them, and the first bytes of the layers.
fn check_layers(packing: &Packing, i: usize, chunk: &Chunk, bytes: &[u8]) -> Result<(), Wrong> {
    let wrong = |class: fn(Box<Detail>) -> IoError, field: &str, wanted: String, found: String| {
        Err(Wrong { class, field: format!("chunk {i}: {field}"), wanted, found })
    };
    let head = packing.record + 4 + 4 * packing.layers;
    if bytes.len() < head {
        let found = format!("{} bytes", bytes.len());
        return wrong(IoError::Truncated, "head", format!("{head} bytes"), found);
    }
    let count = u64::from(u32_at(bytes, packing.record));
    if count != chunk.points {
        let wanted = format!("{}, as the table of chunks says", chunk.points);
        return wrong(IoError::SizeMismatch, "number of points", wanted, count.to_string());
    }
    let lengths = || (0..packing.layers).map(|layer| u32_at(bytes, packing.record + 4 + 4 * layer));
    let (sum, room) = (lengths().map(u64::from).sum::<u64>(), (bytes.len() - head) as u64);
    if sum > room {
        return wrong(IoError::Truncated, "layers", format!("{sum} bytes"), format!("{room} bytes"));
    }
    let mut at = head;
    for (layer, length) in lengths().enumerate() {
        let end = at + length as usize;
        if bytes[at..end].starts_with(&NO_CODE) {
            let (field, found) = (format!("layer {layer}"), format!("{NO_CODE:02x?} at its start"));
            return wrong(IoError::Decompress, &field, "arithmetic codes".into(), found);
        }
        at = end;
    }
    Ok(())
}
