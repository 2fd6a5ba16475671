//! Compressed points: chunks that are decoded independently, and a table of their lengths.
//!
//! The crate `laz` does the arithmetic decoding and decodes most fields. It trusts its input: it
//! allocates memory for the declared number of chunks and length of layers, and panics if a list of
//! items is empty. Therefore this module reads the record about compression, the table and the head
//! of each chunk itself and compares them with the available bytes. A decoder gets only the bytes
//! of its chunk. Own decoders replace decoders of the crate that recurse without end (times, and
//! points of formats 6 to 10, which contain times) or that return wrong values (colours and extra
//! bytes of version 1). The format has no checksum, so a damaged file may give wrong points.

mod chunk;
mod fields;
mod gps;
mod guard;
mod octree;
mod packing;
mod point14;
mod salvage;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod version1;

pub use guard::hush_decoder_panics;

use super::header::Header;
use super::vlr::{self, Records};
use crate::error::{IoError, WHOLE_CHUNKS};
use crate::fault::bail;
use crate::limits::Bounds;
use crate::records::{Order, Table};
use crate::rows::Rows;
use crate::source::Source;
use crate::survey::Survey;
use crate::window::Window;
use packing::Packing;
use table::{Chunk, Chunks};

/// If a file grows by at most this factor, the memory for all points is allocated at once.
const LIKELY_GROWTH: u64 = 16;

/// Reads the points of the file. The window is at their offset.
pub(super) fn read_rows(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    header: &Header,
    records: Records,
    mut table: Table,
    survey: &mut Survey,
) -> Result<Rows, IoError> {
    let Some(packing) = records.packing else {
        let wanted = "one of `laszip encoded`, 22204, about compression";
        bail!(window, MissingField, "variable length records", wanted, "none");
    };
    let packing = Packing::parse(window, header, &packing)?;
    bounds.check_points(window.source(), header.points)?;
    // The table of chunks is after the chunks, so all bytes are held in memory. They are fewer than
    // the unpacked bytes.
    let bytes = window.remainder()?;
    let length = header.offset + bytes.len() as u64;
    let check = |points: u64| {
        let unpacked = points.saturating_mul(header.record as u64);
        bounds.limits.check_unpacked(window, "data unpacked", unpacked, length)
    };
    let walk = || salvage::walk(window.here(), &packing, header.points, &bytes, check);
    let mut is_damaged = header.is_damaged;
    let mut chunks = match table::read(window, header, &packing, &bytes) {
        Ok(chunks) => check(header.points).map(|()| chunks)?,
        Err(e) if e.is_damage() && bounds.salvage && packing.is_walkable() => {
            let entries = walk().take(table::most_chunks(bytes.len() as u64) as usize).collect::<Result<_, _>>()?;
            is_damaged = true;
            Chunks { entries, end: bytes.len(), rest: 0 }
        }
        Err(e) if e.is_damage() && walk().next().is_some_and(|first| first.is_ok()) => {
            return Err(e.salvageable(WHOLE_CHUNKS));
        }
        Err(e) => return Err(e),
    };
    let found: u64 = chunks.entries.iter().map(|chunk| chunk.points).sum();
    if let (Some(area), Some(octree)) = (bounds.area, &records.octree) {
        octree::retain(octree, header, &bytes, area, &mut chunks.entries);
    }
    let several = chunks.entries.len() > 1;
    let lost = decode(window, bounds, &packing, &chunks.entries, &bytes, &mut table)
        .map_err(|e| if several && e.is_damage() { e.salvageable(WHOLE_CHUNKS) } else { e })?;
    match extended(window, header, &bytes, chunks.end, survey) {
        Err(IoError::BadHeader(_) | IoError::Truncated(_)) if bounds.salvage => is_damaged = true,
        done => done?,
    }
    Ok(table.into_rows(chunks.rest).salvaged(found - lost, header.points, is_damaged))
}

/// Decodes the chunks into the rows. Returns the number of points of wrong chunks, which a salvage
/// leaves out.
fn decode(
    window: &Window<'_, '_>,
    bounds: &Bounds,
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    table: &mut Table,
) -> Result<u64, IoError> {
    let unpacked = chunks.iter().map(|chunk| chunk.points).sum::<u64>().saturating_mul(packing.record as u64);
    if unpacked / LIKELY_GROWTH <= bytes.len() as u64 {
        return threads::read(window, packing, chunks, bytes, table, bounds.salvage);
    }
    // Memory is allocated while points are decoded.
    let (at, mut lost) = (window.here(), 0);
    for (i, chunk) in chunks.iter().enumerate() {
        let packed = &bytes[chunk.bytes.clone()];
        if bounds.salvage && chunk::read(at, packing, i, chunk, packed, |_| Ok(())).is_err() {
            lost += chunk.points;
            continue;
        }
        chunk::read(at, packing, i, chunk, packed, |records| {
            table.push(window, records, records.len() / packing.record, Order::Records, false)
        })?;
    }
    Ok(lost)
}

/// Checks the extended records, if there are any. They start after the chunks, in bytes that the
/// window has already returned.
fn extended(
    window: &Window<'_, '_>,
    header: &Header,
    bytes: &[u8],
    end: usize,
    survey: &mut Survey,
) -> Result<(), IoError> {
    if header.extended.is_none() {
        return Ok(());
    }
    let mut behind = &bytes[end..];
    let (start, left) = (header.offset + end as u64, behind.len() as u64);
    let mut source = Source::new(window.source().path, &mut behind, Some(left)).starting(start);
    vlr::read_extended(&mut Window::new(&mut source), header, start, survey).map(drop)
}
