//! Points of items in buckets of neighbours.

use super::BLOCK;
use crate::prim::last_where;
use crate::simt::*;
use pointmill_core::points::{curve_place, least_squared_distance};
use pointmill_core::sparse::{of_ordered_bits, ordered_bits};

/// Points of a bucket: one a lane.
pub const BUCKET: u32 = WARP;

/// Points of items.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ItemPoints {
    /// `[n, columns]`, x, y, z first.
    pub values: *const f32,
    /// Values of a row.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
    /// `[items + 1]`: where each item starts.
    pub splits: *const u32,
    /// How many items there are.
    pub items: u32,
}

impl ItemPoints {
    /// A point.
    ///
    /// # Safety
    /// There is such a point.
    #[inline(always)]
    pub unsafe fn point(&self, i: u32) -> [f32; 3] {
        // SAFETY: the caller promises the point.
        unsafe {
            let row = self.values.add(i as usize * self.columns as usize);
            [*row, *row.add(1), *row.add(2)]
        }
    }

    /// The last item that starts at or before the point.
    ///
    /// # Safety
    /// There are so many splits.
    #[inline(always)]
    pub unsafe fn item(&self, i: u32) -> u32 {
        // SAFETY: the caller promises the splits.
        last_where(self.items, |item| unsafe { *self.splits.add(item as usize) } <= i)
    }
}

/// Whether all coordinates are finite.
#[inline(always)]
pub(super) fn is_finite(p: [f32; 3]) -> bool {
    p[0].is_finite() & p[1].is_finite() & p[2].is_finite()
}

/// Arguments of [`Extent`] and [`Places`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PlacesArgs {
    /// The points.
    pub points: ItemPoints,
    /// The least x, y, z and the negated largest of finite points, in [`ordered_bits`]; all ones before.
    pub extent: *mut u32,
    /// How many bits of a key the item has, at most 30.
    pub item_bits: u32,
    /// `[n]`: the item, then the place along the curve, all ones of a point that is not finite.
    pub keys: *mut u32,
}

kernel! {
    /// Finds the box around finite points. One thread a point.
    Extent = "points_extent", block BLOCK, shared 0, cooperative true,
    fn(a: PlacesArgs) {
        let i = global_index();
        let mut bits = [u32::MAX; 6];
        if i < a.points.n {
            let p = a.points.point(i);
            if is_finite(p) {
                for k in 0..3 {
                    (bits[k], bits[3 + k]) = (ordered_bits(p[k]), ordered_bits(-p[k]));
                }
            }
        }
        for k in 0..6 {
            let (least, of_warp) = (a.extent.add(k), warp_least(bits[k]));
            if (lane() == 0) & (of_warp < load_relaxed(least)) {
                atomic_min(least, of_warp);
            }
        }
    }
}

kernel! {
    /// Gives each point its key. One thread a point.
    Places = "points_places", block BLOCK, shared 0, cooperative false,
    fn(a: PlacesArgs) {
        let i = global_index();
        if i >= a.points.n {
            return;
        }
        let (mut min, mut max) = ([0.0; 3], [0.0; 3]);
        for k in 0..3 {
            min[k] = of_ordered_bits(load_relaxed(a.extent.add(k)));
            max[k] = -of_ordered_bits(load_relaxed(a.extent.add(3 + k)));
        }
        let p = a.points.point(i);
        let place = if is_finite(p) { curve_place(min, max, p) << 2 } else { u32::MAX };
        let item = a.points.item(i);
        let key = if a.item_bits == 0 { place } else { item << (32 - a.item_bits) | place >> a.item_bits };
        *a.keys.add(i as usize) = key;
    }
}

