//! Many sweeps through one process: whether its memory stays as it is, and whether threads that
//! share a device get the bits of one alone.

use bytemuck::{NoUninit, Pod, cast_slice};
use pointmill::icp::{Aligner, IcpParams};
use pointmill::ndt::{NdtBuilder, NdtGrid, NdtParams};
use pointmill::roi_pool::{RoiArrays, RoiLayout, RoiPoolParams, RoiPooled, RoiPooler, Scene};
use pointmill::voxelize::{VoxelizeParams, Voxelizer, Voxels};
use pointmill::{AnyBuffer, Buffer, Device, Error, NamedArrays, Points, Pose, Result, Rows, Stream, Values};
use pointmill_synth::{Drive, DriveParams, RoiScene};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{io, thread};

/// Sweeps after which memory is expected to stay as it is. They are all different, and then they
/// come again: a workspace is as large as the largest of what it has seen, so that with new sweeps
/// it would still grow a little now and then, and hide what leaks.
pub const SETTLED: usize = 200;
/// Sweeps whose sizes are all different; then the sizes come again, so that the largest comes
/// before memory has settled.
const SIZES: usize = 50;
/// Points of the smallest and the largest sweep.
const LEAST: usize = 500;
const MOST: usize = 20_000;
/// Boxes, and values a feature has.
const BOXES: usize = 48;
const CHANNELS: usize = 8;
/// Of icp: every so many-th point of a sweep is in one cloud, and one halfway between in the other;
/// and the most steps.
const EVERY: usize = 8;
const MOST_STEPS: usize = 3;

/// An operator that takes sweep after sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SoakOperator {
    /// Voxelization.
    Voxelize,
    /// Pooling in oriented boxes.
    RoiPool,
    /// A grid of normal distributions of each sweep.
    Ndt,
    /// A part of each sweep brought onto another part of it.
    Icp,
}

impl SoakOperator {
    /// Every operator.
    pub const ALL: [Self; 4] = [Self::Voxelize, Self::RoiPool, Self::Ndt, Self::Icp];
}

/// The sweeps of a soak: windows of a synthetic drive and of a street with boxes, of many sizes,
/// the same in every run.
#[derive(Debug)]
pub struct Soak {
    drive: Vec<pointmill::PointCloud>,
    street: RoiScene,
    features: Vec<f32>,
}

/// What a pass over all sweeps found.
#[derive(Clone, Debug, Serialize)]
pub struct SoakPass {
    /// What took the sweeps.
    pub operator: SoakOperator,
    /// `cpu` or `cuda:I`.
    pub device: String,
    /// Threads of the device; 1 on a GPU.
    pub device_threads: usize,
    /// Threads that shared the device, each with memory of its own.
    pub threads: usize,
    /// Sweeps that were done.
    pub sweeps: usize,
    /// Points of all of them.
    pub points: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The host's memory that the process had in the first tenth of the sweeps after the 200th, in
    /// bytes, the mean; null where the system does not tell, or there were no sweeps then.
    pub settled_bytes: Option<u64>,
    /// The same of the last tenth.
    pub last_bytes: Option<u64>,
    /// The most that it had at any time.
    pub most_bytes: Option<u64>,
    /// By how much the last tenth has more than the first, as a part of it; negative if it has
    /// less.
    pub growth: Option<f64>,
    /// As `growth`, of the GPU's memory that is taken; null on the CPU.
    pub device_growth: Option<f64>,
    /// A hash of all results in the order of the sweeps, in 16 digits.
    pub hash: String,
    /// Sweeps whose results were not those of one thread of the CPU.
    pub different: usize,
}

impl Default for Soak {
    fn default() -> Self {
        Self::new()
    }
}

impl Soak {
    /// Makes the drive and the street.
    pub fn new() -> Self {
        let drive = Drive::new(DriveParams::default());
        let street = RoiScene::street(BOXES, 2 * MOST, 0);
        let features = street.features(CHANNELS);
        Self { drive: (0..drive.len()).map(|i| drive.sweep(i)).collect(), street, features }
    }

