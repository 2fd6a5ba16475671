//! Chunks on all threads: they start afresh each, so that any thread may decode any of them, and their rows have places of their own.

use super::chunk;
use super::packing::Packing;
use super::table::Chunk;
use super::wrong::{Failed, Wrong};
use crate::las::points::{Part, Points};
use crate::seen::Seen;
use crate::threads::{in_two_steps, zeros};
use crate::window::Window;

/// Bytes of records that may wait, and of one chunk that may.
const WAITING: usize = 16 << 20;
const LARGEST: usize = 4 << 20;

/// Decodes the chunks into the rows. Which of several errors is returned does not depend on threads: that of the first chunk. If `salvage`,
/// the rows of wrong chunks are left out instead. Returns how many.
pub(super) fn read(
    window: &Window<'_, '_>,
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    points: &mut Points<'_>,
    salvage: bool,
) -> Result<u64, Failed> {
    let rows: Vec<_> = chunks.iter().map(|chunk| chunk.points).collect();
    let mut wrong = points.in_parts(window.source(), &rows, |parts| decode(packing, chunks, bytes, parts, salvage))?;
    wrong.sort_unstable_by_key(|(i, _)| *i);
    if salvage {
        let wrong: Vec<_> = wrong.into_iter().map(|(i, _)| i).collect();
        points.leave_out(&rows, &wrong);
        return Ok(wrong.into_iter().map(|i| rows[i]).sum());
    }
    wrong.into_iter().next().map_or(Ok(0), |(_, wrong)| Err(wrong.into()))
}

/// Decodes each chunk into its part. Returns what is odd about the rows of the others, and the wrong chunks; unless `all`, no chunk after a
/// wrong one is decoded.
///
/// Decoding takes ten times as long as filling rows. Where there are few chunks, some threads have one more of them than others, so the records
/// of small chunks wait until a thread has nothing to decode.
fn decode<'p>(
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    parts: Vec<Part<'p>>,
    all: bool,
) -> (Seen, Vec<(usize, Wrong)>) {
    let size = |chunk: &Chunk| usize::try_from(chunk.points).unwrap_or(usize::MAX).saturating_mul(packing.record);
    let largest = chunks.iter().map(size).max().unwrap_or_default().max(1);
    // None of one chunk, which is filled while a cache has it.
    let most = if largest <= LARGEST && chunks.len() > 1 { WAITING / largest } else { 0 };
    let first = |(_, wrong): &mut (Seen, Vec<_>), (i, mut part): (usize, Part<'p>)| {
        let chunk = &chunks[i];
        let packed = &bytes[chunk.bytes.clone()];
        let mut records = vec![];
        let waits = most > 0 && chunk.points > 1 && zeros(&mut records, size(chunk)).is_ok();
        let done = if waits {
            chunk::read_into(packing, i, chunk, packed, &mut records, |_| Ok(()))
        } else {
            chunk::read(packing, i, chunk, packed, |records| {
                part.fill(records);
                Ok(())
            })
        };
        // There are no records where the rows are filled already.
        let made = done.map(|_| (part, records)).map_err(|e| wrong.push((i, e))).ok();
        (all || wrong.is_empty(), made)
    };
    let second = |(seen, _): &mut (Seen, Vec<_>), (mut part, records): (Part<'p>, Vec<u8>)| {
        part.fill(&records);
        *seen = seen.and(part.seen);
    };
    let states = in_two_steps(parts.into_iter().enumerate().collect(), most, Default::default, first, second);
    states.into_iter().fold(Default::default(), |(seen, mut wrong): (Seen, Vec<_>), (more, also)| {
        wrong.extend(also);
        (seen.and(more), wrong)
    })
}
