//! The points of each row without padding.

use super::NONE;

/// Fills the lists: a row's first `num_points` points, ascending.
pub(super) fn fill(
    rows_of_points: &[u32],
    num_points: &[i32],
    row_splits: &mut Vec<u32>,
    indices: &mut Vec<u32>,
    next: &mut Vec<u32>,
) {
    row_splits.clear();
    row_splits.push(0);
    let mut end = 0;
    for &n in num_points {
        end += n as u32;
        row_splits.push(end);
    }
    next.clear();
    next.extend_from_slice(&row_splits[..num_points.len()]);
    indices.resize(end as usize, 0);
    for (i, &row) in rows_of_points.iter().enumerate() {
        if row != NONE && next[row as usize] < row_splits[row as usize + 1] {
            indices[next[row as usize] as usize] = i as u32;
            next[row as usize] += 1;
        }
    }
}
