//! Weighted sums of features of rows, and their gradients.

use crate::prim::BLOCK;
use crate::scatter::groups::row_and_group;
use crate::scatter::{Bf16, F16, RowNumbers, Stored};
use crate::simt::*;
use pointmill_core::reduction::Number;

/// Channels of a thread.
pub const CHANNELS: usize = 4;
/// Neighbours and places that are on their way at once.
pub(super) const AHEAD: usize = 4;

/// Arguments of [`GatherF32`] and its kin, of their gradients, and of the long rows of these.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GatherArgs<T: Stored> {
    /// `[items, channels, rows]`, or where channels come last `[items, rows, channels]`.
    pub features: *const T,
    /// `[items, count, k]`; null where each is 1, and `k` too.
    pub weights: *const T::Wide,
    /// `[items, count, k]`: rows that count from the first of the item, -1 for none.
    pub index: RowNumbers,
    /// The gradient of the result: `[items, channels, count]`, or `[items, count, channels]`.
    pub grad: *const T,
    /// The number of items.
    pub items: u32,
    /// Channels, at least one.
    pub channels: u32,
    /// Rows of an item.
    pub rows: u32,
    /// Sums of an item.
    pub count: u32,
    /// Neighbours of a sum, at least one.
    pub k: u32,
    /// Whether channels come last.
    pub last: u32,
    /// `[items * rows + 1]`: where the list of each row of all items starts.
    pub splits: *const u32,
    /// The places that name each row, row after row, ascending in each.
    pub lists: *const u32,
    /// How many rows are long, 0 before; null where a row of any length is reduced by a thread.
    pub num_long: *mut u32,
    /// Rows that are long, in any order.
    pub long: *mut u32,
    /// Rows that there is room for: no more are long.
    pub long_room: u32,
    /// The sums, or the gradient of the features.
    pub out: *mut T,
    /// The gradient of the weights.
    pub of_weights: *mut T::Wide,
    /// Becomes 0 where a number is no row.
    pub ok: *mut u32,
}

/// What a thread has: an item, a row or sum of it, and channels that lie `groups` apart.
pub(super) struct Own {
    pub(super) item: u32,
    pub(super) at: u32,
    pub(super) group: u32,
    pub(super) groups: u32,
}

impl<T: Stored> GatherArgs<T> {
    /// What this thread has, where an item has so many rows or sums: neighbouring threads have
    /// neighbouring values.
    #[inline(always)]
    pub(super) fn own(&self, len: u32) -> Own {
        let groups = self.channels.div_ceil(CHANNELS as u32);
        if self.last != 0 {
            let (slow, group) = row_and_group(groups);
            Own { item: slow / len, at: slow % len, group, groups }
        } else {
            let (slow, at) = row_and_group(len);
            Own { item: slow / groups, at, group: slow % groups, groups }
        }
    }

    /// Where the values of a channel of an item start, and how far apart its rows are, of so many.
    #[inline(always)]
    pub(super) fn line(&self, item: u32, channel: u32, len: u32) -> (usize, usize) {
        let first = item as usize * len as usize * self.channels as usize;
        if self.last != 0 {
            (first + channel as usize, self.channels as usize)
        } else {
            (first + channel as usize * len as usize, 1)
        }
    }

    /// The lines of the channels of a thread; of one that is not there that of the last one.
    #[inline(always)]
    pub(super) fn lines(&self, own: &Own, len: u32) -> [(usize, usize); CHANNELS] {
        let mut lines = [(0, 0); CHANNELS];
        for v in 0..CHANNELS {
            let channel = own.group + v as u32 * own.groups;
            let channel = if channel < self.channels { channel } else { self.channels - 1 };
            lines[v] = self.line(own.item, channel, len);
        }
        lines
    }

    /// Writes the sums of the channels of a thread.
    ///
    /// # Safety
    /// There is such a row or sum.
    #[inline(always)]
    pub(super) unsafe fn write(&self, own: &Own, lines: &[(usize, usize); CHANNELS], values: [T; CHANNELS]) {
        for v in 0..CHANNELS {
            if own.group + v as u32 * own.groups < self.channels {
                // SAFETY: the caller's promise.
                unsafe { *self.out.add(lines[v].0 + own.at as usize * lines[v].1) = values[v] };
            }
        }
    }

