//! A stage on the device: the loop runs ahead of the host, a batch of iterations at a time.

use super::cloud::Cloud;
use super::tree::Tree;
use super::{chosen, nearest_brute};
use crate::device::{Buffer, Stream, workspace};
use crate::icp::params::{IcpParams, Metric, Search, Stage, limit_of};
use crate::icp::register::{Correspondences, Frames, Linearized, Matched, Query, Stages, run};
use crate::icp::result::{Dropped, Registration, Timing};
use crate::{Argument, Result, Rows, memory};
use pointmill_core::icp::pairs::STEP_TERMS;
use pointmill_core::icp::spread::Spread;
use pointmill_core::icp::termination::Sums;
use pointmill_core::rigid::Rigid;
use pointmill_kernels::icp::{self as kernels, BATCH, LoopState, Place4, StoredCorrespondence, StoredSpread};
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::prim::sum::TREE;
use std::collections::VecDeque;
use std::ptr::{null, null_mut};
use std::slice::from_ref;
use web_time::Instant;

workspace! {
    /// Memory that alignments use again.
    pub(in crate::icp) struct Workspace(stream) {
        pub(super) stream: Stream,
        /// Source and target with all points, of each pair that is aligned at a time.
        pub(super) whole: [Cloud; 2] = [Cloud::new(stream)?, Cloud::new(stream)?],
        /// The source as a stage has thinned it out, its tree along the curve, and its normals.
        thin: Cloud,
        tree: Tree,
        normals: Buffer<Place4>,
        /// The caller's normals of the target; empty if there are none.
        own_normals: Vec<Place4> = Vec::new(),
        /// The target of each stage, where the target is kept; else one for all stages.
        targets: Vec<PreparedTarget> = vec![PreparedTarget::new(stream)?],
        /// Normals of the source by index.
        by_index: Buffer<Place4>,
        known: Buffer<StoredCorrespondence>,
        queries: Buffer<Place4>,
        keys: Buffer<u64>,
        sums: Buffer<f64>,
        pub(super) spread: Buffer<StoredSpread> = stream.alloc(1)?,
        state: Buffer<LoopState> = stream.alloc(1)?,
        iterations: Buffer<kernels::IterationBatch>,
    }
}

workspace! {
    /// The target of one stage: tree and normals.
    struct PreparedTarget(stream) {
        /// The points of a stage with voxels.
        thin: Cloud,
        tree: Tree,
        normals: Buffer<Place4>,
        /// Whether tree and normals belong to the present target.
        made: bool = false,
    }
}

impl Workspace {
    pub(in crate::icp) fn align(
        &mut self,
        start: Instant,
        clouds: [Rows<'_>; 2],
        normals: Option<&[[f32; 3]]>,
        params: &IcpParams,
        guess: &Rigid,
    ) -> Result<Registration> {
        self.take_clouds([&clouds[..1], &clouds[1..]], params)?;
        for (cloud, argument) in self.whole.iter().zip([Argument::Source, Argument::Target]) {
            cloud.check(0, argument)?;
        }
        self.take_normals(normals)?;
        self.run(start, params, guess, false)
    }

    /// Takes the sources and the targets of pairs, and waits for the numbers of their points.
    pub(super) fn take_clouds(&mut self, clouds: [&[Rows<'_>]; 2], params: &IcpParams) -> Result<()> {
        for (cloud, from) in self.whole.iter_mut().zip(clouds) {
            cloud.begin(from, params.drop_zeros)?;
        }
        self.whole.iter_mut().try_for_each(Cloud::finish)
    }

    /// Takes a target that is kept for many sources.
    pub(in crate::icp) fn take_target(
        &mut self,
        target: &Rows<'_>,
        normals: Option<&[[f32; 3]]>,
        params: &IcpParams,
    ) -> Result<()> {
        self.whole[1].begin(from_ref(target), params.drop_zeros)?;
        self.whole[1].finish()?;
        self.whole[1].check(0, Argument::Target)?;
        self.take_normals(normals)?;
        let stages = params.stages().len();
        while self.targets.len() < stages {
            self.targets.push(PreparedTarget::new(&self.stream)?);
        }
        Ok(())
    }

    /// What was made of targets belongs to others than the present ones.
    pub(super) fn forget_targets(&mut self) {
        self.targets.iter_mut().for_each(|target| target.made = false);
    }

    /// Takes the caller's normals of the target, or none.
    pub(super) fn take_normals(&mut self, normals: Option<&[[f32; 3]]>) -> Result<()> {
        self.own_normals = normals.map_or(Ok(Vec::new()), |normals| self.whole[1].normals_of(normals))?;
        Ok(())
    }

    /// Aligns onto the target that was taken, with the same parameters.
    pub(in crate::icp) fn align_onto(
        &mut self,
        start: Instant,
        source: &Rows<'_>,
        params: &IcpParams,
        guess: &Rigid,
    ) -> Result<Registration> {
        self.whole[0].begin(from_ref(source), params.drop_zeros)?;
        self.whole[0].finish()?;
        self.whole[0].check(0, Argument::Source)?;
        self.run(start, params, guess, true)
    }

    fn run(&mut self, start: Instant, params: &IcpParams, guess: &Rigid, stays: bool) -> Result<Registration> {
        let (frames, dropped) = self.about(0);
        let local = frames.local(guess);
        let mut on = OnDevice { work: self, params, guess: local, stays, stage: 0 };
        run(start, params, frames, guess, dropped, &mut on)
    }

    /// The centres of a pair, and the points that were left out.
    pub(super) fn about(&self, pair: usize) -> (Frames, [Dropped; 2]) {
        let [source, target] = &self.whole;
        let frames = Frames { source: source.centre(pair), target: target.centre(pair) };
        (frames, [source.dropped(pair), target.dropped(pair)])
    }
}

/// Source and target in device memory.
struct OnDevice<'a> {
    work: &'a mut Workspace,
    params: &'a IcpParams,
    guess: Rigid,
    /// Whether the target is kept from call to call.
    stays: bool,
    /// The next stage.
    stage: usize,
}

impl Stages for OnDevice<'_> {
    type Stage<'s>
        = DeviceStage<'s>
    where
        Self: 's;

    fn prepare(&mut self, stage: &Stage) -> Result<DeviceStage<'_>> {
        let slot = if self.stays { self.stage } else { 0 };
        self.stage += 1;
        self.work.targets[slot].made &= self.stays;
        DeviceStage::new(self.work, stage, slot, self.params, vec![self.guess])
    }
}