    /// Where the window of sweep `i` among `n` points starts, and how many points it has.
    fn window(i: usize, n: usize) -> (usize, usize) {
        // 23 and 50 have no common divisor: each size once in so many sweeps, and large ones
        // between small ones.
        let size = i * 23 % SIZES;
        let len = (LEAST + (MOST - LEAST) * size / (SIZES - 1)).min(n);
        (mix((i % SETTLED) as u64) as usize % (n - len + 1), len)
    }

    fn sweep(&self, i: usize) -> Points<'_> {
        let cloud = &self.drive[mix(!((i % SETTLED) as u64)) as usize % self.drive.len()];
        let (start, len) = Self::window(i, cloud.len());
        let columns = cloud.columns();
        Points::new(&cloud.data()[start * columns..(start + len) * columns], columns).expect("a part of a cloud")
    }

    /// Takes `sweeps` sweeps through an operator: by one thread of the CPU, then by one thread and
    /// by `threads` threads that share the device. Each pass is told as soon as it is over, and
    /// asks between sweeps whether to go on.
    ///
    /// # Errors
    /// Out of memory, a lost device, or what `tell` returns; whatever was found until `goes_on`
    /// says no.
    pub fn run<E: From<Error>>(
        &self,
        operator: SoakOperator,
        device: &Device,
        sweeps: usize,
        threads: usize,
        goes_on: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(&SoakPass) -> Result<(), E>,
    ) -> Result<(), E> {
        let one = Device::cpu_with_threads(1)?;
        let (first, wanted) = self.pass(operator, &one, 1, sweeps, &[], goes_on)?;
        tell(&first)?;
        let passes = if device.is_cpu() { vec![threads] } else { vec![1, threads] };
        for threads in passes {
            if goes_on() {
                tell(&self.pass(operator, device, threads, sweeps, &wanted, goes_on)?.0)?;
            }
        }
        Ok(())
    }

    /// One pass; the hash of each sweep's result beside it.
    fn pass(
        &self,
        operator: SoakOperator,
        device: &Device,
        threads: usize,
        sweeps: usize,
        wanted: &[u64],
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<(SoakPass, Vec<u64>)> {
        let start = Instant::now();
        let watch = Watch { device, seen: Mutex::default() };
        let failed = AtomicBool::new(false);
        let thread = |t: usize| -> Result<Vec<(u64, usize)>> {
            let mut lane = Lane::new(operator, &device.stream()?)?;
            let mut done = Vec::with_capacity(sweeps.div_ceil(threads));
            for i in (t..sweeps).step_by(threads) {
                if failed.load(Ordering::Relaxed) || !goes_on() {
                    break;
                }
                done.push(lane.run(self, i)?);
                watch.look(i)?;
            }
            Ok(done)
        };
        let guarded = |t| {
            let done = thread(t);
            failed.fetch_or(done.is_err(), Ordering::Relaxed);
            done
        };
        let done: Vec<Vec<(u64, usize)>> = thread::scope(|scope| {
            let guarded = &guarded;
            let start = |t| thread::Builder::new().spawn_scoped(scope, move || guarded(t));
            let refused = |e: io::Error| {
                failed.store(true, Ordering::Relaxed);
                let reason = format!("{threads} were asked for: {e}");
                Error::Device { device: device.to_string(), action: "start its threads", reason }
            };
            let all: Vec<_> = (0..threads).map(|t| start(t).map_err(refused)).collect();
            let join =
                |t: thread::ScopedJoinHandle<'_, _>| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.into_iter().map(|t| t.and_then(join)).collect::<Result<_>>()
        })?;
        let total: usize = done.iter().map(Vec::len).sum();
        // Sweep i is the i / threads-th of its thread.
        let of = |i: usize| done[i % threads].get(i / threads).copied();
        let results: Vec<(u64, usize)> = (0..sweeps).map_while(of).collect();
        let hashes: Vec<u64> = results.iter().map(|r| r.0).collect();
        let different = hashes.iter().zip(wanted).filter(|(a, b)| a != b).count();
        let seen = watch.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let [host, gpu] = [0, 1].map(|of| Seen::new(seen.iter().filter_map(|s| Some((s.0, s.1[of]?))), sweeps));
        let pass = SoakPass {
            operator,
            device: device.to_string(),
            device_threads: device.threads(),
            threads,
            sweeps: total,
            points: results.iter().map(|r| r.1 as u64).sum(),
            seconds: rounded(start.elapsed().as_secs_f64()),
            settled_bytes: host.settled,
            last_bytes: host.last,
            most_bytes: host.most,
            growth: host.growth(),
            device_growth: gpu.growth(),
            hash: format!("{:016x}", hash_of(0, &hashes)),
            different,
        };
        Ok((pass, hashes))
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Looks at the memory of host and GPU while sweeps are done.
struct Watch<'a> {
    device: &'a Device,
    /// After which sweep, and what was taken of host and GPU.
    seen: Mutex<Vec<(usize, [Option<u64>; 2])>>,
}

impl Watch<'_> {
    /// Looks every few sweeps: asking the system takes as long as a small sweep.
    fn look(&self, i: usize) -> Result<()> {
        const EVERY: usize = 10;
        if i.is_multiple_of(EVERY) {
            let gpu = self.device.info()?.map(|info| info.memory_bytes - info.free_bytes);
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push((i, [resident_bytes(), gpu]));
        }
        Ok(())
    }
}

