//! Alignments of a source and a target.

use super::cloud::check_normals;
use super::cpu;
use super::gpu::Workspace;
use super::params::{IcpParams, check_number};
use super::result::Registration;
use crate::device::{Device, Stream};
use crate::registration::check_pose;
use crate::{Argument, Pose, Result, Rows};
use web_time::Instant;

/// The pose that brings `source` onto `target`, from a guess, on a device.
///
/// An [`Aligner`] keeps its memory between calls; a [`Target`](super::Target) keeps tree and
/// normals of the target too.
///
/// **Units and frames**: metres. `target_from_source` takes a point of the source's frame to the
/// target's, as `guess` does. Each cloud becomes `f32` about a centre of its own, which is computed
/// in `f64`: coordinates may be large, as those of maps, if they come as `f64` or about an origin.
///
/// **Semantics**: at each pose every source point is paired with its exact nearest target point
/// within the distance; see [`Searcher`](super::Searcher). Point-to-point then takes the best pose
/// for these pairs in closed form, from the source as it was given; the other metrics take a step
/// of Gauss and Newton. The result is always a proper rotation, without a reflection. Directions
/// that the pairs do not determine, such as shifts along a plane, keep the guess, and the status is
/// [`Degenerate`](crate::registration::Status::Degenerate).
///
/// **Determinism**: everything but times has the same bits on every device and for any number of
/// threads; and for any [`Search`](super::Search), but for
/// [`Iteration::searched`](super::Iteration::searched).
///
/// **Limits**: fewer than 2^30 points a cloud, within 1e18 m of its centre. Points that are not
/// finite are left out and counted.
///
/// # Errors
/// Parameters out of range, a guess that is not rigid, clouds beyond the limits or in memory of
/// another device; out of memory, a lost device. Clouds that cannot be aligned are no error: the
/// status gives the reason.
///
/// ```
/// use pointmill::icp::{IcpParams, align};
/// use pointmill::{Rows, Device, Pose};
///
/// // A corner of a room, and the same corner seen from 5 cm and a degree beside.
/// let mut room = Vec::new();
/// for i in 0..40 {
///     for j in 0..40 {
///         let (a, b) = (f64::from(i) * 0.05, f64::from(j) * 0.05);
///         room.extend([a, b, 0.0, /**/ 0.0, a, b, /**/ a, 0.0, b]);
///     }
/// }
/// let seen_from_room = Pose::from_xyzrpy([0.05, 0.0, 0.0, 0.0, 0.0, 1f64.to_radians()])?;
/// let seen: Vec<f64> = room.as_chunks::<3>().0.iter().flat_map(|p| seen_from_room.apply(*p)).collect();
///
/// let (source, target) = (Rows::f64(&seen, 3)?, Rows::f64(&room, 3)?);
/// let found = align(source, target, &Pose::IDENTITY, &IcpParams::default(), &Device::auto())?;
/// assert!(found.converged());
/// let [.., yaw] = found.target_from_source.xyzrpy();
/// assert!((yaw + 1f64.to_radians()).abs() < 1e-3);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn align<'a>(
    source: impl Into<Rows<'a>>,
    target: impl Into<Rows<'a>>,
    guess: &Pose,
    params: &IcpParams,
    device: &Device,
) -> Result<Registration> {
    Aligner::new(&device.stream()?, params)?.align(source, target, guess)
}

/// Aligns clouds on the device of a stream, and keeps its memory for the next time.
///
/// On a GPU the loop stays there: eight iterations are queued at once, and the host reads them
/// afterwards. Clouds may be on the host or in memory of the device. Stages with voxels are thinned
/// out on the CPU, and a kd-tree is made there. Results are those of [`align`], bit by bit.
///
/// ```
/// use pointmill::icp::{Aligner, IcpParams};
/// use pointmill::{Rows, Device, Pose};
/// let mut aligner = Aligner::new(&Device::auto().stream()?, &IcpParams::default())?;
/// let wave: Vec<f32> = (0..900).flat_map(|i| [(i % 30) as f32 * 0.1, (i / 30) as f32 * 0.1, ((i % 30) as f32).sin()]).collect();
/// let cloud = Rows::f32(&wave, 3)?;
/// let found = aligner.align(cloud, cloud, &Pose::IDENTITY)?;
/// assert!(found.converged() && found.fit.fitness == 1.0);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Aligner {
    pub(super) stream: Stream,
    pub(super) params: IcpParams,
    /// None on the CPU.
    pub(super) work: Option<Box<Workspace>>,
}

impl Aligner {
    /// An aligner whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory, a lost device.
    pub fn new(stream: &Stream, params: &IcpParams) -> Result<Self> {
        params.validate()?;
        let work = if stream.device().is_cpu() { None } else { Some(Box::new(Workspace::new(stream)?)) };
        Ok(Self { stream: stream.clone(), params: params.clone(), work })
    }

    /// The pose that brings `source` onto `target`, from a guess; see [`align`].
    ///
    /// # Errors
    /// As [`align`].
    pub fn align<'a>(
        &mut self,
        source: impl Into<Rows<'a>>,
        target: impl Into<Rows<'a>>,
        guess: &Pose,
    ) -> Result<Registration> {
        self.aligned(source.into(), target.into(), None, guess)
    }

    /// As [`Aligner::align`], with the caller's normals of the target, as
    /// [`Target::with_normals`](super::Target::with_normals) takes them.
    ///
    /// # Errors
    /// As [`align`] and [`Target::with_normals`](super::Target::with_normals).
    pub fn align_with_normals<'a>(
        &mut self,
        source: impl Into<Rows<'a>>,
        target: impl Into<Rows<'a>>,
        target_normals: &[[f32; 3]],
        guess: &Pose,
    ) -> Result<Registration> {
        let target = target.into();
        check_normals(&target, target_normals, self.params.metric)?;
        self.aligned(source.into(), target, Some(target_normals), guess)
    }

    fn aligned(
        &mut self,
        source: Rows<'_>,
        target: Rows<'_>,
        normals: Option<&[[f32; 3]]>,
        guess: &Pose,
    ) -> Result<Registration> {
        let start = Instant::now();
        check_pose(Argument::Guess, guess)?;
        for (cloud, argument) in [(&source, Argument::Source), (&target, Argument::Target)] {
            cloud.check_points(argument, &self.stream)?;
            check_number(argument, cloud.len())?;
        }
        let (params, guess) = (&self.params, guess.rigid().orthonormal());
        match &mut self.work {
            None => self.stream.device().install(|| cpu::align(&source, &target, normals, params, &guess)),
            Some(work) => self.stream.in_order(&[source.stream(), target.stream()], || {
                work.align(start, [source, target], normals, params, &guess)
            }),
        }
    }

    /// The parameters of the alignments.
    pub const fn params(&self) -> &IcpParams {
        &self.params
    }

    /// The stream that the work goes to.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }
}
