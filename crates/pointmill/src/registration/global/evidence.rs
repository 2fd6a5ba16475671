//! How well two clouds fit at a pose.

use super::result::Overlap;
use super::surface::Surface;
use super::types::Probe;
use super::{cpu, gpu};
use crate::centre::centre_of;
use crate::device::Buffer;
use crate::icp::{IcpParams, Metric, Search, Searcher, Stage, Target};
use crate::{Pose, Result, Stream, memory};
use pointmill_core::rigid::{Rigid, wide};

/// Points of a cloud that are looked at, about.
const PROBES: usize = 1000;
/// A point is seen where the other cloud has a point within so many voxels.
const SEEN: f64 = 6.0;
/// A point is met where the other cloud has a rough point within so many voxels.
const MET: f64 = 1.5;

/// What a cloud shows of itself: the points that stand out of planes.
#[derive(Debug)]
pub(super) struct View {
    probes: Vec<Probe>,
    /// Where most of them are.
    pub(super) middle: [f64; 3],
    on_device: Option<Buffer<gpu::Probe4>>,
    rough: Searcher,
}

impl View {
    pub(super) fn new(surface: &Surface, stream: &Stream) -> Result<Self> {
        let all = memory::collect(surface.rough.iter().map(|&i| surface.points[i as usize]))?;
        let every = all.len().div_ceil(PROBES).max(1);
        let mut probes = Vec::new();
        memory::room(&mut probes, all.len().div_ceil(every))?;
        probes.extend(all.iter().step_by(every));
        let on_device = (!stream.device().is_cpu()).then(|| gpu::probes(stream, &probes)).transpose()?;
        let middle = centre_of(&memory::collect(probes.iter().map(|p| wide(*p)))?);
        Ok(Self { probes, middle, on_device, rough: Searcher::new(stream, &all[..], Search::Auto)? })
    }

    /// How the points of this cloud fit among those of another, at each pose.
    fn overlaps(&self, other: &Self, surface: &Surface, poses: &[Rigid], voxel: f64) -> Result<Vec<Overlap>> {
        let (seen, met) = (SEEN * voxel, MET * voxel);
        let counts = match (&self.on_device, surface.searcher.on_device(), other.rough.on_device()) {
            (Some(probes), Some(surface), Some(rough)) => gpu::counts(probes, poses, (&surface, seen), (&rough, met))?,
            _ => cpu::counts(&self.probes, poses, (&surface.searcher, seen), (&other.rough, met))?,
        };
        let overlap =
            |[seen, met]: [u32; 2]| Overlap { probes: self.probes.len(), seen: seen as usize, met: met as usize };
        memory::collect(counts.into_iter().map(overlap))
    }
}

/// How the source fits in the target, and the target in the source, at each pose.
pub(super) fn overlaps(
    source: (&View, &Surface),
    target: (&View, &Surface),
    poses: &[Rigid],
    voxel: f64,
) -> Result<Vec<[Overlap; 2]>> {
    let back: Vec<Rigid> = memory::collect(poses.iter().map(Rigid::inverse))?;
    let forth = source.0.overlaps(target.0, target.1, poses, voxel)?;
    let back = target.0.overlaps(source.0, source.1, &back, voxel)?;
    memory::collect(forth.into_iter().zip(back).map(|(forth, back)| [forth, back]))
}

/// The rough points of a target, for short alignments of candidates.
#[derive(Debug)]
pub(super) struct Settler(Target);

impl Settler {
    pub(super) fn new(surface: &Surface, voxel: f64, stream: &Stream) -> Result<Self> {
        let all = memory::collect(surface.rough.iter().map(|&i| surface.points[i as usize]))?;
        let stage = |voxels: f64| Stage { voxel_size: 0.0, max_distance: Some(voxels * voxel) };
        let params = IcpParams {
            metric: Metric::PointToPoint,
            max_iterations: 6,
            step_tolerance: 0.02 * voxel,
            schedule: vec![stage(5.0), stage(2.5)],
            ..IcpParams::default()
        };
        Ok(Self(Target::new(stream, &all[..], &params)?))
    }

    /// The pose after some steps of ICP with the probes of the source.
    pub(super) fn settle(&self, source: &View, pose: &Rigid) -> Result<Rigid> {
        Ok(*self.0.align(&source.probes[..], &Pose::from(*pose))?.target_from_source.rigid())
    }
}