    /// The row of a place, and whether it is one; 0 where it is not.
    ///
    /// # Safety
    /// There is such a place.
    #[inline(always)]
    pub(super) unsafe fn row(&self, place: usize) -> (usize, bool) {
        // SAFETY: the caller's promise.
        unsafe {
            let row = self.index.get(place);
            let is_row = (row >= 0) & (row < self.rows as i64);
            if !is_row & (row != -1) & !self.ok.is_null() {
                atomic_min(self.ok, 0);
            }
            (if is_row { row as usize } else { 0 }, is_row)
        }
    }

    /// # Safety
    /// Inside a launch with a thread for each group of channels of each sum.
    #[inline(always)]
    unsafe fn gather(&self) {
        let own = self.own(self.count);
        if own.item >= self.items {
            return;
        }
        let (from, to) = (self.lines(&own, self.rows), self.lines(&own, self.count));
        let first = (own.item as usize * self.count as usize + own.at as usize) * self.k as usize;
        let mut taken = [T::narrow(T::Wide::ZERO); CHANNELS];
        // SAFETY: there are such places; features are read where there are rows.
        unsafe {
            if self.weights.is_null() {
                let (row, is_row) = self.row(first);
                if is_row {
                    for v in 0..CHANNELS {
                        taken[v] = *self.features.add(from[v].0 + row * from[v].1);
                    }
                }
                return self.write(&own, &to, taken);
            }
            let sums = if self.k == 3 { self.sums::<3>(first, &from) } else { self.sums::<AHEAD>(first, &from) };
            for v in 0..CHANNELS {
                taken[v] = T::narrow(sums[v].canonical());
            }
            self.write(&own, &to, taken);
        }
    }

    /// The weighted sums of the channels of a thread, of the places from `first` on; so many are on their way at
    /// once.
    ///
    /// # Safety
    /// There are such places.
    #[inline(always)]
    unsafe fn sums<const A: usize>(&self, first: usize, from: &[(usize, usize); CHANNELS]) -> [T::Wide; CHANNELS] {
        let mut sums = [T::Wide::ZERO; CHANNELS];
        let mut k = 0;
        while k < self.k {
            let mut weights = [T::Wide::ZERO; A];
            let mut live = [false; A];
            let mut next = [[T::narrow(T::Wide::ZERO); CHANNELS]; A];
            for j in 0..A {
                // Past the end comes the last one again, which does not count.
                let is_there = k + (j as u32) < self.k;
                let place = first + if is_there { k as usize + j } else { self.k as usize - 1 };
                // SAFETY: the caller's promise; features are read where there are rows.
                unsafe {
                    let (row, is_row) = self.row(place);
                    weights[j] = *self.weights.add(place);
                    live[j] = is_there & is_row;
                    if self.rows > 0 {
                        for v in 0..CHANNELS {
                            next[j][v] = *self.features.add(from[v].0 + row * from[v].1);
                        }
                    }
                }
            }
            for j in 0..A {
                for v in 0..CHANNELS {
                    let sum = sums[v].plus(weights[j].times(next[j][v].widen()));
                    sums[v] = if live[j] { sum } else { sums[v] };
                }
            }
            k += A as u32;
        }
        sums
    }
}

macro_rules! gathers {
    ($($Type:ty: $Gather:ident = $gather:literal;)+) => {$(
        kernel! {
            /// Adds up the weighted features of the rows that each sum names. One thread some channels of a sum.
            $Gather = $gather, block BLOCK, shared 0, cooperative false,
            fn(a: GatherArgs<$Type>) { a.gather() }
        }
    )+};
}

gathers! {
    f32: GatherF32 = "points_gather_f32";
    f64: GatherF64 = "points_gather_f64";
    F16: GatherF16 = "points_gather_f16";
    Bf16: GatherBf16 = "points_gather_bf16";
}