/// Points of items in buckets: those of an item lie one after the other, the last may have fewer points.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Buckets {
    /// `[n]`: the rows, in order.
    pub rows: *const u32,
    /// `[3, n]`: the coordinates, in order.
    pub axes: *mut f32,
    /// How many points there are.
    pub n: u32,
    /// `[items + 1]`: where the points of each item start.
    pub splits: *const u32,
    /// `[items + 1]`: where the buckets of each item start.
    pub starts: *const u32,
    /// How many items there are.
    pub items: u32,
    /// How many buckets there are.
    pub count: u32,
    /// `[6, count]`: least x, y, z and largest x, y, z of finite points; infinite, the other way round,
    /// where a bucket has none.
    pub bounds: *mut f32,
}

impl Buckets {
    /// The first bucket of an item, and the one behind its last.
    ///
    /// # Safety
    /// There is such an item.
    #[inline(always)]
    pub unsafe fn of_item(&self, item: u32) -> (u32, u32) {
        // SAFETY: the caller promises the item.
        unsafe { (*self.starts.add(item as usize), *self.starts.add(item as usize + 1)) }
    }

    /// The place of this lane's point of a bucket, and whether there is one.
    ///
    /// # Safety
    /// The bucket is of the item.
    #[inline(always)]
    pub unsafe fn place(&self, item: u32, bucket: u32) -> (usize, bool) {
        // SAFETY: the caller promises the item.
        unsafe {
            let (first, end) = (*self.splits.add(item as usize), *self.splits.add(item as usize + 1));
            let at = first + (bucket - *self.starts.add(item as usize)) * BUCKET + lane();
            (at as usize, at < end)
        }
    }

    /// The point at a place.
    ///
    /// # Safety
    /// There is such a place, and [`BucketBounds`] has run.
    #[inline(always)]
    pub unsafe fn at(&self, place: usize) -> [f32; 3] {
        let n = self.n as usize;
        // SAFETY: the caller promises the place.
        unsafe { [*self.axes.add(place), *self.axes.add(n + place), *self.axes.add(2 * n + place)] }
    }

    /// The least squared distance that a point of a bucket can have.
    ///
    /// # Safety
    /// There is such a bucket, and [`BucketBounds`] has run.
    #[inline(always)]
    pub unsafe fn away(&self, bucket: u32, p: [f32; 3]) -> f32 {
        let (mut min, mut max) = ([0.0; 3], [0.0; 3]);
        for k in 0..3 {
            // SAFETY: the caller promises the bucket.
            unsafe {
                min[k] = *self.bounds.add(k * self.count as usize + bucket as usize);
                max[k] = *self.bounds.add((3 + k) * self.count as usize + bucket as usize);
            }
        }
        least_squared_distance(min, max, p)
    }
}

/// Arguments of [`BucketBounds`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BucketArgs {
    /// The points.
    pub points: ItemPoints,
    /// What is filled.
    pub buckets: Buckets,
}

kernel! {
    /// Lays coordinates in order, and finds the box of each bucket. A warp a bucket.
    BucketBounds = "points_bucket_bounds", block BLOCK, shared 0, cooperative true,
    fn(a: BucketArgs) {
        let bucket = global_index() / WARP;
        if bucket >= a.buckets.count {
            return;
        }
        let item = last_where(a.buckets.items, |item| *a.buckets.starts.add(item as usize) <= bucket);
        let (place, is_there) = a.buckets.place(item, bucket);
        let mut bits = [u32::MAX; 6];
        if is_there {
            let p = a.points.point(*a.buckets.rows.add(place));
            for k in 0..3 {
                *a.buckets.axes.add(k * a.buckets.n as usize + place) = p[k];
            }
            if is_finite(p) {
                for k in 0..3 {
                    (bits[k], bits[3 + k]) = (ordered_bits(p[k]), ordered_bits(-p[k]));
                }
            }
        }
        for k in 0..6 {
            let least = warp_least(bits[k]);
            let bound = if least == u32::MAX { f32::INFINITY } else { of_ordered_bits(least) };
            if lane() == 0 {
                let signed = if k < 3 { bound } else { -bound };
                *a.buckets.bounds.add(k * a.buckets.count as usize + bucket as usize) = signed;
            }
        }
    }
}
