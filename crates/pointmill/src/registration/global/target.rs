//! A target that many sources are registered to.

use super::candidates::{Limits, alike, candidates};
use super::evidence::{Settler, View, overlaps};
use super::params::{Refine, RegisterParams};
use super::result::{Overlap, Registered, Timing, Verdict};
use super::surface::Surface;
use super::tilt;
use super::upright::Upright;
use crate::icp::{self, IcpParams, Metric};
use crate::{Argument, Device, Pose, Result, Rows, Stream, memory};
use pointmill_core::registration::Match;
use pointmill_core::registration::pose::residual;
use pointmill_core::rigid::Rigid;
use std::sync::OnceLock;
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
    upright: Option<Upright>,
    /// As `upright`, turned by the ground: made once features do not suffice.
    turned: OnceLock<Option<Upright>>,
}

/// A cloud made ready.
#[derive(Debug)]
struct Ready {
    surface: Surface,
    view: View,
}

impl Ready {
    fn new(cloud: &Rows<'_>, params: &RegisterParams, stream: &Stream, argument: Argument) -> Result<Self> {
        cloud.check_points(argument, stream)?;
        let surface = Surface::new(cloud, params, stream, argument)?;
        let view = View::new(&surface, stream)?;
        Ok(Self { surface, view })
    }

    fn is_small(&self) -> bool {
        self.surface.usable < FEWEST_POINTS || self.surface.points.len() < FEWEST_POINTS
    }

    /// Whether enough stands out of planes to say where a cloud is.
    fn has_shape(&self) -> bool {
        self.surface.rough.len() >= FEWEST_POINTS
    }

    fn is_tilted(&self) -> bool {
        tilt::of_ground(&self.surface.normals).is_some_and(tilt::is_tilted)
    }
}

