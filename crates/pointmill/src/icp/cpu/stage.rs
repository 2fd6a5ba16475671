//! A stage on the CPU: source and target as the stage takes them, and the sums over their pairs.

use super::normals::normals_of;
use super::pairs::{Among, Pairs};
use super::search::{Index, order_along_curve};
use crate::icp::cloud::CenteredCloud;
use crate::icp::params::{IcpParams, Metric, Robust, Search, Stage, limit_of};
use crate::icp::register::{Correspondences, Linearized, Query, elapsed};
use crate::icp::result::Timing;
use crate::prim::sum;
use crate::{Argument, Result, memory, par};
use pointmill_core::icp::pairs::{Linearization, POINT_TERMS, STEP_TERMS, generalized, point_to_plane, point_to_point};
use pointmill_core::icp::spread::Spread;
use pointmill_core::icp::termination::Sums;
use pointmill_core::rigid::{subtract, wide};
use std::sync::Arc;
use web_time::Instant;

/// Source and target of one stage.
#[derive(Debug)]
pub(super) struct CpuStage {
    metric: Metric,
    robust: Robust,
    /// Along the Morton curve, so that queries that follow each other walk the same way.
    source: Vec<[f32; 3]>,
    source_normals: Vec<[f32; 3]>,
    target: Arc<PreparedTarget>,
    spread: Spread,
    pairs: Pairs,
}

/// The target of one stage: points, normals and index.
#[derive(Debug)]
pub(in crate::icp) struct PreparedTarget {
    /// In the order of the cloud, which decides between equally near points.
    points: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    index: Index,
}

/// The points that a stage takes.
fn points_of(argument: Argument, cloud: &CenteredCloud, stage: &Stage) -> Result<Vec<[f32; 3]>> {
    match stage.voxel_size {
        0.0 => memory::collect(cloud.points.iter().copied()),
        size => cloud.downsampled(argument, size),
    }
}

impl PreparedTarget {
    /// What a stage takes of a whole target.
    pub(in crate::icp) fn new(target: &CenteredCloud, stage: &Stage, params: &IcpParams) -> Result<Arc<Self>> {
        let points = points_of(Argument::Target, target, stage)?;
        let index = Index::new(&points, params.search)?;
        let normals = match params.metric {
            Metric::PointToPoint => Vec::new(),
            // The means of a stage with voxels are other points, and have normals of their own.
            _ if stage.voxel_size == 0.0 && !target.normals.is_empty() => {
                memory::collect(target.normals.iter().copied())?
            }
            _ => normals_of(&points, &index, params.neighbours)?,
        };
        Ok(Arc::new(Self { points, normals, index }))
    }
}

impl CpuStage {
    /// Makes the source ready, and beside it the target.
    pub(super) fn new(
        source: &CenteredCloud,
        target: impl FnOnce() -> Result<Arc<PreparedTarget>> + Send,
        stage: &Stage,
        params: &IcpParams,
    ) -> Result<Self> {
        let of_source = || -> Result<_> {
            let points = points_of(Argument::Source, source, stage)?;
            let normals = match params.metric {
                Metric::Gicp => normals_of(&points, &Index::new(&points, params.search)?, params.neighbours)?,
                _ => Vec::new(),
            };
            let order = order_along_curve(points.len(), |i| points[i])?;
            let along = |values: &[[f32; 3]]| {
                let order = if values.is_empty() { &[] } else { &order[..] };
                memory::collect(order.iter().map(|(_, i)| values[*i as usize]))
            };
            let points = along(&points)?;
            let spread = spread_of(&points)?;
            Ok((points, along(&normals)?, spread))
        };
        let (of_source, target) = par::join(of_source, target);
        let ((source, source_normals, spread), target) = (of_source?, target?);
        let pairs = Pairs::new(source.len(), limit_of(stage.max_distance)?)?;
        let (metric, robust) = (params.metric, params.robust);
        Ok(Self { metric, robust, source, source_normals, target, spread, pairs })
    }

    /// The sums over the pairs, linearized at a pose.
    fn sums(&self, at: &Linearization) -> Result<Sums> {
        let n = self.source.len();
        let (source, pairs) = (&self.source, &self.pairs);
        let PreparedTarget { points: target, normals: target_normals, .. } = &*self.target;
        let robust = &self.robust;
        Ok(match self.metric {
            Metric::PointToPoint => Sums::Points(sum(n, |i| match pairs.target(i) {
                Some(j) => point_to_point(&at.pose, robust, wide(source[i]), wide(target[j])),
                None => [0.0; POINT_TERMS],
            })?),
            Metric::PointToPlane => Sums::Steps(sum(n, |i| match pairs.target(i) {
                Some(j) => point_to_plane(at, robust, wide(source[i]), wide(target[j]), target_normals[j]),
                None => [0.0; STEP_TERMS],
            })?),
            Metric::Gicp => Sums::Steps(sum(n, |i| match pairs.target(i) {
                Some(j) => {
                    let normals = [self.source_normals[i], target_normals[j]];
                    generalized(at, robust, wide(source[i]), wide(target[j]), normals)
                }
                None => [0.0; STEP_TERMS],
            })?),
        })
    }
}

impl Correspondences for CpuStage {
    fn search(&self) -> Search {
        self.target.index.search()
    }

    fn points(&self) -> [usize; 2] {
        [self.source.len(), self.target.points.len()]
    }

    fn spread(&self) -> &Spread {
        &self.spread
    }

    fn linearize(&mut self, query: &Query) -> Result<Linearized> {
        let mut timing = Timing::default();
        let start = Instant::now();
        let PreparedTarget { points, index, .. } = &*self.target;
        let among = Among { pose: query.pose, target: points, index, margin: query.margin };
        let matched = self.pairs.update(&self.source, &among);
        timing.search_ms = elapsed(start);
        let start = Instant::now();
        let sums = self.sums(&self.spread.at(query.pose))?;
        timing.reduce_ms = elapsed(start);
        Ok(Linearized { matched, sums, timing })
    }
}

/// The spread of points.
fn spread_of(points: &[[f32; 3]]) -> Result<Spread> {
    if points.is_empty() {
        return Ok(Spread::NONE);
    }
    let n = points.len() as f64;
    let mean = sum(points.len(), |i| wide(points[i]))?.map(|x| x / n);
    // A second pass, so that a small cloud far from zero keeps its digits.
    let products: [f64; 9] = sum(points.len(), |i| {
        let d = subtract(wide(points[i]), mean);
        std::array::from_fn(|e| d[e / 3] * d[e % 3])
    })?;
    Ok(Spread { mean, covariance: std::array::from_fn(|i| std::array::from_fn(|j| products[3 * i + j] / n)) })
}
