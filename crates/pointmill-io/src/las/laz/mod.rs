//! Compressed points: chunks that start afresh each, and a table of how long they are.
//!
//! The crate `laz` does the arithmetic decoding, and has decoders of most fields. It believes what it is given: it takes memory for as many
//! chunks and as long layers as are claimed, and panics where a list of items is empty. So the record about compression, the table and the
//! head of each chunk are read here, compared with the bytes that are there, and a chunk's bytes are all that its decoder gets.
//! Decoders of our own stand in where those of the crate recurse without an end (times, and points of formats 6 to 10, of which they are a
//! part) or give wrong values (colours and extra bytes of version 1).
//! The format has no checksum: wrong points may come out of a damaged file.

mod chunk;
mod fields;
mod gps;
mod guard;
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
use super::vlr;
use crate::error::IoError;
use crate::limits::Bounds;
use crate::rows::Rows;
use crate::source::Source;
use crate::window::Window;
use chunk::Wrong;
use packing::Packing;

/// What a file may always unpack to, in bytes, and by which factor it may otherwise grow. Sweeps and tiles shrink to a
/// quarter or a tenth; equal points shrink to nothing, and so would be any number of them.
const FREE_UNPACKED: u64 = 16 << 20;
const MAX_GROWTH: u64 = 64;
/// By which factor it may grow for the memory to be taken at once.
const LIKELY_GROWTH: u64 = 16;

/// Reads the points of the file from their offset on, where the window is.
pub(super) fn read_rows(
    window: &mut Window<'_, '_>,
    bounds: &Bounds,
    header: &Header,
    packing: Option<Vec<u8>>,
    mut points: Points<'_>,
) -> Result<Rows, IoError> {
    let Some(packing) = packing else {
        let wanted = "one of `laszip encoded`, 22204, about compression";
        return Err(IoError::MissingField(window.detail("variable length records", wanted, "none")));
    };
    let packing = Packing::parse(window, header, &packing)?;
    bounds.check_points(window.source(), header.points)?;
    // The table of chunks stands behind them, so all of it is held; it is less than what comes out.
    let bytes = window.remainder()?;
    let unpacked = header.points.saturating_mul(header.record as u64);
    let growth = FREE_UNPACKED.max((header.offset + bytes.len() as u64).saturating_mul(MAX_GROWTH));
    let detail = |wanted, found| window.detail("data unpacked", wanted, found);
    bounds.limits.check_decoded(detail, unpacked, growth, "16 MiB or 64 times the file")?;
    let chunks = table::read(window, header, &packing, &bytes)?;
    // Of data that grow more, memory is taken as points come.
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

/// Checks the extended records, which start behind the chunks, where the window has already been.
fn extended(window: &Window<'_, '_>, header: &Header, bytes: &[u8], end: usize) -> Result<(), IoError> {
    let mut behind = &bytes[end..];
    let (start, left) = (header.offset + end as u64, behind.len() as u64);
    let mut source = Source::new(window.source().path, &mut behind, Some(left)).starting(start);
    vlr::read_extended(&mut Window::new(&mut source), header, start).map(drop)
}
