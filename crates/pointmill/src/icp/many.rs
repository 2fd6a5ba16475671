//! Alignments of many pairs in one call.

use super::aligner::Aligner;
use super::cpu;
use super::params::{IcpParams, check_number};
use super::result::Registration;
use crate::device::{Device, Stream};
use crate::registration::check_pose;
use crate::{Argument, Pose, Result, Rows, memory, par};
use pointmill_core::rigid::Rigid;
use rayon::prelude::*;

/// A source, the target that it is brought onto, and the pose to start from, as
/// [`align`](super::align) takes them.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The points to bring onto the target.
    pub source: Rows<'a>,
    /// The points that stay where they are.
    pub target: Rows<'a>,
    /// Where to start: `target_from_source`.
    pub guess: Pose,
}

/// A pair whose arguments are checked.
pub(super) struct Checked<'a> {
    pub(super) source: Rows<'a>,
    pub(super) target: Rows<'a>,
    pub(super) guess: Rigid,
}

impl<'a> Pair<'a> {
    fn checked(&self, stream: &Stream) -> Result<Checked<'a>> {
        check_pose(Argument::Guess, &self.guess)?;
        for (cloud, argument) in [(&self.source, Argument::Source), (&self.target, Argument::Target)] {
            cloud.check_points(argument, stream)?;
            cloud.check_shift()?;
            check_number(argument, cloud.len())?;
        }
        Ok(Checked { source: self.source, target: self.target, guess: self.guess.rigid().orthonormal() })
    }
}

/// The poses that bring each source onto its target, on a device; see [`Aligner::align_many`].
///
/// # Errors
/// As [`Aligner::align_many`].
///
/// ```
/// use pointmill::icp::{IcpParams, Pair, align_many};
/// use pointmill::{Device, Pose, Rows};
/// let wave = |x: f32| -> Vec<f32> {
///     (0..900).flat_map(|i| [(i % 30) as f32 * 0.1 + x, (i / 30) as f32 * 0.1, ((i % 30) as f32 * 0.3).sin()]).collect()
/// };
/// let (target, sources) = (wave(0.0), [wave(0.01), wave(0.02)]);
/// let target = Rows::f32(&target, 3)?;
/// let pair = |source| Pair { source, target, guess: Pose::IDENTITY };
/// let pairs = [pair(Rows::f32(&sources[0], 3)?), pair(Rows::f32(&sources[1], 3)?)];
/// for (found, x) in align_many(&pairs, &IcpParams::default(), &Device::auto())?.into_iter().zip([0.01, 0.02]) {
///     assert!((found?.target_from_source.translation()[0] + x).abs() < 1e-4);
/// }
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn align_many(pairs: &[Pair<'_>], params: &IcpParams, device: &Device) -> Result<Vec<Result<Registration>>> {
    Aligner::new(&device.stream()?, params)?.align_many(pairs)
}

impl Aligner {
    /// The poses that bring each source onto its target.
    ///
    /// **Order**: as the pairs. **Determinism**: each result has the bits that [`Aligner::align`]
    /// returns for its pair, but for times; `prepare_ms` is the time for all pairs that were
    /// aligned together. On the CPU threads share the pairs. On a GPU up to 256 pairs are aligned
    /// together: their trees are built together, each step of all pairs takes the launches of one,
    /// and the host waits once for every eight steps of all. Each pair takes as much memory as the
    /// largest of them, so that clouds of similar size are the fastest. Several stages, stages with
    /// voxels and other searches than the LBVH are aligned one pair after the other.
    ///
    /// # Errors
    /// Outside: out of memory, a lost device; then no pair has a result. Inside, for one pair: what
    /// [`align`](super::align) refuses in its clouds and its guess; the other pairs have their
    /// results.
    pub fn align_many(&mut self, pairs: &[Pair<'_>]) -> Result<Vec<Result<Registration>>> {
        let (stream, params) = (self.stream.clone(), &self.params);
        let mut checked = Vec::new();
        let mut refused = Vec::new();
        for pair in pairs {
            match pair.checked(&stream) {
                Ok(pair) => {
                    memory::push(&mut checked, pair)?;
                    memory::push(&mut refused, None)?;
                }
                Err(error) => memory::push(&mut refused, Some(error))?,
            }
        }
        let found = match &mut self.work {
            None => stream.device().install(|| {
                let align = |pair: &Checked<'_>| cpu::align(&pair.source, &pair.target, None, params, &pair.guess);
                memory::collect_parallel(checked.par_iter().with_min_len(par::grain(1)).map(align))
            })?,
            Some(work) => {
                let streams = checked.iter().flat_map(|pair| [pair.source.stream(), pair.target.stream()]);
                let streams: Vec<_> = streams.collect();
                stream.in_order(&streams, || work.align_many(&checked, params))?
            }
        };
        let mut found = found.into_iter();
        memory::collect(refused.into_iter().map(|error| match error {
            Some(error) => Err(error),
            None => found.next().expect("a result of each pair that was not refused"),
        }))
    }
}