/// A stage of an alignment, or of the alignments of several pairs.
pub(super) struct DeviceStage<'a> {
    pub(super) work: &'a mut Workspace,
    params: &'a IcpParams,
    thinned: bool,
    /// The number of its target among those of the workspace.
    slot: usize,
    /// Of each pair.
    guesses: Vec<Rigid>,
    limit: u64,
    search: Search,
    /// Of the first pair.
    points: [usize; 2],
    spread: Spread,
    /// Iterations that the device has made and the host has not asked for yet.
    ahead: VecDeque<kernels::Iteration>,
    begun: bool,
}

impl<'a> DeviceStage<'a> {
    /// The next stage of pairs. Of several pairs one has points, the search is the tree along the
    /// curve, and the stage has no voxels.
    pub(super) fn new(
        work: &'a mut Workspace,
        stage: &Stage,
        slot: usize,
        params: &'a IcpParams,
        guesses: Vec<Rigid>,
    ) -> Result<Self> {
        let thinned = stage.voxel_size > 0.0;
        if thinned {
            work.thin.upload(&work.whole[0].to_host()?.downsampled(Argument::Source, stage.voxel_size)?)?;
            let prepared = &mut work.targets[slot];
            if !prepared.made {
                prepared.thin.upload(&work.whole[1].to_host()?.downsampled(Argument::Target, stage.voxel_size)?)?;
            }
        }
        let points = if thinned { [&work.thin, &work.targets[slot].thin] } else { work.whole.each_ref() };
        let several = points[0].number() > 1;
        let points = points.map(|cloud| cloud.len(0));
        let limit = limit_of(stage.max_distance)?;
        let search = chosen(params.search);
        let mut on = Self {
            work,
            params,
            thinned,
            slot,
            guesses,
            limit,
            search,
            points,
            spread: Spread::NONE,
            ahead: VecDeque::new(),
            begun: false,
        };
        if points[0] > 0 || several {
            on.place_source()?;
        }
        if on.has_points() || several {
            on.prepare()?;
        }
        Ok(on)
    }

    /// Whether there is anything to pair.
    const fn has_points(&self) -> bool {
        self.points[0] > 0 && self.points[1] > 0
    }

    /// Sorts the source along the curve, and computes its mean and covariance.
    fn place_source(&mut self) -> Result<()> {
        let work = &mut *self.work;
        let cloud = if self.thinned { &work.thin } else { &work.whole[0] };
        work.tree.curve.sort(cloud)?;
        let (trees, number) = (cloud.blocks(TREE), cloud.number());
        work.sums.reserve(trees as usize * STEP_TERMS)?;
        work.spread.reserve(number)?;
        let args = kernels::SpreadArgs {
            clouds: cloud.clouds(),
            points: work.tree.curve.points.pointer(),
            sums: work.sums.pointer(),
            spread: work.spread.pointer(),
        };
        // SAFETY: room was made.
        unsafe {
            work.stream.launch::<kernels::SpreadMean>(trees, args)?;
            work.stream.launch::<kernels::SpreadCovariance>(trees, args)
        }
    }

