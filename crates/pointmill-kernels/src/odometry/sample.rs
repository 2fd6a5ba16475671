//! The points of a sweep that are used: the first of each cell.

use super::*;
use crate::cloud::Points;
use crate::prim::{
    Length,
    compact::rank_tile,
    hash::find_or_insert,
    scan::{self, SHARED_WORDS, Tiles},
};
use pointmill_core::float::{from_ordered, ordered};
use pointmill_core::hash::Seed;
use pointmill_core::odometry::{
    cells::{cell_of, key_of},
    motion::mark,
};

/// A point of a sweep, and its time in seconds.
pub type Timed = [f64; 4];

/// What is known of a sweep.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Head {
    /// The least time and the largest, as numbers that have the order of times; the largest with
    /// all bits turned. All ones before.
    pub times: [u64; 2],
    /// The sum of the marks of the samples; zero before.
    pub mark: u64,
    /// Points that are used; zero before.
    pub usable: u32,
    /// Points for the map.
    pub samples: u32,
    /// Points for the alignment.
    pub keys: u32,
    /// Nothing.
    pub unused: u32,
}

impl Head {
    /// Before a sweep.
    pub const NOTHING: Self = Self { times: [u64::MAX; 2], mark: 0, usable: 0, samples: 0, keys: 0, unused: 0 };

    /// The least and the largest time.
    pub const fn span(&self) -> [f64; 2] {
        [from_ordered(self.times[0]), from_ordered(!self.times[1])]
    }
}

/// A table of cells, each with the lowest index of its points.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Firsts {
    /// `mask + 1` keys, all ones before; at most half of them will be taken.
    pub keys: *mut u64,
    /// `mask + 1` indices, all ones before.
    pub firsts: *mut u32,
    /// Entries minus one; entries are a power of two, at least 4.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
}

impl Firsts {
    /// The entry of the cell of point `i`, or [`NONE`].
    ///
    /// # Safety
    /// The table is valid.
    #[inline(always)]
    unsafe fn enter(&self, p: [f64; 3], size: f64, i: u32) -> u32 {
        let Some(cell) = cell_of(p, size) else { return NONE };
        // SAFETY: the table has room; an entry is one of the table's.
        unsafe {
            let entry = find_or_insert(self.keys, 1, self.mask, self.seed, key_of(cell));
            if entry != NONE {
                let first = self.firsts.add(entry as usize);
                // A plain read is cheaper than an atomic, and most points are not the first.
                if load_relaxed(first) > i {
                    atomic_min(first, i);
                }
            }
            entry
        }
    }

    /// Whether point `i` is the first of its cell.
    ///
    /// # Safety
    /// The entry is [`NONE`] or one of the table's.
    #[inline(always)]
    unsafe fn is_first(&self, entry: u32, i: u32) -> bool {
        // SAFETY: the caller's promise.
        entry != NONE && unsafe { *self.firsts.add(entry as usize) == i }
    }
}

/// Arguments of [`Sample`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SampleArgs {
    /// The sweep.
    pub points: Points,
    /// The time of each point, or null.
    pub times: *const f64,
    /// The squares of the least and the largest range of points that are used.
    pub ranges: [f64; 2],
    /// Edge of the cells in metres.
    pub size: f64,
    /// Where the cells go.
    pub cells: Firsts,
    /// The entry of each point's cell, or [`NONE`].
    pub entries: *mut u32,
    /// Where times and the number of used points go.
    pub head: *mut Head,
}

