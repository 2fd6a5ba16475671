//! Several threads: the cells are dealt into parts by their hash, and each part's points stay in
//! input order, so that every sum is added in the same order as by one thread.
//!
//! 1. Chunks of points find their keys and deal them into parts.
//! 2. Each part finds its cells and adds up their points, chunk after chunk.
//!
//! Then the cells of the parts are merged into rows.

use super::cells::{Cells, Wanted};
use super::keys::{Key, Outside};
use super::rows::{MAX_PARTS, write_members};
use super::runs::{BLOCK, Run, find_runs};
use super::{NONE, Sample};
use crate::{Result, memory, par};
use rayon::prelude::*;

/// Points of a chunk.
const CHUNK: usize = if cfg!(test) { 64 } else { 8192 };

/// Points of one chunk, dealt into parts.
#[derive(Debug)]
pub(super) struct Chunk<K> {
    /// In input order.
    keys: Vec<K>,
    all: Vec<Run<K>>,
    part_of: Vec<u8>,
    /// Part after part, without points outside the grid.
    dealt: Vec<Run<K>>,
    /// Where each part starts here.
    starts: [u32; MAX_PARTS + 1],
    /// Where each part's runs of this chunk start among all runs of the part.
    members: [u32; MAX_PARTS],
    outside: Outside,
}

impl<K> Default for Chunk<K> {
    fn default() -> Self {
        Self {
            keys: vec![],
            all: vec![],
            part_of: vec![],
            dealt: vec![],
            starts: [0; MAX_PARTS + 1],
            members: [0; MAX_PARTS],
            outside: Outside::default(),
        }
    }
}

impl<K: Key> Chunk<K> {
    fn deal(&mut self, sample: &Sample<'_>, c: usize, parts: usize) -> Result<()> {
        let start = sample.range.start + c * CHUNK;
        let range = start..(start + CHUNK).min(sample.range.end);
        memory::resize(&mut self.keys, range.len(), K::NONE)?;
        self.outside = sample.keys(range, &mut self.keys);
        self.all.clear();
        let mut runs = [Run::default(); BLOCK];
        for (keys, first) in self.keys.chunks(BLOCK).zip((start as u32..).step_by(BLOCK)) {
            let n = find_runs(keys, first, &mut runs);
            memory::extend(&mut self.all, runs[..n].iter().copied())?;
        }
        let part_of = |run: &Run<K>| if run.key == K::NONE { u8::MAX } else { run.key.part(parts, sample.seed) as u8 };
        self.part_of.clear();
        memory::extend(&mut self.part_of, self.all.iter().map(part_of))?;
        // A pass for each part: without branches and without counters in memory it takes a third of
        // the time of a counting sort.
        memory::resize(&mut self.dealt, self.all.len() + 1, Run::default())?;
        let mut end = 0;
        for p in 0..parts {
            self.starts[p] = end as u32;
            for (run, &part) in self.all.iter().zip(&self.part_of) {
                self.dealt[end] = *run;
                end += usize::from(usize::from(part) == p);
            }
        }
        self.starts[parts] = end as u32;
        Ok(())
    }

    fn part(&self, p: usize) -> &[Run<K>] {
        &self.dealt[self.starts[p] as usize..self.starts[p + 1] as usize]
    }
}

/// Finds the cells of a sample.
pub(super) fn find<K: Key>(
    sample: &Sample<'_>,
    wanted: Wanted,
    chunks: &mut Vec<Chunk<K>>,
    parts: &mut [Cells<K>],
) -> Result<Outside> {
    memory::resize_with(chunks, sample.range.len().div_ceil(CHUNK), Chunk::default)?;
    chunks.par_iter_mut().enumerate().try_for_each(|(c, chunk)| chunk.deal(sample, c, parts.len()))?;
    let mut outside = Outside::default();
    let mut members = [0; MAX_PARTS];
    for chunk in chunks.iter_mut() {
        outside += chunk.outside;
        chunk.members = members;
        for (p, n) in members[..parts.len()].iter_mut().enumerate() {
            *n += chunk.part(p).len() as u32;
        }
    }
    parts.par_iter_mut().enumerate().try_for_each(|(p, cells)| {
        cells.clear(sample)?;
        for chunk in chunks.iter() {
            par::check();
            for runs in chunk.part(p).chunks(BLOCK) {
                cells.add(sample, wanted, runs)?;
            }
        }
        cells.finish(sample, wanted)
    })?;
    Ok(outside)
}

/// Gives each point its row.
pub(super) fn write_points<K: Key>(
    sample: &Sample<'_>,
    chunks: &[Chunk<K>],
    parts: &[Cells<K>],
    point_rows: &mut [u32],
) {
    point_rows.par_chunks_mut(CHUNK).zip(chunks).enumerate().for_each(|(c, (rows, chunk))| {
        rows.fill(NONE);
        let start = (sample.range.start + c * CHUNK) as u32;
        for (p, part) in parts.iter().enumerate() {
            let members = &part.members[chunk.members[p] as usize..][..chunk.part(p).len()];
            write_members(part, members, start, rows);
        }
    });
}
