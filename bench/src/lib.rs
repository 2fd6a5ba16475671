//! Measurements of pointmill's operators, each beside the fewest bytes it must move.
//!
//! A measurement warms up, repeats, and reports medians: the time of the whole call as the caller
//! sees it (on a GPU with the wait for the number of results), and on a GPU the device's own time
//! between two marks in the stream. Input lies on the device.

mod boxes;
mod cloud;
mod icp;
mod ndt;
mod odometry;
mod rates;
mod register;
mod roi_pool;
mod soak;
mod sort;
mod sparse;
mod suite;
mod voxelize;

pub use boxes::boxes;
pub use cloud::{IcpCase, NdtCase, RoiCase, Sweep, builtin, icp_pairs, ndt_maps, replicated, roi_scenes};
pub use icp::icp;
pub use ndt::{ndt_align, ndt_build, ndt_search};
pub use odometry::odometry;
pub use rates::copy_rate;
pub use register::{drive_pair, register};
pub use roi_pool::roi_pool;
pub use soak::{SETTLED, Soak, SoakOperator, SoakPass, resident_bytes};
pub use sort::sort;
pub use sparse::sparse;
pub use suite::{Suite, with_cpu};
pub use voxelize::voxelize;

use pointmill::{Result, Stream};
use serde::Serialize;
use std::time::{Duration, Instant};

/// One line of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// What was run.
    pub case: String,
    /// `cpu` or `cuda:I`.
    pub device: String,
    /// CPU threads; 1 on a GPU.
    pub threads: usize,
    /// Input points, or pairs.
    pub points: usize,
    /// Values a point has.
    pub columns: usize,
    /// Voxels, where there are some.
    pub voxels: Option<usize>,
    /// Whole call, median.
    pub median_ms: f64,
    /// Whole call, 95th percentile.
    pub p95_ms: f64,
    /// Device time, median; on the CPU there is none.
    pub device_ms: Option<f64>,
    /// The fewest bytes that must be read and written.
    pub floor_bytes: u64,
    /// The time that those bytes take at the device's copy rate.
    pub floor_ms: f64,
    /// Device time (or else the whole call) over that time.
    pub ratio: f64,
}

/// Medians of repeated runs.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Whole call, median.
    pub median_ms: f64,
    /// Whole call, 95th percentile.
    pub p95_ms: f64,
    /// Device time, median.
    pub device_ms: Option<f64>,
}

/// How long to warm up at least.
const WARM_UP: Duration = Duration::from_millis(300);

/// Runs `call` until warm, then `rounds` times for the whole call and `rounds` times for the
/// device's time of it.
///
/// # Errors
/// What `call` returns.
pub fn time(stream: &Stream, rounds: usize, call: impl FnMut() -> Result<()>) -> Result<Times> {
    let call = std::cell::RefCell::new(call);
    let run = || call.borrow_mut()();
    measure(stream, rounds, || Ok(()), run, run)
}

/// As [`time`], each run after a preparation that is not timed.
///
/// # Errors
/// What either returns.
pub fn time_after(
    stream: &Stream,
    rounds: usize,
    prepare: impl FnMut() -> Result<()>,
    call: impl FnMut() -> Result<()>,
) -> Result<Times> {
    let prepare = std::cell::RefCell::new(prepare);
    let run = || prepare.borrow_mut()();
    measure(stream, rounds, run, run, call)
}

/// Times `call` after `prepare`; before the device's time is taken `busy` runs, so that the device
/// does not wait for the host in between.
fn measure(
    stream: &Stream,
    rounds: usize,
    mut prepare: impl FnMut() -> Result<()>,
    mut busy: impl FnMut() -> Result<()>,
    mut call: impl FnMut() -> Result<()>,
) -> Result<Times> {
    // The first calls allocate and let the driver load the kernels, and it takes the system a while
    // to give each thread a core of its own.
    let start = Instant::now();
    let mut calls = 0;
    while calls < 3 || start.elapsed() < WARM_UP {
        prepare()?;
        call()?;
        calls += 1;
    }
    stream.synchronize()?;
    let mut whole = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        prepare()?;
        stream.synchronize()?;
        let start = Instant::now();
        call()?;
        stream.synchronize()?;
        whole.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let mut device = Vec::new();
    if !stream.device().is_cpu() {
        for _ in 0..rounds {
            busy()?;
            let start = stream.mark()?;
            call()?;
            device.push(stream.mark()?.ms_since(&start)?);
        }
    }
    Ok(Times {
        median_ms: percentile(&mut whole, 50),
        p95_ms: percentile(&mut whole, 95),
        device_ms: (!device.is_empty()).then(|| percentile(&mut device, 50)),
    })
}

impl Times {
    /// Of times by the device's own clock.
    fn of_device(mut ms: Vec<f64>) -> Self {
        let median_ms = percentile(&mut ms, 50);
        Self { median_ms, p95_ms: percentile(&mut ms, 95), device_ms: Some(median_ms) }
    }
}

impl Measurement {
    fn new(
        case: &str,
        stream: &Stream,
        (points, columns): (usize, usize),
        times: Times,
        floor_bytes: u64,
        copy_rate: f64,
    ) -> Self {
        let floor_ms = floor_bytes as f64 / copy_rate * 1e3;
        Self {
            case: case.to_owned(),
            device: stream.device().to_string(),
            threads: stream.device().threads(),
            points,
            columns,
            voxels: None,
            median_ms: times.median_ms,
            p95_ms: times.p95_ms,
            device_ms: times.device_ms,
            floor_bytes,
            floor_ms,
            ratio: times.device_ms.unwrap_or(times.median_ms) / floor_ms,
        }
    }
}

/// The value that `percent` of the values do not exceed.
pub fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent).div_ceil(100).saturating_sub(1).min(values.len() - 1)]
}
