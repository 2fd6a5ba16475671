//! The octree of a COPC file: which chunks hold points of a part of the plane.
//!
//! A node of the tree is a chunk. The reader only leaves chunks out: a chunk that no node names is
//! kept, and so are all chunks if the tree is damaged: if its cube has no finite edges or does not
//! hold the bounding box of the file, if a node lies beside the cube, or if a page lies outside the
//! file. A tree that lies about its nodes loses points of the part, as a table of chunks that lies
//! does.

use super::table::Chunk;
use crate::bytes::{f64_at, u32_at, u64_at};
use crate::las::header::Header;
use std::collections::HashSet;
use std::ops::Range;

/// Bytes of the record about the tree, and of an entry of a page.
const INFO: usize = 160;
const ENTRY: usize = 32;

/// Leaves out the chunks whose node does not meet the area. `bytes` start at the offset to point
/// data.
pub(super) fn retain(info: &[u8], header: &Header, bytes: &[u8], area: [f64; 4], chunks: &mut Vec<Chunk>) {
    if let Some(outside) = outside(info, header, bytes, area) {
        chunks.retain(|chunk| !outside.contains(&chunk.bytes.start));
    }
}

/// Where the chunks of nodes begin that do not meet the area; `None` if the tree is not as it
/// should be.
fn outside(info: &[u8], header: &Header, bytes: &[u8], [x0, y0, x1, y1]: [f64; 4]) -> Option<HashSet<usize>> {
    if info.len() < INFO {
        return None;
    }
    let (center, half) = ([0, 8, 16].map(|at| f64_at(info, at)), f64_at(info, 24));
    let corner = center.map(|at| at - half);
    // A part of a millionth more on each side: writers round, too.
    let slack = 1e-6 * half;
    // Comparisons with NaN are false.
    let holds = |axis: usize| {
        let (low, high) = (corner[axis], center[axis] + half);
        (high - low).is_finite() && low < high && low - slack <= header.min[axis] && header.max[axis] <= high + slack
    };
    if !(0..3).all(holds) {
        return None;
    }
    let offset = header.offset;
    let place = |from: u64, length: u64| -> Option<Range<usize>> {
        let start = usize::try_from(from.checked_sub(offset)?).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        (end <= bytes.len()).then_some(start..end)
    };
    let (mut outside, mut pages) = (HashSet::new(), vec![place(u64_at(info, 40), u64_at(info, 48))?]);
    // Entries of all pages lie in the file and do not overlap, so that there are no more than
    // these.
    let mut left = bytes.len() / ENTRY;
    while let Some(page) = pages.pop() {
        for entry in bytes[page].chunks_exact(ENTRY) {
            left = left.checked_sub(1)?;
            let [level, x, y] = [0, 4, 8].map(|at| u32_at(entry, at));
            let (from, length, points) = (u64_at(entry, 16), u64::from(u32_at(entry, 24)), u32_at(entry, 28) as i32);
            if points < 0 {
                pages.push(place(from, length)?);
                continue;
            }
            if level > 31 || x.max(y) >> level > 0 {
                return None;
            }
            let size = 2.0 * half / f64::from(1u32 << level);
            let low = [corner[0] + f64::from(x) * size, corner[1] + f64::from(y) * size];
            let meets = |low: f64, first: f64, last: f64| low - slack <= last && low + size + slack >= first;
            if points > 0 && !(meets(low[0], x0, x1) && meets(low[1], y0, y1)) {
                outside.insert(place(from, 0)?.start);
            }
        }
    }
    Some(outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of a root and its four lower children at 1000 to 1008 m, and the chunks of its nodes.
    fn tree() -> (Vec<u8>, Vec<u8>, Vec<Chunk>) {
        let (mut info, mut page, mut chunks) = (vec![0; INFO], vec![], vec![]);
        for (at, v) in [(0, 1004.0f64), (8, 1004.0), (16, 4.0), (24, 4.0)] {
            info[at..at + 8].copy_from_slice(&v.to_le_bytes());
        }
        let keys = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]];
        for (i, key) in keys.into_iter().enumerate() {
            key.iter().for_each(|v: &i32| page.extend(v.to_le_bytes()));
            page.extend((100 + 8 + 10 * i as u64).to_le_bytes());
            page.extend([10i32, 3].iter().flat_map(|v| v.to_le_bytes()));
            chunks.push(Chunk { points: 3, bytes: 8 + 10 * i..18 + 10 * i });
        }
        let mut bytes = vec![0; 64];
        info[40..48].copy_from_slice(&164u64.to_le_bytes());
        info[48..56].copy_from_slice(&(page.len() as u64).to_le_bytes());
        bytes.extend(page);
        (info, bytes, chunks)
    }

    fn kept(change: impl Fn(&mut Vec<u8>, &mut Vec<u8>), area: [f64; 4]) -> Vec<usize> {
        let (mut info, mut bytes, mut chunks) = tree();
        change(&mut info, &mut bytes);
        let [min, max] = [[1000.0, 1000.5, 1.0], [1008.0, 1004.0, 2.5]];
        let header = Header { offset: 100, min, max, ..Header::default() };
        retain(&info, &header, &bytes, area, &mut chunks);
        chunks.into_iter().map(|chunk| (chunk.bytes.start - 8) / 10).collect()
    }

    #[test]
    fn nodes_that_meet_the_area_are_kept() {
        let same = |_: &mut Vec<u8>, _: &mut Vec<u8>| {};
        assert_eq!(kept(same, [1001.0, 1001.0, 1002.0, 1002.0]), [0, 1]);
        assert_eq!(kept(same, [1005.0, 0.0, 2000.0, 1003.0]), [0, 2]);
        assert_eq!(kept(same, [1003.0, 1003.0, 1005.0, 1005.0]), [0, 1, 2, 3, 4]);
        assert_eq!(kept(same, [0.0, 0.0, 1.0, 1.0]), [0usize; 0]);
    }

    #[test]
    fn of_a_damaged_tree_all_chunks_are_kept() {
        let nowhere = [0.0, 0.0, 1.0, 1.0];
        assert_eq!(kept(|info, _| info.truncate(100), nowhere).len(), 5);
        assert_eq!(kept(|info, _| info[24..32].fill(0xff), nowhere).len(), 5);
        assert_eq!(kept(|info, _| info[40..48].fill(0xff), nowhere).len(), 5);
        // A centre or a cube that is not finite, and one that does not hold the box of the file:
        // smaller, or elsewhere.
        for (at, v) in [
            (0, f64::NAN),
            (8, f64::INFINITY),
            (16, f64::NAN),
            (24, 1.7e308),
            (24, -4.0),
            (24, 1e-300),
            (24, 3.9),
            (0, 1.7e308),
            (0, 1005.0),
            (8, 995.0),
        ] {
            let lie = |info: &mut Vec<u8>, _: &mut Vec<u8>| info[at..at + 8].copy_from_slice(&v.to_le_bytes());
            assert_eq!(kept(lie, nowhere).len(), 5, "{at} {v}");
        }
        // A node beside the cube: 2 at level 1.
        for at in [4, 8] {
            assert_eq!(kept(|_, bytes| bytes[64 + 32 + at] = 2, nowhere).len(), 5);
        }
        assert_eq!(kept(|_, bytes| bytes[64 + 4..64 + 8].fill(0xff), nowhere).len(), 5);
        // A level past all trees, and a page that contains itself.
        assert_eq!(kept(|_, bytes| bytes[64] = 40, nowhere).len(), 5);
        let cycle = |_: &mut Vec<u8>, bytes: &mut Vec<u8>| {
            bytes[64 + 16..64 + 24].copy_from_slice(&164u64.to_le_bytes());
            bytes[64 + 24..64 + 28].copy_from_slice(&160u32.to_le_bytes());
            bytes[64 + 28..64 + 32].fill(0xff);
        };
        assert_eq!(kept(cycle, nowhere).len(), 5);
    }
}
