//! Gradients of weighted sums of features of rows.

use super::gather::{AHEAD, CHANNELS, GatherArgs};
use crate::prim::{BLOCK, WARPS};
use crate::scatter::{Bf16, F16, Stored};
use crate::simt::*;
use pointmill_core::reduction::Number;

/// Rows that more places name are left to warps.
pub const LONG: u32 = 64;
/// Places of a row that are on their way at once.
const GRADIENTS_AHEAD: usize = 8;
/// Words of shared memory of a block that adds up long rows.
const STAGE: u32 = 8192;

/// Values of places of a long row, a channel for each lane.
struct Stage<T> {
    words: Shared,
    of: core::marker::PhantomData<T>,
}

impl<T: Stored> Stage<T> {
    /// Places that there is room for.
    const PLACES: u32 = STAGE / WARP / T::WORDS;

    #[inline(always)]
    fn new() -> Self {
        Self { words: Shared::at(0), of: core::marker::PhantomData }
    }

    #[inline(always)]
    fn set(&self, place: u32, value: T::Wide) {
        let (at, bits) = (place * WARP * T::WORDS + lane(), T::bits(value));
        self.words.set(at, bits as u32);
        if T::WORDS == 2 {
            self.words.set(at + WARP, (bits >> 32) as u32);
        }
    }

    #[inline(always)]
    fn get(&self, place: u32) -> T::Wide {
        let at = place * WARP * T::WORDS + lane();
        let high = if T::WORDS == 2 { self.words.get(at + WARP) } else { 0 };
        T::of_bits((high as u64) << 32 | self.words.get(at) as u64)
    }
}

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
    /// Inside a launch of whole blocks with [`STAGE`] words, after [`Self::gradient`].
    #[inline(always)]
    unsafe fn gradient_of_long(&self) {
        let stage = Stage::<T>::new();
        // SAFETY: the rows in the list are there, and so are their places.
        unsafe {
            let rows = if *self.num_long < self.long_room { *self.num_long } else { self.long_room };
            let groups = self.channels.div_ceil(WARP);
            let mut part = block_index() as u64;
            while part < rows as u64 * groups as u64 {
                let row = *self.long.add((part / groups as u64) as usize);
                let (item, at) = (row / self.rows, row % self.rows);
                let channel = (part % groups as u64) as u32 * WARP + lane();
                let (from, apart) = self.line(item, if channel < self.channels { channel } else { 0 }, self.count);
                let (start, end) = (*self.splits.add(row as usize), *self.splits.add(row as usize + 1));
                let (mut total, mut k) = (T::Wide::ZERO, start);
                while k < end {
                    let here = if end - k < Stage::<T>::PLACES { end - k } else { Stage::<T>::PLACES };
                    // Each warp brings every eighth place, a lane its channel of it.
                    let mut x = warp();
                    while x < here {
                        let mut next = [T::Wide::ZERO; GRADIENTS_AHEAD];
                        for j in 0..GRADIENTS_AHEAD {
                            let there = x + j as u32 * WARPS;
                            let (place, sum) = self.place(k + if there < here { there } else { x }, item);
                            next[j] = self.weighed(place, *self.grad.add(from + sum * apart));
                        }
                        for j in 0..GRADIENTS_AHEAD {
                            if x + (j as u32) * WARPS < here {
                                stage.set(x + j as u32 * WARPS, next[j]);
                            }
                        }
                        x += WARPS * GRADIENTS_AHEAD as u32;
                    }
                    sync_block();
                    if warp() == 0 {
                        for x in 0..here {
                            total = total.plus(stage.get(x));
                        }
                    }
                    sync_block();
                    k += here;
                }
                if (warp() == 0) & (channel < self.channels) {
                    let (to, apart) = self.line(item, channel, self.rows);
                    *self.out.add(to + at as usize * apart) = T::narrow(total.canonical());
                }
                part += grid_size() as u64;
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

macro_rules! gradients {
    ($($Type:ty: $Gradient:ident = $gradient:literal, $Long:ident = $long:literal, $Weights:ident = $weights:literal;)+) => {$(
        kernel! {
            /// Adds up what each row gets of the gradient of the sums, place after place. One thread some
            /// channels of a row.
            $Gradient = $gradient, block BLOCK, shared 0, cooperative false,
            fn(a: GatherArgs<$Type>) { a.gradient() }
        }
        kernel! {
            /// The same for rows that many places name. A block takes 32 channels of a row, and then others.
            $Long = $long, block BLOCK, shared STAGE, cooperative true,
            fn(a: GatherArgs<$Type>) { a.gradient_of_long() }
        }
        kernel! {
            /// Multiplies the features of each place by the gradient of its sum. One thread a place.
            $Weights = $weights, block BLOCK, shared 0, cooperative false,
            fn(a: GatherArgs<$Type>) { a.gradient_of_weights() }
        }
    )+};
}

gradients! {
    f32: GradientF32 = "points_gradient_f32", LongF32 = "points_long_f32", WeightsF32 = "points_weights_f32";
    f64: GradientF64 = "points_gradient_f64", LongF64 = "points_long_f64", WeightsF64 = "points_weights_f64";
    F16: GradientF16 = "points_gradient_f16", LongF16 = "points_long_f16", WeightsF16 = "points_weights_f16";
    Bf16: GradientBf16 = "points_gradient_bf16", LongBf16 = "points_long_bf16", WeightsBf16 = "points_weights_bf16";
}
