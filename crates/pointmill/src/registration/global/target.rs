//! A target that many sources are registered to.

use super::candidates::{Candidate, alike, candidates};
use super::evidence::{Settler, View, overlaps};
use super::graph::Graph;
use super::matches::{Columns, matches};
use super::params::{Refine, RegisterParams};
use super::result::{Overlap, Registered, Timing, Verdict};
use super::solve::residual;
use super::surface::Surface;
use crate::icp::{self, IcpParams, Metric};
use crate::{Argument, Device, Error, Pose, Result, Rows, Stream, memory};
use pointmill_core::rigid::Rigid;
use std::time::Instant;

/// Points and voxels of a cloud at least.
const FEWEST_POINTS: usize = 50;
/// Inliers of a candidate at least.
const FEWEST_INLIERS: usize = 6;
/// Inliers of a refined pose at least: so many determine a pose. Far apart, matches are few, and the
/// refinement moves the pose by more than the matches are off.
const FEWEST_REFINED: usize = 3;
/// Candidates that are aligned before they are compared.
const SETTLED: usize = 8;
/// Most voxels that an inlier is off.
const INLIER: f64 = 2.0;
/// Poses that differ by less are one: voxels, radians.
const ONE: (f64, f64) = (8.0, 0.1);
/// Least share of the seen points that are met, both ways.
const LEAST_SHARE: f64 = 0.4;
/// Least share of all points that are met, both ways.
const LEAST_EXTENT: f64 = 0.2;
/// Least margin over another pose.
const LEAST_MARGIN: f64 = 0.25;

/// A target made ready for any number of sources.
///
/// ```
/// use pointmill::registration::global::{RegisterParams, Target, Verdict};
/// use pointmill::Device;
/// let flat: Vec<[f32; 3]> = (0..10_000).map(|i| [(i % 100) as f32 * 0.2, (i / 100) as f32 * 0.2, 0.0]).collect();
/// let target = Target::new(&flat[..], &RegisterParams::default(), &Device::cpu())?;
/// // A plane has no place of its own.
/// assert_eq!(target.register(&flat[..])?.verdict, Verdict::TooFewMatches);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Target {
    stream: Stream,
    params: RegisterParams,
    ready: Ready,
    settler: Settler,
    refiner: Option<icp::Target>,
}

/// A cloud made ready.
#[derive(Debug)]
struct Ready {
    surface: Surface,
    columns: Columns,
    view: View,
}

impl Ready {
    fn new(cloud: &Rows<'_>, params: &RegisterParams, stream: &Stream, argument: Argument) -> Result<Self> {
        cloud.check_points(argument, stream)?;
        let surface = Surface::new(cloud, params, stream, argument)?;
        let columns = Columns::new(&surface.features)?;
        let view = View::new(&surface, stream)?;
        Ok(Self { surface, columns, view })
    }

    fn is_small(&self) -> bool {
        self.surface.usable < FEWEST_POINTS || self.surface.points.len() < FEWEST_POINTS
    }
}

/// A candidate that was held against both clouds.
struct Checked {
    pose: Rigid,
    overlap: [Overlap; 2],
}

impl Checked {
    /// What poses are compared by: points that are met, times the share of the seen ones, in the worse
    /// direction.
    fn score(&self) -> f64 {
        self.overlap.iter().map(|o| o.extent() * o.share()).fold(f64::INFINITY, f64::min)
    }
}

