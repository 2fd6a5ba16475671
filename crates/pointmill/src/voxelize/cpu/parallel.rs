//! Several threads: the cells are dealt into parts by their hash, and each part's points stay in input order, so that every sum is added in
//! the same order as by one thread.
//!
//! 1. Chunks of points find their cells and sort them into parts.
//! 2. Each part numbers its cells and adds up their points, chunk after chunk.
//! 3. Cells of all parts get their rows: by counting marks at first points, or by sorting ids.
//! 4. Rows are written, and points get their rows.
//!
//! A cell is known by its *number*: the points of all parts before its own, plus its place in its part.

use super::table::Table;
use super::{NON_FINITE, NONE, OUT_OF_RANGE, Output, Sample};
use pointmill_core::hash::first_slot;
use pointmill_core::mean::mean_from_sum;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Points of a chunk.
const CHUNK: usize = if cfg!(test) { 64 } else { 8192 };
/// Rows that a thread writes at a time.
const ROWS: usize = if cfg!(test) { 16 } else { 2048 };

/// Memory that calls use again.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    chunks: Vec<Chunk>,
    parts: Vec<Part>,
    /// The cell number of each point.
    numbers: Vec<AtomicU32>,
    /// The row of each cell number.
    rows: Vec<AtomicU32>,
    /// The cell number of each row.
    sources: Vec<AtomicU32>,
    /// One bit a point: it is its cell's first.
    marks: Vec<AtomicU64>,
    /// Marks before each word.
    marks_before: Vec<u32>,
    /// For sorted rows: id and number of each cell.
    by_id: Vec<(u64, u32)>,
}

/// Points of one chunk, dealt into parts.
#[derive(Debug, Default)]
struct Chunk {
    keys: Vec<u64>,
    dealt: Vec<Vec<(u64, u32)>>,
    non_finite: u32,
    out_of_range: u32,
}

/// Cells of one part, in the order of their first points.
#[derive(Debug, Default)]
struct Part {
    table: Table,
    /// Cell numbers of this part start here.
    base: u32,
    ids: Vec<u64>,
    first: Vec<u32>,
    counts: Vec<u32>,
    sums: Vec<f32>,
    /// The kept points of each cell, M each, if the result holds points.
    slots: Vec<u32>,
}

/// Voxelizes one sample and appends its rows.
pub(super) fn run(sample: &Sample<'_>, w: &mut Workspace, out: &mut Output<'_>, max_points: usize) {
    let first_row = out.num_points.len();
    let slots = if out.voxels.is_some() { max_points } else { 0 };
    let columns = if out.mean.is_some() { sample.points.columns() } else { 0 };
    let parts = (rayon::current_num_threads() * 2).next_power_of_two();
    let n = sample.range.len();
    w.chunks.resize_with(n.div_ceil(CHUNK), Chunk::default);
    w.parts.resize_with(parts, Part::default);
    w.numbers.resize_with(w.numbers.len().max(n), AtomicU32::default);
    w.rows.resize_with(w.rows.len().max(n), AtomicU32::default);
    w.sources.resize_with(w.sources.len().max(n), AtomicU32::default);
    w.marks.resize_with(w.marks.len().max(n.div_ceil(64)), AtomicU64::default);

    w.chunks.par_iter_mut().enumerate().for_each(|(c, chunk)| chunk.deal(sample, c, parts));
    let mut base = 0;
    for (p, part) in w.parts.iter_mut().enumerate() {
        part.base = base;
        base += w.chunks.iter().map(|chunk| chunk.dealt[p].len() as u32).sum::<u32>();
    }
    for chunk in &w.chunks {
        out.counters.non_finite += chunk.non_finite;
        out.counters.out_of_range += chunk.out_of_range;
    }
    let (chunks, numbers, marks) = (&w.chunks, &w.numbers, &w.marks);
    w.parts.par_iter_mut().enumerate().for_each(|(p, part)| {
        let dealt = chunks.iter().map(|chunk| &chunk.dealt[p][..]);
        part.add_up(sample, dealt, numbers, (columns, slots));
        for &first in &part.first {
            marks[first as usize / 64].fetch_or(1 << (first % 64), Relaxed);
        }
    });
    let found: usize = w.parts.iter().map(|part| part.ids.len()).sum();
    out.counters.found += found as u32;
    let kept = found.min(sample.max_voxels);
    if sample.sorted {
        rows_by_id(w, kept);
    } else {
        rows_by_first(w, n, kept);
    }
    for word in &w.marks[..n.div_ceil(64)] {
        word.store(0, Relaxed);
    }
    write_rows(sample, w, out, (first_row, kept), (columns, slots));
    out.counters.dropped_voxel += write_points(sample, w, out, first_row);
}

