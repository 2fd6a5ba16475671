//! A target that many sources are aligned to.

use super::cloud::check_normals;
use super::cpu;
use super::gpu::Workspace;
use super::params::{IcpParams, check_number};
use super::result::Registration;
use crate::device::Stream;
use crate::registration::check_pose;
use crate::{Argument, Pose, Result, Rows};
use std::sync::{Mutex, PoisonError};
use web_time::Instant;

/// A target made ready on the device of a stream: its tree and its normals are made once, for any
/// number of sources and guesses.
///
/// It keeps the points of every stage of the schedule; the CPU makes all stages at once, a GPU each
/// stage when it is first needed. **Determinism**: an alignment is that of
/// [`align`](super::align), bit by bit, but for [`Iteration::searched`](super::Iteration::searched) and times. **Threads**: several threads may align at a time; on the CPU they
/// work side by side, on a GPU one after the other.
///
/// ```
/// use pointmill::icp::{IcpParams, Target};
/// use pointmill::{Rows, Device, Pose};
/// let wave: Vec<f32> = (0..900).flat_map(|i| [(i % 30) as f32 * 0.1, (i / 30) as f32 * 0.1, ((i % 30) as f32).sin()]).collect();
/// let target = Target::new(&Device::auto().stream()?, Rows::f32(&wave, 3)?, &IcpParams::default())?;
/// let mut pose = Pose::IDENTITY;
/// for part in wave.chunks(3 * 300) {
///     let found = target.align(Rows::f32(part, 3)?, &pose)?;
///     assert!(found.fit.inlier_rmse < 1e-6);
///     pose = found.target_from_source; // the guess of the next part
/// }
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Target {
    stream: Stream,
    params: IcpParams,
    side: Side,
}

#[derive(Debug)]
enum Side {
    Host(cpu::Target),
    Device(Mutex<Box<Workspace>>),
}

impl Target {
    /// Makes a cloud ready for alignments with these parameters.
    ///
    /// # Errors
    /// As [`align`](super::align); a cloud in memory of another device, a lost device.
    pub fn new<'a>(stream: &Stream, cloud: impl Into<Rows<'a>>, params: &IcpParams) -> Result<Self> {
        Self::made(stream, cloud.into(), None, params)
    }

    /// As [`Target::new`], with normals of the caller: `[N, 3]`, one for each point of `cloud`.
    ///
    /// Normals are scaled to length one, and their sign does not matter. Pairs with a point whose
    /// normal is zero or not finite do not count. Stages with voxels make normals of their own,
    /// because their points are means.
    ///
    /// # Errors
    /// As [`Target::new`]; another number of normals than points, or point-to-point, which uses
    /// none.
    ///
    /// ```
    /// use pointmill::icp::{IcpParams, Target};
    /// use pointmill::{Rows, Device, Pose};
    /// // A floor and two walls, each with the normal that it was made with.
    /// let (mut room, mut normals) = (Vec::new(), Vec::new());
    /// for i in 0..900 {
    ///     let (a, b) = ((i % 30) as f32 * 0.1, (i / 30) as f32 * 0.1);
    ///     room.extend([[a, b, 0.0], [0.0, a, b], [a, 0.0, b]]);
    ///     normals.extend([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    /// }
    /// let cloud = Rows::f32(room.as_flattened(), 3)?;
    /// let target = Target::with_normals(&Device::auto().stream()?, cloud, &normals, &IcpParams::default())?;
    /// assert!(target.align(cloud, &Pose::IDENTITY)?.fit.inlier_rmse < 1e-6);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn with_normals<'a>(
        stream: &Stream,
        cloud: impl Into<Rows<'a>>,
        normals: &[[f32; 3]],
        params: &IcpParams,
    ) -> Result<Self> {
        Self::made(stream, cloud.into(), Some(normals), params)
    }

    fn made(stream: &Stream, cloud: Rows<'_>, normals: Option<&[[f32; 3]]>, params: &IcpParams) -> Result<Self> {
        params.validate()?;
        cloud.check_points(Argument::Target, stream)?;
        check_number(Argument::Target, cloud.len())?;
        if let Some(normals) = normals {
            check_normals(&cloud, normals, params.metric)?;
        }
        let side = if stream.device().is_cpu() {
            Side::Host(stream.device().install(|| cpu::Target::new(&cloud, normals, params))?)
        } else {
            let mut work = Box::new(Workspace::new(stream)?);
            stream.in_order(&[cloud.stream()], || work.take_target(&cloud, normals, params))?;
            Side::Device(Mutex::new(work))
        };
        Ok(Self { stream: stream.clone(), params: params.clone(), side })
    }

    /// The pose that brings `source` onto the target, from a guess; see [`align`](super::align).
    ///
    /// # Errors
    /// A guess that is not rigid, a source beyond the limits, or in memory of another device; out
    /// of memory, a lost device. The target stays as it is.
    pub fn align<'a>(&self, source: impl Into<Rows<'a>>, guess: &Pose) -> Result<Registration> {
        let source = source.into();
        let start = Instant::now();
        check_pose(Argument::Guess, guess)?;
        source.check_points(Argument::Source, &self.stream)?;
        check_number(Argument::Source, source.len())?;
        let (params, guess) = (&self.params, &guess.rigid().orthonormal());
        match &self.side {
            Side::Host(target) => self.stream.device().install(|| target.align(&source, params, guess)),
            Side::Device(work) => {
                // A stage that a failed call left half-made is not marked as made, and is made
                // anew.
                let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                self.stream.in_order(&[source.stream()], || work.align_onto(start, &source, params, guess))
            }
        }
    }

    /// The parameters of the alignments.
    pub const fn params(&self) -> &IcpParams {
        &self.params
    }
}
