//! Operator `soak`: many sweeps through one process, whose memory and results must not change.

use pointmill_batch::failure::Failure;
use pointmill_batch::json::Run;
use pointmill_batch::printer::Printer;
use pointmill_batch::text::{grouped, row};
use pointmill_batch::{device, interrupt};
use pointmill_bench::{Soak, SoakOperator, SoakPass};
use serde::Serialize;

/// Sweeps of each pass without the flag.
const SWEEPS: u32 = 10_000;
/// Threads that share the device.
const THREADS: usize = 8;
/// The most that flat memory grows, as a part of it.
const FLAT: f64 = 0.01;

/// The titles of the passes, and the widths of their columns.
const HEAD: [&str; 9] = ["operator", "device", "threads", "sweeps", "points", "seconds", "MiB", "growth", "different"];
const WIDTHS: [usize; 9] = [10, 14, 9, 9, 14, 10, 10, 10, 11];

/// The line `begin`.
#[derive(Debug, Serialize)]
struct Begin {
    /// Command, version and device.
    #[serde(flatten)]
    run: Run,
    /// Sweeps of each pass.
    sweeps: usize,
    /// Threads that share the device in the last pass of each operator.
    threads: usize,
}

/// The line `summary`.
#[derive(Debug, Serialize)]
struct Summary {
    /// Command, version and device.
    #[serde(flatten)]
    run: Run,
    /// Passes that were done.
    passes: usize,
    /// Passes in which the memory of host or GPU grew by more than 1 % after it had settled.
    grown: usize,
    /// Passes with a result that differs from the result of one CPU thread.
    different: usize,
}

/// Runs the command.
pub(crate) fn run(sweeps: Option<u32>, name: &str, printer: &mut Printer) -> Result<(), Failure> {
    let device = device::open(name, &[])?;
    let sweeps = sweeps.unwrap_or(SWEEPS) as usize;
    let run = || Run::new("bench soak", Some(&device));
    printer.record("begin", &Begin { run: run(), sweeps, threads: THREADS })?;
    printer.text(&row(HEAD, &WIDTHS))?;
    let soak = Soak::new();
    let mut summary = Summary { run: run(), passes: 0, grown: 0, different: 0 };
    let goes_on = || interrupt::check().is_ok();
    for operator in SoakOperator::ALL {
        soak.run(operator, &device, sweeps, THREADS, &goes_on, &mut |pass: &SoakPass| {
            interrupt::check()?;
            summary.passes += 1;
            summary.grown += usize::from([pass.growth, pass.device_growth].into_iter().flatten().any(|g| g > FLAT));
            summary.different += usize::from(pass.different > 0);
            printer.record("soak", pass)?;
            printer.text(&row(cells(pass), &WIDTHS))
        })?;
        interrupt::check()?;
    }
    printer.record("summary", &summary)?;
    let Summary { passes, grown, different, .. } = summary;
    match (grown, different) {
        (0, 0) => printer.text(&format!("{passes} passes: memory flat, all results equal")),
        _ => Err(Failure::No(format!("of {passes} passes {grown} grew in memory, {different} had other results"))),
    }
}

/// The cells of a pass.
fn cells(pass: &SoakPass) -> [String; 9] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    [
        format!("{:?}", pass.operator),
        format!("{} ({})", pass.device, pass.device_threads),
        pass.threads.to_string(),
        grouped(pass.sweeps),
        grouped(pass.points as usize),
        format!("{:.1}", pass.seconds),
        or_dash(pass.settled_bytes.map(|bytes| format!("{:.1}", bytes as f64 / f64::from(1 << 20)))),
        or_dash(pass.growth.map(|growth| format!("{:.2} %", 100.0 * growth))),
        grouped(pass.different),
    ]
}
