//! The best points of each query: the nearest, or the first of those within a ball.

use super::BLOCK;
use super::buckets::{Buckets, ItemPoints, is_finite};
use crate::simt::*;
use pointmill_core::points::{Fill, by_distance, in_ball, of_distance, squared_distance};

/// Most points of a query.
pub const MOST_NEAREST: u32 = WARP * MANY as u32;
/// Keys of a lane.
const MANY: usize = 8;
/// No key.
const LAST: u64 = u64::MAX;

/// By what points are chosen.
pub mod order {
    /// Their distance.
    pub const NEAREST: u32 = 0;
    /// Their distance, within a ball.
    pub const NEAREST_OF_BALL: u32 = 1;
    /// Their row, within a ball.
    pub const FIRST_OF_BALL: u32 = 2;
}

/// Arguments of [`FewNearest`] and [`ManyNearest`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NearestArgs {
    /// The points.
    pub buckets: Buckets,
    /// The queries, as many items.
    pub queries: ItemPoints,
    /// One of [`order`].
    pub order: u32,
    /// Most points of a query.
    pub most: u32,
    /// The squared radii of a ball.
    pub least: f32,
    /// See `least`; infinite without a ball.
    pub beyond: f32,
    /// What stands behind the points of a ball.
    pub fill: Fill,
    /// `[queries, most]`.
    pub rows: *mut i32,
    /// `[queries, most]`; null for balls.
    pub distances: *mut f32,
    /// `[queries]`: points of each ball; null without balls.
    pub counts: *mut i32,
}

/// The best keys of a query: lane l has those at l, l + 32, and so on, in order.
struct Best<const R: usize> {
    keys: [u64; R],
    /// Where the last one is that counts.
    last: u32,
    /// That one.
    worst: u64,
}

impl<const R: usize> Best<R> {
    /// Puts a key in its place, if it counts. All lanes call, with one key.
    #[inline(always)]
    fn insert(&mut self, key: u64) {
        if key >= self.worst {
            return;
        }
        let mut rank = 0;
        for r in 0..R {
            rank += ballot(self.keys[r] < key).count_ones();
        }
        let mut k = R;
        while k > 0 {
            k -= 1;
            let before = shuffle_u64(self.keys[k], (lane() + WARP - 1) % WARP);
            let carried = if k > 0 { shuffle_u64(self.keys[k - 1], WARP - 1) } else { 0 };
            let moved = if lane() == 0 { carried } else { before };
            let at = k as u32 * WARP + lane();
            self.keys[k] = if at > rank {
                moved
            } else if at == rank {
                key
            } else {
                self.keys[k]
            };
        }
        self.find_worst();
    }

    /// Reads the last key that counts. All lanes call.
    #[inline(always)]
    fn find_worst(&mut self) {
        for r in 0..R {
            let last = shuffle_u64(self.keys[r], self.last % WARP);
            if r as u32 == self.last / WARP {
                self.worst = last;
            }
        }
    }

    /// How far points that count can be.
    #[inline(always)]
    fn within(&self, a: &NearestArgs) -> f32 {
        let ordered = (a.order != order::FIRST_OF_BALL) & (self.worst != LAST);
        if ordered { of_distance(self.worst).0 } else { a.beyond }
    }

    /// Looks at the points of a bucket. All lanes call.
    ///
    /// # Safety
    /// The bucket is of the item.
    #[inline(always)]
    unsafe fn look(&mut self, a: &NearestArgs, (item, bucket): (u32, u32), query: [f32; 3]) {
        let mut key = LAST;
        // SAFETY: the caller promises the bucket.
        unsafe {
            let (place, is_there) = a.buckets.place(item, bucket);
            if is_there {
                let squared = squared_distance(a.buckets.at(place), query);
                let row = *a.buckets.rows.add(place);
                let counts = if a.order == order::NEAREST {
                    !squared.is_nan() & is_finite(a.buckets.at(place))
                } else {
                    in_ball(squared, a.least, a.beyond)
                };
                if counts {
                    key = if a.order == order::FIRST_OF_BALL { row as u64 } else { by_distance(squared, row) };
                }
            }
        }
        if ballot(self.keys[0] != LAST) == 0 {
            // Nothing is there yet: all at once.
            self.keys[0] = sorted(key);
            self.find_worst();
            return;
        }
        let mut left = ballot(key < self.worst);
        while left != 0 {
            let from = left.trailing_zeros();
            left &= left - 1;
            self.insert(shuffle_u64(key, from));
        }
    }
}

