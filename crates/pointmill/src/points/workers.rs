//! Samplers and searchers that keep their memory.

use super::input::{Items, checked};
use super::result::{BallsSizes, FurthestSizes, NeighboursSizes};
use super::{BallParams, Balls, FurthestParams, FurthestPoints, KnnParams, Neighbours, cpu, gpu};
use crate::device::{Output, Side, Stream};
use crate::worker::{Input, InputKind, Inputs, Worker};
use crate::{Argument, Dtype, Result, Rows, ensure};

const POINTS: Input = Input::new(
    Argument::Points,
    InputKind::Rows(None, &[Dtype::F32]),
    "[N, C] (x, y, z first)",
    "x, y, z first, in metres; columns behind them are not read. A point that is not finite is never found.",
);
const ROW_SPLITS: Input = splits(
    Argument::RowSplits,
    "For a batch, where the points of each item start; those of different items never meet.",
);

/// Where something of each item starts.
const fn splits(argument: Argument, words: &'static str) -> Input {
    Input::new(argument, InputKind::Splits, "[items + 1]", words).optional()
}

/// Other points.
const fn others(argument: Argument, words: &'static str) -> Input {
    Input::new(argument, InputKind::Rows(None, &[Dtype::F32]), "[M, C] (x, y, z first)", words)
}

/// Declares a worker over points: its struct with the methods that all have, and what doors ask of it.
macro_rules! workers {
    ($(
        $(#[$meta:meta])*
        $name:ident($params:ident, $workspace:ident) -> $out:ident, $door:literal: [$($input:expr),+ $(,)?], $run:expr;
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name {
            stream: Stream,
            params: $params,
            side: Side<(), gpu::$workspace>,
        }

        impl $name {
            /// A worker whose work goes to `stream`.
            ///
            /// # Errors
            /// Parameters out of range; out of memory.
            pub fn new(stream: &Stream, params: &$params) -> Result<Self> {
                params.validate()?;
                let side = Side::new(stream, || Ok(()), || gpu::$workspace::new(stream))?;
                Ok(Self { stream: stream.clone(), params: *params, side })
            }

            /// An empty result to be filled; its buffers grow as needed and are used again.
            ///
            /// # Errors
            /// Out of memory.
            pub fn output(&self) -> Result<$out> {
                $out::empty(&self.stream)
            }
        }

        impl Worker for $name {
            type Params = $params;
            type Out = $out;
            const NAME: &'static str = $door;
            const INPUTS: &'static [Input] = &[$($input),+];

            fn new(stream: &Stream, params: &$params) -> Result<Self> {
                Self::new(stream, params)
            }

            fn output(&self) -> Result<$out> {
                self.output()
            }

            fn run(&mut self, inputs: &Inputs<'_>, out: &mut $out) -> Result<()> {
                let run: fn(&mut Self, &Inputs<'_>, &mut $out) -> Result<()> = $run;
                run(self, inputs, out)
            }
        }
    )+};
}

workers! {
    /// Takes furthest points call after call, and keeps its memory: on a GPU 44 bytes a point.
    ///
    /// ```
    /// use pointmill::points::{FurthestParams, FurthestSampler};
    /// use pointmill::{Device, Rows};
    /// let params = FurthestParams { number: 2, ..FurthestParams::default() };
    /// let mut sampler = FurthestSampler::new(&Device::auto().stream()?, &params)?;
    /// let mut out = sampler.output()?;
    /// for far in [4.0f32, 9.0] {
    ///     sampler.run(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [far, 0.0, 0.0]], None, [None; 2], &mut out)?;
    ///     assert_eq!(out.read()?.rows, [0, 2]);
    /// }
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    FurthestSampler(FurthestParams, FurthestWorkspace) -> FurthestPoints, "furthest_point_sample": [
        POINTS,
        Input::new(
            Argument::Features,
            InputKind::Rows(None, &[Dtype::F32]),
            "[N, F]",
            "Their squared differences are added to the squared distance.",
        )
        .optional(),
        ROW_SPLITS,
        splits(Argument::SampleSplits, "Where the samples of each item start, in place of `number` for each."),
    ], |worker, inputs, out| {
        let splits = [Argument::RowSplits, Argument::SampleSplits].map(|argument| inputs.splits(argument));
        let features = inputs.rows(Argument::Features).ok();
        worker.run(inputs.rows(Argument::Points)?, features, splits, out)
    };

    /// Finds the points of balls call after call, and keeps its memory: on a GPU 32 bytes a point.
    ///
    /// ```
    /// use pointmill::Device;
    /// use pointmill::points::{BallParams, BallQuery};
    /// let mut query = BallQuery::new(&Device::auto().stream()?, &BallParams { most: 2, ..BallParams::default() })?;
    /// let mut out = query.output()?;
    /// query.run(&[[0.0f32, 0.0, 0.0], [0.5, 0.0, 0.0]], &[[0.1f32, 0.0, 0.0]], [None; 2], &mut out)?;
    /// assert_eq!(out.read()?.num_points, [2]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    BallQuery(BallParams, NearestWorkspace) -> Balls, "ball_query": [
        POINTS,
        others(Argument::Centres, "Centres of balls."),
        ROW_SPLITS,
        splits(Argument::CentreSplits, "Where the centres of each item start."),
    ], |worker, inputs, out| {
        let splits = [Argument::RowSplits, Argument::CentreSplits].map(|argument| inputs.splits(argument));
        worker.run(inputs.rows(Argument::Points)?, inputs.rows(Argument::Centres)?, splits, out)
    };

    /// Finds nearest neighbours call after call, and keeps its memory: on a GPU 32 bytes a point.
    ///
    /// ```
    /// use pointmill::Device;
    /// use pointmill::points::{Knn, KnnParams};
    /// let mut knn = Knn::new(&Device::auto().stream()?, &KnnParams { k: 1 })?;
    /// let mut out = knn.output()?;
    /// knn.run(&[[0.0f32, 0.0, 0.0], [0.5, 0.0, 0.0]], &[[0.4f32, 0.0, 0.0]], [None; 2], &mut out)?;
    /// assert_eq!(out.read()?.rows, [1]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    Knn(KnnParams, NearestWorkspace) -> Neighbours, "knn": [
        POINTS,
        others(Argument::Queries, "What is searched for."),
        ROW_SPLITS,
        splits(Argument::QuerySplits, "Where the queries of each item start."),
    ], |worker, inputs, out| {
        let splits = [Argument::RowSplits, Argument::QuerySplits].map(|argument| inputs.splits(argument));
        worker.run(inputs.rows(Argument::Points)?, inputs.rows(Argument::Queries)?, splits, out)
    };
}

