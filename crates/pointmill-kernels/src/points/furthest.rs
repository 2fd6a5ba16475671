//! Furthest point sampling: each sample is the point that is furthest from those before it.

use super::NONE;
use super::buckets::{Buckets, ItemPoints, is_finite};
use crate::simt::*;
use pointmill_core::points::{LANES, Start, squared_distance};

/// Threads of the block of an item.
pub const FURTHEST_BLOCK: u32 = LANES as u32;
const WARPS: u32 = FURTHEST_BLOCK / WARP;
/// Parts of shared memory: the best key of each warp, the number of buckets that change, lanes of sums.
const LISTED: u32 = 2 * WARPS;
const SUMS: u32 = LISTED + 1;
/// Sums of a lane: x, y, z and how many points.
const TERMS: usize = 4;

/// Arguments of [`Furthest`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FurthestArgs {
    /// The points.
    pub points: ItemPoints,
    /// The same in buckets.
    pub buckets: Buckets,
    /// `[n, feature_columns]`; null without features.
    pub features: *const f32,
    /// Features of a row.
    pub feature_columns: u32,
    /// Where sampling starts.
    pub start: Start,
    /// `[n]`, in the order of buckets: the squared distance from the nearest sample, below 0 of points
    /// that are never taken.
    pub nearest: *mut f32,
    /// `[buckets]`: a number that grows with the largest distance of each, 0 of none.
    pub best: *mut u64,
    /// `[buckets]`: of each item those that change.
    pub listed: *mut u32,
    /// `[items + 1]`: where the samples of each item start.
    pub samples: *const u32,
    /// The rows that are taken.
    pub rows: *mut i32,
}

/// A number that grows with the distance, and of equal distances falls with the row; 0 is none.
#[inline(always)]
const fn key(nearest: f32, row: u32) -> u64 {
    if nearest >= 0.0 { (nearest.to_bits() as u64 + 1) << 32 | !row as u64 } else { 0 }
}

/// Whether something so far away can change a bucket whose best key this is.
#[inline(always)]
fn changes(away: f32, best: u64) -> bool {
    best != 0 && away < f32::from_bits((best >> 32) as u32 - 1)
}

impl FurthestArgs {
    /// Whether a point can be taken.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn is_taken(&self, row: u32) -> bool {
        // SAFETY: the caller promises the row.
        unsafe {
            let mut finite = is_finite(self.points.point(row));
            for k in 0..self.feature_columns {
                finite &= (*self.features.add((row * self.feature_columns + k) as usize)).is_finite();
            }
            finite
        }
    }

    /// The squared distance of two rows in their features, added to that of their points.
    ///
    /// # Safety
    /// There are such rows.
    #[inline(always)]
    unsafe fn with_features(&self, mut squared: f32, row: u32, other: u32) -> f32 {
        let columns = self.feature_columns as usize;
        for k in 0..columns {
            // SAFETY: the caller promises the rows.
            let away = unsafe {
                *self.features.add(row as usize * columns + k) - *self.features.add(other as usize * columns + k)
            };
            squared += away * away;
        }
        squared
    }

    /// The first point of an item.
    ///
    /// # Safety
    /// All threads of the block call; there is such an item.
    #[inline(always)]
    unsafe fn first(&self, first: u32, end: u32) -> u32 {
        // SAFETY: the caller promises the item.
        unsafe {
            if self.start as u32 == Start::First as u32 {
                let mut best = 0;
                let mut row = first + thread_index();
                while row < end && best == 0 {
                    best = if self.is_taken(row) { key(0.0, row) } else { 0 };
                    row += FURTHEST_BLOCK;
                }
                return row_of(block_most(best));
            }
            let mean = self.mean(first, end);
            let mut nearest = f64::INFINITY;
            let mut at = NONE;
            let mut row = first + thread_index();
            while row < end {
                let p = self.points.point(row);
                let d = [p[0] as f64 - mean[0], p[1] as f64 - mean[1], p[2] as f64 - mean[2]];
                let away = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                if (away < nearest) & self.is_taken(row) {
                    (nearest, at) = (away, row);
                }
                row += FURTHEST_BLOCK;
            }
            // The least distance of all, then the least row that has it.
            let least = !block_most(!nearest.to_bits());
            sync_block();
            row_of(block_most(if (at != NONE) & (nearest.to_bits() == least) { key(0.0, at) } else { 0 }))
        }
    }

    /// The mean of the points of an item that can be taken.
    ///
    /// # Safety
    /// All threads of the block call; there is such an item.
    #[inline(always)]
    unsafe fn mean(&self, first: u32, end: u32) -> [f64; 3] {
        let mut sums = [0.0f64; TERMS];
        let mut row = first + thread_index();
        while row < end {
            // SAFETY: below the end of the item.
            unsafe {
                if self.is_taken(row) {
                    let p = self.points.point(row);
                    for k in 0..3 {
                        sums[k] += p[k] as f64;
                    }
                    sums[3] += 1.0;
                }
            }
            row += FURTHEST_BLOCK;
        }
        let lanes = Doubles::at(Shared::at(SUMS), TERMS as u32 * FURTHEST_BLOCK);
        for k in 0..TERMS {
            lanes.set(k as u32 * FURTHEST_BLOCK + thread_index(), sums[k]);
        }
        let mut half = FURTHEST_BLOCK / 2;
        while half > 0 {
            sync_block();
            if thread_index() < half {
                for k in 0..TERMS {
                    let at = k as u32 * FURTHEST_BLOCK + thread_index();
                    lanes.set(at, lanes.get(at) + lanes.get(at + half));
                }
            }
            half /= 2;
        }
        sync_block();
        let count = lanes.get(3 * FURTHEST_BLOCK);
        [lanes.get(0) / count, lanes.get(FURTHEST_BLOCK) / count, lanes.get(2 * FURTHEST_BLOCK) / count]
    }

    /// Brings a bucket up to date with a row that was taken. All lanes of a warp call.
    ///
    /// # Safety
    /// The bucket is of the item, and no other warp has it.
    #[inline(always)]
    unsafe fn update(&self, item: u32, bucket: u32, p: [f32; 3], taken: u32) {
        // SAFETY: the caller promises the bucket.
        unsafe {
            let (place, is_there) = self.buckets.place(item, bucket);
            let mut best = 0;
            if is_there {
                let row = *self.buckets.rows.add(place);
                let squared = self.with_features(squared_distance(self.buckets.at(place), p), row, taken);
                let nearest = self.nearest.add(place);
                let least = if squared < *nearest { squared } else { *nearest };
                *nearest = least;
                best = key(least, row);
            }
            let best = warp_most(best);
            if lane() == 0 {
                *self.best.add(bucket as usize) = best;
            }
        }
    }
}

