//! The chunks of a file whose table is lost: each begins where the one before it ends.

use super::chunk;
use super::packing::{Layout, Packing};
use super::table::{Chunk, OFFSET};
use crate::error::IoError;
use crate::fault::At;

/// Size in bytes of the codes of a chunk of one point: the coder writes them although there is
/// nothing to code.
const NO_CODES: usize = 4;
/// What the codes of a chunk end with, so that a decoder that reads ahead stops where the chunk
/// does.
const LAST_CODES: [u8; 2] = [0; 2];

/// Finds the whole chunks from the first on, until all points are found or a chunk is not whole.
///
/// A chunk of layers begins with the lengths of its layers. Of other chunks each has the same
/// number of points, and its decoder stops at its end. `check` is asked for the number of points,
/// before any are unpacked.
pub(super) fn walk<'b>(
    at: At<'b>,
    packing: &'b Packing,
    points: u64,
    bytes: &'b [u8],
    check: impl Fn(u64) -> Result<(), IoError> + 'b,
) -> impl Iterator<Item = Result<Chunk, IoError>> + 'b {
    let (mut from, mut found) = (OFFSET, 0);
    std::iter::from_fn(move || {
        let rest = bytes.get(from..).filter(|_| found < points)?;
        let fixed = packing.chunk.map(|each| each.min(points - found));
        let (count, length) = match packing.layout {
            Layout::Layers => {
                let (count, length) = chunk::measure(packing, rest)?;
                let fits = count > 0 && fixed.map_or(count <= points - found, |fixed| fixed == count);
                (count, fits.then_some(length)?)
            }
            Layout::Points => {
                let count = fixed?;
                if let Err(e) = check(found + count) {
                    found = points;
                    return Some(Err(e));
                }
                (count, end(at, packing, count, rest)?)
            }
            Layout::Whole => return None,
        };
        let bytes = from..from + length;
        (from, found) = (bytes.end, found + count);
        Some(check(found).map(|()| Chunk { points: count, bytes }))
    })
}

/// Where the chunk of so many points ends that begins here; `None` if it is not whole.
fn end(at: At<'_>, packing: &Packing, points: u64, bytes: &[u8]) -> Option<usize> {
    let end = match points {
        1 => packing.record + NO_CODES,
        _ => {
            let chunk = Chunk { points, bytes: 0..bytes.len() };
            chunk::read(at, packing, 0, &chunk, bytes, |_| Ok(())).ok()?
        }
    };
    bytes.get(..end)?.ends_with(&LAST_CODES).then_some(end)
}
