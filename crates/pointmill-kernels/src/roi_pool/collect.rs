//! The points of each box, by voxel.

use super::block::{SUM_WORDS, THREADS};
use super::*;
use pointmill_core::BoxGrid;

/// Points that are sorted in shared memory, and bits of a voxel's id that then fit beside a place.
const FEW: u32 = 6144;
const VOXEL_BITS: u32 = u32::BITS - order::PLACE_BITS;
/// Points whose list is in shared memory too, behind their pairs in the second buffer.
const FEWER: u32 = FEW / 2;
/// Where things are in shared memory: two buffers of pairs, counters of the sort, sums. The tiles'
/// counts use the second buffer before it is needed.
const TILES: u32 = FEW;
const SORT: u32 = 2 * FEW;
pub(super) const SUMS: u32 = SORT + order::WORDS;
const START: u32 = SUMS + SUM_WORDS;
const _: () = assert!(expand::WORDS <= FEWER && FEW <= 1 << order::PLACE_BITS);
/// The box, and the edge lengths of its voxels; where four words can be read at once.
pub(super) const BOX: u32 = (START + 1).next_multiple_of(4);
const WORDS: u32 = BOX + STAGED_WORDS;
/// Points of a thread whose coordinates are read together.
const AHEAD: usize = 4;
const _: () = assert!(expand::WORDS <= FEW);

/// The points of a box in order.
#[derive(Clone, Copy)]
struct List {
    shared: Shared,
    /// Null for those in shared memory.
    global: *mut u32,
}

impl List {
    #[inline(always)]
    unsafe fn get(&self, e: u32) -> u32 {
        // SAFETY: `e` is below the number of points.
        if self.global.is_null() { self.shared.get(e) } else { unsafe { *self.global.add(e as usize) } }
    }

    #[inline(always)]
    unsafe fn set(&self, e: u32, point: u32) {
        if self.global.is_null() {
            self.shared.set(e, point);
        } else {
            // SAFETY: as above.
            unsafe { *self.global.add(e as usize) = point };
        }
    }
}

/// Arguments of [`Collect`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CollectArgs {
    /// The boxes.
    pub boxes: BoxesArg,
    /// The points.
    pub points: PointsArg,
    /// Tiles of points.
    pub tiles: u32,
    /// See [`MarkArgs`].
    pub prepared: *mut u32,
    /// See [`MarkArgs`].
    pub marks: *mut u32,
    /// See [`MarkArgs`].
    pub counts: *mut u32,
    /// Voxels of a box along each axis.
    pub out: [u32; 3],
    /// Most points that a voxel keeps, M - 1.
    pub keep: u32,
    /// Digits of a voxel's id, and their bits.
    pub passes: u32,
    /// See `passes`.
    pub digit_bits: u32,
    /// The lists.
    pub lists: BoxLists,
}

kernel! {
    /// Makes the lists of each box. One block a box.
    Collect = "roi_collect", block THREADS, shared WORDS, cooperative true, min_blocks 2,
    fn(a: CollectArgs) {
        a.collect::<false>(block_index());
    }
}

kernel! {
    /// [`Mark`] and [`Collect`] in one, for few points: each block tests all points with its box. One block a box; there is a point.
    MarkAndCollect = "roi_mark_and_collect", block THREADS, shared WORDS, cooperative true, min_blocks 1,
    fn(a: CollectArgs) {
        a.collect::<true>(block_index());
    }
}