/// The row of a key; [`NONE`] of none.
#[inline(always)]
const fn row_of(key: u64) -> u32 {
    if key == 0 { NONE } else { !(key as u32) }
}

/// The largest number of all lanes, in every lane.
#[inline(always)]
fn warp_most(value: u64) -> u64 {
    !warp_least_u64(!value)
}

/// The largest number of all threads, in every thread; a barrier comes before the next call.
#[inline(always)]
fn block_most(value: u64) -> u64 {
    let of_warps = Doubles::at(Shared::at(0), WARPS);
    let value = warp_most(value);
    if lane() == 0 {
        of_warps.set_bits(warp(), value);
    }
    sync_block();
    warp_most(if lane() < WARPS { of_warps.bits(lane()) } else { 0 })
}

kernel! {
    /// Takes the samples of an item. One block an item.
    Furthest = "points_furthest", block FURTHEST_BLOCK, shared SUMS + 2 * TERMS as u32 * FURTHEST_BLOCK, cooperative true,
    fn(a: FurthestArgs) {
        let item = block_index();
        let (first, end) = (*a.points.splits.add(item as usize), *a.points.splits.add(item as usize + 1));
        let (sample, last) = (*a.samples.add(item as usize), *a.samples.add(item as usize + 1));
        let (first_bucket, end_bucket) = a.buckets.of_item(item);
        let listed = Shared::at(LISTED);
        if thread_index() == 0 {
            listed.set(0, 0);
        }
        let mut bucket = first_bucket + warp();
        while bucket < end_bucket {
            let (place, is_there) = a.buckets.place(item, bucket);
            let mut best = 0;
            if is_there {
                let row = *a.buckets.rows.add(place);
                let nearest = if a.is_taken(row) { f32::INFINITY } else { -1.0 };
                *a.nearest.add(place) = nearest;
                best = key(nearest, row);
            }
            let best = warp_most(best);
            if lane() == 0 {
                *a.best.add(bucket as usize) = best;
            }
            bucket += WARPS;
        }
        let mut taken = a.first(first, end);
        sync_block();
        let mut number = sample;
        while number < last {
            if thread_index() == 0 {
                *a.rows.add(number as usize) = taken as i32;
            }
            number += 1;
            if taken == NONE {
                continue;
            }
            let p = a.points.point(taken);
            let mut bucket = first_bucket + thread_index();
            while bucket < end_bucket {
                if changes(a.buckets.away(bucket, p), *a.best.add(bucket as usize)) {
                    *a.listed.add((first_bucket + listed.add(0, 1)) as usize) = bucket;
                }
                bucket += FURTHEST_BLOCK;
            }
            sync_block();
            let count = listed.get(0);
            let mut at = warp();
            while at < count {
                a.update(item, *a.listed.add((first_bucket + at) as usize), p, taken);
                at += WARPS;
            }
            sync_block();
            if thread_index() == 0 {
                listed.set(0, 0);
            }
            let mut best = 0;
            let mut bucket = first_bucket + thread_index();
            while bucket < end_bucket {
                let other = *a.best.add(bucket as usize);
                best = if other > best { other } else { best };
                bucket += FURTHEST_BLOCK;
            }
            taken = row_of(block_most(best));
        }
    }
}
