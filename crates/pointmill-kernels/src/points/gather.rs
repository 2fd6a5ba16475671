//! Weighted sums of features of rows, and their gradients.

use crate::prim::BLOCK;
use crate::scatter::groups::row_and_group;
use crate::scatter::{Bf16, F16, RowNumbers, Stored};
use crate::simt::*;
use pointmill_core::reduction::Number;

/// Rows that more places name are left to warps.
pub const LONG: u32 = 64;
/// Channels of a thread.
pub const CHANNELS: usize = 4;
/// Neighbours and places that are on their way at once.
const AHEAD: usize = 4;

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
struct Own {
    item: u32,
    at: u32,
    group: u32,
    groups: u32,
}

impl<T: Stored> GatherArgs<T> {
    /// What this thread has, where an item has so many rows or sums: neighbouring threads have
    /// neighbouring values.
    #[inline(always)]
    fn own(&self, len: u32) -> Own {
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
    fn line(&self, item: u32, channel: u32, len: u32) -> (usize, usize) {
        let first = item as usize * len as usize * self.channels as usize;
        if self.last != 0 {
            (first + channel as usize, self.channels as usize)
        } else {
            (first + channel as usize * len as usize, 1)
        }
    }

    /// The lines of the channels of a thread; of one that is not there that of the last one.
    #[inline(always)]
    fn lines(&self, own: &Own, len: u32) -> [(usize, usize); CHANNELS] {
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
    unsafe fn write(&self, own: &Own, lines: &[(usize, usize); CHANNELS], values: [T; CHANNELS]) {
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
    unsafe fn row(&self, place: usize) -> (usize, bool) {
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
        let mut sums = [T::Wide::ZERO; CHANNELS];
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
            let mut k = 0;
            while k < self.k {
                let mut weights = [T::Wide::ZERO; AHEAD];
                let mut live = [false; AHEAD];
                let mut next = [taken; AHEAD];
                for j in 0..AHEAD {
                    // Past the end comes the last one again, which does not count.
                    let is_there = k + (j as u32) < self.k;
                    let place = first + if is_there { k as usize + j } else { self.k as usize - 1 };
                    let (row, is_row) = self.row(place);
                    weights[j] = *self.weights.add(place);
                    live[j] = is_there & is_row;
                    if self.rows > 0 {
                        for v in 0..CHANNELS {
                            next[j][v] = *self.features.add(from[v].0 + row * from[v].1);
                        }
                    }
                }
                for j in 0..AHEAD {
                    for v in 0..CHANNELS {
                        let sum = sums[v].plus(weights[j].times(next[j][v].widen()));
                        sums[v] = if live[j] { sum } else { sums[v] };
                    }
                }
                k += AHEAD as u32;
            }
            for v in 0..CHANNELS {
                taken[v] = T::narrow(sums[v].canonical());
            }
            self.write(&own, &to, taken);
        }
    }

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
    unsafe fn gradient(&self) {
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
                let mut next = [[T::Wide::ZERO; CHANNELS]; AHEAD];
                for j in 0..AHEAD {
                    let (place, sum) = self.place(if k + (j as u32) < end { k + j as u32 } else { end - 1 }, own.item);
                    for v in 0..CHANNELS {
                        next[j][v] = self.weighed(place, *self.grad.add(from[v].0 + sum * from[v].1));
                    }
                }
                for j in 0..AHEAD {
                    for v in 0..CHANNELS {
                        sums[v] = if k + (j as u32) < end { sums[v].plus(next[j][v]) } else { sums[v] };
                    }
                }
                k += AHEAD as u32;
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
    unsafe fn gradient_of_long(&self) {
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
                let (mut total, mut k) = (T::Wide::ZERO, start);
                let mut next = value(start + lane());
                while k < end {
                    // The next values are on their way while these are added, lane after lane.
                    let bits = T::bits(next);
                    next = value(k + WARP + lane());
                    for x in 0..WARP {
                        let other = if T::WORDS == 2 { shuffle_u64(bits, x) } else { shuffle(bits as u32, x) as u64 };
                        total = if k + x < end { total.plus(T::of_bits(other)) } else { total };
                    }
                    k += WARP;
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
    unsafe fn gradient_of_weights(&self) {
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

macro_rules! gathers {
    ($($Type:ty: $Gather:ident = $gather:literal, $Gradient:ident = $gradient:literal, $Long:ident = $long:literal,
        $Weights:ident = $weights:literal;)+) => {$(
        kernel! {
            /// Adds up the weighted features of the rows that each sum names. One thread some channels of a sum.
            $Gather = $gather, block BLOCK, shared 0, cooperative false,
            fn(a: GatherArgs<$Type>) { a.gather() }
        }
        kernel! {
            /// Adds up what each row gets of the gradient of the sums, place after place. One thread some
            /// channels of a row.
            $Gradient = $gradient, block BLOCK, shared 0, cooperative false,
            fn(a: GatherArgs<$Type>) { a.gradient() }
        }
        kernel! {
            /// The same for rows that many places name. A warp takes a channel of a row, and then another one.
            $Long = $long, block BLOCK, shared 0, cooperative true,
            fn(a: GatherArgs<$Type>) { a.gradient_of_long() }
        }
        kernel! {
            /// Multiplies the features of each place by the gradient of its sum. One thread a place.
            $Weights = $weights, block BLOCK, shared 0, cooperative false,
            fn(a: GatherArgs<$Type>) { a.gradient_of_weights() }
        }
    )+};
}

gathers! {
    f32: GatherF32 = "points_gather_f32", GradientF32 = "points_gradient_f32",
        LongF32 = "points_long_f32", WeightsF32 = "points_weights_f32";
    f64: GatherF64 = "points_gather_f64", GradientF64 = "points_gradient_f64",
        LongF64 = "points_long_f64", WeightsF64 = "points_weights_f64";
    F16: GatherF16 = "points_gather_f16", GradientF16 = "points_gradient_f16",
        LongF16 = "points_long_f16", WeightsF16 = "points_weights_f16";
    Bf16: GatherBf16 = "points_gather_bf16", GradientBf16 = "points_gradient_bf16",
        LongBf16 = "points_long_bf16", WeightsBf16 = "points_weights_bf16";
}
