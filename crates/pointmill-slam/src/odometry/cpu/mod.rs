//! The CPU path.

mod map;
mod nearest;

use super::engine::{Engine, Linearize, SPREAD_TERMS, Which, takes_samples};
use super::params::OdometryParams;
use crate::sampling::{HostSampler, POINTS, Sampled, Sampling, Timed};
use map::LocalMap;
use pointmill::icp::Metric;
use pointmill::internals::{memory, par, sum};
use pointmill::{Result, Rows};
use pointmill_core::icp::pairs::STEP_TERMS;
use pointmill_core::linear::Square;
use pointmill_core::odometry::motion::{Motion, TERMS};
use pointmill_core::odometry::order::place_of;
use pointmill_core::odometry::pairs::{by_plane, by_point, seen};
use pointmill_core::rigid::{Rigid, dot};
use rayon::prelude::*;

/// Keypoints whose neighbours a thread looks for at least.
const KEYPOINTS: usize = 64;
/// The neighbour of a point that has none.
const NONE: u32 = u32::MAX;

/// Sweep and map in memory of the host.
#[derive(Debug)]
pub(super) struct OnHost {
    sampling: Sampling,
    plane: bool,
    max_range: f64,
    sampler: HostSampler,
    /// Whether the samples of the sweep are its keypoints.
    takes_samples: bool,
    /// The map points of the first sweep, until the second shows how the sensor moved.
    first: Vec<Timed>,
    /// The keypoints where they are at the moment of the sweep.
    keypoints: Vec<[f64; 3]>,
    /// The neighbour of each keypoint at the last linearization, or [`NONE`].
    targets: Vec<u32>,
    map: LocalMap,
}

impl OnHost {
    pub(super) fn new(params: &OdometryParams, voxel_size: f64) -> Self {
        Self {
            sampling: params.sampling(voxel_size),
            plane: params.metric == Metric::PointToPlane,
            max_range: params.max_range,
            sampler: HostSampler::default(),
            takes_samples: false,
            first: Vec::new(),
            keypoints: Vec::new(),
            targets: Vec::new(),
            map: LocalMap::new(voxel_size, params.max_points_per_voxel, params.keep_map),
        }
    }
}

impl Engine for OnHost {
    fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>) -> Result<Sampled> {
        let sampled = self.sampler.sample(points, times, &self.sampling)?;
        self.takes_samples = takes_samples(&sampled);
        Ok(sampled)
    }

    fn keep_first(&mut self) -> Result<()> {
        self.first = memory::collect(self.sampler.samples.iter().copied())?;
        Ok(())
    }

    fn clear(&mut self) -> Result<()> {
        self.map.clear();
        Ok(())
    }

    fn place(&mut self, motion: Option<Motion>) -> Result<[f64; SPREAD_TERMS]> {
        let of = if self.takes_samples { &self.sampler.samples } else { &self.sampler.keypoints };
        let in_sweep = placed(of, motion)?;
        memory::resize(&mut self.keypoints, in_sweep.len(), [0.0; 3])?;
        for (i, p) in (0..).zip(&in_sweep) {
            self.keypoints[place_of(i, in_sweep.len() as u32) as usize] = *p;
        }
        self.targets.clear();
        memory::resize(&mut self.targets, in_sweep.len(), NONE)?;
        sum(in_sweep.len(), |i| {
            let p = in_sweep[i];
            [p[0], p[1], p[2], dot(p, p)]
        })
    }

    fn linearize(&mut self, request: &Linearize) -> Result<[f64; STEP_TERMS]> {
        let Self { keypoints, targets, map, .. } = self;
        let reach = request.reach(map.size);
        let (keypoints, targets) = (&keypoints[..request.first], &mut targets[..request.first]);
        let again = |(p, target): (&[f64; 3], &mut u32)| {
            *target = map.nearest(request.at.pose.apply(*p), request.within, reach, *target);
        };
        keypoints.par_iter().zip(targets.par_iter_mut()).with_min_len(par::grain(KEYPOINTS)).for_each(again);
        let plane = self.plane;
        if plane {
            map.refresh_normals(targets.iter().copied().filter(|target| *target != NONE))?;
        }
        let map = &*map;
        sum(keypoints.len(), |i| match targets[i] {
            NONE => [0.0; STEP_TERMS],
            j if plane => by_plane(&request.at, request.width, keypoints[i], map.point(j), &map.normals[j as usize]),
            j => by_point(&request.at, request.width, keypoints[i], map.point(j)),
        })
    }

    fn support(&mut self, request: &Linearize, directions: &Square<6>) -> Result<[f64; 12]> {
        let Self { keypoints, targets, map, .. } = &*self;
        sum(keypoints.len(), |i| match targets[i] {
            NONE => [0.0; 12],
            j => seen(&request.at, request.width, keypoints[i], map.point(j), &map.normals[j as usize], directions),
        })
    }

    fn insert(&mut self, sweep: Which, motion: Option<Motion>, pose: &Rigid) -> Result<()> {
        let map_points = match sweep {
            Which::Last => &self.sampler.samples,
            Which::First => &self.first,
        };
        self.map.insert(placed(map_points, motion)?.into_iter().map(|p| pose.apply(p)))
    }

    fn trim(&mut self, middle: [f64; 3]) -> Result<()> {
        self.map.trim(middle, self.max_range)
    }

    fn sizes(&mut self) -> Result<[usize; 2]> {
        Ok(self.map.sizes())
    }

    fn near(&self) -> Result<Vec<[f64; 3]>> {
        self.map.near()
    }

    fn all(&self) -> Result<Vec<[f64; 3]>> {
        self.map.all()
    }
}

/// Points where they are at the moment of a motion.
fn placed(points: &[Timed], motion: Option<Motion>) -> Result<Vec<[f64; 3]>> {
    match motion {
        None => memory::collect(points.iter().map(|(p, _)| *p)),
        Some(motion) => {
            let moved = |&(p, time): &Timed| motion.apply(p, time);
            memory::collect_parallel(points.par_iter().with_min_len(par::grain(POINTS / TERMS)).map(moved))
        }
    }
}