    /// Makes trees and normals. A target that is kept gets them once.
    fn prepare(&mut self) -> Result<()> {
        let k = self.params.neighbours;
        let work = &mut *self.work;
        let stream = &work.stream;
        let n = if self.thinned { &work.thin } else { &work.whole[0] }.places();
        let prepared = &mut work.targets[self.slot];
        if !prepared.made {
            let cloud = if self.thinned { &prepared.thin } else { &work.whole[1] };
            if self.search == Search::Lbvh {
                prepared.tree.curve.sort(cloud)?;
            }
            prepared.tree.build(cloud, self.search)?;
            if self.params.metric != Metric::PointToPoint {
                prepared.normals.reserve(cloud.places())?;
                if work.own_normals.is_empty() || self.thinned {
                    prepared.tree.normals(cloud, &cloud.points, k, &prepared.normals)?;
                } else {
                    prepared.normals.write(&work.own_normals)?;
                }
            }
            prepared.made = true;
        }
        if self.params.metric == Metric::Gicp {
            let cloud = if self.thinned { &work.thin } else { &work.whole[0] };
            let search = chosen(self.params.search);
            work.tree.build(cloud, search)?;
            work.normals.reserve(n)?;
            work.by_index.reserve(n)?;
            work.tree.normals(cloud, &cloud.points, k, &work.by_index)?;
            let args = kernels::GatherArgs {
                clouds: cloud.clouds(),
                points: work.by_index.pointer(),
                order: work.tree.curve.order.pointer(),
                sorted: work.normals.pointer(),
                codes: null(),
                mixed: null_mut(),
            };
            // SAFETY: there is a normal for each point, and room for as many.
            unsafe { stream.launch::<kernels::Gather>(cloud.blocks(BLOCK), args) }?;
            if search == Search::Lbvh {
                // The tree may have put them into an order of its own.
                work.tree.curve.gather(cloud)?;
            }
        }
        work.known.reserve(n)?;
        if self.search == Search::Brute {
            work.queries.reserve(n)?;
            work.keys.reserve(n)?;
        }
        Ok(())
    }