/// What was seen of one memory. Means tell growth from the ups and downs of an allocator.
struct Seen {
    settled: Option<u64>,
    last: Option<u64>,
    most: Option<u64>,
}

impl Seen {
    fn new(seen: impl Iterator<Item = (usize, u64)> + Clone, sweeps: usize) -> Self {
        let tenth = sweeps.saturating_sub(SETTLED).div_ceil(10);
        let mean = |from: usize, to: usize| {
            let of = seen.clone().filter(|s| (from..to).contains(&s.0)).map(|s| s.1);
            let (sum, n) = of.fold((0, 0), |(sum, n), bytes| (sum + bytes, n + 1));
            (n > 0).then(|| sum / n)
        };
        let last = sweeps.saturating_sub(tenth).max(SETTLED);
        Self {
            settled: mean(SETTLED, SETTLED + tenth),
            last: mean(last, sweeps),
            most: seen.clone().map(|s| s.1).max(),
        }
    }

    fn growth(&self) -> Option<f64> {
        let (settled, last) = (self.settled? as f64, self.last? as f64);
        Some(rounded((last - settled) / settled))
    }
}

/// Bytes of memory that the process has, where the system tells.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// An operator with the memory that it keeps from sweep to sweep.
enum Lane {
    Voxelize(Box<(Voxelizer, Voxels)>),
    RoiPool(Box<(RoiPooler, RoiPooled)>),
    Ndt(Box<(NdtBuilder, NdtGrid)>),
    /// With x, y, z of the points of both clouds.
    Icp(Box<Aligner>, [Vec<f32>; 2]),
}