impl CollectArgs {
    /// The lists of box `b`. All threads call. If `DIRECT` the block tests all points with its box
    /// itself.
    #[inline(always)]
    unsafe fn collect<const DIRECT: bool>(&self, b: u32) {
        let first_tile = b as usize * self.tiles as usize;
        // SAFETY: the launcher gives counts and marks for each tile of each box.
        let tiles = unsafe {
            expand::Tiles {
                counts: self.counts.add(first_tile),
                marks: self.marks.add(first_tile * WORDS_OF_TILE as usize),
                len: self.tiles,
                shared: Shared::at(TILES),
            }
        };
        // One thread prepares what all need later, while the others count.
        if thread_index() == THREADS - WARP {
            // SAFETY: the caller promises that `b` is a box.
            unsafe { self.prepare::<DIRECT>(b) };
        }
        if DIRECT {
            sync_block();
            // SAFETY: as above.
            unsafe { self.mark(b) };
            sync_block();
        }
        // SAFETY: counts are those of a box, and written.
        let n = unsafe { tiles.count() };
        if n == 0 || self.keep == 0 {
            if thread_index() == 0 {
                if n > 0 && !DIRECT {
                    // SAFETY: the launcher gives a counter where blocks share the lists.
                    unsafe { atomic_add_u64(self.lists.used, n as u64) };
                }
                // SAFETY: `b` is a box.
                unsafe { self.finish(b, 0, n, 0, 0) };
            }
        } else {
            // SAFETY: `n` is what the tiles hold.
            unsafe { self.sort::<DIRECT>(b, n, &tiles) };
        }
    }

    /// Writes what is known of a box. One thread calls.
    #[inline(always)]
    pub(super) unsafe fn finish(&self, b: u32, start: u32, inside: u32, rows: u32, kept: u32) {
        let (lists, b) = (&self.lists, b as usize);
        // SAFETY: the caller promises that `b` is a box; each array has an element a box.
        unsafe {
            *lists.start.add(b) = start;
            *lists.inside.add(b) = inside;
            *lists.rows.add(b) = rows;
            *lists.kept.add(b) = kept;
        }
    }

    /// Puts the box and the edge lengths of its voxels into shared memory. One thread calls.
    #[inline(always)]
    unsafe fn prepare<const DIRECT: bool>(&self, b: u32) {
        let oriented = if !DIRECT {
            // SAFETY: [`Mark`] made all boxes ready.
            unsafe { load_box(self.prepared, b) }
        } else {
            // SAFETY: the caller promises that `b` is a box.
            let oriented = unsafe { self.boxes.prepare(b) };
            // SAFETY: there is room for each box.
            unsafe { store_box(self.prepared, b, &oriented) };
            oriented
        };
        let steps = oriented.grid(self.out).steps().map(f32::to_bits);
        Staged(Shared::at(BOX)).put(0, &oriented, (steps[0], steps[1]));
        Shared::at(BOX + BOX_WORDS as u32).set(2, steps[2]);
    }

