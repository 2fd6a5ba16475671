//! A stage on the CPU: both clouds as it takes them, and the sums over their pairs.

use super::cloud::{Local, along_curve};
use super::normals;
use super::pairs::{Look, Pairs};
use super::params::{IcpParams, Metric, Robust, Stage};
use super::register::{Ask, Ground, Turn, elapsed};
use super::result::Timing;
use super::search::{Search, Searcher, limit_of};
use crate::prim::sum;
use crate::{Argument, Result, memory};
use pointmill_core::icp::pairs::{Linearization, POINT_TERMS, STEP_TERMS, generalized, point_to_plane, point_to_point};
use pointmill_core::icp::spread::Spread;
use pointmill_core::icp::turn::Sums;
use pointmill_core::rigid::subtract;
use std::sync::Arc;
use std::time::Instant;

/// Clouds of one stage.
#[derive(Debug)]
pub(super) struct Clouds {
    metric: Metric,
    robust: Robust,
    /// Along the Morton curve, so that queries that follow each other walk the same way.
    source: Vec<[f32; 3]>,
    source_normals: Vec<[f32; 3]>,
    onto: Arc<Onto>,
    spread: Spread,
    pairs: Pairs,
}

/// The target of a stage.
#[derive(Debug)]
pub(super) struct Onto {
    /// In the order of the cloud, which decides between equally near points.
    points: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    searcher: Searcher,
}

/// The points that a stage takes.
fn points_of(argument: Argument, cloud: &Local, stage: &Stage) -> Result<Vec<[f32; 3]>> {
    match stage.voxel_size {
        0.0 => memory::collect(cloud.points.iter().copied()),
        size => cloud.downsampled(argument, size),
    }
}

impl Onto {
    /// Of a whole target.
    pub(super) fn new(target: &Local, stage: &Stage, params: &IcpParams) -> Result<Arc<Self>> {
        let points = points_of(Argument::Target, target, stage)?;
        let searcher = Searcher::new(&points, params.search)?;
        let normals = match params.metric {
            Metric::PointToPoint => Vec::new(),
            // The means of a stage with voxels are other points, and have normals of their own.
            _ if stage.voxel_size == 0.0 && !target.normals.is_empty() => {
                memory::collect(target.normals.iter().copied())?
            }
            _ => normals(&points, &searcher, params.neighbours)?,
        };
        Ok(Arc::new(Self { points, normals, searcher }))
    }
}

impl Clouds {
    /// Makes the source ready, and beside it the target.
    pub(super) fn new(
        source: &Local,
        onto: impl FnOnce() -> Result<Arc<Onto>> + Send,
        stage: &Stage,
        params: &IcpParams,
    ) -> Result<Self> {
        let of_source = || -> Result<_> {
            let points = points_of(Argument::Source, source, stage)?;
            let normals = match params.metric {
                Metric::Gicp => normals(&points, &Searcher::new(&points, params.search)?, params.neighbours)?,
                _ => Vec::new(),
            };
            let order = along_curve(&points)?;
            let along = |values: &[[f32; 3]]| {
                let order = if values.is_empty() { &[] } else { &order[..] };
                memory::collect(order.iter().map(|i| values[*i as usize]))
            };
            let points = along(&points)?;
            let spread = spread_of(&points)?;
            Ok((points, along(&normals)?, spread))
        };
        let (of_source, onto) = rayon::join(of_source, onto);
        let ((source, source_normals, spread), onto) = (of_source?, onto?);
        let pairs = Pairs::new(source.len(), limit_of(stage.max_distance)?)?;
        let (metric, robust) = (params.metric, params.robust);
        Ok(Self { metric, robust, source, source_normals, onto, spread, pairs })
    }

    /// What the pairs say at a pose.
    fn sums(&self, at: &Linearization) -> Result<Sums> {
        let n = self.source.len();
        let wide = |p: [f32; 3]| p.map(f64::from);
        let (source, pairs) = (&self.source, &self.pairs);
        let Onto { points: target, normals: target_normals, .. } = &*self.onto;
        let kernel = &self.robust;
        Ok(match self.metric {
            Metric::PointToPoint => Sums::Points(sum(n, |i| match pairs.target(i) {
                Some(j) => point_to_point(&at.pose, kernel, wide(source[i]), wide(target[j])),
                None => [0.0; POINT_TERMS],
            })?),
            Metric::PointToPlane => Sums::Steps(sum(n, |i| match pairs.target(i) {
                Some(j) => point_to_plane(at, kernel, wide(source[i]), wide(target[j]), target_normals[j]),
                None => [0.0; STEP_TERMS],
            })?),
            Metric::Gicp => Sums::Steps(sum(n, |i| match pairs.target(i) {
                Some(j) => {
                    let normals = [self.source_normals[i], target_normals[j]];
                    generalized(at, kernel, wide(source[i]), wide(target[j]), normals)
                }
                None => [0.0; STEP_TERMS],
            })?),
        })
    }
}

impl Ground for Clouds {
    fn search(&self) -> Search {
        self.onto.searcher.search()
    }

    fn points(&self) -> [usize; 2] {
        [self.source.len(), self.onto.points.len()]
    }

    fn spread(&self) -> &Spread {
        &self.spread
    }

    fn turn(&mut self, ask: &Ask) -> Result<Turn> {
        let mut timing = Timing::default();
        let start = Instant::now();
        let look =
            Look { pose: ask.pose, target: &self.onto.points, searcher: &self.onto.searcher, margin: ask.margin };
        let looked = self.pairs.look(&self.source, &look);
        timing.search_ms = elapsed(start);
        let start = Instant::now();
        let sums = self.sums(&self.spread.at(ask.pose))?;
        timing.reduce_ms = elapsed(start);
        Ok(Turn { looked, sums, timing })
    }
}

/// The spread of points.
fn spread_of(points: &[[f32; 3]]) -> Result<Spread> {
    if points.is_empty() {
        return Ok(Spread::NONE);
    }
    let n = points.len() as f64;
    let mean = sum(points.len(), |i| points[i].map(f64::from))?.map(|x| x / n);
    // A second pass, so that a small cloud far from zero keeps its digits.
    let products: [f64; 9] = sum(points.len(), |i| {
        let d = subtract(points[i].map(f64::from), mean);
        std::array::from_fn(|e| d[e / 3] * d[e % 3])
    })?;
    Ok(Spread { mean, covariance: std::array::from_fn(|i| std::array::from_fn(|j| products[3 * i + j] / n)) })
}
