//! A target that many sources are registered to.

use super::candidates::candidates;
use super::evidence::Settler;
use super::judge::{Evidence, INLIER, Judge};
use super::params::{Refine, RegisterParams};
use super::ready::Ready;
use super::result::{Overlap, Registered, Timing, Verdict};
use super::surface::Surface;
use super::types::Limits;
use super::upright::Upright;
use crate::icp::{self, IcpParams, Metric};
use crate::{Argument, Device, Pose, Result, Rows, Stream, memory};
use pointmill_core::rigid::Rigid;
use std::sync::OnceLock;
use std::time::Instant;

/// Inliers of a candidate at least.
const FEWEST_INLIERS: usize = 6;

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

/// Measures parts of the work.
struct Clock(Instant);

impl Clock {
    /// The milliseconds since the last call.
    fn lap(&mut self) -> f64 {
        std::mem::replace(&mut self.0, Instant::now()).elapsed().as_secs_f64() * 1e3
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
            for over_ground in [true, false] {
                let level = if over_ground { upright.over() } else { upright.all(voxel)? };
                let Some(level) = level else { continue };
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
            let Some(places) = turned.candidates(&source.surface, voxel)? else {
                out.capped = true;
                return Ok(out);
            };
            // What the features found stays a rival.
            memory::extend(&mut found, places.into_iter())?;
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
        let (target, refiner) = (&self.ready, self.refiner.as_ref());
        let judge = Judge { source, target, settler: &self.settler, refiner, params: &self.params };
        let best = judge.best(found)?;
        out.timing.search_ms += clock.lap();
        if let Some((best, margin)) = best {
            judge.judge(best, margin, evidence, out)?;
            out.timing.refine_ms += clock.lap();
        }
        Ok(())
    }

    /// The parameters of the registrations.
    pub const fn params(&self) -> &RegisterParams {
        &self.params
    }
}
