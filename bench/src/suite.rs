//! What one run measures, case after case.

use crate::{
    IcpCase, Measurement, Sweep, boxes, icp, ndt_align, ndt_build, ndt_maps, ndt_search, odometry, register, roi_pool,
    roi_scenes, sort, sparse, voxelize,
};
use pointmill::{Device, Error, Stream};

/// The pairs that the sort is measured with.
const SORTED: [usize; 3] = [100_000, 1_000_000, 10_000_000];

/// The cases of a run.
#[derive(Debug)]
pub enum Suite {
    /// Voxelization of sweeps, and the sort that it uses.
    Voxelize {
        /// The sweeps.
        sweeps: Vec<Sweep>,
        /// Whether the sort is measured too, which a GPU has.
        sorts: bool,
    },
    /// Pooling in boxes on built-in scenes.
    RoiPool,
    /// Overlaps and suppression of built-in detections.
    Boxes,
    /// The front end of sparse detectors, on sweeps.
    Sparse(Vec<Sweep>),
    /// NDT on built-in maps.
    Ndt,
    /// Alignment of pairs of clouds.
    Icp(Vec<IcpCase>),
    /// Registration of pairs of clouds without a guess.
    Register(Vec<IcpCase>),
    /// Odometry on a built-in drive.
    Odometry,
}

impl Suite {
    /// Runs every case so many times on a device with this copy rate, and shows each measurement at
    /// once.
    ///
    /// # Errors
    /// What an operator or `show` returns.
    pub fn measure<E: From<Error>>(
        &self,
        stream: &Stream,
        rounds: usize,
        rate: f64,
        show: &mut dyn FnMut(&[Measurement]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Voxelize { sweeps, sorts } => {
                for sweep in sweeps {
                    show(&voxelize(stream, sweep, rounds, rate)?)?;
                }
                for n in SORTED.into_iter().filter(|_| *sorts && !stream.device().is_cpu()) {
                    show(&[sort(stream, n, rate)?])?;
                }
            }
            Self::RoiPool => {
                for case in &roi_scenes() {
                    show(&roi_pool(stream, case, rounds, rate)?)?;
                }
            }
            Self::Boxes => show(&boxes(stream, rounds, rate)?)?,
            Self::Sparse(sweeps) => {
                for sweep in sweeps {
                    show(&sparse(stream, sweep, rounds, rate)?)?;
                }
            }
            Self::Ndt => {
                let maps = ndt_maps();
                for map in &maps {
                    show(&[ndt_build(stream, map, rounds, rate)?])?;
                }
                // One million points to search for, in a drive and in no order; a scan against the
                // map of the last case.
                for map in &maps[1..3] {
                    show(&ndt_search(stream, map, rounds, rate)?)?;
                }
                show(&ndt_align(stream, &maps[3], rounds, rate)?)?;
            }
            Self::Icp(cases) => {
                for case in cases {
                    show(&icp(stream, case, rounds, rate)?)?;
                }
            }
            Self::Register(cases) => {
                for case in cases {
                    show(&register(stream, case, rounds, rate)?)?;
                }
            }
            Self::Odometry => show(&odometry(stream, rounds, rate)?)?,
        }
        Ok(())
    }
}

/// The devices to measure beside the chosen one: the CPU with one thread and with all.
///
/// # Errors
/// Threads that the system refuses.
pub fn with_cpu(chosen: Device) -> Result<Vec<Device>, Error> {
    let mut devices = if chosen.is_cpu() { Vec::new() } else { vec![chosen] };
    devices.push(Device::cpu_with_threads(1)?);
    let threads = Device::cpu().threads();
    if threads > 1 {
        devices.push(Device::cpu_with_threads(threads)?);
    }
    Ok(devices)
}