impl Chunk {
    fn deal(&mut self, sample: &Sample<'_>, c: usize, parts: usize) {
        let start = sample.range.start + c * CHUNK;
        let range = start..(start + CHUNK).min(sample.range.end);
        self.keys.resize(range.len(), 0);
        sample.keys(range, &mut self.keys);
        self.dealt.resize_with(parts, Vec::new);
        self.dealt.iter_mut().for_each(Vec::clear);
        (self.non_finite, self.out_of_range) = (0, 0);
        let mut last = (OUT_OF_RANGE, 0);
        for (j, &key) in self.keys.iter().enumerate() {
            if key >= NON_FINITE {
                self.non_finite += u32::from(key == NON_FINITE);
                self.out_of_range += u32::from(key == OUT_OF_RANGE);
                continue;
            }
            if key != last.0 {
                // The hash's upper bits: the parts' tables use the lower ones.
                last = (key, first_slot(key, u32::MAX) as usize >> (32 - parts.trailing_zeros()));
            }
            self.dealt[last.1].push((key, (c * CHUNK + j) as u32));
        }
    }
}

impl Part {
    fn add_up<'a>(
        &mut self,
        sample: &Sample<'_>,
        chunks: impl Iterator<Item = &'a [(u64, u32)]>,
        numbers: &[AtomicU32],
        (columns, slots): (usize, usize),
    ) {
        self.table.clear();
        self.ids.clear();
        self.first.clear();
        self.counts.clear();
        self.sums.clear();
        self.slots.clear();
        let mut last = (u64::MAX, 0);
        for &(key, i) in chunks.flatten() {
            if key != last.0 {
                last = (key, self.table.find_or_insert(key) as usize);
                if last.1 == self.ids.len() {
                    self.ids.push(key);
                    self.first.push(i);
                    self.counts.push(0);
                    self.sums.resize(self.sums.len() + columns, 0.0);
                    self.slots.resize(self.slots.len() + slots, NONE);
                }
            }
            let cell = last.1;
            numbers[i as usize].store(self.base + cell as u32, Relaxed);
            let count = self.counts[cell];
            self.counts[cell] = count + 1;
            if count < sample.max_points {
                let p = sample.points.row(sample.range.start + i as usize);
                for (sum, v) in self.sums[cell * columns..(cell + 1) * columns].iter_mut().zip(p) {
                    *sum += v;
                }
                if slots > 0 {
                    self.slots[cell * slots + count as usize] = i;
                }
            }
        }
    }
}

/// Rows in first-seen order: a cell's row is the number of marks before its first point.
fn rows_by_first(w: &mut Workspace, n: usize, kept: usize) {
    w.marks_before.clear();
    let mut sum = 0;
    for word in &w.marks[..n.div_ceil(64)] {
        w.marks_before.push(sum);
        sum += word.load(Relaxed).count_ones();
    }
    let (marks, before, rows, sources) = (&w.marks, &w.marks_before, &w.rows, &w.sources);
    w.parts.par_iter().for_each(|part| {
        for (cell, &first) in part.first.iter().enumerate() {
            let word = marks[first as usize / 64].load(Relaxed);
            let row = before[first as usize / 64] + (word & ((1 << (first % 64)) - 1)).count_ones();
            let number = part.base + cell as u32;
            let stays = (row as usize) < kept;
            rows[number as usize].store(if stays { row } else { NONE }, Relaxed);
            if stays {
                sources[row as usize].store(number, Relaxed);
            }
        }
    });
}