/// Where candidates come from, with the matches of features.
#[derive(Clone, Copy)]
enum Evidence<'a> {
    /// Of matches, so some must be left at the refined pose.
    Features(&'a [Match]),
    /// Also of a search, which needs none.
    Search(&'a [Match]),
}

/// Measures parts of the work.
struct Clock(Instant);

impl Clock {
    /// The milliseconds since the last call.
    fn lap(&mut self) -> f64 {
        std::mem::replace(&mut self.0, Instant::now()).elapsed().as_secs_f64() * 1e3
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
    /// Parameters out of range, too many points, memory of another device; out of memory, a lost
    /// device.
    pub fn new<'a>(cloud: impl Into<Rows<'a>>, params: &RegisterParams, device: &Device) -> Result<Self> {
        params.validate()?;
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
            let upright = (params.level && !ready.is_small())
                .then(|| Upright::new(&ready.surface, params.voxel_size, device))
                .transpose()?;
            let (refiner, stream) = (refiner.transpose()?, stream.clone());
            Ok(Self { stream, params: params.clone(), ready, settler, refiner, upright, turned: OnceLock::new() })
        })
    }

    /// The pose that brings a source onto the target; see [`register`](super::register).
    ///
    /// # Errors
    /// Too many points, memory of another device; out of memory, a lost device.
    pub fn register<'a>(&self, source: impl Into<Rows<'a>>) -> Result<Registered> {
        let source = source.into();
        self.stream.device().install(|| self.registered(&source))
    }

    fn registered(&self, source: &Rows<'_>) -> Result<Registered> {
        let (target, voxel) = (&self.ready, self.params.voxel_size);
        let mut clock = Clock(Instant::now());
        let source = Ready::new(source, &self.params, &self.stream, Argument::Source)?;
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
            timing: Timing { prepare_ms: clock.lap(), ..Timing::default() },
        };
        if source.is_small() || target.is_small() {
            return Ok(out);
        }
        if let Some(upright) = &self.upright {
            if source.is_tilted() || target.is_tilted() {
                out.verdict = Verdict::NotLevel;
                return Ok(out);
            }
            for level in upright.targets() {
                let mut next = out.clone();
                let found = level.candidates(&source.surface, voxel)?;
                self.conclude(&source, &found, Evidence::Search(&[]), &mut next, &mut clock)?;
                out.timing = next.timing;
                if out.candidates == 0 || next.verdict == Verdict::Found {
                    out = next;
                }
                if out.verdict == Verdict::Found {
                    break;
                }
            }
            return Ok(out);
        }
        let pairs = Surface::matches(&source.surface, &target.surface)?;
        out.matches = pairs.len();
        out.timing.match_ms = clock.lap();
        let limits = Limits { tolerance: 1.5 * voxel as f32, shortest: 5.0 * voxel as f32, width: INLIER * voxel };
        let (mut found, capped) = candidates(&self.stream, &pairs, &limits, source.view.middle)?;
        found.retain(|candidate| candidate.inliers >= FEWEST_INLIERS);
        out.capped = capped;
        let mut found = memory::collect(found.iter().map(|candidate| candidate.pose))?;
        self.conclude(&source, &found, Evidence::Features(&pairs), &mut out, &mut clock)?;
        if out.verdict != Verdict::Found
            && source.has_shape()
            && target.has_shape()
            && let Some(turned) = self.turned()?
        {
            // What the features found stays a rival.
            memory::extend(&mut found, turned.candidates(&source.surface, voxel)?.into_iter())?;
            let mut next = out.clone();
            self.conclude(&source, &found, Evidence::Search(&pairs), &mut next, &mut clock)?;
            out.timing = next.timing;
            if next.verdict == Verdict::Found {
                out = next;
            }
        }
        Ok(out)
    }

    /// The target turned upright by its ground, if it has some.
    fn turned(&self) -> Result<Option<&Upright>> {
        if self.turned.get().is_none() {
            let made = Upright::turned(&self.ready.surface, self.params.voxel_size, &self.stream.device())?;
            // Another thread may have been first, with the same bits.
            let _ = self.turned.set(made);
        }
        Ok(self.turned.get().and_then(Option::as_ref))
    }

    /// Judges the best of the candidates, if there are any.
    fn conclude(
        &self,
        source: &Ready,
        found: &[Rigid],
        evidence: Evidence<'_>,
        out: &mut Registered,
        clock: &mut Clock,
    ) -> Result<()> {
        out.candidates = found.len();
        let best = self.best(source, found)?;
        out.timing.search_ms += clock.lap();
        if let Some((best, margin)) = best {
            self.judge(source, best, margin, evidence, out)?;
            out.timing.refine_ms += clock.lap();
        }
        Ok(())
    }

    /// Holds poses against both clouds.
    fn checked(&self, source: &Ready, poses: &[Rigid]) -> Result<Vec<Checked>> {
        let sides = [source, &self.ready].map(|side| (&side.view, &side.surface));
        let overlaps = overlaps(sides[0], sides[1], poses, self.params.voxel_size)?;
        memory::collect(poses.iter().zip(overlaps).map(|(&pose, overlap)| Checked { pose, overlap }))
    }

    /// The candidate that fits best, and its margin over the best that is another pose. Of equal
    /// ones the first is the best.
    fn best(&self, source: &Ready, found: &[Rigid]) -> Result<Option<(Checked, f64)>> {
        let mut all = self.checked(source, found)?;
        all.sort_by(|a, b| b.score().total_cmp(&a.score()));
        all.truncate(SETTLED);
        let mut settled = Vec::new();
        for one in &all {
            memory::push(&mut settled, self.settler.settle(&source.view, &one.pose)?)?;
        }
        for (one, settled) in all.iter_mut().zip(self.checked(source, &settled)?) {
            if settled.score() > one.score() {
                *one = settled;
            }
        }
        all.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let mut all = all.into_iter();
        let Some(best) = all.next() else { return Ok(None) };
        let metres = ONE.0 * self.params.voxel_size;
        let alike = |one: &Checked| alike([&one.pose, &best.pose], source.view.middle, metres, ONE.1);
        let other = all.find(|one| !alike(one)).map_or(0.0, |one| one.score());
        let margin = if best.score() > 0.0 { 1.0 - other / best.score() } else { 0.0 };
        Ok(Some((best, margin)))
    }

    /// Refines the best candidate and judges it.
    fn judge(
        &self,
        source: &Ready,
        best: Checked,
        margin: f64,
        evidence: Evidence<'_>,
        out: &mut Registered,
    ) -> Result<()> {
        // Without a refinement nothing says in which directions the clouds slide. A pose that the
        // refinement leaves for a worse one is not determined.
        let (mut last, mut determined) = (best, self.refiner.is_none());
        if let Some(refiner) = &self.refiner {
            let refined = refiner.align(&source.surface.together()?[..], &Pose::from(last.pose))?;
            let mut checked = self.checked(source, &[*refined.target_from_source.rigid()])?;
            if let Some(checked) = checked.pop().filter(|checked| checked.score() >= 0.9 * last.score()) {
                determined = refined.fit.observability.rank() == 6;
                out.observability = Some(refined.fit.observability);
                (last, out.covariance) = (checked, refined.covariance);
            }
        }
        let limit = (INLIER * self.params.voxel_size).powi(2);
        let (Evidence::Features(pairs) | Evidence::Search(pairs)) = evidence;
        (out.inliers, out.matches) = if self.params.level {
            (last.overlap[0].met, last.overlap[0].probes)
        } else {
            (pairs.iter().filter(|pair| residual(&last.pose, pair) <= limit).count(), pairs.len())
        };
        ([out.source_overlap, out.target_overlap], out.margin) = (last.overlap, margin);
        let [from, to] = [source, &self.ready].map(|side| side.surface.centre);
        out.target_from_source = Pose::from(last.pose).about(from.map(|x| -x), to.map(|x| -x));
        let fits = last.overlap.iter().all(|o| o.share() >= LEAST_SHARE && o.extent() >= LEAST_EXTENT);
        out.verdict = if !fits {
            Verdict::LowOverlap
        } else if self.params.level && tilt::is_tilted(last.pose.rotation[2][2]) {
            Verdict::NotLevel
        } else if margin < LEAST_MARGIN || !determined {
            Verdict::Ambiguous
        } else if matches!(evidence, Evidence::Features(_)) && out.inliers < FEWEST_REFINED {
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
