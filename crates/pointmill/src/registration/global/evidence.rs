//! How well two clouds fit at a pose.

use super::result::Overlap;
use super::surface::Surface;
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
    probes: Vec<[f32; 3]>,
    rough: Searcher,
}

impl View {
    pub(super) fn new(surface: &Surface, stream: &Stream) -> Result<Self> {
        let all = memory::collect(surface.rough.iter().map(|&i| surface.points[i as usize]))?;
        let every = all.len().div_ceil(PROBES).max(1);
        let mut probes = Vec::new();
        memory::room(&mut probes, all.len().div_ceil(every))?;
        probes.extend(all.iter().step_by(every));
        Ok(Self { probes, rough: Searcher::new(stream, &all[..], Search::Auto)? })
    }

    /// How the points of this cloud fit among those of another.
    fn overlap(&self, other: &Self, surface: &Surface, pose: &Rigid, voxel: f64) -> Result<Overlap> {
        let moved = memory::collect(self.probes.iter().map(|p| pose.apply(wide(*p)).map(|x| x as f32)))?;
        let seen = surface.searcher.nearest(&moved, Some(SEEN * voxel))?;
        let met = other.rough.nearest(&moved, Some(MET * voxel))?;
        let count = |found: &[Option<_>]| found.iter().filter(|n| n.is_some()).count();
        Ok(Overlap { probes: moved.len(), seen: count(&seen), met: count(&met) })
    }
}

/// How the source fits in the target, and the target in the source.
pub(super) fn overlaps(
    source: (&View, &Surface),
    target: (&View, &Surface),
    pose: &Rigid,
    voxel: f64,
) -> Result<[Overlap; 2]> {
    Ok([
        source.0.overlap(target.0, target.1, pose, voxel)?,
        target.0.overlap(source.0, source.1, &pose.inverse(), voxel)?,
    ])
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
