//! Clouds onto clouds without a guess.

use crate::{IcpCase, Measurement, Times, percentile, time};
use pointmill::registration::global::{RegisterParams, Target, Timing};
use pointmill::{Result, Rows, Stream};
use pointmill_synth::{Drive, DriveParams};

/// Sweeps of the built-in drive, some metres apart.
const SWEEPS: [usize; 2] = [9, 0];

/// The name of a part, and its time.
type Part = (&'static str, fn(&Timing) -> f64);

/// Two sweeps of the built-in drive.
pub fn drive_pair() -> IcpCase {
    let drive = Drive::new(DriveParams::default());
    let [source, target] = SWEEPS.map(|i| drive.sweep(i).points().iter_xyz().collect());
    IcpCase { name: "synthetic drive".into(), source, target, target_from_source: pointmill::Pose::IDENTITY }
}

/// Makes the target ready, and registers the source to it: the whole call, and its parts.
///
/// # Errors
/// Out of memory, a lost device.
pub fn register(stream: &Stream, case: &IcpCase, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let params = RegisterParams::default();
    let [source, target] = [&case.source, &case.target].map(|cloud| Rows::f32(cloud.as_flattened(), 3));
    let (source, target) = (source?, target?);
    let measured = |name: &str, rows: Rows<'_>, times: Times| {
        let name = format!("register {name}: {}", case.name);
        Measurement::new(&name, stream, (rows.len(), 3), times, 12 * rows.len() as u64, copy_rate)
    };
    let ready = || Target::new(target, &params, &stream.device());
    let mut all = vec![measured("target", target, time(stream, rounds, || ready().map(drop))?)];
    let target = ready()?;
    let mut timings = Vec::new();
    let call = || target.register(source).map(|found| timings.push(found.timing));
    all.push(measured("source", source, time(stream, rounds, call)?));
    let timed = &timings[timings.len().saturating_sub(rounds)..];
    let parts: [Part; 4] = [
        ("prepare", |of| of.prepare_ms),
        ("match", |of| of.match_ms),
        ("search", |of| of.search_ms),
        ("refine", |of| of.refine_ms),
    ];
    for (name, part) in parts {
        let mut ms: Vec<f64> = timed.iter().map(part).collect();
        let times = Times { median_ms: percentile(&mut ms, 50), p95_ms: percentile(&mut ms, 95), device_ms: None };
        all.push(measured(name, source, times));
    }
    Ok(all)
}