impl FurthestSampler {
    /// Takes the furthest points of each item. See [`furthest_point_sample`](super::furthest_point_sample).
    /// `splits` say where the points of each item start, and where its samples do; without the second
    /// each item has as many as the parameters say. No call waits; one that is recorded in a graph must
    /// have the splits of the call before, and keeps them.
    ///
    /// # Errors
    /// As [`furthest_point_sample`](super::furthest_point_sample); a result on another device.
    pub fn run<'a>(
        &mut self,
        points: impl Into<Rows<'a>>,
        features: Option<Rows<'a>>,
        splits: [Option<&[usize]>; 2],
        out: &mut FurthestPoints,
    ) -> Result<()> {
        let Self { stream, params, side } = self;
        let points = Items::new((points.into(), Argument::Points), (splits[0], Argument::RowSplits), stream)?;
        if let Some(features) = &features {
            features.check(Argument::Features, stream, &[Dtype::F32])?;
            let expected = format_args!("{} rows, as many as points", points.rows.len());
            ensure(features.len() == points.rows.len(), Argument::Features, expected, features.len())?;
        }
        stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let each: Vec<usize> = (0..=points.items()).map(|item| item.saturating_mul(params.number as usize)).collect();
        let all = splits[1].unwrap_or(&each);
        let samples = all.last().copied().unwrap_or_default();
        ensure(samples < 1 << 30, Argument::Number, "fewer than 2^30 samples of all items", samples)?;
        let expected = format_args!("{} numbers, one more than items", each.len());
        ensure(all.len() == each.len(), Argument::SampleSplits, expected, all.len())?;
        let starts = checked(Some(all), Argument::SampleSplits, samples)?;
        let sizes = FurthestSizes { samples };
        let streams = [points.rows.stream(), features.as_ref().and_then(Rows::stream)];
        side.fill(
            stream,
            &streams,
            out,
            |(), out| {
                out.reserve(sizes)?;
                cpu::sample(&points, features.as_ref(), &starts, params, out)
            },
            |gpu, out| {
                out.reserve(sizes)?;
                gpu.sample(&points, features.as_ref(), &starts, params, out)
            },
        )
    }
}

