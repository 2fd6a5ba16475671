//! The GPU path: it allocates and launches. Arguments are already validated; the arithmetic is in
//! the kernels.
//!
//! The host waits once for the points of a sweep that are used, once a linearization for its sums,
//! and once for the size of the map. It decides about steps and the end of an alignment, as on the
//! CPU.

mod map;

use super::engine::{Engine, Linearize, SPREAD_TERMS, Which, taken, takes_samples};
use super::params::OdometryParams;
use crate::sampling::{DeviceSampler, Sampled, Sampling};
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
    sampling: Sampling,
    plane: bool,
    max_range: f64,
    sampler: DeviceSampler,
    /// Whether the samples of the sweep are its keypoints, and how many these are.
    takes_samples: bool,
    taken: u32,
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
    pub(super) fn new(stream: &Stream, params: &OdometryParams, voxel_size: f64) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            sampling: params.sampling(voxel_size),
            plane: params.metric == Metric::PointToPlane,
            max_range: params.max_range,
            sampler: DeviceSampler::new(stream)?,
            takes_samples: false,
            taken: 0,
            first: stream.alloc(0)?,
            first_len: 0,
            keypoints: stream.alloc(0)?,
            targets: stream.alloc(0)?,
            sums: stream.alloc(0)?,
            map: DeviceMap::new(stream, params, voxel_size)?,
        })
    }

    /// Adds up the sums of so many keypoints.
    fn total<const K: usize>(&self, n: u32) -> Result<[f64; K]> {
        let trees = n.div_ceil(TREE);
        let sums = self.sums.read(trees as usize * K)?;
        let (trees, _) = sums.as_chunks::<K>();
        Ok(fold(trees))
    }

    /// The pairs of the last linearization.
    fn pairs(&self, request: &Linearize) -> kernels::TermsArgs {
        kernels::TermsArgs {
            at: request.at,
            width: request.width,
            keys: self.keypoints.pointer(),
            targets: self.targets.pointer(),
            n: request.first as u32,
            plane: self.plane.into(),
            map: self.map.view(),
            sums: self.sums.pointer().cast(),
        }
    }
}

impl Engine for OnDevice {
    fn sample(&mut self, points: &Rows<'_>, times: Option<&[f64]>) -> Result<Sampled> {
        let sampled = self.sampler.sample(points, times, &self.sampling)?;
        self.takes_samples = takes_samples(&sampled);
        self.taken = taken(&sampled) as u32;
        let (n, trees) = (self.taken as usize, self.taken.div_ceil(TREE) as usize);
        self.keypoints.reserve(n)?;
        self.targets.reserve(n)?;
        self.sums.reserve(trees * STEP_TERMS)?;
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
        let n = self.taken;
        let of = if self.takes_samples { &self.sampler.samples } else { &self.sampler.keypoints };
        let args = kernels::PlaceArgs {
            keys: of.pointer(),
            n,
            deskew: kernels::Deskew::new(motion),
            placed: self.keypoints.pointer(),
            sums: self.sums.pointer().cast(),
        };
        // SAFETY: room was made for all keypoints and trees.
        unsafe { self.stream.launch::<kernels::Place>(n.div_ceil(TREE), args) }?;
        self.total(n)
    }

    fn linearize(&mut self, request: &Linearize) -> Result<[f64; STEP_TERMS]> {
        let n = request.first as u32;
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
            if self.plane {
                self.stream.launch::<kernels::Normals>(n.div_ceil(BLOCK), kernels::NormalsArgs { targets, n, map })?;
            }
            self.stream.launch::<kernels::Terms>(n.div_ceil(TREE), pairs)?;
        }
        self.total(n)
    }

    fn support(&mut self, request: &Linearize, directions: &Square<6>) -> Result<[f64; 12]> {
        let n = request.first as u32;
        let sums = self.sums.pointer().cast();
        let args = kernels::SupportArgs { of: self.pairs(request), directions: *directions, sums };
        // SAFETY: room was made for all trees, and the targets are those of the last linearization.
        unsafe { self.stream.launch::<kernels::Support>(n.div_ceil(TREE), args) }?;
        self.total(n)
    }

    fn insert(&mut self, sweep: Which, motion: Option<Motion>, pose: &Rigid) -> Result<()> {
        let (map_points, n) = match sweep {
            Which::Last => (&self.sampler.samples, self.sampler.head.samples),
            Which::First => (&self.first, self.first_len),
        };
        self.map.insert(map_points, n, kernels::Deskew::new(motion), pose)
    }

    fn trim(&mut self, middle: [f64; 3]) -> Result<()> {
        self.map.trim(middle, self.max_range)
    }

    fn sizes(&mut self) -> Result<[usize; 2]> {
        self.map.sizes()
    }

    fn near(&self) -> Result<Vec<[f64; 3]>> {
        self.map.near()
    }

    fn all(&self) -> Result<Vec<[f64; 3]>> {
        self.map.all()
    }
}
