//! The GPU path: it allocates and launches. Arguments are already validated; the arithmetic is in
//! the kernels.
//!
//! The host waits once for the points of a sweep that are used, once a linearization for its sums,
//! and once for the size of the map. It decides about steps and the end of an alignment, as on the
//! CPU.

mod map;

use super::engine::{Engine, Linearize, SPREAD_TERMS, Which};
use super::params::OdometryParams;
use crate::sampling::{DeviceSampler, Sampled};
use map::DeviceMap;
use pointmill::device::{Buffer, Stream};
use pointmill::icp::Metric;
use pointmill::internals::fold;
use pointmill::{Result, Rows};
use pointmill_core::icp::pairs::STEP_TERMS;
use pointmill_core::linear::Square;
use pointmill_core::odometry::motion::Motion;
use pointmill_core::rigid::Rigid;
use pointmill_kernels::odometry as kernels;
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::prim::sum::TREE;
use pointmill_kernels::simt::WARP;

/// Sweep and map in memory of a device.
#[derive(Debug)]
pub(super) struct OnDevice {
    stream: Stream,
    params: OdometryParams,
    sampler: DeviceSampler,
    /// The map points of the first sweep, until the second shows how the sensor moved.
    first: Buffer<kernels::Timed>,
    first_len: u32,
    /// The keypoints where they are at the moment of the sweep.
    keypoints: Buffer<[f64; 4]>,
    /// The neighbour of each keypoint at the last linearization.
    targets: Buffer<u32>,
    /// Sums of trees.
    sums: Buffer<f64>,
    map: DeviceMap,
}

impl OnDevice {
    pub(super) fn new(stream: &Stream, params: &OdometryParams) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            params: params.clone(),
            sampler: DeviceSampler::new(stream)?,
            first: stream.alloc(0)?,
            first_len: 0,
            keypoints: stream.alloc(0)?,
            targets: stream.alloc(0)?,
            sums: stream.alloc(0)?,
            map: DeviceMap::new(stream, params)?,
        })
    }

    /// The number of keypoints, and that of their trees.
    const fn lengths(&self) -> (u32, u32) {
        let n = self.sampler.head.keys;
        (n, n.div_ceil(TREE))
    }

    /// Adds up the sums of trees.
    fn total<const K: usize>(&self) -> Result<[f64; K]> {
        let (_, trees) = self.lengths();
        let sums = self.sums.read(trees as usize * K)?;
        let (trees, _) = sums.as_chunks::<K>();
        Ok(fold(trees))
    }

    fn is_plane(&self) -> bool {
        self.params.metric == Metric::PointToPlane
    }

    /// The pairs of the last linearization.
    fn pairs(&self, request: &Linearize) -> kernels::TermsArgs {
        kernels::TermsArgs {
            at: request.at,
            width: request.width,
            keys: self.keypoints.pointer(),
            targets: self.targets.pointer(),
            n: self.sampler.head.keys,
            plane: self.is_plane().into(),
            map: self.map.view(),
            sums: self.sums.pointer().cast(),
        }
    }
}

impl Engine for OnDevice {
    fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>) -> Result<Sampled> {
        let sampled = self.sampler.sample(points, times, &self.params.sampling())?;
        let (n, trees) = self.lengths();
        self.keypoints.reserve(n as usize)?;
        self.targets.reserve(n as usize)?;
        self.sums.reserve(trees as usize * STEP_TERMS)?;
        Ok(sampled)
    }

    fn keep_first(&mut self) -> Result<()> {
        self.first_len = self.sampler.head.samples;
        self.first.reserve(self.first_len as usize)?;
        self.first.copy_from(&self.sampler.samples, self.first_len as usize)
    }

    fn clear(&mut self) -> Result<()> {
        self.map.clear()
    }

    fn place(&mut self, motion: Option<Motion>) -> Result<[f64; SPREAD_TERMS]> {
        const { assert!(SPREAD_TERMS == kernels::PLACE_TERMS) };
        let (n, trees) = self.lengths();
        let args = kernels::PlaceArgs {
            keys: self.sampler.keypoints.pointer(),
            n,
            deskew: kernels::Deskew::new(motion),
            placed: self.keypoints.pointer(),
            sums: self.sums.pointer().cast(),
        };
        // SAFETY: room was made for all keypoints and trees.
        unsafe { self.stream.launch::<kernels::Place>(trees, args) }?;
        self.total()
    }

    fn linearize(&mut self, request: &Linearize) -> Result<[f64; STEP_TERMS]> {
        let (n, trees) = self.lengths();
        let pairs = self.pairs(request);
        let (targets, map) = (self.targets.pointer(), pairs.map);
        let args = kernels::LookArgs {
            pose: request.at.pose,
            keys: pairs.keys,
            n,
            within: request.within,
            reach: request.reach(map.size) as u32,
            map,
            targets,
        };
        // SAFETY: room was made for all keypoints and trees, and the map is whole.
        unsafe {
            self.stream.launch::<kernels::Look>((n * WARP).div_ceil(BLOCK), args)?;
            if self.is_plane() {
                self.stream.launch::<kernels::Normals>(n.div_ceil(BLOCK), kernels::NormalsArgs { targets, n, map })?;
            }
            self.stream.launch::<kernels::Terms>(trees, pairs)?;
        }
        self.total()
    }

    fn support(&mut self, request: &Linearize, directions: &Square<6>) -> Result<[f64; 12]> {
        let (_, trees) = self.lengths();
        let sums = self.sums.pointer().cast();
        let args = kernels::SupportArgs { of: self.pairs(request), directions: *directions, sums };
        // SAFETY: room was made for all trees, and the targets are those of the last linearization.
        unsafe { self.stream.launch::<kernels::Support>(trees, args) }?;
        self.total()
    }

    fn insert(&mut self, sweep: Which, motion: Option<Motion>, pose: &Rigid) -> Result<()> {
        let (map_points, n) = match sweep {
            Which::Last => (&self.sampler.samples, self.sampler.head.samples),
            Which::First => (&self.first, self.first_len),
        };
        self.map.insert(map_points, n, kernels::Deskew::new(motion), pose)
    }

    fn trim(&mut self, middle: [f64; 3]) -> Result<()> {
        self.map.trim(middle, self.params.max_range)
    }

    fn sizes(&mut self) -> Result<[usize; 2]> {
        self.map.sizes()
    }

    fn all(&self) -> Result<Vec<[f64; 3]>> {
        self.map.all()
    }
}
