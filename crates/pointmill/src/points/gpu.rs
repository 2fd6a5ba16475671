//! Samples and neighbours where kernels run.

use super::input::Items;
use super::{BallParams, BallPick, Balls, FurthestParams, FurthestPoints, Neighbours};
use crate::device::{Buffer, Stream, Uploaded, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::{Argument, Result, Rows};
use pointmill_core::points::Fill;
use pointmill_kernels::points as kernels;
use pointmill_kernels::points::{BLOCK, BUCKET, order};
use pointmill_kernels::prim::Length;
use pointmill_kernels::simt::WARP;
use std::ptr::{null, null_mut};

workspace! {
    /// Points in buckets.
    struct Index(stream) {
        stream: Stream,
        staging: Buffer<u8>,
        splits: Uploaded,
        starts: Uploaded,
        extent: Buffer<u32>,
        keys: Buffer<u32>,
        sorted_keys: Buffer<u32>,
        rows: Buffer<u32>,
        axes: Buffer<f32>,
        bounds: Buffer<f32>,
        sorter: Sorter<u32>,
    }
}

workspace! {
    /// Memory that sampling uses again.
    pub(super) struct FurthestWorkspace(stream) {
        stream: Stream,
        index: Index,
        features: Buffer<u8>,
        samples: Uploaded,
        nearest: Buffer<f32>,
        best: Buffer<u64>,
        listed: Buffer<u32>,
    }
}

workspace! {
    /// Memory that searches use again.
    pub(super) struct NearestWorkspace(stream) {
        stream: Stream,
        index: Index,
        staging: Buffer<u8>,
        splits: Uploaded,
    }
}

impl Index {
    /// Queues laying points in buckets.
    fn fill(&mut self, points: &Items<'_>) -> Result<(kernels::ItemPoints, kernels::Buckets)> {
        let (n, items) = (points.rows.len(), points.items() as u32);
        self.splits.set(Argument::RowSplits, points.splits.iter().copied())?;
        let buckets = |item| points.item(item).len().div_ceil(BUCKET as usize) as u32;
        let starts = (0..=points.items()).scan(0, |next, item| {
            let start = *next;
            *next += if item < points.items() { buckets(item) } else { 0 };
            Some(start)
        });
        let starts: Vec<u32> = starts.collect();
        let count = starts.last().copied().unwrap_or_default();
        self.starts.set(Argument::RowSplits, starts.into_iter())?;
        self.keys.reserve(n)?;
        self.sorted_keys.reserve(n)?;
        self.rows.reserve(n)?;
        self.axes.reserve(3 * n)?;
        self.bounds.reserve(6 * count as usize)?;
        self.extent.reserve(6)?;
        self.extent.fill_words(u32::MAX, 6)?;
        let passes = passes_for(u64::from(u32::MAX));
        self.sorter.reserve(n as u32, passes)?;
        let input = kernels::ItemPoints {
            values: points.rows.address(&mut self.staging)?,
            columns: points.rows.columns() as u32,
            n: n as u32,
            splits: self.splits.pointer(),
            items,
        };
        let buckets = kernels::Buckets {
            rows: self.rows.pointer(),
            axes: self.axes.pointer(),
            n: n as u32,
            splits: self.splits.pointer(),
            starts: self.starts.pointer(),
            items,
            count,
            bounds: self.bounds.pointer(),
        };
        if n == 0 {
            return Ok((input, buckets));
        }
        let places = kernels::PlacesArgs {
            points: input,
            extent: self.extent.pointer(),
            item_bits: items.next_power_of_two().trailing_zeros(),
            keys: self.keys.pointer(),
        };
        let blocks = input.n.div_ceil(BLOCK);
        // SAFETY: room was made for all points and buckets; what a kernel reads is queued before.
        unsafe {
            self.stream.launch::<kernels::Extent>(blocks, places)?;
            self.stream.launch::<kernels::Places>(blocks, places)?;
            let unsorted = Pairs { keys: self.keys.pointer(), values: null_mut() };
            let sorted = Pairs { keys: self.sorted_keys.pointer(), values: self.rows.pointer() };
            self.sorter.enqueue(unsorted, sorted, Length::known(input.n), passes)?;
            let args = kernels::BucketArgs { points: input, buckets };
            self.stream.launch::<kernels::BucketBounds>(count.div_ceil(BLOCK / WARP), args)?;
        }
        Ok((input, buckets))
    }
}

impl FurthestWorkspace {
    pub(super) fn sample(
        &mut self,
        points: &Items<'_>,
        features: Option<&Rows<'_>>,
        starts: &[u32],
        params: &FurthestParams,
        out: &mut FurthestPoints,
    ) -> Result<()> {
        let (input, buckets) = self.index.fill(points)?;
        self.samples.set(Argument::SampleSplits, starts.iter().copied())?;
        self.nearest.reserve(points.rows.len())?;
        self.best.reserve(buckets.count as usize)?;
        self.listed.reserve(buckets.count as usize)?;
        let args = kernels::FurthestArgs {
            points: input,
            buckets,
            features: features.map_or(Ok(null()), |rows| rows.address(&mut self.features))?,
            feature_columns: features.map_or(0, |rows| rows.columns() as u32),
            start: params.start,
            nearest: self.nearest.pointer(),
            best: self.best.pointer(),
            listed: self.listed.pointer(),
            samples: self.samples.pointer(),
            rows: out.rows.pointer(),
        };
        // SAFETY: room was made for all points, buckets and samples.
        unsafe { self.stream.launch::<kernels::Furthest>(input.items, args) }
    }
}

impl NearestWorkspace {
    /// Queues a search, given how it chooses and where its results go.
    fn search(
        &mut self,
        (points, queries, of_splits): (&Items<'_>, &Items<'_>, Argument),
        most: u32,
        of: impl FnOnce(kernels::NearestArgs) -> kernels::NearestArgs,
    ) -> Result<()> {
        let (_, buckets) = self.index.fill(points)?;
        self.splits.set(of_splits, queries.splits.iter().copied())?;
        let args = of(kernels::NearestArgs {
            buckets,
            queries: kernels::ItemPoints {
                values: queries.rows.address(&mut self.staging)?,
                columns: queries.rows.columns() as u32,
                n: queries.rows.len() as u32,
                splits: self.splits.pointer(),
                items: buckets.items,
            },
            order: order::NEAREST,
            most,
            least: 0.0,
            beyond: f32::INFINITY,
            fill: Fill::None,
            rows: null_mut(),
            distances: null_mut(),
            counts: null_mut(),
        });
        let blocks = args.queries.n.div_ceil(BLOCK / WARP);
        // SAFETY: `of` gives results with room for all queries.
        unsafe {
            if most <= WARP {
                self.stream.launch::<kernels::FewNearest>(blocks, args)
            } else {
                self.stream.launch::<kernels::ManyNearest>(blocks, args)
            }
        }
    }

    pub(super) fn balls(
        &mut self,
        points: &Items<'_>,
        centres: &Items<'_>,
        params: &BallParams,
        out: &mut Balls,
    ) -> Result<()> {
        let [least, beyond] = params.squares();
        self.search((points, centres, Argument::CentreSplits), params.most, |args| kernels::NearestArgs {
            order: if params.pick == BallPick::First { order::FIRST_OF_BALL } else { order::NEAREST_OF_BALL },
            least,
            beyond,
            fill: params.fill,
            rows: out.rows.pointer(),
            counts: out.num_points.pointer(),
            ..args
        })
    }

    pub(super) fn nearest(
        &mut self,
        points: &Items<'_>,
        queries: &Items<'_>,
        k: u32,
        out: &mut Neighbours,
    ) -> Result<()> {
        self.search((points, queries, Argument::QuerySplits), k, |args| kernels::NearestArgs {
            rows: out.rows.pointer(),
            distances: out.squared_distances.pointer(),
            ..args
        })
    }
}
