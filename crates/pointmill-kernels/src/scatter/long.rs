//! Rows of many values: each part of a row by a block.

use super::reduce::ReduceArgs;
use super::values::{Bf16, F16, Stored};
use crate::simt::*;
use pointmill_core::reduction::{NONE, Number};

/// Columns of a part.
pub const PART: u32 = 8;
/// Threads of a block that load.
const LOADERS: u32 = 256;
/// Threads a block: those and a warp that adds, so that neither waits for the other.
const THREADS: u32 = LOADERS + WARP;
/// Values of a column that are loaded at once, one by each group of threads.
const SLOTS: u32 = LOADERS / PART;
/// Values that each thread loads of a tile.
const LOADS: usize = 12;
/// Values of a column that a tile holds.
const TILE: u32 = SLOTS * LOADS as u32;
/// Words between the columns of a tile: their quads meet neighbouring banks.
const COLUMN: u32 = TILE + 4;
/// Words of a tile of one word a value.
const WORDS: u32 = COLUMN * PART;
/// Values that are added without a look at the end.
const RUN: usize = 16;

/// A part of a long row, and what a thread does there.
#[derive(Clone, Copy)]
struct Part {
    row: u32,
    column: u32,
    /// Whether there is such a column. One that is not there loads the first one, which nobody takes.
    is_there: bool,
    start: u32,
    end: u32,
    slot: u32,
    lane_column: u32,
    /// Whether this thread loads.
    loads: bool,
}

impl Part {
    #[inline(always)]
    fn place(&self, tile: u32, j: usize) -> u32 {
        self.start + tile * TILE + j as u32 * SLOTS + self.slot
    }
}

impl<T: Stored> ReduceArgs<T> {
    /// # Safety
    /// Inside a launch of blocks with room for two tiles.
    #[inline(always)]
    unsafe fn all_long(&self) {
        let parts = self.columns.div_ceil(PART);
        let (slot, lane_column) = (thread_index() / PART, thread_index() % PART);
        // SAFETY: the rows in the list are there, and so are their values.
        unsafe {
            let rows = if *self.num_long < self.long_room { *self.num_long } else { self.long_room };
            let items = rows as u64 * parts as u64;
            let mut item = block_index() as u64;
            while item < items {
                let row = *self.long.add((item / parts as u64) as usize);
                let column = (item % parts as u64) as u32 * PART + lane_column;
                let (start, end) = (*self.splits.add(row as usize), *self.splits.add(row as usize + 1));
                let (is_there, loads) = (column < self.columns, thread_index() < LOADERS);
                let part = Part { row, column, is_there, start, end, slot, lane_column, loads };
                if self.how.picks() {
                    self.pick(&part);
                } else {
                    self.add(&part);
                }
                // What comes next goes where this may still be read.
                sync_block();
                item += grid_size() as u64;
            }
        }
    }

    /// # Safety
    /// There is such a value.
    #[inline(always)]
    unsafe fn load(&self, part: &Part, value: u32) -> T {
        let column = if part.is_there { part.column } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { *self.values.add(value as usize * self.columns as usize + column as usize) }
    }

    /// Adds the values in order: a warp adds a tile while others load the next one, and the places of
    /// the one after it.
    ///
    /// # Safety
    /// There is such a part, and room for two tiles.
    #[inline(always)]
    unsafe fn add(&self, part: &Part) {
        let Part { start, end, loads, .. } = *part;
        let mut places = [0; LOADS];
        let mut values = [T::narrow(T::Wide::ZERO); LOADS];
        // SAFETY: places below the end of the row are in its list.
        unsafe {
            for j in 0..LOADS {
                let k = part.place(0, j);
                values[j] = if loads & (k < end) { self.load(part, self.value(k)) } else { values[j] };
            }
            for j in 0..LOADS {
                let k = part.place(1, j);
                places[j] = if loads & (k < end) { self.value(k) } else { 0 };
            }
            let mut sum = T::Wide::ZERO;
            let (mut tile, tiles) = (0, (end - start).div_ceil(TILE));
            while tile < tiles {
                let shared = Shared::at(tile % 2 * (WORDS * T::WORDS));
                if loads {
                    for j in 0..LOADS {
                        put::<T>(shared, part.lane_column * COLUMN + j as u32 * SLOTS + part.slot, values[j].widen());
                    }
                }
                sync_block();
                if loads {
                    for j in 0..LOADS {
                        values[j] = if part.place(tile + 1, j) < end { self.load(part, places[j]) } else { values[j] };
                    }
                    for j in 0..LOADS {
                        let k = part.place(tile + 2, j);
                        places[j] = if k < end { self.value(k) } else { 0 };
                    }
                } else if lane() < PART {
                    let left = end - start - tile * TILE;
                    let count = if left < TILE { left } else { TILE };
                    let column = part.lane_column * COLUMN;
                    let mut i = 0;
                    // The next run is read while one is added; behind the last one lies room.
                    let mut next = run::<T>(shared, column);
                    while i + (RUN as u32) <= count {
                        let own = next;
                        next = run::<T>(shared, column + (i + RUN as u32) % TILE);
                        for x in 0..RUN {
                            sum = sum.plus(own[x]);
                        }
                        i += RUN as u32;
                    }
                    for x in 0..RUN {
                        sum = if i + (x as u32) < count { sum.plus(next[x]) } else { sum };
                    }
                }
                tile += 1;
            }
            if !loads & (lane() < PART) & part.is_there {
                self.write((part.row, part.column), [sum], [NONE], (start, end));
            }
        }
    }

