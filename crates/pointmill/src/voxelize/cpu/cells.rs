//! Cells that one thread finds, with what their points add up to.

use super::keys::Key;
use super::pick::choose;
use super::runs::{BLOCK, Run};
use super::table::Table;
use super::{NONE, Pick, Sample};
use crate::{Result, memory, par};
use std::sync::atomic::AtomicU32;

/// What is kept of points besides counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) sums: bool,
    /// The points of each cell.
    pub(super) lists: bool,
    /// The row of each point.
    pub(super) point_rows: bool,
}

/// A run that has been added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) cell: u32,
    pub(super) first: u32,
    pub(super) len: u32,
    /// Points of the cell in earlier runs.
    before: u32,
}

/// Cells in the order of their first points.
#[derive(Debug, Default)]
// Threads write to neighbouring ones.
#[repr(align(128))]
pub(super) struct Cells<K> {
    pub(super) table: Table<K>,
    /// All points of each cell, kept or not. Here and in `sums` the first entry is for points
    /// outside the grid: that costs less than a branch.
    counts: Vec<u32>,
    sums: Vec<f32>,
    /// The runs, if points are to be found again.
    pub(super) members: Vec<Member>,
    /// Where each cell's list starts, and the lists.
    starts: Vec<u32>,
    lists: Vec<u32>,
    /// The row of each cell.
    pub(super) rows: Vec<AtomicU32>,
    /// For sorted rows: the cells by key.
    pub(super) by_key: Vec<(K, u32)>,
    sort_space: Vec<(K, u32)>,
}

impl<K: Key> Cells<K> {
    /// Forgets everything, for the points of a sample.
    pub(super) fn clear(&mut self, sample: &Sample<'_>) -> Result<()> {
        self.counts.clear();
        self.sums.clear();
        self.members.clear();
        self.table.clear(sample.range.len(), sample.seed)
    }

    /// Adds the points of up to [`BLOCK`] runs.
    #[inline]
    pub(super) fn add(&mut self, sample: &Sample<'_>, wanted: Wanted, runs: &[Run<K>]) -> Result<()> {
        let (mut rows, mut before) = ([0; BLOCK], [0; BLOCK]);
        self.table.find(runs, &mut rows)?;
        let len = self.table.keys.len() + 1;
        memory::resize(&mut self.counts, len, 0)?;
        self.count(runs, &rows, &mut before);
        let columns = if wanted.sums { sample.points.columns() } else { 0 };
        memory::resize(&mut self.sums, len * columns, 0.0)?;
        match columns {
            0 => {}
            3 => self.add_up::<3>(sample, runs, &rows, &before),
            4 => self.add_up::<4>(sample, runs, &rows, &before),
            5 => self.add_up::<5>(sample, runs, &rows, &before),
            6 => self.add_up::<6>(sample, runs, &rows, &before),
            _ => self.add_up_any(sample, runs, &rows, &before),
        }
        if wanted.point_rows || wanted.lists {
            let places = rows.iter().zip(&before);
            let members = runs.iter().zip(places).map(|(run, (&cell, &before))| Member {
                cell,
                first: run.first,
                len: run.len,
                before,
            });
            memory::extend(&mut self.members, members)?;
        }
        Ok(())
    }

    fn count(&mut self, runs: &[Run<K>], rows: &[u32; BLOCK], before: &mut [u32; BLOCK]) {
        for ((run, row), before) in runs.iter().zip(rows).zip(before) {
            // No row plus one is the first entry.
            let count = &mut self.counts[row.wrapping_add(1) as usize];
            *before = *count;
            *count += run.len;
        }
    }

    /// Counts and adds up points of `C` columns: sums stay in registers for a run.
    fn add_up<const C: usize>(
        &mut self,
        sample: &Sample<'_>,
        runs: &[Run<K>],
        rows: &[u32; BLOCK],
        before: &[u32; BLOCK],
    ) {
        let (data, _) = sample.points.data().as_chunks::<C>();
        let (sums, _) = self.sums.as_chunks_mut::<C>();
        for ((run, row), before) in runs.iter().zip(rows).zip(before) {
            let kept = run.len.min(sample.max_points.saturating_sub(*before)) as usize;
            let sums = &mut sums[row.wrapping_add(1) as usize];
            let mut sum = *sums;
            for p in &data[run.first as usize..][..kept] {
                for c in 0..C {
                    sum[c] += p[c];
                }
            }
            *sums = sum;
        }
    }