impl Lane {
    fn new(operator: SoakOperator, stream: &Stream) -> Result<Self> {
        Ok(match operator {
            SoakOperator::Voxelize => {
                let voxelizer = Voxelizer::new(stream, &VoxelizeParams::default())?;
                let voxels = voxelizer.output()?;
                Self::Voxelize(Box::new((voxelizer, voxels)))
            }
            SoakOperator::RoiPool => {
                let params = RoiPoolParams { layout: RoiLayout::Csr, out_size: [6; 3], ..RoiPoolParams::default() };
                let pooler = RoiPooler::new(stream, &params)?;
                let pooled = pooler.output()?;
                Self::RoiPool(Box::new((pooler, pooled)))
            }
            SoakOperator::Ndt => {
                let params = NdtParams { min_points: 3, ..NdtParams::default() };
                let mut builder = NdtBuilder::new(stream, 2.0, &params)?;
                let grid = builder.finish()?;
                Self::Ndt(Box::new((builder, grid)))
            }
            SoakOperator::Icp => {
                let params = IcpParams {
                    max_distance: Some(2.0),
                    neighbours: 8,
                    max_iterations: MOST_STEPS,
                    ..IcpParams::default()
                };
                Self::Icp(Box::new(Aligner::new(stream, &params)?), [Vec::new(), Vec::new()])
            }
        })
    }

    /// A hash of the result of sweep `i`, and the sweep's points.
    fn run(&mut self, soak: &Soak, i: usize) -> Result<(u64, usize)> {
        match self {
            Self::Voxelize(lane) => {
                let (voxelizer, voxels) = &mut **lane;
                let sweep = soak.sweep(i);
                voxelizer.run(sweep, voxels)?;
                Ok((hash_voxels(voxels)?, sweep.len()))
            }
            Self::RoiPool(lane) => {
                let (pooler, pooled) = &mut **lane;
                let (start, len) = Soak::window(i, soak.street.points.len() / 3);
                let points = Rows::new(&soak.street.points[start * 3..(start + len) * 3], 3)?;
                let features = Rows::new(&soak.features[start * CHANNELS..(start + len) * CHANNELS], CHANNELS)?;
                pooler.run(Scene::new(Rows::new(&soak.street.boxes, 7)?, points), features, pooled)?;
                Ok((hash_pooled(&pooled.read()?), len))
            }
            Self::Ndt(lane) => {
                let (builder, grid) = &mut **lane;
                let sweep = soak.sweep(i);
                builder.clear()?;
                builder.add(Rows::f32(sweep.data(), sweep.columns())?)?;
                builder.finish_into(grid)?;
                let cells = grid.read()?;
                let hash = hash_of(hash_of(hash_of(0, &cells.coords), &cells.counts), &cells.mean);
                let hash = hash_of(hash_of(hash, &cells.covariance), &cells.inverse);
                Ok((hash_of(hash_of(hash, &cells.eigenvalues), &cells.normal), sweep.len()))
            }
            Self::Icp(aligner, clouds) => {
                let sweep = soak.sweep(i);
                for (k, cloud) in clouds.iter_mut().enumerate() {
                    cloud.clear();
                    cloud.extend((k * EVERY / 2..sweep.len()).step_by(EVERY).flat_map(|i| sweep.xyz(i)));
                }
                let [source, target] = &*clouds;
                let found = aligner.align(Rows::f32(source, 3)?, Rows::f32(target, 3)?, &Pose::IDENTITY)?;
                let hash = found.fit.trace.iter().fold(0, |hash, one| {
                    let hash = hash_of(hash, one.target_from_source.matrix().as_flattened());
                    hash_of(hash_of(hash, &[one.rmse, one.step]), &[one.pairs as u64])
                });
                Ok((
                    hash_of(hash_of(hash, found.hessian.as_flattened()), &[found.fit.fitness, found.fit.inlier_rmse]),
                    sweep.len(),
                ))
            }
        }
    }
}

