//! Rows of many values: each part of a row by a block.

use super::*;

/// Columns of a part.
pub const PART: u32 = 8;
/// Threads a block.
const THREADS: u32 = 256;
/// Values that each thread loads of a tile.
const LOADS: usize = 16;
/// Values of a column that a tile holds.
const TILE: u32 = THREADS / PART * LOADS as u32;
/// Values that are added without a look at the end.
const RUN: usize = 16;

impl<T: Stored> ReduceArgs<T> {
    /// # Safety
    /// Inside a launch of blocks with room for two tiles.
    #[inline(always)]
    unsafe fn all_long<const PICKS: bool>(&self) {
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
                let is_there = column < self.columns;
                // Columns that are not there load the first one, which nobody adds.
                let column_of = if is_there { column } else { 0 } as usize;
                let place = |tile: u32, j: usize| start + tile * TILE + j as u32 * (THREADS / PART) + slot;
                let load = |value: u32| *self.values.add(value as usize * self.columns as usize + column_of);
                let (mut value, mut from) = (T::Wide::ZERO, NONE);
                let tiles = (end - start).div_ceil(TILE);
                // The values of a tile and the places of the next are on their way while the one
                // before is added.
                let mut places = [0; LOADS];
                let mut values = [T::narrow(T::Wide::ZERO); LOADS];
                for j in 0..LOADS {
                    let k = place(0, j);
                    values[j] = if k < end { load(self.value(k)) } else { values[j] };
                }
                for j in 0..LOADS {
                    let k = place(1, j);
                    places[j] = if k < end { self.value(k) } else { 0 };
                }
                let mut tile = 0;
                while tile < tiles {
                    let shared = Shared::at(tile % 2 * (TILE * PART * T::WORDS));
                    for j in 0..LOADS {
                        let i = (j as u32 * (THREADS / PART) + slot) * PART + lane_column;
                        put::<T>(shared, i, values[j].widen());
                    }
                    sync_block();
                    for j in 0..LOADS {
                        values[j] = if place(tile + 1, j) < end { load(places[j]) } else { values[j] };
                    }
                    for j in 0..LOADS {
                        let k = place(tile + 2, j);
                        places[j] = if k < end { self.value(k) } else { 0 };
                    }
                    if thread_index() < PART {
                        let left = end - start - tile * TILE;
                        let count = if left < TILE { left } else { TILE };
                        let mut i = 0;
                        while i + (RUN as u32) <= count {
                            let mut run = [T::Wide::ZERO; RUN];
                            for x in 0..RUN {
                                run[x] = taken::<T>(shared, (i + x as u32) * PART + lane_column);
                            }
                            for x in 0..RUN {
                                self.fold::<PICKS>(run[x], start + tile * TILE + i + x as u32, &mut value, &mut from);
                            }
                            i += RUN as u32;
                        }
                        while i < count {
                            let next = taken::<T>(shared, i * PART + lane_column);
                            self.fold::<PICKS>(next, start + tile * TILE + i, &mut value, &mut from);
                            i += 1;
                        }
                    }
                    tile += 1;
                }
                if (thread_index() < PART) & is_there {
                    self.write((row, column), [value], [from], (start, end));
                }
                // The first tile of the next item goes where the last one may still be added.
                sync_block();
                item += grid_size() as u64;
            }
        }
    }

    #[inline(always)]
    fn fold<const PICKS: bool>(&self, next: T::Wide, place: u32, value: &mut T::Wide, from: &mut u32) {
        if PICKS {
            let takes = self.how.takes(next, *value, *from);
            *value = if takes { next } else { *value };
            *from = if takes { place } else { *from };
        } else {
            *value = value.plus(next);
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
        tile.set(TILE * PART + i, (bits >> 32) as u32);
    }
}

/// The value in place `i` of a tile.
#[inline(always)]
fn taken<T: Stored>(tile: Shared, i: u32) -> T::Wide {
    let high = if T::WORDS == 2 { tile.get(TILE * PART + i) } else { 0 };
    T::of_bits(tile.get(i) as u64 | (high as u64) << 32)
}

macro_rules! reduces_long {
    ($($Name:ident = $symbol:literal of $Type:ty;)+) => {$(
        kernel! {
            /// Reduces the values of each row that is long. A block takes a part of a row, and then
            /// another one.
            $Name = $symbol, block THREADS, shared 2 * TILE * PART * <$Type as Stored>::WORDS, cooperative true,
            fn(a: ReduceArgs<$Type>) {
                if a.how.picks() { a.all_long::<true>() } else { a.all_long::<false>() }
            }
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
