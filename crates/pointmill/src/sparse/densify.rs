//! Points of several sweeps in one frame.

use crate::device::{Buffer, Side, Stream, Uploaded, workspace};
use crate::{Argument, Device, Dtype, Pose, Result, Rows, ensure, memory, par};
use pointmill_kernels::sparse as kernels;
use pointmill_kernels::sparse::{BLOCK, SWEEP_WORDS, Sweep};
use rayon::prelude::*;

/// Points that a thread moves at least.
const POINTS_OF_A_THREAD: usize = 4096;

/// The points of several sweeps in one frame, with the time lag of each as a last column.
///
/// **Shapes**: each sweep `[N, C]` of `f32`, all with the same columns, x, y, z first; a pose and a
/// time lag a sweep. The result is `[sum of N, C + 1]`.
///
/// **Units and frames**: metres; a transform takes points of its sweep to the common frame. The lag
/// is written as it is, in seconds as detectors want it. An origin of a cloud ([`Rows::about`]) is
/// refused.
///
/// **Order and determinism**: sweep after sweep as given, points in their order. x, y, z are moved
/// in `f64` and rounded once to `f32`; other columns are copied. The same bits on every device.
///
/// **Limits**: fewer than 2^31 points.
///
/// # Errors
/// No sweeps, lengths or columns that differ, a lag that is not finite, out of memory, a lost
/// device.
///
/// ```
/// use pointmill::sparse::densify;
/// use pointmill::{Device, Pose, Rows};
/// let sweeps = [Rows::from(&[[1.0f32, 0.0, 0.0, 0.5]]), Rows::from(&[[2.0f32, 0.0, 0.0, 0.5]])];
/// let transforms = [Pose::IDENTITY, Pose::from_translation([-1.0, 0.0, 0.0])];
/// let points = densify(&sweeps, &transforms, &[0.0, 0.05], &Device::cpu())?;
/// assert_eq!(points.read(10)?, [1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.5, 0.05]);
/// # Ok::<(), pointmill::Error>(())
/// ```
pub fn densify(sweeps: &[Rows<'_>], transforms: &[Pose], time_lags: &[f32], device: &Device) -> Result<Buffer<f32>> {
    let stream = device.stream()?;
    let mut out = stream.alloc(0)?;
    Densifier::new(&stream)?.run(sweeps, transforms, time_lags, &mut out)?;
    Ok(out)
}

workspace! {
    /// Memory that calls use again.
    struct Staging(stream) {
        stream: Stream,
        /// Points of the host, one after the other.
        points: Buffer<f32>,
        sweeps: Uploaded,
    }
}

/// Moves sweeps call after call, and keeps its memory. On a GPU all sweeps are one launch. A call
/// that is recorded in a graph must have the sweeps, transforms and lags of the call before.
///
/// ```
/// use pointmill::sparse::Densifier;
/// use pointmill::{Device, Pose, Rows};
/// let stream = Device::auto().stream()?;
/// let mut densifier = Densifier::new(&stream)?;
/// let mut out = stream.alloc(0)?;
/// densifier.run(&[Rows::from(&[[1.0f32, 2.0, 3.0]])], &[Pose::IDENTITY], &[0.1], &mut out)?;
/// assert_eq!(out.read(4)?, [1.0, 2.0, 3.0, 0.1]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Densifier {
    stream: Stream,
    side: Side<(), Staging>,
}

/// A checked call.
#[derive(Clone, Copy, Debug)]
struct Job<'a> {
    sweeps: &'a [Rows<'a>],
    transforms: &'a [Pose],
    time_lags: &'a [f32],
    columns: usize,
    points: usize,
}

