//! A stage on the device: the loop runs ahead of the host, a batch of turns at a time.

use super::super::params::{IcpParams, Metric, Stage};
use super::super::register::{Ask, Frames, Ground, Grounds, Turn, run};
use super::super::result::{Registration, Timing};
use super::super::search::{Search, limit_of};
use super::cloud::Cloud;
use super::tree::Tree;
use super::{chosen, nearest_brute};
use crate::device::{Buffer, Stream};
use crate::icp::pairs::Looked;
use crate::{Coordinates, Result};
use pointmill_core::icp::pairs::STEP_TERMS;
use pointmill_core::icp::spread::Spread;
use pointmill_core::icp::turn::Sums;
use pointmill_core::rigid::Rigid;
use pointmill_kernels::icp::{self as kernels, LoopState, Place4, StoredKnown, StoredSpread};
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::prim::sum::TREE;
use std::collections::VecDeque;
use std::time::Instant;

/// Turns that are queued before the host looks at them.
const BATCH: usize = 8;

/// Memory that alignments use again.
#[derive(Debug)]
pub(in crate::icp) struct Work {
    stream: Stream,
    /// The clouds as they came, and as a stage has thinned them out.
    whole: [Cloud; 2],
    thin: [Cloud; 2],
    /// Of the source, which is taken along the curve, and of the target.
    trees: [Tree; 2],
    normals: [Buffer<Place4>; 2],
    /// Normals of the source by index, where its tree is of another order than the curve.
    by_index: Buffer<Place4>,
    known: Buffer<StoredKnown>,
    queries: Buffer<Place4>,
    keys: Buffer<u64>,
    sums: Buffer<f64>,
    spread: Buffer<StoredSpread>,
    state: Buffer<LoopState>,
    turns: Buffer<kernels::Turn>,
}

impl Work {
    pub(in crate::icp) fn new(stream: &Stream) -> Result<Self> {
        let cloud = || Cloud::new(stream);
        Ok(Self {
            stream: stream.clone(),
            whole: [cloud()?, cloud()?],
            thin: [cloud()?, cloud()?],
            trees: [Tree::new(stream)?, Tree::new(stream)?],
            normals: [stream.alloc(0)?, stream.alloc(0)?],
            by_index: stream.alloc(0)?,
            known: stream.alloc(0)?,
            queries: stream.alloc(0)?,
            keys: stream.alloc(0)?,
            sums: stream.alloc(0)?,
            spread: stream.alloc(1)?,
            state: stream.alloc(1)?,
            turns: stream.alloc(BATCH)?,
        })
    }

    pub(in crate::icp) fn align(
        &mut self,
        start: Instant,
        clouds: [Coordinates<'_>; 2],
        params: &IcpParams,
        guess: &Rigid,
    ) -> Result<Registration> {
        for (cloud, from) in self.whole.iter_mut().zip(&clouds) {
            cloud.begin(from, params.drop_zeros)?;
        }
        for (cloud, argument) in self.whole.iter_mut().zip(["source", "target"]) {
            cloud.finish(argument)?;
        }
        let frames = Frames { source: self.whole[0].centre(), target: self.whole[1].centre() };
        let dropped = [self.whole[0].dropped(), self.whole[1].dropped()];
        let local = frames.local(guess);
        run(start, params, frames, guess, dropped, &mut Both { work: self, params, guess: local })
    }
}

/// Both clouds in device memory, whole.
struct Both<'a> {
    work: &'a mut Work,
    params: &'a IcpParams,
    guess: Rigid,
}

impl Grounds for Both<'_> {
    type On<'s>
        = OnDevice<'s>
    where
        Self: 's;

    fn prepare(&mut self, stage: &Stage) -> Result<OnDevice<'_>> {
        OnDevice::new(self.work, stage, self.params, self.guess)
    }
}

/// A stage of an alignment.
struct OnDevice<'a> {
    work: &'a mut Work,
    params: &'a IcpParams,
    thinned: bool,
    guess: Rigid,
    limit: u64,
    search: Search,
    points: [usize; 2],
    spread: Spread,
    /// Turns that the device has made and nobody has asked for yet.
    ahead: VecDeque<kernels::Turn>,
    begun: bool,
}

