//! Compressed points: chunks that are decoded independently, and a table of their lengths.
//!
//! The crate `laz` does the arithmetic decoding and decodes most fields. It trusts its input: it allocates memory for the declared number
//! of chunks and length of layers, and panics if a list of items is empty. Therefore this module reads the record about compression, the
//! table and the head of each chunk itself and compares them with the available bytes. A decoder gets only the bytes of its chunk. Own
//! decoders replace decoders of the crate that recurse without end (times, and points of formats 6 to 10, which contain times) or that
//! return wrong values (colours and extra bytes of version 1). The format has no checksum, so a damaged file may give wrong points.

mod chunk;
mod fields;
mod gps;
mod guard;
mod octree;
mod packing;
mod point14;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod version1;

pub use guard::hush_decoder_panics;

use super::header::Header;
use super::points::Points;
use super::vlr::{self, Records};
use crate::error::IoError;
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::source::Source;
use crate::window::Window;
use chunk::Wrong;
use packing::Packing;

/// A file may unpack to the first number of bytes, or to its own size times the second number. Compression shrinks sweeps and tiles to a
/// quarter or a tenth. It shrinks equal points to almost nothing, so without a limit a small file could declare any number of them.
const FREE_UNPACKED: u64 = 16 << 20;
const MAX_GROWTH: u64 = 64;
/// If a file grows by at most this factor, the memory for all points is allocated at once.
const LIKELY_GROWTH: u64 = 16;

/// Reads the points of the file. The window is at their offset.
pub(super) fn read_rows(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    header: &Header,
    records: Records,
    mut points: Points<'_>,
) -> Result<Rows, IoError> {
    let Some(packing) = records.packing else {
        let wanted = "one of `laszip encoded`, 22204, about compression";
        return Err(IoError::MissingField(window.detail("variable length records", wanted, "none")));
    };
    let packing = Packing::parse(window, header, &packing)?;
    bounds.check_points(window.source(), header.points)?;
    // The table of chunks is after the chunks, so all bytes are held in memory. They are fewer than the unpacked bytes.
    let bytes = window.remainder()?;
    let unpacked = header.points.saturating_mul(header.record as u64);
    let growth = FREE_UNPACKED.max((header.offset + bytes.len() as u64).saturating_mul(MAX_GROWTH));
    let detail = |wanted, found| window.detail("data unpacked", wanted, found);
    bounds.limits.check_decoded(detail, unpacked, growth, "16 MiB or 64 times the file")?;
    let mut chunks = table::read(window, header, &packing, &bytes)?;
    if let (Some(area), Some(octree)) = (bounds.area, &records.octree) {
        octree::retain(octree, header.offset, &bytes, area, &mut chunks.entries);
    }
    // Otherwise memory is allocated while points are decoded.
    if unpacked / LIKELY_GROWTH <= bytes.len() as u64 {
        threads::read(window, &packing, &chunks.entries, &bytes, &mut points)?;
    } else {
        for (i, chunk) in chunks.entries.iter().enumerate() {
            let push = |records: &[u8]| points.push(window.source(), records).map_err(Failed::Rows);
            chunk::read(&packing, i, chunk, &bytes[chunk.bytes.clone()], push).map_err(|e| e.error(window))?;
        }
    }
    if header.extended.is_some() {
        extended(window, header, &bytes, chunks.end)?;
    }
    Ok(points.into_rows(chunks.rest))
}

/// Why the points of a chunk could not be taken.
enum Failed {
    Chunk(Wrong),
    Rows(IoError),
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Self {
        Self::Chunk(wrong)
    }
}

impl Failed {
    fn error(self, window: &Window<'_, '_>) -> IoError {
        match self {
            Self::Chunk(wrong) => wrong.error(window),
            Self::Rows(e) => e,
        }
    }
}

/// Checks the extended records. They start after the chunks, in bytes that the window has already returned.
fn extended(window: &Window<'_, '_>, header: &Header, bytes: &[u8], end: usize) -> Result<(), IoError> {
    let mut behind = &bytes[end..];
    let (start, left) = (header.offset + end as u64, behind.len() as u64);
    let mut source = Source::new(window.source().path, &mut behind, Some(left)).starting(start);
    vlr::read_extended(&mut Window::new(&mut source), header, start).map(drop)
}