/// Scatters the bits of a number.
fn mix(x: u64) -> u64 {
    let x = (x.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Goes on with a hash: the bits of all values, in order, and how many there are.
fn hash_of<T: NoUninit>(hash: u64, values: &[T]) -> u64 {
    let words: &[u32] = cast_slice(values);
    let step = |hash: u64, word: &u32| (hash.rotate_left(23) ^ u64::from(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mix(words.iter().fold(hash ^ words.len() as u64, step))
}

/// A hash of all arrays of a result: on the CPU where they lie, so that what is seen is the memory
/// of the operator and not of copies.
fn hash_voxels(voxels: &Voxels) -> Result<u64> {
    voxels.specs()?.iter().try_fold(0, |hash, spec| {
        let len = spec.shape.num_values();
        match voxels.array(spec.array) {
            Some(AnyBuffer::F32(buffer)) => hash_front(hash, buffer, len),
            Some(AnyBuffer::I32(buffer)) => hash_front(hash, buffer, len),
            other => unreachable!("{:?}: {other:?}", spec.array),
        }
    })
}

/// [`hash_of`], of the first elements of a buffer.
fn hash_front<T: Pod>(hash: u64, buffer: &Buffer<T>, len: usize) -> Result<u64> {
    match buffer.as_slice() {
        Some(values) => Ok(hash_of(hash, &values[..len])),
        None => Ok(hash_of(hash, &buffer.read(len)?)),
    }
}

/// A hash of all arrays of a result.
fn hash_pooled(pooled: &RoiArrays) -> u64 {
    pooled.arrays().iter().fold(0, |hash, (name, view)| match view.values() {
        Values::F32(values) => hash_of(hash, values),
        Values::I32(values) => hash_of(hash, values),
        Values::I64(values) => hash_of(hash, values),
        other => unreachable!("{name}: {other:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_again_and_later_the_sweeps_do() {
        let soak = Soak::new();
        let sizes: Vec<_> = (0..2 * SIZES).map(|i| soak.sweep(i).len()).collect();
        assert_eq!(sizes[..SIZES], sizes[SIZES..]);
        assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&LEAST), Some(&MOST)));
        let first = |i: usize| hash_of(0, soak.sweep(i).data());
        assert!((1..SETTLED / SIZES).all(|k| first(0) != first(k * SIZES)));
        assert_eq!(first(7), first(7 + SETTLED));
    }

    #[test]
    fn growth_is_told_from_ups_and_downs() {
        let of = |bytes: &dyn Fn(usize) -> u64| Seen::new((0..1200).step_by(10).map(|i| (i, bytes(i))), 1200).growth();
        assert_eq!(of(&|i| if i < SETTLED { 10 } else { 1000 }), Some(0.0));
        assert_eq!(of(&|i| 1000 + 500 * u64::from(i % 50 == 0)), Some(0.0));
        // A leak of a thousandth of it every ten sweeps.
        assert!(of(&|i| 1_000_000 + 100 * i as u64).unwrap() > 0.05);
        assert_eq!(Seen::new((0..200).map(|i| (i, 7)), 200).growth(), None);
    }

    #[test]
    fn hashes_tell_bits_order_and_length_apart() {
        let values = [0.0f32, -0.0, 1.0];
        let hash = hash_of(0, &values);
        assert_eq!(hash, hash_of(0, &values));
        for other in [&[-0.0f32, 0.0, 1.0][..], &[0.0, -0.0], &[0.0, -0.0, 1.0, 0.0], &[]] {
            assert_ne!(hash, hash_of(0, other));
        }
    }

    /// A short soak: [`Soak::run`] has its passes told, and all agree.
    #[test]
    fn threads_that_share_the_cpu_give_the_bits_of_one() {
        for operator in SoakOperator::ALL {
            let mut passes = Vec::new();
            let mut tell = |pass: &SoakPass| {
                passes.push(pass.clone());
                Ok::<(), Error>(())
            };
            Soak::new().run(operator, &Device::cpu(), 60, 8, &|| true, &mut tell).unwrap();
            let told = |p: &SoakPass| (p.threads, p.sweeps, p.different, p.points);
            assert_eq!(told(&passes[0]).0, 1);
            assert_eq!((told(&passes[1]).0, passes.len()), (8, 2));
            assert_eq!((passes[1].sweeps, passes[1].different), (60, 0), "{operator:?}");
            assert_eq!((&passes[0].hash, passes[0].points), (&passes[1].hash, passes[1].points), "{operator:?}");
        }
    }
}