impl<'a> OnDevice<'a> {
    fn new(work: &'a mut Work, stage: &Stage, params: &'a IcpParams, guess: Rigid) -> Result<Self> {
        let thinned = stage.voxel_size > 0.0;
        if thinned {
            for ((thin, whole), argument) in work.thin.iter_mut().zip(&work.whole).zip(["source", "target"]) {
                thin.upload(&whole.to_host()?.downsampled(argument, stage.voxel_size)?)?;
            }
        }
        let clouds = if thinned { &work.thin } else { &work.whole };
        let points = [clouds[0].len(), clouds[1].len()];
        let limit = limit_of(stage.max_distance)?;
        let search = chosen(params.search);
        let mut on = Self {
            work,
            params,
            thinned,
            guess,
            limit,
            search,
            points,
            spread: Spread::NONE,
            ahead: VecDeque::new(),
            begun: false,
        };
        if points[0] > 0 {
            on.place_source()?;
        }
        if on.has_points() {
            on.prepare()?;
        }
        Ok(on)
    }

    /// Whether there is anything to pair.
    const fn has_points(&self) -> bool {
        self.points[0] > 0 && self.points[1] > 0
    }

    /// Sorts the source along the curve, and finds where it is.
    fn place_source(&mut self) -> Result<()> {
        let n = self.points[0] as u32;
        let work = &mut *self.work;
        let cloud = if self.thinned { &work.thin[0] } else { &work.whole[0] };
        work.trees[0].curve.sort(cloud)?;
        let trees = n.div_ceil(TREE);
        work.sums.reserve(trees as usize * STEP_TERMS)?;
        let args = kernels::SpreadArgs {
            points: work.trees[0].curve.points.pointer(),
            n,
            sums: work.sums.pointer(),
            spread: work.spread.pointer(),
        };
        // SAFETY: room was made.
        unsafe {
            work.stream.launch::<kernels::SpreadMean>(trees, args)?;
            work.stream.launch::<kernels::SpreadMeanTotal>(1, args)?;
            work.stream.launch::<kernels::SpreadProducts>(trees, args)?;
            work.stream.launch::<kernels::SpreadTotal>(1, args)
        }
    }

    /// Makes trees and normals.
    fn prepare(&mut self) -> Result<()> {
        let (n, k) = (self.points[0], self.params.neighbours);
        let work = &mut *self.work;
        let clouds = if self.thinned { &work.thin } else { &work.whole };
        let stream = &work.stream;
        let [of_source, of_target] = &mut work.trees;
        if self.search == Search::Lbvh {
            of_target.curve.sort(&clouds[1])?;
        }
        of_target.build(&clouds[1], self.search)?;
        if self.params.metric != Metric::PointToPoint {
            work.normals[1].reserve(self.points[1])?;
            of_target.normals(&clouds[1], &clouds[1].points, k, false, &work.normals[1])?;
        }
        if self.params.metric == Metric::Gicp {
            let search = chosen(self.params.search);
            of_source.build(&clouds[0], search)?;
            work.normals[0].reserve(n)?;
            if search == Search::Lbvh {
                of_source.normals(&clouds[0], &clouds[0].points, k, true, &work.normals[0])?;
            } else {
                work.by_index.reserve(n)?;
                of_source.normals(&clouds[0], &clouds[0].points, k, false, &work.by_index)?;
                let args = kernels::GatherArgs {
                    points: work.by_index.pointer(),
                    order: of_source.curve.order.pointer(),
                    n: n as u32,
                    sorted: work.normals[0].pointer(),
                };
                // SAFETY: there is a normal for each point, and room for as many.
                unsafe { stream.launch::<kernels::Gather>(args.n.div_ceil(BLOCK), args) }?;
            }
        }
        work.known.reserve(n)?;
        if self.search == Search::Brute {
            work.queries.reserve(n)?;
            work.keys.reserve(n)?;
        }
        Ok(())
    }

