//! The points of each box, by voxel.

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::block::exclusive_sum;
use super::block::{SUM_WORDS, THREADS};
use super::*;

/// Pairs that stay in shared memory while they are sorted.
const FEW: u32 = 2048;
/// Where things are in shared memory.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const PAIRS: u32 = 0;
const SORT: u32 = 4 * FEW;
const EXPAND: u32 = SORT + order::WORDS;
const SUMS: u32 = EXPAND + expand::WORDS;
const START: u32 = SUMS + SUM_WORDS;
const WORDS: u32 = START + 1;

/// Arguments of [`Collect`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CollectArgs {
    /// The points.
    pub points: PointsArg,
    /// The number of boxes.
    pub boxes: u32,
    /// Tiles of points.
    pub tiles: u32,
    /// See [`MarkArgs`].
    pub prepared: *const u32,
    /// See [`MarkArgs`].
    pub marks: *const u32,
    /// See [`MarkArgs`].
    pub counts: *const u32,
    /// Voxels of a box along each axis.
    pub out: [u32; 3],
    /// Most points that a voxel keeps, M - 1.
    pub keep: u32,
    /// Digits of a voxel's id.
    pub passes: u32,
    /// The lists.
    pub lists: BoxLists,
    /// The empty part of the result; of length zero if there is none.
    pub fill: FillArgs,
}

kernel! {
    /// Makes the lists of each box, and writes the empty part of a dense result. One block a box; more blocks help to write.
    Collect = "roi_collect", block THREADS, shared WORDS, cooperative true,
    fn(a: CollectArgs) {
        if block_index() < a.boxes {
            a.collect(block_index());
        }
        a.fill.part_of_block();
    }
}

// SAFETY (all blocks below): the launcher's promise about the sizes. A box's pairs lie in its own part of the lists, which has room for all of them.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[allow(clippy::undocumented_unsafe_blocks)]
impl CollectArgs {
    /// The lists of box `b`. All threads call.
    #[inline(always)]
    unsafe fn collect(&self, b: u32) {
        let sums = Shared::at(SUMS);
        let counts = unsafe { self.counts.add(b as usize * self.tiles as usize) };
        let mut own = 0;
        let mut tile = thread_index();
        while tile < self.tiles {
            own += unsafe { *counts.add(tile as usize) };
            tile += THREADS;
        }
        let (_, n) = exclusive_sum(own, sums);
        let lists = &self.lists;
        if thread_index() == 0 {
            let start = if n > 0 { unsafe { atomic_add_u64(lists.used, n as u64) } } else { 0 };
            let fits = start + n as u64 <= lists.capacity as u64;
            let shared = Shared::at(START);
            shared.set(0, if fits { start as u32 } else { NONE });
            unsafe {
                *lists.inside.add(b as usize) = n;
                *lists.start.add(b as usize) = start as u32;
                if n == 0 || !fits || self.keep == 0 {
                    *lists.rows.add(b as usize) = 0;
                    *lists.kept.add(b as usize) = 0;
                }
            }
        }
        sync_block();
        let start = Shared::at(START).get(0);
        if n == 0 || start == NONE || self.keep == 0 {
            return;
        }
        let records = unsafe { lists.records.add(start as usize) };
        let few = n <= FEW;
        let pairs = |second: bool| {
            let shared = Shared::at(PAIRS + if second { 2 * FEW } else { 0 });
            // The second buffer of many pairs lies where their records will be.
            let (points, voxels) = match (few, second) {
                (true, _) => (core::ptr::null_mut(), core::ptr::null_mut()),
                (false, false) => unsafe { (lists.points.add(start as usize), lists.voxels.add(start as usize)) },
                (false, true) => unsafe { (records.cast(), records.cast::<u32>().add(n as usize)) },
            };
            order::Pairs { shared, stride: FEW, points, voxels }
        };
        // After the passes the pairs are in the first buffer.
        let mut from = pairs(self.passes % 2 == 1);
        let mut to = pairs(self.passes % 2 == 0);
        unsafe {
            let marks = self.marks.add(b as usize * self.tiles as usize * WARP as usize);
            expand::each_point(counts, marks, self.tiles, Shared::at(EXPAND), |at, i| from.set_point(at, i));
            self.voxelize(b, n, &from);
        }
        let mut digit = 0;
        while digit < self.passes {
            unsafe { order::pass(&from, &to, n, digit * DIGIT_BITS, Shared::at(SORT)) };
            (from, to) = (to, from);
            digit += 1;
        }
        if few {
            let points = unsafe { lists.points.add(start as usize) };
            let mut e = thread_index();
            while e < n {
                unsafe { *points.add(e as usize) = from.point(e) };
                e += THREADS;
            }
        }
        unsafe { self.rows(b, n, &from, records) };
    }

    /// The voxel of each of the box's points.
    #[inline(always)]
    unsafe fn voxelize(&self, b: u32, n: u32, pairs: &order::Pairs) {
        let mut words = [0; BOX_WORDS];
        for i in 0..BOX_WORDS {
            words[i] = unsafe { *self.prepared.add(b as usize * BOX_WORDS + i) };
        }
        let oriented = OrientedBox::from_words(words);
        let grid = oriented.grid(self.out);
        let mut e = thread_index();
        while e < n {
            unsafe {
                let p = self.points.xyz(pairs.point(e));
                pairs.set_voxel(e, grid.id(oriented.voxel(p, &grid)));
            }
            e += THREADS;
        }
        sync_block();
    }

    /// Sorted pairs into rows.
    #[inline(always)]
    unsafe fn rows(&self, b: u32, n: u32, pairs: &order::Pairs, records: *mut Record) {
        let sums = Shared::at(SUMS);
        let mut rows = 0;
        let mut first = 0;
        while first < n {
            let e = first + thread_index();
            let voxel = if e < n { unsafe { pairs.voxel(e) } } else { 0 };
            let starts = e < n && (e == 0 || unsafe { pairs.voxel(e - 1) } != voxel);
            let (rank, sum) = exclusive_sum(starts as u32, sums);
            if starts {
                unsafe {
                    let record = records.add((rows + rank) as usize);
                    (*record).voxel = voxel;
                    (*record).start = e;
                }
            }
            rows += sum;
            first += THREADS;
            sync_block();
        }
        let mut kept = 0;
        let mut first = 0;
        while first < rows {
            let r = first + thread_index();
            let record = unsafe { records.add(r as usize) };
            let mut count = 0;
            if r < rows {
                let end = if r + 1 < rows { unsafe { (*record.add(1)).start } } else { n };
                count = end - unsafe { (*record).start };
                count = if count < self.keep { count } else { self.keep };
            }
            let (before, sum) = exclusive_sum(count, sums);
            if r < rows {
                unsafe {
                    (*record).kept_start = kept + before;
                    (*record).count = count;
                }
            }
            kept += sum;
            first += THREADS;
            sync_block();
        }
        if thread_index() == 0 {
            unsafe {
                *self.lists.rows.add(b as usize) = rows;
                *self.lists.kept.add(b as usize) = kept;
            }
        }
    }
}
