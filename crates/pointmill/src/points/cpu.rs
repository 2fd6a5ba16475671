//! Samples and neighbours on the CPU.

use super::buckets::{BUCKET, Buckets, GROUP};
use super::input::{Items, Values, host};
use super::{BallParams, BallPick, Balls, Fill, FurthestParams, FurthestPoints, Neighbours, Start};
use crate::icp::{HostIndex, Kept};
use crate::{Argument, Result, Rows, memory, par};
use pointmill_core::points::{LANES, by_distance, in_ball, of_distance};
use rayon::prelude::*;
use std::ops::Range;

/// Queries that a thread takes at least.
const QUERIES_OF_A_THREAD: usize = 64;

/// Takes the furthest points of each item; `starts` says where its samples begin.
pub(super) fn sample(
    points: &Items<'_>,
    features: Option<&Rows<'_>>,
    starts: &[u32],
    params: &FurthestParams,
    out: &mut FurthestPoints,
) -> Result<()> {
    let values_of = points.host(Argument::Points)?;
    let features = features.map(|rows| host(rows, Argument::Features)).transpose()?;
    let mut left = out.rows.host_values();
    let mut items = Vec::new();
    memory::room(&mut items, points.items())?;
    for (item, span) in starts.windows(2).enumerate() {
        let (own, rest) = left.split_at_mut((span[1] - span[0]) as usize);
        (left, items) = (rest, {
            items.push((item, own));
            items
        });
    }
    let one = |(item, own): (usize, &mut [i32])| {
        let first = points.item(item).start;
        let mut search = Furthest {
            values: values_of,
            features,
            first,
            buckets: Buckets::default(),
            nearest: Vec::new(),
            best: Vec::new(),
        };
        search.run(points.item(item), params.start, own)
    };
    items.into_par_iter().with_max_len(1).with_min_len(par::grain(1)).try_for_each(one)
}

/// The samples of an item.
struct Furthest<'a> {
    values: Values<'a>,
    features: Option<Values<'a>>,
    first: usize,
    buckets: Buckets,
    /// The squared distance of each point from the nearest sample; below 0 where there is none.
    nearest: Vec<f32>,
    /// The largest of each bucket and the least row that has it, then of each group.
    best: Vec<(f32, u32)>,
}

/// The further of two, and of those as far the one with the lesser row.
fn further(a: (f32, u32), b: (f32, u32)) -> (f32, u32) {
    if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a }
}

impl Furthest<'_> {
    fn run(&mut self, range: Range<usize>, start: Start, out: &mut [i32]) -> Result<()> {
        self.buckets.fill(&self.values, range)?;
        let [buckets, groups] = self.buckets.counts();
        let can_be = |row: u32| row != u32::MAX && self.features_of(row).iter().all(|f| f.is_finite());
        self.nearest =
            memory::collect(self.buckets.rows.iter().map(|row| if can_be(*row) { f32::INFINITY } else { -1.0 }))?;
        memory::resize(&mut self.best, buckets + groups, (-1.0, u32::MAX))?;
        for (at, (nearest, row)) in self.nearest.iter().zip(&self.buckets.rows).enumerate() {
            let (bucket, group) = (at / BUCKET, buckets + at / BUCKET / GROUP);
            self.best[bucket] = further(self.best[bucket], (*nearest, *row));
            self.best[group] = further(self.best[group], (*nearest, *row));
        }
        let known =
            || self.buckets.rows.iter().zip(&self.nearest).filter(|(_, near)| **near >= 0.0).map(|(row, _)| *row);
        let Some(mut row) = (match start {
            Start::First => known().min(),
            Start::NearestToMean => self.nearest_to_mean(known().collect()),
        }) else {
            out.fill(-1);
            return Ok(());
        };
        for (number, out) in out.iter_mut().enumerate() {
            if number % 256 == 0 {
                par::check();
            }
            *out = (self.first + row as usize) as i32;
            row = self.next(row);
        }
        Ok(())
    }

    fn features_of(&self, row: u32) -> &[f32] {
        self.features.as_ref().map_or(&[], |features| features.row(self.first + row as usize))
    }

    /// Takes a point, and gives the one that is furthest from all that were taken.
    fn next(&mut self, taken: u32) -> u32 {
        let p = self.values.point(self.first + taken as usize);
        let [buckets, groups] = self.buckets.counts();
        let mut furthest = (-1.0, u32::MAX);
        for group in 0..groups {
            if self.buckets.group_away(group, p) < self.best[buckets + group].0 {
                let mut best = (-1.0, u32::MAX);
                for bucket in self.buckets.of_group(group) {
                    if self.buckets.away(bucket, p) < self.best[bucket].0 {
                        self.best[bucket] = self.look(bucket, p, taken);
                    }
                    best = further(best, self.best[bucket]);
                }
                self.best[buckets + group] = best;
            }
            furthest = further(furthest, self.best[buckets + group]);
        }
        furthest.1
    }

    /// Brings the distances of a bucket up to date.
    fn look(&mut self, bucket: usize, p: [f32; 3], taken: u32) -> (f32, u32) {
        let mut distances = self.buckets.distances(bucket, p);
        let at = bucket * BUCKET..(bucket + 1) * BUCKET;
        let rows = &self.buckets.rows[at.clone()];
        if self.features.is_some() {
            for (d, row) in distances.iter_mut().zip(rows).filter(|(_, row)| **row != u32::MAX) {
                for (a, b) in self.features_of(*row).iter().zip(self.features_of(taken)) {
                    *d += (a - b) * (a - b);
                }
            }
        }
        let nearest = &mut self.nearest[at];
        let mut most = -1.0f32;
        for (near, d) in nearest.iter_mut().zip(distances) {
            *near = if d < *near { d } else { *near };
            most = if *near > most { *near } else { most };
        }
        let least = nearest.iter().zip(rows).map(|(near, row)| if *near == most { *row } else { u32::MAX });
        (most, least.fold(u32::MAX, u32::min))
    }

    /// The one of these rows that is nearest to their mean. Lanes add up rows that lie so many apart,
    /// then each half of the lanes is added to the other.
    fn nearest_to_mean(&self, mut rows: Vec<u32>) -> Option<u32> {
        rows.sort_unstable();
        let mut lanes = [[0.0f64; 3]; LANES];
        let point = |row: u32| self.values.point(self.first + row as usize).map(f64::from);
        for &row in &rows {
            let lane = &mut lanes[row as usize % LANES];
            lane.iter_mut().zip(point(row)).for_each(|(sum, c)| *sum += c);
        }
        let mut half = LANES / 2;
        while half > 0 {
            let (low, high) = lanes.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(a, b)| a.iter_mut().zip(b).for_each(|(a, b)| *a += *b));
            half /= 2;
        }
        let mean = lanes[0].map(|sum| sum / rows.len() as f64);
        let away = |row: u32| {
            let [x, y, z] = point(row);
            let d = [x - mean[0], y - mean[1], z - mean[2]];
            d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        };
        rows.into_iter().map(|row| (away(row), row)).reduce(|a, b| if b.0 < a.0 { b } else { a }).map(|(_, row)| row)
    }
}