/// The numbers of all lanes in order, by a bitonic sort. All lanes call.
#[inline(always)]
fn sorted(mut value: u64) -> u64 {
    let mut width = 2;
    while width <= WARP {
        let mut distance = width / 2;
        while distance > 0 {
            let other = shuffle_u64(value, lane() ^ distance);
            let takes_less = (lane() & distance == 0) == (lane() & width == 0);
            value = if (other < value) == takes_less { other } else { value };
            distance /= 2;
        }
        width *= 2;
    }
    value
}

/// Finds the best points of the query of this warp.
///
/// # Safety
/// What the arguments point to is there.
#[inline(always)]
unsafe fn search<const R: usize>(a: &NearestArgs) {
    let query = global_index() / WARP;
    if query >= a.queries.n {
        return;
    }
    let mut best = Best { keys: [LAST; R], last: a.most - 1, worst: LAST };
    // SAFETY: the caller's promise.
    unsafe {
        let (p, item) = (a.queries.point(query), a.queries.item(query));
        let (first, end) = a.buckets.of_item(item);
        if is_finite(p) {
            let mut start = LAST;
            if a.order != order::FIRST_OF_BALL {
                let mut bucket = first + lane();
                while bucket < end {
                    let key = by_distance(a.buckets.away(bucket, p), bucket);
                    start = if key < start { key } else { start };
                    bucket += WARP;
                }
                start = warp_least_u64(start);
                if (start != LAST) && of_distance(start).0 <= a.beyond {
                    best.look(a, (item, start as u32), p);
                }
            }
            // The warp of buckets with the nearest one first: then fewer of the others are near enough.
            let warps = (end - first).div_ceil(WARP);
            let begin = if start == LAST { 0 } else { (start as u32 - first) / WARP };
            let mut turn = 0;
            while turn < warps {
                let base = first + (begin + turn) % warps * WARP;
                let bucket = base + lane();
                let is_other = (bucket < end) & ((start == LAST) | (bucket != start as u32));
                let away = if is_other { a.buckets.away(bucket, p) } else { f32::INFINITY };
                let mut key = if is_other { by_distance(away, lane()) } else { LAST };
                let mut left = ballot(is_other && away <= best.within(a));
                while left != 0 {
                    // Of those that are ordered by distance the nearest bucket comes next.
                    let from = if a.order == order::FIRST_OF_BALL {
                        left.trailing_zeros()
                    } else {
                        warp_least_u64(key) as u32
                    };
                    key = if lane() == from { LAST } else { key };
                    best.look(a, (item, base + from), p);
                    left &= !(1 << from) & ballot(away <= best.within(a));
                }
                turn += 1;
            }
        }
        let mut count = 0;
        for r in 0..R {
            count += ballot(best.keys[r] != LAST).count_ones();
        }
        let count = if count < a.most { count } else { a.most };
        let repeated = shuffle(best.keys[0] as u32, 0);
        let behind = if (count > 0) & (a.order != order::NEAREST) & (a.fill as u32 == Fill::First as u32) {
            repeated as i32
        } else {
            -1
        };
        for r in 0..R {
            let at = r as u32 * WARP + lane();
            if at < a.most {
                let place = query as usize * a.most as usize + at as usize;
                *a.rows.add(place) = if at < count { best.keys[r] as u32 as i32 } else { behind };
                if !a.distances.is_null() {
                    *a.distances.add(place) = if at < count { of_distance(best.keys[r]).0 } else { f32::INFINITY };
                }
            }
        }
        if (lane() == 0) & !a.counts.is_null() {
            *a.counts.add(query as usize) = count as i32;
        }
    }
}

kernel! {
    /// Finds at most 32 points of each query. A warp a query.
    FewNearest = "points_few_nearest", block BLOCK, shared 0, cooperative true,
    fn(a: NearestArgs) {
        search::<1>(&a);
    }
}

kernel! {
    /// Finds at most [`MOST_NEAREST`] points of each query. A warp a query.
    ManyNearest = "points_many_nearest", block BLOCK, shared 0, cooperative true,
    fn(a: NearestArgs) {
        search::<MANY>(&a);
    }
}
