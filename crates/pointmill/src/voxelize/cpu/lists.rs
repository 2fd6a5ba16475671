//! The points of each row without padding.

use super::cells::Cells;
use super::keys::Key;
use crate::{Result, memory, par};

/// Rows that a thread writes at a time.
const ROWS: usize = if cfg!(test) { 16 } else { 4096 };

/// Appends the lists of rows, given where each comes from and how many points it has.
pub(super) fn append<K: Key>(
    parts: &[Cells<K>],
    sources: &[(u32, u32)],
    num_points: &[i32],
    row_splits: &mut Vec<u32>,
    indices: &mut Vec<u32>,
) -> Result<()> {
    let start = row_splits.last().copied().unwrap_or(0);
    let mut end = start;
    let ends = num_points.iter().map(|&n| {
        end += n as u32;
        end
    });
    memory::extend(row_splits, ends)?;
    memory::resize(indices, indices.len().max(end as usize), 0)?;
    write(parts, sources, num_points, &mut indices[start as usize..end as usize]);
    Ok(())
}

fn write<K: Key>(parts: &[Cells<K>], sources: &[(u32, u32)], num_points: &[i32], indices: &mut [u32]) {
    if parts.len() > 1 && sources.len() > ROWS {
        let middle = sources.len() / 2;
        let (first, second) = num_points.split_at(middle);
        let (a, b) = indices.split_at_mut(first.iter().map(|&n| n as usize).sum());
        let (sources, sources2) = sources.split_at(middle);
        par::join(|| write(parts, sources, first, a), || write(parts, sources2, second, b));
        return;
    }
    let mut rest = indices;
    for (&(part, cell), &n) in sources.iter().zip(num_points) {
        let (list, after) = rest.split_at_mut(n as usize);
        for (to, from) in list.iter_mut().zip(parts[part as usize].list(cell as usize, n as u32)) {
            *to = *from;
        }
        rest = after;
    }
}
