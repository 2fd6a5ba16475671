//! Chunks on all threads: each starts afresh, and its rows have a place of their own.

use super::chunk;
use super::packing::Packing;
use super::table::Chunk;
use crate::error::IoError;
use crate::records::{Entry, Order, Part, Strided, Table};
use crate::threads::on_threads;
use crate::values::whole_range;
use crate::window::Window;

/// Decodes the chunks into the rows. Of several errors it returns that of the first chunk. If
/// `salvage`, it leaves the rows of wrong chunks out instead, and returns how many.
pub(super) fn read(
    window: &Window<'_, '_>,
    packing: &Packing,
    chunks: &[Chunk],
    bytes: &[u8],
    table: &mut Table,
    salvage: bool,
) -> Result<u64, IoError> {
    let (at, record) = (window.here(), packing.record);
    let rows: Vec<_> = chunks.iter().map(|chunk| usize::try_from(chunk.points).unwrap_or(usize::MAX)).collect();
    // Of whole numbers nothing is subtracted, since chunks come in any order.
    let zero = |_: usize, entry: &Entry| Ok(whole_range(entry.dtype).map(|_| 0));
    let items = table.extend(window, &rows, zero)?.zip(chunks).enumerate().collect();
    let done = on_threads(items, |(i, (mut part, chunk)): (usize, (Part<'_>, &Chunk))| {
        let fill = |records: &[u8]| {
            let shape = (records.len() / record, record);
            let values = |_: usize, entry: &Entry| Strided::of(records, entry, Order::Records, shape, false);
            part.next(shape.0).fill(values, |_| &[]);
            Ok(())
        };
        chunk::read(at, packing, i, chunk, &bytes[chunk.bytes.clone()], fill).map(drop)
    });
    if !salvage {
        return done.into_iter().collect::<Result<(), _>>().map(|()| 0);
    }
    let wrong: Vec<_> = (0..chunks.len()).filter(|&i| done[i].is_err()).collect();
    table.leave_out(&rows, &wrong);
    Ok(wrong.into_iter().map(|i| rows[i] as u64).sum())
}