    /// Queues turns from a pose on and reads what came of them.
    fn batch(&mut self, ask: &Ask) -> Result<()> {
        let work = &mut *self.work;
        let state = LoopState {
            pose: ask.pose,
            step: ask.step,
            steps: ask.steps as u64,
            told: [kernels::Told::default(); kernels::TOLD],
            times: [0; 2],
            margin: ask.margin,
            running: 1,
            fresh: u32::from(!self.begun),
            turns: 0,
        };
        work.state.write(&[state])?;
        let n = self.points[0] as u32;
        let target = if self.thinned { &work.thin[1] } else { &work.whole[1] };
        let (source, state, limit) =
            (work.trees[0].curve.points.pointer().cast_const(), work.state.pointer(), self.limit);
        let tree = work.trees[1].get(target);
        let look = kernels::LookArgs {
            source,
            n,
            limit,
            target: target.points.pointer(),
            tree,
            keys: work.keys.pointer(),
            known: work.known.pointer(),
            state,
        };
        let reduce = kernels::ReduceArgs {
            source: [source, work.normals[0].pointer()],
            target: [target.points.pointer(), work.normals[1].pointer()],
            n,
            limit,
            known: work.known.pointer(),
            spread: work.spread.pointer(),
            weights: kernels::Weights::new(&self.params.robust),
            state,
            sums: work.sums.pointer(),
        };
        let advance = kernels::AdvanceArgs {
            state,
            turns: work.turns.pointer(),
            rules: self.params.rules(),
            guess: self.guess,
            spread: work.spread.pointer(),
            sums: work.sums.pointer(),
            trees: n.div_ceil(TREE),
        };
        let (queries, keys) = (work.queries.pointer(), work.keys.pointer());
        let (points, known) = (target.points.pointer().cast_const(), work.known.pointer());
        let place = kernels::PlaceArgs { source, n, state, limit, target: points, known, queries, keys };
        let brute = |stride| {
            let m = self.points[1] as u32;
            kernels::NearestBruteArgs { points, n: m, queries, len: n, stride, keys }
        };
        for turn in 0..BATCH.min(self.params.max_iterations.saturating_sub(ask.steps).saturating_add(1)) {
            // SAFETY: room was made for all of it, and both clouds have points.
            unsafe {
                if self.search == Search::Brute {
                    work.stream.launch::<kernels::Place>(n.div_ceil(BLOCK), place)?;
                    if turn == 0 && !self.begun {
                        nearest_brute(&work.stream, brute(kernels::SPARSE))?;
                    }
                    nearest_brute(&work.stream, brute(1))?;
                    work.stream.launch::<kernels::LookBrute>(n.div_ceil(BLOCK), look)?;
                } else {
                    work.stream.launch::<kernels::Look>(n.div_ceil(TREE), look)?;
                }
                match self.params.metric {
                    Metric::PointToPoint => {
                        work.stream.launch::<kernels::ReducePoints>(advance.trees, reduce)?;
                        work.stream.launch::<kernels::AdvancePoints>(1, advance)?;
                    }
                    Metric::PointToPlane => {
                        work.stream.launch::<kernels::ReducePlanes>(advance.trees, reduce)?;
                        work.stream.launch::<kernels::AdvanceSteps>(1, advance)?;
                    }
                    Metric::Gicp => {
                        work.stream.launch::<kernels::ReducePatches>(advance.trees, reduce)?;
                        work.stream.launch::<kernels::AdvanceSteps>(1, advance)?;
                    }
                }
            }
        }
        let state = work.state.read(1)?[0];
        self.ahead = work.turns.read(state.turns as usize)?.into();
        self.begun = true;
        Ok(())
    }
}

impl Ground for OnDevice<'_> {
    fn search(&self) -> Search {
        self.search
    }

    fn points(&self) -> [usize; 2] {
        self.points
    }

    fn spread(&self) -> &Spread {
        &self.spread
    }

    fn turn(&mut self, ask: &Ask) -> Result<Turn> {
        let closed = self.params.metric == Metric::PointToPoint;
        let nothing_ahead = self.ahead.front().is_none_or(|turn| turn.pose != ask.pose);
        // The host decides with the same arithmetic, so what the device went on to is what is asked for, unless it stopped before.
        if nothing_ahead && self.has_points() {
            self.batch(ask)?;
        }
        if ask.steps == 0 && self.points[0] > 0 {
            self.spread = self.work.spread.read(1)?[0].0;
        }
        if !self.has_points() {
            let sums = if closed { Sums::Points([0.0; _]) } else { Sums::Steps([0.0; _]) };
            return Ok(Turn { looked: Looked::default(), sums, timing: Timing::default() });
        }
        let turn = self.ahead.pop_front().expect("a batch has a turn");
        let sums = if closed { Sums::Points(std::array::from_fn(|k| turn.terms[k])) } else { Sums::Steps(turn.terms) };
        let [look, reduce, solve, end] = turn.times;
        let ms = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-6;
        let timing = Timing { search_ms: ms(look, reduce), reduce_ms: ms(reduce, solve), solve_ms: ms(solve, end) };
        let told = turn.told;
        let looked = Looked { changed: told.changed as usize, searched: told.searched as usize, hash: told.hash };
        Ok(Turn { looked, sums, timing })
    }
}
