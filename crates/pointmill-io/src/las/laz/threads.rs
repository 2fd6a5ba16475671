//! Chunks on all threads: they start afresh each, so that any thread may decode any of them, and their rows have places of their own.

use super::chunk::{self, Wrong};
use super::packing::Packing;
use super::table::Chunk;
use crate::error::IoError;
use crate::las::points::{Part, Points};
use crate::window::Window;
use std::sync::Mutex;

/// Decodes the chunks into the rows. Which of several errors is returned does not depend on threads: that of the first chunk.
pub(super) fn read(
    window: &Window<'_, '_>,
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    points: &mut Points<'_>,
) -> Result<(), IoError> {
    let rows: Vec<_> = chunks.iter().map(|chunk| chunk.points).collect();
    let work = |parts: Vec<Part<'_>>| decode(packing, chunks, bytes, parts);
    points.in_parts(window.source(), &rows, work, |wrong: Wrong| wrong.error(window))
}

/// Decodes each chunk into its part; the number of points outside the header's box.
fn decode(packing: &Packing, chunks: &[Chunk], bytes: &[u8], parts: Vec<Part<'_>>) -> Result<usize, Wrong> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(chunks.len());
    // Taken in order, so that the chunks before a wrong one have all been taken when it is found.
    let queue = Mutex::new(parts.into_iter().enumerate());
    let one = || {
        let mut outside = 0;
        loop {
            let Some((i, mut part)) = queue.lock().ok().and_then(|mut queue| queue.next()) else { return Ok(outside) };
            let chunk = &chunks[i];
            let push = |records: &[u8]| {
                part.fill(records);
                Ok(())
            };
            if let Err(wrong) = chunk::read::<Wrong>(packing, i, chunk, &bytes[chunk.bytes.clone()], push) {
                // No further ones are needed.
                if let Ok(mut queue) = queue.lock() {
                    queue.by_ref().for_each(drop);
                }
                return Err((i, wrong));
            }
            outside += part.outside;
        }
    };
    let done = std::thread::scope(|scope| {
        // A thread that the system refuses is one fewer.
        let others: Vec<_> =
            (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, one).ok()).collect();
        let mut done = vec![one()];
        for other in others {
            done.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    let mut outside = 0;
    let mut first: Option<(usize, Wrong)> = None;
    for result in done {
        match result {
            Ok(count) => outside += count,
            Err((i, wrong)) => {
                if first.as_ref().is_none_or(|(before, _)| i < *before) {
                    first = Some((i, wrong));
                }
            }
        }
    }
    first.map_or(Ok(outside), |(_, wrong)| Err(wrong))
}
