//! Branch and bound: blocks are opened, the best first, until a place is the best of all.

use super::field::SIDE;
use super::params::{LevelParams, Yaws};
use super::queue::{AT_ONCE, Node, Queue, Sums};
use super::source::Source;
use super::target::LevelTarget;
use super::work::Work;
use super::{bounds::Heights, field::WIDE};
use crate::{Argument, Error, Pose, Result, Rows, memory, par};
use pointmill_core::ndt::LEVEL_BEST;
use pointmill_core::record;
use rayon::prelude::*;

record! {
    /// A place where a source may be.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct LevelCandidate {
        /// The pose of the source in the frame of the map: x, y, z and yaw.
        pub target_from_source: Pose,
        /// The sum of what the points add, 0 to 63 each.
        pub score: usize,
        /// The score as a part of the greatest there is.
        pub share: f64,
    }
}

record! {
    /// What a search found.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct LevelSearch {
        /// The best places that are apart, the best first. Places that score 0 are none.
        pub candidates: Vec<LevelCandidate>,
        /// Points of the source that were used.
        pub points: usize,
        /// Places that there are.
        pub places: u64,
        /// Of these, places that were scored, and blocks that were bounded.
        pub evaluated: u64,
    }
}

impl LevelTarget {
    /// The best places of an upright source, `[N, columns]` of `f32` or `f64` with x, y, z first,
    /// in host memory.
    ///
    /// The first point of each cube of a step that is finite, within the range and more than 0.5 m
    /// above the ground is used; all within the range where there are fewer than 64 such, or the
    /// target is without ground.
    ///
    /// # Errors
    /// Parameters out of range; points of another type or on a GPU; out of memory.
    pub fn search<'a>(&self, source: impl Into<Rows<'a>>, params: &LevelParams) -> Result<LevelSearch> {
        let found = self.search_at_most(source.into(), params, u64::MAX)?;
        Ok(found.expect("a search without a limit ends"))
    }

    /// The same; none if it takes more than so many places and blocks, since candidates of a part of
    /// the places are no answer.
    pub(crate) fn search_at_most(
        &self,
        source: Rows<'_>,
        params: &LevelParams,
        most: u64,
    ) -> Result<Option<LevelSearch>> {
        params.validate()?;
        source.check_points(Argument::Source, self.stream())?;
        if source.stream().is_some() {
            return Err(Error::argument(Argument::Source, "points in host memory", "points of a device"));
        }
        self.device().install(|| Search::new(self, &source, params)?.run(most))
    }
}

/// A search that goes on.
pub(super) struct Search<'a> {
    target: &'a LevelTarget,
    params: &'a LevelParams,
    yaws: Yaws,
    source: Source,
    work: Work<'a>,
    heights: Heights,
    pub(super) kept: Vec<Node>,
}

impl<'a> Search<'a> {
    pub(super) fn new(target: &'a LevelTarget, points: &Rows<'_>, params: &'a LevelParams) -> Result<Self> {
        let yaws = params.yaws();
        let source = Source::new(points, target, params)?;
        let (work, heights) = (Work::new(target, &source, &yaws)?, target.places(source.ground)?);
        Ok(Self { target, params, yaws, source, work, heights, kept: Vec::new() })
    }

    fn run(mut self, most: u64) -> Result<Option<LevelSearch>> {
        let Some(evaluated) = self.search(most)? else { return Ok(None) };
        let (points, places) = (self.source.len(), self.heights.places() * self.yaws.count as u64);
        let candidates = self.kept.iter().map(|node| self.candidate(node)).collect::<Result<_>>()?;
        Ok(Some(LevelSearch { candidates, points, places, evaluated }))
    }

    /// Finds the best places that are apart. Returns how many places and blocks it looked at; none
    /// where these, or the wide blocks, are more than `most`.
    pub(super) fn search(&mut self, most: u64) -> Result<Option<u64>> {
        if self.wide_blocks() > most {
            return Ok(None);
        }
        let roots = self.roots()?;
        let mut evaluated = roots.len() as u64;
        let mut queue = Queue::new(roots)?;
        let mut batch = Vec::new();
        while self.kept.len() < self.params.candidates {
            par::check();
            if evaluated > most {
                return Ok(None);
            }
            while batch.len() < AT_ONCE
                && queue.peek().is_some_and(|node| node.level > 0)
                && let Some(node) = queue.pop()?
            {
                batch.push(node);
            }
            if batch.is_empty() {
                let Some(place) = queue.pop()? else { break };
                let sums = self.work.sums(&self.source, &[place], &mut queue)?[0];
                let (place, _) = place;
                if self.is_apart(&place) {
                    self.kept.push(place);
                }
                if let Some(next) = self.best(&place, &sums, Some(&place)) {
                    queue.push_with(next, sums)?;
                }
                evaluated += WIDE as u64;
                continue;
            }
            evaluated += (batch.len() * WIDE) as u64;
            let sums = self.work.sums(&self.source, &batch, &mut queue)?;
            let nodes = batch.par_iter().zip(&sums).with_min_len(par::grain(8));
            let opened = nodes.map(|((node, _), sums)| self.opened(node, sums));
            for node in memory::collect_parallel(opened)?.into_iter().flatten() {
                queue.push(node)?;
            }
            batch.clear();
        }
        Ok(Some(evaluated).filter(|evaluated| *evaluated <= most))
    }

