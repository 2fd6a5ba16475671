//! One thread: points in order, block by block.

use super::Sample;
use super::cells::{Cells, Wanted};
use super::keys::{Key, Outside};
use super::rows::write_members;
use super::runs::{BLOCK, Run, find_runs};
use crate::{Result, par};

/// Finds the cells of a sample.
pub(super) fn find<K: Key>(sample: &Sample<'_>, wanted: Wanted, cells: &mut Cells<K>) -> Result<Outside> {
    let mut outside = Outside::default();
    let mut keys = [K::NONE; BLOCK];
    let mut runs = [Run::default(); BLOCK];
    cells.clear(sample)?;
    for start in sample.range.clone().step_by(BLOCK) {
        par::check();
        let keys = &mut keys[..BLOCK.min(sample.range.end - start)];
        outside += sample.keys(start..start + keys.len(), keys);
        let n = find_runs(keys, start as u32, &mut runs);
        cells.add(sample, wanted, &runs[..n])?;
    }
    cells.finish(sample, wanted)?;
    Ok(outside)
}

/// Gives each point its row.
pub(super) fn write_points<K>(sample: &Sample<'_>, cells: &Cells<K>, point_rows: &mut [u32]) {
    write_members(cells, &cells.members, sample.range.start as u32, point_rows);
}