impl Target {
    /// Makes a cloud ready: voxel means, normals, features, and trees.
    ///
    /// **Shapes, units and frames**: rows of which the first three columns are x, y, z in metres.
    /// Points that are not finite, and those at the origin, are left out.
    ///
    /// # Errors
    /// Parameters out of range, a device that is no CPU, too many points; out of memory.
    pub fn new<'a>(cloud: impl Into<Rows<'a>>, params: &RegisterParams, device: &Device) -> Result<Self> {
        params.validate()?;
        if !device.is_cpu() {
            return Err(Error::argument(Argument::Device, "the CPU", device));
        }
        let (cloud, stream) = (cloud.into(), device.stream()?);
        device.install(|| {
            let ready = Ready::new(&cloud, params, &stream, Argument::Target)?;
            let settler = Settler::new(&ready.surface, params.voxel_size, &stream)?;
            let metric = match params.refine {
                Refine::Gicp => Some(Metric::Gicp),
                Refine::Plane => Some(Metric::PointToPlane),
                Refine::None => None,
            };
            let refiner = metric.map(|metric| {
                let icp = IcpParams {
                    metric,
                    max_distance: Some(3.0 * params.voxel_size),
                    max_iterations: 30,
                    step_tolerance: 1e-3 * params.voxel_size,
                    ..IcpParams::default()
                };
                icp::Target::with_normals(&stream, &ready.surface.points[..], &ready.surface.normals, &icp)
            });
            Ok(Self { refiner: refiner.transpose()?, stream: stream.clone(), params: params.clone(), ready, settler })
        })
    }

    /// The pose that brings a source onto the target; see [`register`](super::register).
    ///
    /// # Errors
    /// Too many points; out of memory.
    pub fn register<'a>(&self, source: impl Into<Rows<'a>>) -> Result<Registered> {
        let source = source.into();
        self.stream.device().install(|| self.registered(&source))
    }

    fn registered(&self, source: &Rows<'_>) -> Result<Registered> {
        let mut timing = Timing::default();
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64() * 1e3;
        let (target, voxel) = (&self.ready, self.params.voxel_size);
        let source = Ready::new(source, &self.params, &self.stream, Argument::Source)?;
        timing.prepare_ms = lap();
        let mut out = Registered {
            target_from_source: Pose::IDENTITY,
            verdict: Verdict::TooFewMatches,
            matches: 0,
            inliers: 0,
            source_overlap: Overlap::default(),
            target_overlap: Overlap::default(),
            margin: 0.0,
            observability: None,
            covariance: None,
            candidates: 0,
            capped: false,
            timing,
        };
        if source.is_small() || target.is_small() {
            return Ok(out);
        }
        let pairs = self.pairs(&source)?;
        out.matches = pairs.len();
        out.timing.match_ms = lap();
        let graph = Graph::new(&pairs, 1.5 * voxel as f32, 5.0 * voxel as f32)?;
        let (mut found, capped) = candidates(&pairs, &graph, INLIER * voxel)?;
        found.retain(|candidate| candidate.inliers >= FEWEST_INLIERS);
        (out.candidates, out.capped) = (found.len(), capped);
        let Some((best, margin)) = self.best(&source, &found)? else { return Ok(out) };
        out.timing.search_ms = lap();
        self.judge(&source, best, margin, &pairs, &mut out)?;
        out.timing.refine_ms = lap();
        Ok(out)
    }

    /// The points of the matches.
    fn pairs(&self, source: &Ready) -> Result<Vec<[[f32; 3]; 2]>> {
        let sides = [source, &self.ready];
        let found = matches(sides.map(|s| &s.surface.features[..]), sides.map(|s| &s.columns))?;
        let point = |side: usize, i: u32| sides[side].surface.points[sides[side].surface.keys[i as usize] as usize];
        memory::collect(found.iter().map(|&[s, t]| [point(0, s), point(1, t)]))
    }

    fn check(&self, source: &Ready, pose: Rigid) -> Result<Checked> {
        let sides = [source, &self.ready].map(|side| (&side.view, &side.surface));
        Ok(Checked { overlap: overlaps(sides[0], sides[1], &pose, self.params.voxel_size)?, pose })
    }

    /// The candidate that fits best, and its margin over the best that is another pose. Of equal
    /// ones the first is the best.
    fn best(&self, source: &Ready, found: &[Candidate]) -> Result<Option<(Checked, f64)>> {
        let mut all = Vec::new();
        for candidate in found {
            all.push(self.check(source, candidate.pose)?);
        }
        all.sort_by(|a, b| b.score().total_cmp(&a.score()));
        all.truncate(SETTLED);
        for one in &mut all {
            let settled = self.check(source, self.settler.settle(&source.view, &one.pose)?)?;
            if settled.score() > one.score() {
                *one = settled;
            }
        }
        all.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let mut all = all.into_iter();
        let Some(best) = all.next() else { return Ok(None) };
        let metres = ONE.0 * self.params.voxel_size;
        let other = all.find(|one| !alike(&one.pose, &best.pose, metres, ONE.1)).map_or(0.0, |one| one.score());
        let margin = if best.score() > 0.0 { 1.0 - other / best.score() } else { 0.0 };
        Ok(Some((best, margin)))
    }

    /// Refines the best candidate and judges it.
    fn judge(
        &self,
        source: &Ready,
        best: Checked,
        margin: f64,
        pairs: &[[[f32; 3]; 2]],
        out: &mut Registered,
    ) -> Result<()> {
        // Without a refinement nothing says in which directions the clouds slide. A pose that the
        // refinement leaves for a worse one is not determined.
        let (mut last, mut determined) = (best, self.refiner.is_none());
        if let Some(refiner) = &self.refiner {
            let refined = refiner.align(&source.surface.points[..], &Pose::from(last.pose))?;
            let checked = self.check(source, *refined.target_from_source.rigid())?;
            if checked.score() >= 0.9 * last.score() {
                determined = refined.fit.observability.rank() == 6;
                out.observability = Some(refined.fit.observability);
                (last, out.covariance) = (checked, refined.covariance);
            }
        }
        let limit = (INLIER * self.params.voxel_size).powi(2);
        out.inliers = pairs.iter().filter(|pair| residual(&last.pose, pair) <= limit).count();
        ([out.source_overlap, out.target_overlap], out.margin) = (last.overlap, margin);
        let [from, to] = [source, &self.ready].map(|side| side.surface.centre);
        out.target_from_source = Pose::from(last.pose).about(from.map(|x| -x), to.map(|x| -x));
        let fits = last.overlap.iter().all(|o| o.share() >= LEAST_SHARE && o.extent() >= LEAST_EXTENT);
        out.verdict = if !fits {
            Verdict::LowOverlap
        } else if margin < LEAST_MARGIN || !determined {
            Verdict::Ambiguous
        } else if out.inliers < FEWEST_REFINED {
            Verdict::TooFewMatches
        } else {
            Verdict::Found
        };
        Ok(())
    }

    /// The parameters of the registrations.
    pub const fn params(&self) -> &RegisterParams {
        &self.params
    }
}