    /// The `n` points of the box by voxel.
    #[inline(always)]
    unsafe fn sort<const DIRECT: bool>(&self, b: u32, n: u32, tiles: &expand::Tiles) {
        let lists = &self.lists;
        // The answer is a long way off; few pairs need it at the end only.
        let mut place = if DIRECT { b as u64 * self.points.n as u64 } else { 0 };
        if !DIRECT && thread_index() == 0 {
            // SAFETY: the launcher gives a counter where blocks share the lists.
            place = unsafe { atomic_add_u64(lists.used, n as u64) };
        }
        let few = n <= FEW && self.passes * self.digit_bits <= VOXEL_BITS;
        let fewer = few && n <= FEWER;
        let mut start = 0;
        if !fewer {
            start = self.share_start(place, n);
            if start == NONE {
                if thread_index() == 0 {
                    // SAFETY: `b` is a box.
                    unsafe { self.finish(b, 0, n, 0, 0) };
                }
                return;
            }
        }
        let pairs = |second: bool| {
            let shared = Shared::at(if second { FEW } else { 0 });
            // The second buffer of many pairs lies where their records will be.
            let (points, voxels) = match (few, second) {
                (true, _) => (core::ptr::null_mut(), core::ptr::null_mut()),
                // SAFETY: the box's `n` pairs from `start` on fit the lists.
                (false, false) => unsafe { (lists.points.add(start as usize), lists.voxels.add(start as usize)) },
                // SAFETY: records from `start` on have room for `n`, each of four words.
                (false, true) => unsafe {
                    let words = lists.records.add(start as usize).cast::<u32>();
                    (words, words.add(n as usize))
                },
            };
            order::Pairs { shared, points, voxels }
        };
        // After the passes the pairs are in the first buffer.
        let mut from = pairs(!self.passes.is_multiple_of(2));
        let mut to = pairs(self.passes.is_multiple_of(2));
        let list = List {
            shared: Shared::at(FEW + FEWER),
            global: match (fewer, few) {
                (true, _) => core::ptr::null_mut(),
                // Not needed for voxels then.
                // SAFETY: the box's `n` pairs from `start` on fit the lists.
                (false, true) => unsafe { lists.voxels.add(start as usize) },
                (false, false) => from.points,
            },
        };
        // SAFETY: the list has room for the `n` points of the tiles, and the pairs as well.
        unsafe {
            tiles.each_point(|at, i| list.set(at, i));
            self.voxelize(n, &from, &list);
        }
        let mut digit = 0;
        while digit < self.passes {
            // SAFETY: both buffers have room for `n` pairs.
            unsafe { order::pass(&from, &to, n, digit * self.digit_bits, self.digit_bits, Shared::at(SORT)) };
            (from, to) = (to, from);
            digit += 1;
        }
        if fewer {
            start = self.share_start(place, n);
            if start == NONE {
                if thread_index() == 0 {
                    // SAFETY: `b` is a box.
                    unsafe { self.finish(b, 0, n, 0, 0) };
                }
                return;
            }
        }
        if few {
            // SAFETY: the box's `n` pairs from `start` on fit the lists.
            let points = unsafe { lists.points.add(start as usize) };
            let mut e = thread_index();
            while e < n {
                // SAFETY: `e` is below `n`, and a pair's place is one of the list.
                unsafe { *points.add(e as usize) = list.get(from.point(e)) };
                e += THREADS;
            }
        }
        // SAFETY: the box's records from `start` on have room for a row a pair.
        unsafe { self.rows(b, n, start, &from, to.shared) };
    }

    /// What thread 0 knows, for all: where the box's pairs start, or [`NONE`] if they find no room.
    #[inline(always)]
    fn share_start(&self, place: u64, n: u32) -> u32 {
        let shared = Shared::at(START);
        if thread_index() == 0 {
            let fits = place + n as u64 <= self.lists.capacity as u64;
            shared.set(0, if fits { place as u32 } else { NONE });
        }
        sync_block();
        shared.get(0)
    }

    /// The voxel of each of the box's points.
    #[inline(always)]
    unsafe fn voxelize(&self, n: u32, pairs: &order::Pairs, points: &List) {
        let (oriented, step_x, step_y) = Staged(Shared::at(BOX)).get(0);
        let step_z = Shared::at(BOX + BOX_WORDS as u32).get(2);
        let grid = BoxGrid::with_steps(self.out, [step_x, step_y, step_z].map(f32::from_bits));
        let mut first = thread_index();
        while first < n {
            let mut p = [[0.0; 3]; AHEAD];
            for j in 0..AHEAD {
                let e = first + j as u32 * THREADS;
                if e < n {
                    // SAFETY: `e` is below `n`, and the list holds points.
                    p[j] = unsafe { self.points.xyz(points.get(e)) };
                }
            }
            for j in 0..AHEAD {
                let e = first + j as u32 * THREADS;
                if e < n {
                    let voxel = grid.id(oriented.voxel(p[j], &grid));
                    if pairs.few() {
                        pairs.shared.set(e, voxel << order::PLACE_BITS | e);
                    } else {
                        // SAFETY: there is room for `n` pairs.
                        unsafe { *pairs.voxels.add(e as usize) = voxel };
                    }
                }
            }
            first += AHEAD as u32 * THREADS;
        }
        sync_block();
    }
}
