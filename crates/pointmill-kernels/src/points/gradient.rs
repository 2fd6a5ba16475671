//! Gradients of weighted sums of features of rows.

use super::gather::{AHEAD, CHANNELS, GatherArgs};
use crate::prim::BLOCK;
use crate::scatter::Stored;
use crate::simt::*;
use pointmill_core::reduction::Number;

/// Rows that more places name are left to warps.
pub const LONG: u32 = 64;
/// Places of a row that are on their way at once.
const GRADIENTS_AHEAD: usize = 8;
/// Places of a long row that are on their way at once, for each lane.
const WARPS_AHEAD: usize = 4;

impl<T: Stored> GatherArgs<T> {
    /// The place that comes at `k` of all lists, and the sum of its item that it is of.
    ///
    /// # Safety
    /// The list of the item has such a place.
    #[inline(always)]
    unsafe fn place(&self, k: u32, item: u32) -> (usize, usize) {
        // SAFETY: the caller's promise.
        let place = unsafe { *self.lists.add(k as usize) };
        let sum = if self.k == 1 { place } else { place / self.k };
        (place as usize, (sum - item * self.count) as usize)
    }

    /// # Safety
    /// There is such a place.
    #[inline(always)]
    unsafe fn weighed(&self, place: usize, value: T) -> T::Wide {
        let value = value.widen();
        // SAFETY: the caller's promise.
        if self.weights.is_null() { value } else { unsafe { (*self.weights.add(place)).times(value) } }
    }

    /// # Safety
    /// Inside a launch with a thread for each group of channels of each row.
    #[inline(always)]
    pub(super) unsafe fn gradient(&self) {
        let own = self.own(self.rows);
        if own.item >= self.items {
            return;
        }
        let row = own.item * self.rows + own.at;
        // SAFETY: there is such a row; lists have places that are there.
        unsafe {
            let (start, end) = (*self.splits.add(row as usize), *self.splits.add(row as usize + 1));
            if (end - start > LONG) & !self.num_long.is_null() {
                if own.group == 0 {
                    let k = atomic_add(self.num_long, 1);
                    if k < self.long_room {
                        *self.long.add(k as usize) = row;
                    }
                }
                return;
            }
            let (from, to) = (self.lines(&own, self.count), self.lines(&own, self.rows));
            let mut sums = [T::Wide::ZERO; CHANNELS];
            let mut k = start;
            while k < end {
                let mut next = [[T::Wide::ZERO; CHANNELS]; GRADIENTS_AHEAD];
                for j in 0..GRADIENTS_AHEAD {
                    let (place, sum) = self.place(if k + (j as u32) < end { k + j as u32 } else { end - 1 }, own.item);
                    for v in 0..CHANNELS {
                        next[j][v] = self.weighed(place, *self.grad.add(from[v].0 + sum * from[v].1));
                    }
                }
                for j in 0..GRADIENTS_AHEAD {
                    for v in 0..CHANNELS {
                        sums[v] = if k + (j as u32) < end { sums[v].plus(next[j][v]) } else { sums[v] };
                    }
                }
                k += GRADIENTS_AHEAD as u32;
            }
            let mut made = [T::narrow(T::Wide::ZERO); CHANNELS];
            for v in 0..CHANNELS {
                made[v] = T::narrow(sums[v].canonical());
            }
            self.write(&own, &to, made);
        }
    }

    /// # Safety
    /// Inside a launch of whole warps, after [`Self::gradient`].
    #[inline(always)]
    pub(super) unsafe fn gradient_of_long(&self) {
        // SAFETY: the rows in the list are there, and so are their places.
        unsafe {
            let rows = if *self.num_long < self.long_room { *self.num_long } else { self.long_room };
            let parts = rows as u64 * self.channels as u64;
            let mut part = (global_index() / WARP) as u64;
            while part < parts {
                let row = *self.long.add((part / self.channels as u64) as usize);
                let (item, at, channel) = (row / self.rows, row % self.rows, (part % self.channels as u64) as u32);
                let (from, apart) = self.line(item, channel, self.count);
                let (start, end) = (*self.splits.add(row as usize), *self.splits.add(row as usize + 1));
                let value = |k: u32| {
                    let (place, sum) = self.place(if k < end { k } else { end - 1 }, item);
                    self.weighed(place, *self.grad.add(from + sum * apart))
                };
                let load = |k: u32| {
                    let mut values = [T::Wide::ZERO; WARPS_AHEAD];
                    for j in 0..WARPS_AHEAD {
                        values[j] = value(k + j as u32 * WARP + lane());
                    }
                    values
                };
                let (mut total, mut k) = (T::Wide::ZERO, start);
                let mut next = load(start);
                while k < end {
                    // The next values are on their way while these are added, lane after lane.
                    let values = next;
                    next = load(k + WARPS_AHEAD as u32 * WARP);
                    for j in 0..WARPS_AHEAD {
                        let bits = T::bits(values[j]);
                        for x in 0..WARP {
                            let other =
                                if T::WORDS == 2 { shuffle_u64(bits, x) } else { shuffle(bits as u32, x) as u64 };
                            total = if k + x < end { total.plus(T::of_bits(other)) } else { total };
                        }
                        k += WARP;
                    }
                }
                if lane() == 0 {
                    let (to, apart) = self.line(item, channel, self.rows);
                    *self.out.add(to + at as usize * apart) = T::narrow(total.canonical());
                }
                part += (grid_size() * BLOCK / WARP) as u64;
            }
        }
    }

    /// # Safety
    /// Inside a launch with a thread for each place.
    #[inline(always)]
    pub(super) unsafe fn gradient_of_weights(&self) {
        let place = global_index();
        if place >= self.items * self.count * self.k {
            return;
        }
        let (sum, of_item) = (place / self.k, self.count * self.k);
        let item = place / of_item;
        // SAFETY: there is such a place; features are read where it names a row.
        unsafe {
            let (row, is_row) = self.row(place as usize);
            let mut total = T::Wide::ZERO;
            let mut channel = 0;
            while is_row & (channel < self.channels) {
                let mut next = [T::Wide::ZERO; AHEAD];
                for j in 0..AHEAD {
                    let c = if channel + (j as u32) < self.channels { channel + j as u32 } else { self.channels - 1 };
                    let (from, of) = (self.line(item, c, self.rows), self.line(item, c, self.count));
                    let feature = (*self.features.add(from.0 + row * from.1)).widen();
                    let at = of.0 + (sum - item * self.count) as usize * of.1;
                    next[j] = feature.times((*self.grad.add(at)).widen());
                }
                for j in 0..AHEAD {
                    total = if channel + (j as u32) < self.channels { total.plus(next[j]) } else { total };
                }
                channel += AHEAD as u32;
            }
            *self.of_weights.add(place as usize) = total.canonical();
        }
    }
}
