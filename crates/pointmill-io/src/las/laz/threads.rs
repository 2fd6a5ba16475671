//! Chunks on all threads: they start afresh each, so that any thread may decode any of them, and their rows have places of their own.

use super::chunk;
use super::packing::Packing;
use super::table::Chunk;
use super::wrong::{Failed, Wrong};
use crate::las::points::{Part, Points};
use crate::window::Window;
use std::sync::Mutex;

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

/// Decodes each chunk into its part. Returns the number of points outside the header's box, and the wrong chunks; unless `all`, no chunk after a
/// wrong one is decoded.
fn decode(
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    parts: Vec<Part<'_>>,
    all: bool,
) -> (usize, Vec<(usize, Wrong)>) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(chunks.len());
    // Taken in order, so that the chunks before a wrong one have all been taken when it is found.
    let queue = Mutex::new(parts.into_iter().enumerate());
    let one = || {
        let (mut outside, mut wrong) = (0, vec![]);
        loop {
            let Some((i, mut part)) = queue.lock().ok().and_then(|mut queue| queue.next()) else {
                return (outside, wrong);
            };
            let chunk = &chunks[i];
            let push = |records: &[u8]| {
                part.fill(records);
                Ok(())
            };
            match chunk::read(packing, i, chunk, &bytes[chunk.bytes.clone()], push) {
                Ok(_) => outside += part.outside,
                Err(e) => wrong.push((i, e)),
            }
            if let (false, false, Ok(mut queue)) = (all, wrong.is_empty(), queue.lock()) {
                queue.by_ref().for_each(drop);
            }
        }
    };
    std::thread::scope(|scope| {
        // A thread that the system refuses is one fewer.
        let others: Vec<_> =
            (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, one).ok()).collect();
        let (mut outside, mut wrong) = one();
        for other in others {
            let (more, also) = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outside += more;
            wrong.extend(also);
        }
        (outside, wrong)
    })
}
