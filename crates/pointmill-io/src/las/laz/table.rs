//! The table of chunks: the number of bytes of each chunk and, if chunks differ in length, the
//! number of points.

use super::packing::{Layout, NO_CODE, Packing};
use crate::bytes::{u32_at, u64_at};
use crate::error::IoError;
use crate::fault::{At, bail, fault};
use crate::las::header::Header;
use crate::window::Window;
use laz::decoders::ArithmeticDecoder;
use laz::decompressors::IntegerDecompressorBuilder;
use std::io::ErrorKind;
use std::ops::Range;

/// Sizes in bytes: of the offset of the table, which is at the start of the compressed points, and
/// of the head of the table.
pub(super) const OFFSET: usize = 8;
const HEAD: usize = 8;

/// Number of chunks that a file may always have, and average number of bytes that further chunks
/// must have. A decoder needs 0.5 ms to start a chunk, however small the chunk is. Writers make
/// chunks of 50,000 points; octrees also have some chunks of few points.
const FREE_CHUNKS: u64 = 1000;
const LEAST_CHUNK: u64 = 1024;

/// A chunk.
#[derive(Debug, PartialEq)]
pub(super) struct Chunk {
    pub(super) points: u64,
    /// Range of its bytes, counted from the offset to point data.
    pub(super) bytes: Range<usize>,
}

/// The chunks. Together they have all points.
#[derive(Debug)]
pub(super) struct Chunks {
    pub(super) entries: Vec<Chunk>,
    /// End of the last chunk.
    pub(super) end: usize,
    /// Number of bytes between the chunks and the table.
    pub(super) rest: u64,
}

/// Reads the table of chunks. `bytes` start at the offset to point data of the header.
pub(super) fn read(
    window: &Window<'_, '_>,
    header: &Header,
    packing: &Packing,
    bytes: &[u8],
) -> Result<Chunks, IoError> {
    if header.points == 0 {
        return Ok(Chunks { entries: vec![], end: 0, rest: 0 });
    }
    if packing.layout == Layout::Whole {
        let end = header.extended.map_or(u64::MAX, |(start, _)| start.saturating_sub(header.offset));
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(bytes.len());
        return Ok(Chunks { entries: vec![Chunk { points: header.points, bytes: 0..end }], end, rest: 0 });
    }
    let at = start(window.here(), header, bytes)?;
    let count = u64::from(u32_at(bytes, at + 4));
    check_count(window, header, packing, count, (at - OFFSET) as u64)?;
    let entries = entries(window, header, packing, count as usize, &bytes[at + HEAD..], at)?;
    let end = entries.last().map_or(OFFSET, |chunk| chunk.bytes.end);
    Ok(Chunks { end, rest: (at - end) as u64, entries })
}

/// Position of the table in `bytes`. The first number in `bytes` has it, or the last number if the
/// writer could not seek back.
fn start(here: At<'_>, header: &Header, bytes: &[u8]) -> Result<usize, IoError> {
    let [first, last] = [OFFSET, bytes.len().saturating_sub(HEAD)].map(|n| header.offset + n as u64);
    let (field, wanted) = ("offset to the table of chunks", format!("{first} to {last}"));
    if bytes.len() < OFFSET + HEAD {
        bail!(here, Truncated, field, wanted, ("{} bytes of data", bytes.len()));
    }
    let number = |at: usize| u64_at(bytes, at) as i64;
    let first = number(0);
    // Writers that cannot seek back leave -1 here, some leave 0.
    let told = if first <= header.offset as i64 { number(bytes.len() - OFFSET) } else { first };
    let at =
        u64::try_from(told).ok().and_then(|at| at.checked_sub(header.offset)).and_then(|at| usize::try_from(at).ok());
    match at {
        Some(at) if at >= OFFSET && at <= bytes.len() - HEAD => Ok(at),
        Some(at) if at >= OFFSET => Err(fault!(here, Truncated, field, wanted, told)),
        _ => Err(fault!(here, BadHeader, field, wanted, told)),
    }
}

/// Compares the number of chunks with the number of points and bytes, before any chunk is read.
fn check_count(
    window: &Window<'_, '_>,
    header: &Header,
    packing: &Packing,
    count: u64,
    room: u64,
) -> Result<(), IoError> {
    if let Some(each) = packing.chunk {
        let wanted = header.points.div_ceil(each);
        if count != wanted {
            let wanted = format!("{wanted} for {} points in chunks of {each}", header.points);
            bail!(window, SizeMismatch, "number of chunks", wanted, count);
        }
    }
    // A chunk has at least one point and starts with its uncompressed record.
    let most = header.points.min(room / packing.record as u64);
    if count == 0 || count > most {
        let wanted = format!("1 to {most}, of at least {} bytes each in {room} bytes", packing.record);
        bail!(window, SizeMismatch, "number of chunks", wanted, count);
    }
    let most = most_chunks(room);
    if count > most {
        let wanted = format!("at most {most}, which is {FREE_CHUNKS} and one for each {LEAST_CHUNK} bytes");
        bail!(window, LimitExceeded, "number of chunks", wanted, count);
    }
    Ok(())
}

/// The most chunks that so many bytes may have.
pub(super) const fn most_chunks(bytes: u64) -> u64 {
    FREE_CHUNKS + bytes / LEAST_CHUNK
}

/// Decodes the table. The chunks follow each other from the offset to `end`.
fn entries(
    window: &Window<'_, '_>,
    header: &Header,
    packing: &Packing,
    count: usize,
    packed: &[u8],
    end: usize,
) -> Result<Vec<Chunk>, IoError> {
    // All numbers of the table are 32-bit numbers, coded by their difference from the previous
    // number.
    let mut numbers = IntegerDecompressorBuilder::new().bits(32).contexts(2).build_initialized();
    let mut decoder = ArithmeticDecoder::new(packed);
    let broken = |e: std::io::Error| fault!(window, Decompress, "table of chunks", "a valid compressed table", e);
    decoder.read_init_bytes().map_err(broken)?;
    if packed.starts_with(&NO_CODE) {
        return Err(broken(ErrorKind::InvalidData.into()));
    }
    let mut chunks = window.source().room(count)?;
    let (mut from, mut left) = (OFFSET, header.points);
    let (mut points_before, mut bytes_before) = (0, 0);
    for i in 0..count {
        let mut points = packing.chunk.unwrap_or(0).min(left);
        if packing.chunk.is_none() {
            points_before = numbers.decompress(&mut decoder, points_before, 0).map_err(broken)?;
            points = u64::from(points_before as u32);
        }
        bytes_before = numbers.decompress(&mut decoder, bytes_before, 1).map_err(broken)?;
        let bytes = bytes_before as u32 as usize;
        if bytes < packing.record || bytes > end - from {
            let wanted = format!("{} to {} bytes", packing.record, end - from);
            bail!(window, SizeMismatch, "table of chunks: chunk {i}", wanted, "{bytes} bytes");
        }
        if points == 0 || points > left {
            bail!(window, SizeMismatch, "table of chunks: chunk {i}", "1 to {left} points", "{points} points");
        }
        chunks.push(Chunk { points, bytes: from..from + bytes });
        from += bytes;
        left -= points;
    }
    if left > 0 {
        let wanted = format!("{} points, as the header declares", header.points);
        let found = format!("{} points", header.points - left);
        bail!(window, SizeMismatch, "table of chunks", wanted, found);
    }
    Ok(chunks)
}