    /// Queues iterations of each pair from its pose on, and reads their results; none of a pair
    /// without a query.
    pub(super) fn batch(&mut self, asked: &[Option<Query>]) -> Result<Vec<VecDeque<kernels::Iteration>>> {
        let work = &mut *self.work;
        let state = |(query, guess): (&Option<Query>, &Rigid)| {
            let running = u32::from(query.is_some());
            let Query { pose, margin, step, steps } = query.unwrap_or(Query::begin(*guess));
            LoopState {
                pose,
                guess: *guess,
                step,
                steps: steps as u64,
                stats: [kernels::IterationStats::default(); kernels::STATS_PLACES],
                times: [0; 2],
                margin,
                running,
                fresh: u32::from(!self.begun),
                iterations: 0,
            }
        };
        let states = memory::collect(asked.iter().zip(&self.guesses).map(state))?;
        work.state.put(&states)?;
        // All iterations are read back, also those that no step has written yet.
        if work.iterations.reserve(states.len())? {
            work.iterations.fill_words(0, states.len() * size_of::<kernels::IterationBatch>() / 4)?;
        }
        let n = self.points[0] as u32;
        let prepared = &work.targets[self.slot];
        let (sources, target) =
            if self.thinned { (&work.thin, &prepared.thin) } else { (&work.whole[0], &work.whole[1]) };
        let (clouds, room) = (sources.clouds(), target.clouds().room);
        let (trees, number) = (sources.blocks(TREE), sources.number() as u32);
        let (source, state, limit) = (work.tree.curve.points.pointer().cast_const(), work.state.pointer(), self.limit);
        let tree = prepared.tree.get(target);
        let look = kernels::LookArgs {
            clouds,
            source,
            limit,
            target: target.points.pointer(),
            tree,
            room,
            keys: work.keys.pointer(),
            known: work.known.pointer(),
            state,
        };
        let reduce = kernels::ReduceArgs {
            clouds,
            source: [source, work.normals.pointer()],
            target: [target.points.pointer(), prepared.normals.pointer()],
            room,
            limit,
            known: work.known.pointer(),
            spread: work.spread.pointer(),
            weights: kernels::Weights::new(&self.params.robust),
            state,
            sums: work.sums.pointer(),
        };
        let advance = kernels::AdvanceArgs {
            clouds,
            state,
            iterations: work.iterations.pointer(),
            rules: self.params.rules(),
            spread: work.spread.pointer(),
            sums: work.sums.pointer(),
        };
        let (queries, keys) = (work.queries.pointer(), work.keys.pointer());
        let (points, known) = (target.points.pointer().cast_const(), work.known.pointer());
        let place = kernels::PlaceArgs { source, n, state, limit, target: points, known, queries, keys };
        let brute = |stride| {
            let m = self.points[1] as u32;
            kernels::NearestBruteArgs { points, n: m, queries, len: n, stride, keys }
        };
        let left = |query: &Query| self.params.max_iterations.saturating_sub(query.steps).saturating_add(1);
        for iteration in 0..BATCH.min(asked.iter().flatten().map(left).max().unwrap_or(0)) {
            // SAFETY: room was made for all of it, and both clouds have points.
            unsafe {
                if self.search == Search::Brute {
                    work.stream.launch::<kernels::Place>(n.div_ceil(BLOCK), place)?;
                    if iteration == 0 && !self.begun {
                        nearest_brute(&work.stream, brute(kernels::SPARSE))?;
                    }
                    nearest_brute(&work.stream, brute(1))?;
                    work.stream.launch::<kernels::LookBrute>(sources.blocks(BLOCK), look)?;
                } else {
                    work.stream.launch::<kernels::Look>(trees, look)?;
                }
                match self.params.metric {
                    Metric::PointToPoint => {
                        work.stream.launch::<kernels::ReducePoints>(trees, reduce)?;
                        work.stream.launch::<kernels::AdvancePoints>(number, advance)?;
                    }
                    Metric::PointToPlane => {
                        work.stream.launch::<kernels::ReducePlanes>(trees, reduce)?;
                        work.stream.launch::<kernels::AdvanceSteps>(number, advance)?;
                    }
                    Metric::Gicp => {
                        work.stream.launch::<kernels::ReducePatches>(trees, reduce)?;
                        work.stream.launch::<kernels::AdvanceSteps>(number, advance)?;
                    }
                }
            }
        }
        let iterations = work.iterations.read(states.len())?;
        self.begun = true;
        // A loop that did not run has made nothing, and nothing was written of it.
        let made = |(state, iterations): (&LoopState, &kernels::IterationBatch)| {
            let made = if state.running == 0 { 0 } else { iterations.made as usize };
            Ok(memory::collect(iterations.iterations[..made].iter().copied())?.into())
        };
        states.iter().zip(&iterations).map(made).collect()
    }
}

/// What an iteration of the device found.
pub(super) fn linearized(iteration: &kernels::Iteration, metric: Metric) -> Linearized {
    let sums = match metric {
        Metric::PointToPoint => Sums::Points(std::array::from_fn(|k| iteration.terms[k])),
        _ => Sums::Steps(iteration.terms),
    };
    let [look, reduce, solve, end] = iteration.times;
    let ms = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-6;
    let timing = Timing { search_ms: ms(look, reduce), reduce_ms: ms(reduce, solve), solve_ms: ms(solve, end) };
    let stats = iteration.stats;
    let matched = Matched { changed: stats.changed as usize, searched: stats.searched as usize, hash: stats.hash };
    Linearized { matched, sums, timing }
}

impl Correspondences for DeviceStage<'_> {
    fn search(&self) -> Search {
        self.search
    }

    fn points(&self) -> [usize; 2] {
        self.points
    }

    fn spread(&self) -> &Spread {
        &self.spread
    }

    fn linearize(&mut self, query: &Query) -> Result<Linearized> {
        let nothing_ahead = self.ahead.front().is_none_or(|iteration| iteration.pose != query.pose);
        // The host decides with the same arithmetic, so that it asks for the pose that the device
        // went on to, unless the device stopped before.
        if nothing_ahead && self.has_points() {
            self.ahead = self.batch(&[Some(*query)])?.remove(0);
        }
        if query.steps == 0 && self.points[0] > 0 {
            self.spread = self.work.spread.read(1)?[0].0;
        }
        if !self.has_points() {
            let closed = self.params.metric == Metric::PointToPoint;
            let sums = if closed { Sums::Points([0.0; _]) } else { Sums::Steps([0.0; _]) };
            return Ok(Linearized { matched: Matched::default(), sums, timing: Timing::default() });
        }
        let iteration = self.ahead.pop_front().expect("a batch has an iteration");
        Ok(linearized(&iteration, self.params.metric))
    }
}