impl Densifier {
    /// A worker whose work goes to `stream`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream) -> Result<Self> {
        Ok(Self { stream: stream.clone(), side: Side::new(stream, || Ok(()), || Staging::new(stream))? })
    }

    /// Fills `out`. See [`densify`].
    ///
    /// # Errors
    /// As [`densify`]; a result on another device.
    pub fn run(
        &mut self,
        sweeps: &[Rows<'_>],
        transforms: &[Pose],
        time_lags: &[f32],
        out: &mut Buffer<f32>,
    ) -> Result<()> {
        let job = Job::new(sweeps, transforms, time_lags, &self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", out.stream())?;
        let streams: Vec<_> = sweeps.iter().map(Rows::stream).collect();
        let Self { stream, side } = self;
        side.fill(stream, &streams, out, |(), out| job.on_cpu(out), |staging, out| staging.launch(&job, out))
    }
}

impl<'a> Job<'a> {
    fn new(sweeps: &'a [Rows<'a>], transforms: &'a [Pose], time_lags: &'a [f32], stream: &Stream) -> Result<Self> {
        let Some(first) = sweeps.first() else {
            return Err(crate::Error::argument(Argument::Sweeps, "at least 1 sweep", 0));
        };
        let expected = format_args!("{}, one for each sweep", sweeps.len());
        ensure(transforms.len() == sweeps.len(), Argument::Transforms, expected, transforms.len())?;
        ensure(time_lags.len() == sweeps.len(), Argument::TimeLags, expected, time_lags.len())?;
        for (i, (sweep, lag)) in sweeps.iter().zip(time_lags).enumerate() {
            sweep.check(Argument::Sweeps, stream, &[Dtype::F32])?;
            let (columns, got) = (first.columns(), format_args!("{} in sweep {i}", sweep.columns()));
            ensure(columns >= 3, Argument::Sweeps, "at least 3 columns: x, y, z first", got)?;
            ensure(
                sweep.columns() == columns,
                Argument::Sweeps,
                format_args!("{columns} columns, as in sweep 0"),
                got,
            )?;
            let origin = format_args!("{:?} in sweep {i}", sweep.origin());
            ensure(
                sweep.shift().is_none(),
                Argument::Sweeps,
                "points about no origin: put it into the transform",
                origin,
            )?;
            ensure(lag.is_finite(), Argument::TimeLags, "finite numbers", format_args!("{lag} of sweep {i}"))?;
        }
        let points = sweeps.iter().map(Rows::len).sum();
        ensure(points < 1 << 31, Argument::Sweeps, "fewer than 2^31 points in all", points)?;
        Ok(Self { sweeps, transforms, time_lags, columns: first.columns(), points })
    }

    fn on_cpu(&self, out: &mut Buffer<f32>) -> Result<()> {
        let width = self.columns + 1;
        out.reserve(self.points * width)?;
        let mut left = out.host_values();
        for ((sweep, pose), &lag) in self.sweeps.iter().zip(self.transforms).zip(self.time_lags) {
            let (own, rest) = left.split_at_mut(sweep.len() * width);
            left = rest;
            let points = sweep.host::<f32>().unwrap_or_default().par_chunks_exact(self.columns);
            let rows = own.par_chunks_exact_mut(width).with_min_len(par::grain(POINTS_OF_A_THREAD));
            rows.zip(points).for_each(|(row, point)| {
                let moved = pose.apply([0, 1, 2].map(|k| f64::from(point[k])));
                (0..3).for_each(|k| row[k] = moved[k] as f32);
                row[3..self.columns].copy_from_slice(&point[3..]);
                row[self.columns] = lag;
            });
        }
        Ok(())
    }
}

impl Staging {
    fn launch(&mut self, job: &Job<'_>, out: &mut Buffer<f32>) -> Result<()> {
        out.reserve(job.points * (job.columns + 1))?;
        let host: Vec<_> = job.sweeps.iter().filter_map(Rows::host::<f32>).collect();
        if !host.is_empty() {
            self.points.put(&memory::joined(host.iter().copied())?)?;
        }
        let (mut sweeps, mut first, mut staged) = (Vec::new(), 0, 0);
        memory::room(&mut sweeps, job.sweeps.len())?;
        for ((rows, pose), &time_lag) in job.sweeps.iter().zip(job.transforms).zip(job.time_lags) {
            let values = match rows.values() {
                crate::rows::Values::Device { address, .. } => address,
                _ => {
                    staged += rows.len() * job.columns;
                    self.points.device_pointer() + ((staged - rows.len() * job.columns) * size_of::<f32>()) as u64
                }
            };
            sweeps.push(words(&Sweep { transform: *pose.rigid(), values, first, time_lag }));
            first += rows.len() as u32;
        }
        self.sweeps.set(Argument::Transforms, sweeps.iter().flatten().copied())?;
        let args = kernels::DensifyArgs {
            sweeps: self.sweeps.pointer().cast_const().cast(),
            num_sweeps: sweeps.len() as u32,
            n: job.points as u32,
            columns: job.columns as u32,
            out: out.pointer(),
        };
        if args.n == 0 {
            return Ok(());
        }
        // SAFETY: the sweeps have so many points, and room was made for all.
        unsafe { self.stream.launch::<kernels::Densify>(args.n.div_ceil(BLOCK), args) }
    }
}

/// A sweep as words, in the order of its fields.
fn words(sweep: &Sweep) -> [u32; SWEEP_WORDS] {
    let mut words = [0; SWEEP_WORDS];
    let numbers = sweep.transform.rotation.as_flattened().iter().chain(&sweep.transform.translation);
    let wide = numbers.map(|number| number.to_bits()).chain([sweep.values]);
    let narrow = [sweep.first, sweep.time_lag.to_bits()];
    let all = wide.flat_map(|bits| [bits as u32, (bits >> 32) as u32]).chain(narrow);
    words.iter_mut().zip(all).for_each(|(word, value)| *word = value);
    words
}
