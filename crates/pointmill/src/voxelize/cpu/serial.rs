//! One thread: points in order, block by block, each block's cells first and its sums second.

use super::table::Table;
use super::{NON_FINITE, NONE, OUT_OF_RANGE, Output, Sample, divide};

/// Points of a block: their cells and rows stay in the first-level cache.
const BLOCK: usize = 512;

/// Memory that calls use again.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    table: Table,
    /// The id of each row found.
    ids: Vec<u64>,
    /// For sorted rows: the rows found, by id, and the final row of each.
    by_id: Vec<u32>,
    final_rows: Vec<u32>,
    /// Single-precision means of half-precision results.
    pub(super) means: Vec<f32>,
}

/// Voxelizes one sample and appends its rows.
pub(super) fn run(sample: &Sample<'_>, w: &mut Workspace, out: &mut Output<'_>, max_points: usize) {
    let first_row = out.num_points.len();
    w.table.clear();
    w.ids.clear();
    let blocks = || sample.range.clone().step_by(BLOCK).map(|start| start..(start + BLOCK).min(sample.range.end));
    if sample.sorted {
        for block in blocks() {
            find_rows(sample, w, out, block);
        }
        sort_rows(w, sample.max_voxels);
        for row in sample.range.clone() {
            let found = out.rows[row];
            if found != NONE {
                out.rows[row] = w.final_rows[found as usize];
                out.counters.dropped_voxel += u32::from(out.rows[row] == NONE);
            }
        }
        open_rows(sample, out, &w.by_id, &w.ids, first_row, max_points);
        for block in blocks() {
            add_points(sample, out, first_row, block, max_points);
        }
    } else {
        let mut opened = 0;
        for block in blocks() {
            find_rows(sample, w, out, block.clone());
            let kept = w.ids.len().min(sample.max_voxels);
            for id in &w.ids[opened..kept] {
                sample.push_coords(out.coords, *id);
            }
            extend(out, kept - opened, first_row + opened, sample.points.columns(), max_points);
            opened = kept;
            if w.ids.len() > kept {
                for row in &mut out.rows[block.clone()] {
                    let dropped = *row != NONE && *row as usize >= kept;
                    out.counters.dropped_voxel += u32::from(dropped);
                    *row = if dropped { NONE } else { *row };
                }
            }
            add_points(sample, out, first_row, block, max_points);
        }
    }
    out.counters.found += w.ids.len() as u32;
    let columns = sample.points.columns();
    if let Some(means) = &mut out.mean {
        divide(&mut means[first_row * columns..], columns, &out.num_points[first_row..]);
    }
}

/// The row found of each point of a block.
fn find_rows(sample: &Sample<'_>, w: &mut Workspace, out: &mut Output<'_>, block: std::ops::Range<usize>) {
    let mut keys = [0; BLOCK];
    let keys = &mut keys[..block.len()];
    sample.keys(block.clone(), keys);
    let mut last = (OUT_OF_RANGE, NONE);
    for (&key, row) in keys.iter().zip(&mut out.rows[block]) {
        // Points that follow each other often share a cell.
        if key != last.0 {
            let found = match key {
                OUT_OF_RANGE | NON_FINITE => NONE,
                _ => {
                    let found = w.table.find_or_insert(key);
                    if w.table.len() > w.ids.len() {
                        w.ids.push(key);
                    }
                    found
                }
            };
            last = (key, found);
        }
        *row = last.1;
        out.counters.non_finite += u32::from(key == NON_FINITE);
        out.counters.out_of_range += u32::from(key == OUT_OF_RANGE);
    }
}

/// Final rows by id.
fn sort_rows(w: &mut Workspace, max_voxels: usize) {
    let Workspace { ids, by_id, final_rows, .. } = w;
    by_id.clear();
    by_id.extend(0..ids.len() as u32);
    by_id.sort_unstable_by_key(|&found| ids[found as usize]);
    by_id.truncate(max_voxels);
    final_rows.clear();
    final_rows.resize(ids.len(), NONE);
    for (row, &found) in by_id.iter().enumerate() {
        final_rows[found as usize] = row as u32;
    }
}

/// Appends the rows of sorted cells.
fn open_rows(
    sample: &Sample<'_>,
    out: &mut Output<'_>,
    by_id: &[u32],
    ids: &[u64],
    first_row: usize,
    max_points: usize,
) {
    for &found in by_id {
        sample.push_coords(out.coords, ids[found as usize]);
    }
    extend(out, by_id.len(), first_row, sample.points.columns(), max_points);
}

/// Appends `rows` empty rows after row `end`.
fn extend(out: &mut Output<'_>, rows: usize, end: usize, columns: usize, max_points: usize) {
    out.num_points.resize(end + rows, 0);
    if let Some(means) = &mut out.mean {
        means.truncate(end * columns);
        means.resize((end + rows) * columns, 0.0);
    }
    if let Some(voxels) = &mut out.voxels {
        voxels.truncate(end * max_points * columns);
        voxels.resize((end + rows) * max_points * columns, 0.0);
    }
}

/// Adds the points of a block to their rows, and makes the rows count from the start of the result.
fn add_points(
    sample: &Sample<'_>,
    out: &mut Output<'_>,
    first_row: usize,
    block: std::ops::Range<usize>,
    max_points: usize,
) {
    let columns = sample.points.columns();
    let data = &sample.points.data()[block.start * columns..block.end * columns];
    for (row, p) in out.rows[block].iter_mut().zip(data.chunks_exact(columns)) {
        if *row == NONE {
            continue;
        }
        let r = first_row + *row as usize;
        *row = r as u32;
        let n = out.num_points[r] as u32;
        if n >= sample.max_points {
            continue;
        }
        out.num_points[r] = n as i32 + 1;
        if let Some(sums) = &mut out.mean {
            for (sum, v) in sums[r * columns..(r + 1) * columns].iter_mut().zip(p) {
                *sum += v;
            }
        }
        if let Some(voxels) = &mut out.voxels {
            let at = (r * max_points + n as usize) * columns;
            voxels[at..at + columns].copy_from_slice(p);
        }
    }
}