/// Rows by id.
fn rows_by_id(w: &mut Workspace, kept: usize) {
    w.by_id.clear();
    for part in &w.parts {
        w.by_id.extend(part.ids.iter().enumerate().map(|(cell, &id)| (id, part.base + cell as u32)));
    }
    w.by_id.par_sort_unstable();
    let (rows, sources) = (&w.rows, &w.sources);
    w.by_id.par_iter().with_min_len(ROWS).enumerate().for_each(|(row, &(_, number))| {
        rows[number as usize].store(if row < kept { row as u32 } else { NONE }, Relaxed);
        if row < kept {
            sources[row].store(number, Relaxed);
        }
    });
}

/// Writes coordinates, counts, means and points of the rows.
fn write_rows(
    sample: &Sample<'_>,
    w: &Workspace,
    out: &mut Output<'_>,
    (first_row, kept): (usize, usize),
    (columns, slots): (usize, usize),
) {
    let part_and_cell = |row: usize| {
        let number = w.sources[row].load(Relaxed);
        let part = &w.parts[w.parts.partition_point(|p| p.base <= number) - 1];
        (part, (number - part.base) as usize)
    };
    let coord_columns = if sample.batch_index.is_some() { 4 } else { 3 };
    let end = first_row + kept;
    out.num_points.resize(end, 0);
    out.coords.resize(end * coord_columns, 0);
    let num_points = out.num_points[first_row..].par_chunks_mut(ROWS);
    let coords = out.coords[first_row * coord_columns..].par_chunks_mut(ROWS * coord_columns);
    num_points.zip(coords).enumerate().for_each(|(chunk, (num_points, coords))| {
        let rows = num_points.iter_mut().zip(coords.chunks_exact_mut(coord_columns));
        for (r, (n, coords)) in rows.enumerate() {
            let (part, cell) = part_and_cell(chunk * ROWS + r);
            *n = part.counts[cell].min(sample.max_points) as i32;
            sample.write_coords(coords, part.ids[cell]);
        }
    });
    if let Some(means) = &mut out.mean {
        means.resize(means.len().max(end * columns), 0.0);
        let means = &mut means[first_row * columns..end * columns];
        means.par_chunks_mut(ROWS * columns).enumerate().for_each(|(chunk, means)| {
            for (r, mean) in means.chunks_exact_mut(columns).enumerate() {
                let (part, cell) = part_and_cell(chunk * ROWS + r);
                let n = part.counts[cell].min(sample.max_points);
                for (m, sum) in mean.iter_mut().zip(&part.sums[cell * columns..(cell + 1) * columns]) {
                    *m = mean_from_sum(*sum, n);
                }
            }
        });
    }
    if let Some(voxels) = &mut out.voxels {
        let columns = sample.points.columns();
        let len = slots * columns;
        voxels.resize(voxels.len().max(end * len), 0.0);
        voxels[first_row * len..end * len].par_chunks_mut(ROWS * len).enumerate().for_each(|(chunk, voxels)| {
            for (r, voxel) in voxels.chunks_exact_mut(len).enumerate() {
                let (part, cell) = part_and_cell(chunk * ROWS + r);
                let slots = &part.slots[cell * slots..(cell + 1) * slots];
                for (&i, target) in slots.iter().zip(voxel.chunks_exact_mut(columns)) {
                    if i == NONE {
                        target.fill(0.0);
                    } else {
                        target.copy_from_slice(sample.points.row(sample.range.start + i as usize));
                    }
                }
            }
        });
    }
}

/// Gives each point its row and returns how many lost theirs.
fn write_points(sample: &Sample<'_>, w: &Workspace, out: &mut Output<'_>, first_row: usize) -> u32 {
    let rows = out.rows[sample.range.clone()].par_chunks_mut(CHUNK);
    rows.zip(&w.chunks)
        .enumerate()
        .map(|(c, (rows, chunk))| {
            let mut dropped = 0;
            for (j, (row, &key)) in rows.iter_mut().zip(&chunk.keys).enumerate() {
                *row = NONE;
                if key < NON_FINITE {
                    let found = w.rows[w.numbers[c * CHUNK + j].load(Relaxed) as usize].load(Relaxed);
                    dropped += u32::from(found == NONE);
                    *row = if found == NONE { NONE } else { first_row as u32 + found };
                }
            }
            dropped
        })
        .sum()
}