    /// The first places of all wide blocks: y and x.
    fn corners(&self) -> impl Iterator<Item = (usize, usize)> + Clone + Sync + use<> {
        let [along, across] = self.heights.wide().map(|n| n * WIDE);
        (0..across).step_by(WIDE).flat_map(move |j| (0..along).step_by(WIDE).map(move |i| (j, i)))
    }

    /// The number of wide blocks at all yaws and heights.
    pub(super) fn wide_blocks(&self) -> u64 {
        let heights = |[least, most]: [i32; 2]| (i64::from(most) - i64::from(least) + 1).max(0) as u64;
        self.corners().map(|(j, i)| heights(self.heights.at(2, i, j))).sum::<u64>() * self.yaws.count as u64
    }

    /// All wide blocks at all yaws and heights.
    fn roots(&mut self) -> Result<Vec<Node>> {
        let (corners, heights) = (self.corners(), &self.heights);
        let of_yaw = |yaw: u32| {
            corners.clone().flat_map(move |(j, i)| {
                let [least, most] = heights.at(2, i, j);
                (least..=most).map(move |height| Node { score: 0, level: 2, yaw, y: j as u32, x: i as u32, height })
            })
        };
        self.work.bounded(&self.source, self.yaws.count as u32, of_yaw)
    }

    /// What a block has in it: of a wide block its blocks, of a block its best place.
    fn opened(&self, node: &Node, sums: &Sums) -> Vec<Node> {
        if node.level == 1 {
            return self.best(node, sums, None).into_iter().collect();
        }
        let block = |(k, score): (usize, u16)| {
            let [x, y] = [node.x + (k % SIDE * SIDE) as u32, node.y + (k / SIDE * SIDE) as u32];
            self.is_there(1, x, y, node.height).then_some(Node { score, level: 1, y, x, ..*node })
        };
        sums.iter().copied().enumerate().filter(|(_, score)| *score > 0).filter_map(block).collect()
    }

    /// The best place of the block of a node, of those after a place, that is apart from what is
    /// kept.
    fn best(&self, node: &Node, sums: &Sums, after: Option<&Node>) -> Option<Node> {
        let [x, y] = [node.x, node.y].map(|at| at - at % SIDE as u32);
        let place = |(k, score): (usize, u16)| Node {
            score,
            level: 0,
            y: y + (k / SIDE) as u32,
            x: x + (k % SIDE) as u32,
            ..*node
        };
        let places = sums.iter().copied().enumerate().filter(|(_, score)| *score > 0).map(place);
        let left = places.filter(|place| after.is_none_or(|after| place < after));
        left.filter(|place| self.is_there(0, place.x, place.y, place.height) && self.is_apart(place)).max()
    }

    fn is_there(&self, level: u8, x: u32, y: u32, height: i32) -> bool {
        let [least, most] = self.heights.at(level, x as usize, y as usize);
        (least..=most).contains(&height)
    }

    /// Whether a place is apart from all that are kept.
    fn is_apart(&self, place: &Node) -> bool {
        self.kept.iter().all(|other| apart(self.params, &self.yaws, self.target.step(), place, other))
    }

    fn candidate(&self, node: &Node) -> Result<LevelCandidate> {
        let [x, y, z] = self.target.position([node.x, node.y], node.height, self.source.ground);
        let target_from_source = Pose::from_xyzrpy([x, y, z, 0.0, 0.0, self.yaws.of(node.yaw)])?;
        let share = f64::from(node.score) / (f64::from(LEVEL_BEST) * self.source.len() as f64);
        Ok(LevelCandidate { target_from_source, score: usize::from(node.score), share })
    }
}

/// Whether two places are apart.
pub(super) fn apart(params: &LevelParams, yaws: &Yaws, step: f64, a: &Node, b: &Node) -> bool {
    let off =
        [f64::from(a.x) - f64::from(b.x), f64::from(a.y) - f64::from(b.y), f64::from(a.height) - f64::from(b.height)];
    let square: f64 = off.iter().map(|n| n * n).sum();
    square * step * step > params.apart_metres * params.apart_metres
        || yaws.between(a.yaw, b.yaw) > params.apart_radians
}
