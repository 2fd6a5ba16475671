//! Chunks on all threads: each starts afresh, and its rows have a place of their own.

use super::chunk;
use super::packing::Packing;
use super::table::Chunk;
use crate::error::IoError;
use crate::las::points::Points;
use crate::threads::on_threads;
use crate::window::Window;

/// Decodes the chunks into the rows. Of several errors it returns that of the first chunk. If
/// `salvage`, it leaves the rows of wrong chunks out instead, and returns how many.
pub(super) fn read(
    window: &Window<'_, '_>,
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    points: &mut Points<'_>,
    salvage: bool,
) -> Result<u64, IoError> {
    let (at, rows) = (window.here(), chunks.iter().map(|chunk| chunk.points).collect::<Vec<_>>());
    let items = points.parts(window.source(), &rows)?.into_iter().zip(chunks).enumerate().collect();
    let done = on_threads(items, |(i, (mut part, chunk))| {
        let fill = |records: &[u8]| {
            part.fill(records);
            Ok(())
        };
        chunk::read(at, packing, i, chunk, &bytes[chunk.bytes.clone()], fill).map(|_| part.change)
    });
    points.changed(done.iter().flatten().copied().fold(0.0, f64::max));
    if !salvage {
        return done.into_iter().find_map(Result::err).map_or(Ok(0), Err);
    }
    let wrong: Vec<_> = (0..chunks.len()).filter(|&i| done[i].is_err()).collect();
    points.leave_out(&rows, &wrong);
    Ok(wrong.into_iter().map(|i| rows[i]).sum())
}