    /// Finds the best value: each thread that of some places, then the first columns' threads the
    /// best of these, of equal ones the first.
    ///
    /// # Safety
    /// As [`Self::add`].
    #[inline(always)]
    unsafe fn pick(&self, part: &Part) {
        let Part { start, end, loads, .. } = *part;
        let (bests, places) = (Shared::at(0), Shared::at(THREADS * T::WORDS));
        let (mut best, mut from) = (T::Wide::ZERO, NONE);
        // SAFETY: places below the end of the row are in its list.
        unsafe {
            let mut tile = 0;
            while loads & (start + tile * TILE < end) {
                let mut values = [T::narrow(T::Wide::ZERO); LOADS];
                for j in 0..LOADS {
                    let k = part.place(tile, j);
                    values[j] = if k < end { self.load(part, self.value(k)) } else { values[j] };
                }
                for j in 0..LOADS {
                    let k = part.place(tile, j);
                    let takes = (k < end) & self.how.takes(values[j].widen(), best, from);
                    best = if takes { values[j].widen() } else { best };
                    from = if takes { k } else { from };
                }
                tile += 1;
            }
            let bits = T::bits(best);
            bests.set(thread_index(), bits as u32);
            if T::WORDS == 2 {
                bests.set(THREADS + thread_index(), (bits >> 32) as u32);
            }
            places.set(thread_index(), from);
            sync_block();
            if (thread_index() < PART) & part.is_there {
                for slot in 1..SLOTS {
                    let at = slot * PART + part.lane_column;
                    let high = if T::WORDS == 2 { bests.get(THREADS + at) } else { 0 };
                    let (other, place) = (T::of_bits(bests.get(at) as u64 | (high as u64) << 32), places.get(at));
                    let first = (other == best) & (place < from);
                    let takes = (place != NONE) & (first | self.how.takes(other, best, from));
                    best = if takes { other } else { best };
                    from = if takes { place } else { from };
                }
                self.write((part.row, part.column), [best], [from], (start, end));
            }
        }
    }
}

/// Puts a value into place `i` of a tile.
#[inline(always)]
fn put<T: Stored>(tile: Shared, i: u32, value: T::Wide) {
    let bits = T::bits(value);
    tile.set(i, bits as u32);
    if T::WORDS == 2 {
        // Halves apart: neighbouring lanes meet neighbouring banks.
        tile.set(WORDS + i, (bits >> 32) as u32);
    }
}

/// The values of a tile from place `i` on, a multiple of four.
#[inline(always)]
fn run<T: Stored>(tile: Shared, i: u32) -> [T::Wide; RUN] {
    let mut values = [T::Wide::ZERO; RUN];
    for q in 0..RUN / 4 {
        let at = i + 4 * q as u32;
        let low = tile.get_x4(at);
        let high = if T::WORDS == 2 { tile.get_x4(WORDS + at) } else { [0; 4] };
        for x in 0..4 {
            values[4 * q + x] = T::of_bits(low[x] as u64 | (high[x] as u64) << 32);
        }
    }
    values
}

macro_rules! reduces_long {
    ($($Name:ident = $symbol:literal of $Type:ty;)+) => {$(
        kernel! {
            /// Reduces the values of each row that is long. A block takes a part of a row, and then
            /// another one.
            $Name = $symbol, block THREADS, shared 2 * WORDS * <$Type as Stored>::WORDS, cooperative true,
            fn(a: ReduceArgs<$Type>) { a.all_long() }
        }
    )+};
}

reduces_long! {
    ReduceLongF32 = "scatter_reduce_long_f32" of f32;
    ReduceLongF64 = "scatter_reduce_long_f64" of f64;
    ReduceLongF16 = "scatter_reduce_long_f16" of F16;
    ReduceLongBf16 = "scatter_reduce_long_bf16" of Bf16;
    ReduceLongI64 = "scatter_reduce_long_i64" of i64;
}
