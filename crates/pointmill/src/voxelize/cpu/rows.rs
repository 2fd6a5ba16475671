//! Rows of the result from cells of one or more threads.

use super::cells::{Cells, Member, Wanted};
use super::keys::{Coords, Key};
use super::{NONE, Sample};
use crate::par;
use pointmill_core::mean::mean_from_sum;
use std::sync::atomic::Ordering::Relaxed;

/// Rows that a thread writes at a time.
const ROWS: usize = if cfg!(test) { 16 } else { 2048 };
/// Most parts.
pub(super) const MAX_PARTS: usize = 64;

/// Arrays of rows that are to be written.
pub(super) struct Rows<'a> {
    /// The first one's number.
    pub(super) first: usize,
    pub(super) coords: &'a mut [i32],
    pub(super) num_points: &'a mut [i32],
    pub(super) mean: Option<&'a mut [f32]>,
    pub(super) voxels: Option<&'a mut [f32]>,
    /// Part and cell that each row comes from, if lists are to be written.
    pub(super) sources: Option<&'a mut [(u32, u32)]>,
}

impl<'a> Rows<'a> {
    fn split_at(self, row: usize) -> (Self, Self) {
        fn split<T>(all: &mut [T], (row, rows): (usize, usize)) -> (&mut [T], &mut [T]) {
            let columns = all.len().checked_div(rows).unwrap_or(0);
            all.split_at_mut(row * columns)
        }
        let at = (row, self.num_points.len());
        let (coords, coords2) = split(self.coords, at);
        let (num_points, num_points2) = split(self.num_points, at);
        let (mean, mean2) = self.mean.map(|all| split(all, at)).unzip();
        let (voxels, voxels2) = self.voxels.map(|all| split(all, at)).unzip();
        let (sources, sources2) = self.sources.map(|all| split(all, at)).unzip();
        let second = Rows {
            first: self.first + row,
            coords: coords2,
            num_points: num_points2,
            mean: mean2,
            voxels: voxels2,
            sources: sources2,
        };
        (Self { first: self.first, coords, num_points, mean, voxels, sources }, second)
    }
}

/// Merges the cells of parts, each of which has them in order, into rows.
pub(super) struct Merge<'a, K> {
    pub(super) sample: &'a Sample<'a>,
    pub(super) parts: &'a [Cells<K>],
    pub(super) wanted: Wanted,
}