/// Checks points and queries, and that they have as many items.
fn both<'a>(
    points: Rows<'a>,
    (queries, argument): (Rows<'a>, Argument),
    splits: [Option<&[usize]>; 2],
    of_splits: Argument,
    stream: &Stream,
) -> Result<[Items<'a>; 2]> {
    let points = Items::new((points, Argument::Points), (splits[0], Argument::RowSplits), stream)?;
    let queries = Items::new((queries, argument), (splits[1], of_splits), stream)?;
    queries.check_items(points.items(), of_splits)?;
    Ok([points, queries])
}

impl BallQuery {
    /// Finds the points of each ball. See [`ball_query`](super::ball_query). `splits` say where the
    /// points and the centres of each item start. No call waits; one that is recorded in a graph must
    /// have the splits of the call before, and keeps them.
    ///
    /// # Errors
    /// As [`ball_query`](super::ball_query); a result on another device.
    pub fn run<'a>(
        &mut self,
        points: impl Into<Rows<'a>>,
        centres: impl Into<Rows<'a>>,
        splits: [Option<&[usize]>; 2],
        out: &mut Balls,
    ) -> Result<()> {
        let Self { stream, params, side } = self;
        let centres = (centres.into(), Argument::Centres);
        let [points, centres] = both(points.into(), centres, splits, Argument::CentreSplits, stream)?;
        stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let sizes = BallsSizes { centres: centres.rows.len(), most: params.most as usize };
        ensure(
            sizes.centres * sizes.most < 1 << 31,
            Argument::Most,
            "fewer than 2^31 rows of all centres",
            sizes.most,
        )?;
        side.fill(
            stream,
            &[points.rows.stream(), centres.rows.stream()],
            out,
            |(), out| {
                out.reserve(sizes)?;
                cpu::balls(&points, &centres, params, out)
            },
            |gpu, out| {
                out.reserve(sizes)?;
                gpu.balls(&points, &centres, params, out)
            },
        )
    }
}

impl Knn {
    /// Finds the nearest points of each query. See [`knn`](super::knn). `splits` say where the points
    /// and the queries of each item start. No call waits; one that is recorded in a graph must have
    /// the splits of the call before, and keeps them.
    ///
    /// # Errors
    /// As [`knn`](super::knn); a result on another device.
    pub fn run<'a>(
        &mut self,
        points: impl Into<Rows<'a>>,
        queries: impl Into<Rows<'a>>,
        splits: [Option<&[usize]>; 2],
        out: &mut Neighbours,
    ) -> Result<()> {
        let Self { stream, params, side } = self;
        let queries = (queries.into(), Argument::Queries);
        let [points, queries] = both(points.into(), queries, splits, Argument::QuerySplits, stream)?;
        stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let sizes = NeighboursSizes { queries: queries.rows.len(), k: params.k as usize };
        ensure(sizes.queries * sizes.k < 1 << 31, Argument::K, "fewer than 2^31 neighbours of all queries", sizes.k)?;
        side.fill(
            stream,
            &[points.rows.stream(), queries.rows.stream()],
            out,
            |(), out| {
                out.reserve(sizes)?;
                cpu::nearest(&points, &queries, sizes.k, out)
            },
            |gpu, out| {
                out.reserve(sizes)?;
                gpu.nearest(&points, &queries, params.k, out)
            },
        )
    }
}