kernel! {
    /// Finds the points that are used, and their cells. One thread a point.
    Sample = "odometry_sample", block BLOCK, shared 0, cooperative true,
    fn(a: SampleArgs) {
        let i = global_index();
        let mut entry = NONE;
        let mut times = [u64::MAX; 2];
        if i < a.points.n {
            let p = a.points.get(i);
            let range = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
            let time = if a.times.is_null() { 0.0 } else { *a.times.add(i as usize) };
            if range >= a.ranges[0] && range <= a.ranges[1] && time.is_finite() {
                entry = a.cells.enter(p, a.size, i);
                if entry != NONE {
                    times = [ordered(time), !ordered(time)];
                }
            }
            *a.entries.add(i as usize) = entry;
        }
        let usable = ballot(entry != NONE).count_ones();
        let times = [warp_least_u64(times[0]), warp_least_u64(times[1])];
        if lane() == 0 && usable > 0 {
            atomic_add(&raw mut (*a.head).usable, usable);
            atomic_min_u64(&raw mut (*a.head).times[0], times[0]);
            atomic_min_u64(&raw mut (*a.head).times[1], times[1]);
        }
    }
}

/// Arguments of [`Thin`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ThinArgs {
    /// The sweep.
    pub points: Points,
    /// The time of each point, or null.
    pub times: *const f64,
    /// The cells of [`Sample`].
    pub cells: Firsts,
    /// The entry of each point's cell.
    pub entries: *const u32,
    /// Room for all points: the first of each cell, in the order of the sweep.
    pub samples: *mut Timed,
    /// Edge in metres of the cells of keys.
    pub key_size: f64,
    /// Where these go.
    pub key_cells: Firsts,
    /// The entry of each sample's cell of keys.
    pub key_entries: *mut u32,
    /// Where the number of samples and their mark go.
    pub head: *mut Head,
    /// State, zero before.
    pub tiles: Tiles,
}

kernel! {
    /// Lists the samples, and finds their cells of keys. One block a tile.
    Thin = "odometry_thin", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: ThinArgs) {
        let shared = Shared::at(0);
        let tile = scan::take_tile(a.tiles, shared);
        let n = a.points.n;
        let r = rank_tile::<ITEMS>(a.tiles, tile, shared, |i| i < n && a.cells.is_first(*a.entries.add(i as usize), i));
        let mut marks = 0u64;
        for j in 0..ITEMS {
            if r.flagged[j] {
                let (i, rank) = (r.start + j as u32 * WARP, r.rank[j]);
                let p = a.points.get(i);
                let time = if a.times.is_null() { 0.0 } else { *a.times.add(i as usize) };
                *a.samples.add(rank as usize) = [p[0], p[1], p[2], time];
                *a.key_entries.add(rank as usize) = a.key_cells.enter(p, a.key_size, rank);
                marks = marks.wrapping_add(mark(rank, p));
            }
        }
        let marks = warp_sum_u64(marks);
        if lane() == 0 && marks != 0 {
            atomic_add_u64(&raw mut (*a.head).mark, marks);
        }
        if thread_index() == 0 && n <= (tile + 1) * TILE {
            (*a.head).samples = r.end;
        }
    }
}

/// Arguments of [`Keys`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KeysArgs {
    /// Samples.
    pub samples: *const Timed,
    /// The number of samples.
    pub n: Length,
    /// The cells of keys.
    pub cells: Firsts,
    /// The entry of each sample's cell.
    pub entries: *const u32,
    /// Room for all samples: the first of each cell, in the order of the sweep.
    pub keys: *mut Timed,
    /// Where the number of keys goes.
    pub head: *mut Head,
    /// State, zero before.
    pub tiles: Tiles,
}

kernel! {
    /// Lists the keys. One block a tile.
    Keys = "odometry_keys", block BLOCK, shared SHARED_WORDS, cooperative true,
    fn(a: KeysArgs) {
        let shared = Shared::at(0);
        let n = a.n.get();
        let tile = scan::take_tile(a.tiles, shared);
        if tile > 0 && tile * TILE >= n {
            return;
        }
        let r = rank_tile::<ITEMS>(a.tiles, tile, shared, |i| i < n && a.cells.is_first(*a.entries.add(i as usize), i));
        for j in 0..ITEMS {
            if r.flagged[j] {
                *a.keys.add(r.rank[j] as usize) = *a.samples.add((r.start + j as u32 * WARP) as usize);
            }
        }
        if thread_index() == 0 && n <= (tile + 1) * TILE {
            (*a.head).keys = r.end;
        }
    }
}