    /// The same for any number of columns.
    fn add_up_any(&mut self, sample: &Sample<'_>, runs: &[Run<K>], rows: &[u32; BLOCK], before: &[u32; BLOCK]) {
        let columns = sample.points.columns();
        for ((run, row), before) in runs.iter().zip(rows).zip(before) {
            let kept = run.len.min(sample.max_points.saturating_sub(*before)) as usize;
            let sums = &mut self.sums[row.wrapping_add(1) as usize * columns..][..columns];
            for p in sample.points.data()[run.first as usize * columns..][..kept * columns].chunks_exact(columns) {
                for (sum, v) in sums.iter_mut().zip(p) {
                    *sum += v;
                }
            }
        }
    }

    /// Does what can be done once all points are there.
    pub(super) fn finish(&mut self, sample: &Sample<'_>, wanted: Wanted) -> Result<()> {
        if let Some(pick) = sample.chosen {
            self.make_lists(u32::MAX)?;
            self.choose(sample, wanted, pick)?;
        } else if wanted.lists {
            self.make_lists(sample.max_points)?;
        }
        if sample.sorted {
            self.sort(K::new(sample.grid.num_cells() - 1))?;
        }
        if wanted.point_rows {
            self.rows.clear();
            memory::resize_with(&mut self.rows, self.table.keys.len(), || AtomicU32::new(NONE))?;
        }
        Ok(())
    }

    /// Makes the lists of the points added.
    fn make_lists(&mut self, max_points: u32) -> Result<()> {
        self.starts.clear();
        let mut end = 0;
        let starts = self.counts.iter().skip(1).map(|&n| {
            end += n.min(max_points);
            end - n.min(max_points)
        });
        memory::extend(&mut self.starts, starts)?;
        memory::resize(&mut self.lists, end as usize, 0)?;
        for m in &self.members {
            let kept = m.len.min(max_points.saturating_sub(m.before)) as usize;
            if m.cell != NONE && kept > 0 {
                let start = (self.starts[m.cell as usize] + m.before) as usize;
                for (place, point) in self.lists[start..start + kept].iter_mut().zip(m.first..) {
                    *place = point;
                }
            }
        }
        Ok(())
    }

    /// Moves the points of each cell that stay to the front of its list, and adds up these.
    fn choose(&mut self, sample: &Sample<'_>, wanted: Wanted, pick: Pick) -> Result<()> {
        let (columns, mut values) = (sample.points.columns(), Vec::new());
        for cell in 0..self.table.keys.len() {
            let count = self.counts[cell + 1];
            if count <= sample.max_points {
                continue;
            }
            par::check();
            let list = &mut self.lists[self.starts[cell] as usize..][..count as usize];
            let of_grid = sample.grid.cell_of_id(self.table.keys[cell].id());
            choose((sample, of_grid), pick, list, &mut values)?;
            if wanted.sums {
                let sums = &mut self.sums[(cell + 1) * columns..][..columns];
                sums.fill(0.0);
                for &i in &list[..sample.max_points as usize] {
                    for (sum, v) in sums.iter_mut().zip(&sample.points.data()[i as usize * columns..]) {
                        *sum += v;
                    }
                }
            }
        }
        Ok(())
    }

    /// All points of a cell, kept or not.
    #[inline(always)]
    pub(super) fn points(&self, cell: usize) -> u32 {
        self.counts[cell + 1]
    }

    #[inline(always)]
    pub(super) fn sums(&self, cell: usize, columns: usize) -> &[f32] {
        &self.sums[(cell + 1) * columns..][..columns]
    }

    /// The first `kept` points of a cell.
    #[inline(always)]
    pub(super) fn list(&self, cell: usize, kept: u32) -> &[u32] {
        &self.lists[self.starts[cell] as usize..][..kept as usize]
    }

    /// Sorts the cells by key, eleven bits at a time from the low ones up.
    fn sort(&mut self, most: K) -> Result<()> {
        const BITS: u32 = 11;
        let Self { by_key, sort_space, table, .. } = self;
        by_key.clear();
        memory::room(by_key, table.keys.len())?;
        by_key.extend(table.keys.iter().copied().zip(0..));
        memory::resize(sort_space, by_key.len(), (K::NONE, 0))?;
        let mut shift = 0;
        while shift < 64 && most.id() >> shift > 0 {
            let digit = |key: K| (key.id() >> shift) as usize % (1 << BITS);
            let mut next = [0u32; 1 << BITS];
            for &(key, _) in by_key.iter() {
                next[digit(key)] += 1;
            }
            let mut start = 0;
            for n in &mut next {
                start += std::mem::replace(n, start);
            }
            for &(key, cell) in by_key.iter() {
                let at = &mut next[digit(key)];
                sort_space[*at as usize] = (key, cell);
                *at += 1;
            }
            std::mem::swap(by_key, sort_space);
            shift += BITS;
        }
        Ok(())
    }
}
