//! Alignments on a device.

use super::cloud::{check_normals, check_number};
use super::gpu::Work;
use super::{IcpParams, Registration, Target, align};
use crate::device::Stream;
use crate::{Argument, Coordinates, Result};
use std::time::Instant;

/// Aligns clouds on the device of a stream, and keeps its memory for the next time.
///
/// On a GPU the loop stays there: eight steps are queued at once, and the host looks at them afterwards. Clouds may be on the host or in memory of the device, and the result is
/// that of [`align`], bit by bit, but for [`Iteration::searched`](super::Iteration::searched) and times. Stages with voxels are thinned out on the CPU, and a kd-tree is made
/// there.
///
/// ```
/// use pointmill::icp::{Aligner, IcpParams};
/// use pointmill::{Coordinates, Device};
/// let mut aligner = Aligner::new(&Device::auto().stream()?)?;
/// let wave: Vec<f32> = (0..900).flat_map(|i| [(i % 30) as f32 * 0.1, (i / 30) as f32 * 0.1, ((i % 30) as f32).sin()]).collect();
/// let cloud = Coordinates::f32(&wave, 3)?;
/// let found = aligner.align(cloud, cloud, &IcpParams::default())?;
/// assert!(found.converged() && found.fitness == 1.0);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Aligner {
    stream: Stream,
    /// None on the CPU.
    work: Option<Box<Work>>,
}

impl Aligner {
    /// An aligner whose work goes to `stream`.
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn new(stream: &Stream) -> Result<Self> {
        let work = if stream.device().is_cpu() { None } else { Some(Box::new(Work::new(stream)?)) };
        Ok(Self { stream: stream.clone(), work })
    }

    /// The pose that brings `source` onto `target`, as [`align`].
    ///
    /// # Errors
    /// As [`align`]; clouds in memory of another device, out of memory, a lost device.
    pub fn align(
        &mut self,
        source: Coordinates<'_>,
        target: Coordinates<'_>,
        params: &IcpParams,
    ) -> Result<Registration> {
        if self.work.is_none() {
            return self.stream.device().install(|| align(source, target, params));
        }
        self.on_gpu(source, target, None, params)
    }

    /// As [`Aligner::align`], with the caller's normals of the target, as [`Target::with_normals`] takes them.
    ///
    /// # Errors
    /// As [`Aligner::align`] and [`Target::with_normals`].
    pub fn align_with_normals(
        &mut self,
        source: Coordinates<'_>,
        target: Coordinates<'_>,
        target_normals: &[[f32; 3]],
        params: &IcpParams,
    ) -> Result<Registration> {
        check_normals(&target, target_normals, params.metric)?;
        if self.work.is_none() {
            return Target::with_normals(&self.stream, target, target_normals, params)?.align(source);
        }
        self.on_gpu(source, target, Some(target_normals), params)
    }

    fn on_gpu(
        &mut self,
        source: Coordinates<'_>,
        target: Coordinates<'_>,
        normals: Option<&[[f32; 3]]>,
        params: &IcpParams,
    ) -> Result<Registration> {
        let work = self.work.as_mut().expect("a GPU");
        let start = Instant::now();
        let guess = params.check()?;
        for (cloud, argument) in [(&source, Argument::Source), (&target, Argument::Target)] {
            cloud.check_points(argument, &self.stream)?;
            check_number(argument, cloud.len())?;
        }
        self.stream.in_order(&[source.stream(), target.stream()], || {
            work.align(start, [source, target], normals, params, &guess)
        })
    }

    /// The stream that the work goes to.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }
}
