//! A target that many sources are aligned to.

use super::cloud::{Local, check_normals, check_number};
use super::gpu::Work;
use super::register::align_onto;
use super::stage::Onto;
use super::{IcpParams, Registration};
use crate::device::Stream;
use crate::{Argument, Coordinates, Result, memory};
use pointmill_core::rigid::Rigid;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A target made ready on the device of a stream: its index and its normals are made once, for any number of sources.
///
/// The points of every stage of the schedule are kept, on the CPU all at once, on a GPU as stages are come to. **Determinism**: an alignment is that of
/// [`align`](super::align), bit by bit, but for [`Iteration::searched`](super::Iteration::searched) and times. **Threads**: several may align at a time; on the CPU
/// they do so side by side, on a GPU one after the other.
///
/// ```
/// use pointmill::icp::{IcpParams, Target};
/// use pointmill::{Coordinates, Device};
/// let wave: Vec<f32> = (0..900).flat_map(|i| [(i % 30) as f32 * 0.1, (i / 30) as f32 * 0.1, ((i % 30) as f32).sin()]).collect();
/// let target = Target::new(&Device::auto().stream()?, Coordinates::f32(&wave, 3)?, &IcpParams::default())?;
/// for part in wave.chunks(3 * 300) {
///     assert!(target.align(Coordinates::f32(part, 3)?)?.inlier_rmse < 1e-6);
/// }
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Target {
    stream: Stream,
    params: IcpParams,
    guess: Rigid,
    side: Side,
}

#[derive(Debug)]
enum Side {
    /// The whole cloud without its points, and what stages take of it.
    Host(Local, Vec<Arc<Onto>>),
    Device(Mutex<Box<Work>>),
}

impl Target {
    /// Makes a cloud ready for alignments with these parameters, which begin at their pose.
    ///
    /// # Errors
    /// As [`align`](super::align); a cloud in memory of another device, a lost device.
    pub fn new(stream: &Stream, cloud: Coordinates<'_>, params: &IcpParams) -> Result<Self> {
        Self::made(stream, cloud, None, params)
    }

    /// As [`Target::new`], with the caller's normals in place of those that would be made: `[N]` rows, one for each point of `cloud`.
    ///
    /// Normals are scaled to length one, and their sign does not matter. Pairs with a point whose normal is zero or not finite do not count. Stages with voxels
    /// make normals of their own, because their points are means.
    ///
    /// # Errors
    /// As [`Target::new`]; another number of normals than points, or point-to-point, which uses none.
    ///
    /// ```
    /// use pointmill::icp::{IcpParams, Target};
    /// use pointmill::{Coordinates, Device};
    /// // A floor and two walls, each with the normal that it was made with.
    /// let (mut room, mut normals) = (Vec::new(), Vec::new());
    /// for i in 0..900 {
    ///     let (a, b) = ((i % 30) as f32 * 0.1, (i / 30) as f32 * 0.1);
    ///     room.extend([[a, b, 0.0], [0.0, a, b], [a, 0.0, b]]);
    ///     normals.extend([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    /// }
    /// let cloud = Coordinates::f32(room.as_flattened(), 3)?;
    /// let target = Target::with_normals(&Device::auto().stream()?, cloud, &normals, &IcpParams::default())?;
    /// assert!(target.align(cloud)?.inlier_rmse < 1e-6);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn with_normals(
        stream: &Stream,
        cloud: Coordinates<'_>,
        normals: &[[f32; 3]],
        params: &IcpParams,
    ) -> Result<Self> {
        Self::made(stream, cloud, Some(normals), params)
    }

    fn made(stream: &Stream, cloud: Coordinates<'_>, normals: Option<&[[f32; 3]]>, params: &IcpParams) -> Result<Self> {
        let guess = params.check()?;
        cloud.check_points(Argument::Target, stream)?;
        check_number(Argument::Target, cloud.len())?;
        if let Some(normals) = normals {
            check_normals(&cloud, normals, params.metric)?;
        }
        let side = if stream.device().is_cpu() {
            stream.device().install(|| host(&cloud, normals, params))?
        } else {
            let mut work = Box::new(Work::new(stream)?);
            stream.in_order(&[cloud.stream()], || work.take_target(&cloud, normals, params))?;
            Side::Device(Mutex::new(work))
        };
        Ok(Self { stream: stream.clone(), params: params.clone(), guess, side })
    }

    /// The pose that brings `source` onto the target, as [`align`](super::align).
    ///
    /// # Errors
    /// A source beyond the limits, or in memory of another device; out of memory, a lost device. The target stays as it is.
    pub fn align(&self, source: Coordinates<'_>) -> Result<Registration> {
        let start = Instant::now();
        source.check_points(Argument::Source, &self.stream)?;
        check_number(Argument::Source, source.len())?;
        let (params, guess) = (&self.params, &self.guess);
        match &self.side {
            Side::Host(whole, stages) => {
                self.stream.device().install(|| align_onto(&source, whole, stages, params, guess))
            }
            Side::Device(work) => {
                // What a call that failed left of the target is not marked as made, and is made anew.
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

fn host(cloud: &Coordinates<'_>, normals: Option<&[[f32; 3]]>, params: &IcpParams) -> Result<Side> {
    let mut whole = Local::new(Argument::Target, cloud, params.drop_zeros)?;
    if let Some(normals) = normals {
        whole.take_normals(cloud, normals, params.drop_zeros)?;
    }
    let mut stages = Vec::new();
    for stage in &params.stages() {
        memory::push(&mut stages, Onto::new(&whole, stage, params)?)?;
    }
    Ok(Side::Host(Local { points: Vec::new(), normals: Vec::new(), ..whole }, stages))
}