impl<K: Key> Merge<'_, K> {
    /// What a part's cells are ordered by: key or first point.
    #[inline(always)]
    fn order(&self, part: &Cells<K>, place: usize) -> u64 {
        if self.sample.sorted { part.by_key[place].0.id() } else { u64::from(part.table.first[place]) }
    }

    /// How many cells of a part come before `end` in the order.
    fn before(&self, part: &Cells<K>, end: u64) -> usize {
        if self.sample.sorted {
            part.by_key.partition_point(|cell| cell.0.id() < end)
        } else {
            part.table.first.partition_point(|&first| u64::from(first) < end)
        }
    }

    /// Writes the rows of cells from `start` to `end` in the order, as far as there is room for
    /// rows. Returns how many points these rows have, kept or not.
    pub(super) fn write(&self, start: u64, end: u64, rows: Rows<'_>) -> usize {
        if self.parts.len() == 1 || rows.num_points.len() <= ROWS {
            return self.write_here(start, rows);
        }
        let middle = start + (end - start) / 2;
        let row = self.parts.iter().map(|part| self.before(part, middle) - self.before(part, start)).sum::<usize>();
        let row = row.min(rows.num_points.len());
        let (first, second) = rows.split_at(row);
        let (a, b) = par::join(|| self.write(start, middle, first), || self.write(middle, end, second));
        a + b
    }

    fn write_here(&self, start: u64, rows: Rows<'_>) -> usize {
        par::check();
        let sorted = self.sample.sorted;
        let cell = |part: &Cells<K>, place: usize| if sorted { part.by_key[place].1 as usize } else { place };
        if let [part] = self.parts {
            return self.write_each(rows, (0..).map(|place| (0, cell(part, place))));
        }
        // The place of the next cell of each part, and what it is ordered by.
        let mut places = [0; MAX_PARTS];
        let mut orders = [u64::MAX; MAX_PARTS];
        let parts = self.parts.len();
        for (p, part) in self.parts.iter().enumerate() {
            places[p] = self.before(part, start);
            orders[p] = if places[p] < part.table.keys.len() { self.order(part, places[p]) } else { u64::MAX };
        }
        let sources = std::iter::repeat_with(|| {
            let (mut p, mut least) = (0, orders[0]);
            for q in 1..parts {
                let less = orders[q] < least;
                p = if less { q } else { p };
                least = if less { orders[q] } else { least };
            }
            let (part, place) = (&self.parts[p], places[p]);
            places[p] = place + 1;
            orders[p] = if place + 1 < part.table.keys.len() { self.order(part, place + 1) } else { u64::MAX };
            (p, cell(part, place))
        });
        self.write_each(rows, sources)
    }

    fn write_each(&self, rows: Rows<'_>, sources: impl Iterator<Item = (usize, usize)>) -> usize {
        match self.sample.points.columns() {
            3 => self.write_columns::<3>(rows, sources),
            4 => self.write_columns::<4>(rows, sources),
            5 => self.write_columns::<5>(rows, sources),
            6 => self.write_columns::<6>(rows, sources),
            _ => self.write_columns::<0>(rows, sources),
        }
    }

    /// `C` columns, or any number if `C` is 0.
    #[inline(always)]
    fn write_columns<const C: usize>(
        &self,
        mut rows: Rows<'_>,
        sources: impl Iterator<Item = (usize, usize)>,
    ) -> usize {
        let columns = if C == 0 { self.sample.points.columns() } else { C };
        let data = self.sample.points.data();
        let coords = Coords::new(self.sample);
        let coord_columns = if self.sample.batch_index.is_some() { 4 } else { 3 };
        let voxel_len = rows.voxels.as_ref().map_or(0, |all| all.len().checked_div(rows.num_points.len()).unwrap_or(0));
        let mut points = 0;
        for (r, (p, cell)) in (0..rows.num_points.len()).zip(sources) {
            let part = &self.parts[p];
            let count = part.points(cell);
            let kept = count.min(self.sample.max_points);
            points += count as usize;
            rows.num_points[r] = kept as i32;
            coords.write(part.table.keys[cell].id(), &mut rows.coords[r * coord_columns..][..coord_columns]);
            if let Some(mean) = &mut rows.mean {
                let (mean, sums) = (&mut mean[r * columns..][..columns], part.sums(cell, columns));
                match (sums.first_chunk::<C>(), mean.first_chunk_mut::<C>()) {
                    (Some(&sums), Some(mean)) if C > 0 => *mean = sums.map(|sum| mean_from_sum(sum, kept)),
                    _ => mean.iter_mut().zip(sums).for_each(|(mean, &sum)| *mean = mean_from_sum(sum, kept)),
                }
            }
            if let Some(voxels) = &mut rows.voxels {
                let voxel = &mut voxels[r * voxel_len..][..voxel_len];
                let (filled, rest) = voxel.split_at_mut(kept as usize * columns);
                for (target, &i) in filled.chunks_exact_mut(columns).zip(part.list(cell, kept)) {
                    target.copy_from_slice(&data[i as usize * columns..][..columns]);
                }
                rest.fill(0.0);
            }
            if let Some(sources) = &mut rows.sources {
                sources[r] = (p as u32, cell as u32);
            }
            if self.wanted.point_rows {
                part.rows[cell].store((rows.first + r) as u32, Relaxed);
            }
        }
        points
    }
}

/// Gives the points of runs, which have been added to a part, their rows. The first of `point_rows`
/// is that of point `start`.
pub(super) fn write_members<K>(part: &Cells<K>, members: &[Member], start: u32, point_rows: &mut [u32]) {
    for m in members {
        let row = if m.cell == NONE { NONE } else { part.rows[m.cell as usize].load(Relaxed) };
        for point_row in &mut point_rows[(m.first - start) as usize..][..m.len as usize] {
            *point_row = row;
        }
    }
}
