//! Chunks on all threads: they start afresh each, so that any thread may decode any of them, and their rows have places of their own.

use super::chunk;
use super::packing::Packing;
use super::table::Chunk;
use super::wrong::{Failed, Wrong};
use crate::las::points::{Part, Points};
use crate::seen::Seen;
use crate::threads::on_threads;
use crate::window::Window;

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
fn decode(
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    parts: Vec<Part<'_>>,
    all: bool,
) -> (Seen, Vec<(usize, Wrong)>) {
    let one = |(seen, wrong): &mut (Seen, Vec<_>), (i, mut part): (usize, Part<'_>)| {
        let chunk = &chunks[i];
        let push = |records: &[u8]| {
            part.fill(records);
            Ok(())
        };
        match chunk::read(packing, i, chunk, &bytes[chunk.bytes.clone()], push) {
            Ok(_) => *seen = seen.and(part.seen),
            Err(e) => wrong.push((i, e)),
        }
        all || wrong.is_empty()
    };
    let states = on_threads(parts.into_iter().enumerate().collect(), Default::default, one);
    states.into_iter().fold(Default::default(), |(seen, mut wrong): (Seen, Vec<_>), (more, also)| {
        wrong.extend(also);
        (seen.and(more), wrong)
    })
}