/// Runs `one` for each query with what `ready` makes of the points of its item, the first row of
/// these, memory of the thread, and its results.
fn each<S: Send + Sync, K: Default, A: Send, B: Send>(
    (points, queries, argument): (&Items<'_>, &Items<'_>, Argument),
    (a, b): (&mut [A], &mut [B]),
    widths: [usize; 2],
    ready: impl Fn(&Values<'_>, Range<usize>) -> Result<S> + Sync,
    one: impl Fn(&S, u32, [f32; 3], &mut K, (&mut [A], &mut [B])) -> Result<()> + Sync,
) -> Result<()> {
    let (values_of, values) = (points.host(Argument::Points)?, queries.host(argument)?);
    let items = (0..points.items()).into_par_iter().with_max_len(1).with_min_len(par::grain(1));
    let items = items.map(|item| ready(&values_of, points.item(item))).collect::<Result<Vec<S>>>()?;
    let count = queries.rows.len();
    let (a, b) = (&mut a[..count * widths[0]], &mut b[..count * widths[1]]);
    let all = a.par_chunks_exact_mut(widths[0]).zip(b.par_chunks_exact_mut(widths[1])).enumerate();
    all.with_min_len(par::grain(QUERIES_OF_A_THREAD)).try_for_each_init(K::default, |kept, (i, out)| {
        if i % 256 == 0 {
            par::check();
        }
        let item = queries.splits.partition_point(|&split| split as usize <= i) - 1;
        one(&items[item], points.splits[item], values.point(i), kept, out)
    })
}

/// Finds the points of each ball.
pub(super) fn balls(points: &Items<'_>, centres: &Items<'_>, params: &BallParams, out: &mut Balls) -> Result<()> {
    let (most, [least, beyond]) = (params.most as usize, params.squares());
    let by_row = params.pick == BallPick::First;
    let out = (out.rows.host_values(), out.num_points.host_values());
    let ready = |values: &Values<'_>, range| {
        let mut buckets = Buckets::default();
        buckets.fill(values, range).map(|()| buckets)
    };
    let given = (points, centres, Argument::Centres);
    each(given, out, [most, 1], ready, |buckets, first, centre, keys: &mut Vec<u64>, (rows, num_points)| {
        keys.clear();
        buckets.search(centre, beyond, |d, row| {
            if in_ball(d, least, beyond) {
                keys.push(if by_row { u64::from(row) } else { by_distance(d, row) });
                // What is behind the best is let go, so that memory does not grow with the ball.
                if keys.len() >= 8 * most + 64 {
                    keys.select_nth_unstable(most - 1);
                    keys.truncate(most);
                }
            }
        });
        keys.sort_unstable();
        keys.truncate(most);
        num_points[0] = keys.len() as i32;
        let row = |key: &u64| (first + *key as u32) as i32;
        let behind = keys.first().filter(|_| params.fill == Fill::First).map_or(-1, row);
        rows.fill(behind);
        rows.iter_mut().zip(keys.iter()).for_each(|(out, key)| *out = row(key));
        Ok(())
    })
}

/// Finds the nearest neighbours of each query.
pub(super) fn nearest(points: &Items<'_>, queries: &Items<'_>, k: usize, out: &mut Neighbours) -> Result<()> {
    let out = (out.rows.host_values(), out.squared_distances.host_values());
    let ready =
        |values: &Values<'_>, range: Range<usize>| HostIndex::new(&memory::collect(range.map(|i| values.point(i)))?);
    let given = (points, queries, Argument::Queries);
    each(given, out, [k, k], ready, |index, first, query, kept: &mut Kept, (rows, distances)| {
        rows.fill(-1);
        distances.fill(f32::INFINITY);
        let mut places = rows.iter_mut().zip(distances);
        index.nearest(query, k, kept, |key| {
            let (d, at) = of_distance(key);
            places.next().into_iter().for_each(|(row, distance)| (*row, *distance) = ((first + at) as i32, d));
        })
    })
}
