//! Times of the operators on this machine, beside the fewest bytes they must move.

use crate::soak;
use clap::{Args, ValueEnum};
use pointmill::Stream;
use pointmill_batch::failure::Failure;
use pointmill_batch::flags::{ReadArgs, parse_voxel_size};
use pointmill_batch::inputs::{is_stdin, read_cloud, require_format};
use pointmill_batch::json::VERSION;
use pointmill_batch::printer::Printer;
use pointmill_batch::text::{grouped, row};
use pointmill_batch::{device, interrupt, stderr};
use pointmill_bench::{
    IcpCase, Measurement, Suite, Sweep, builtin, copy_rate, drive_pair, icp_pairs, replicated, with_cpu,
};
use pointmill_io::Scan;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The commit this was built from, if it was built in a repository.
const COMMIT: &str = match option_env!("POINTMILL_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};

/// The titles of the measurements.
const HEAD: [&str; 8] = ["points", "voxels", "median ms", "p95 ms", "device ms", "bytes", "floor ms", "ratio"];

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[arg(value_enum, default_value = "voxelize")]
    operator: Operator,
    /// A point cloud instead of the built-in synthetic ones
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Only icp and register: the target cloud, which needs --input
    #[arg(long, value_name = "FILE", requires = "input")]
    target: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Edge lengths of a voxel in metres, one or three [default: 0.2, and 0.075,0.075,0.2 for five
    /// columns]
    #[arg(long, value_name = "X[,Y,Z]", value_parser = parse_voxel_size)]
    voxel_size: Option<[f32; 3]>,
    /// Enlarge the cloud to this number of points by slightly shifted copies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    points: Option<u32>,
    /// Number of runs for each median; the CPU does a quarter of them
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// Only soak: number of sweeps in each pass [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    sweeps: Option<u32>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Operator {
    /// Voxelization, and the sort that it uses
    Voxelize,
    /// Pooling in oriented boxes, its gradient, and points in boxes; on built-in scenes
    RoiPool,
    /// Overlaps of boxes, and suppression; of built-in detections
    Boxes,
    /// Cells of sparse detectors: sampling, orders along curves, larger cells
    Sparse,
    /// Grids of normal distributions: building, searching, scoring, aligning; on built-in maps
    Ndt,
    /// Alignment: searches, normals, whole alignments; on built-in pairs, or --input onto --target
    Icp,
    /// Registration without a guess, of built-in sweeps, or --input onto --target
    Register,
    /// Odometry on a built-in drive, sweep by sweep
    Odometry,
    /// Long run: checks that memory use does not grow and that results stay equal over many sweeps,
    /// on one thread and on eight threads that share the device. Exit code 6 if not
    Soak,
}

/// The line `begin`.
#[derive(Debug, Serialize)]
struct Begin {
    /// The device and what is behind it.
    device: String,
    /// Measured rate of a large copy, bytes read plus written, in TB/s.
    copy_rate_tb_per_s: f64,
    /// The version of pointmill.
    version: &'static str,
    /// The commit it was built from.
    commit: &'static str,
}

/// The suite that the flags ask for; a soak has none.
fn suite(args: &BenchArgs) -> Result<Option<Suite>, Failure> {
    Ok(Some(match args.operator {
        Operator::Voxelize => {
            refuse(args, &["--target"], "voxelize")?;
            Suite::Voxelize { sweeps: sweeps(args)?, sorts: args.points.is_none() }
        }
        Operator::RoiPool => refuse_clouds(args, "roi-pool").map(|()| Suite::RoiPool)?,
        Operator::Boxes => refuse_clouds(args, "boxes").map(|()| Suite::Boxes)?,
        Operator::Sparse => {
            refuse(args, &["--target"], "sparse")?;
            Suite::Sparse(sweeps(args)?)
        }
        Operator::Ndt => refuse_clouds(args, "ndt").map(|()| Suite::Ndt)?,
        Operator::Icp => Suite::Icp(pairs(args, "icp", icp_pairs)?),
        Operator::Register => Suite::Register(pairs(args, "register", || vec![drive_pair()])?),
        Operator::Odometry => refuse_clouds(args, "odometry").map(|()| Suite::Odometry)?,
        Operator::Soak => return refuse_clouds(args, "soak").map(|()| None),
    }))
}

/// Refuses flags that name a cloud to measure.
fn refuse_clouds(args: &BenchArgs, operator: &str) -> Result<(), Failure> {
    refuse(args, &["--input", "--target", "--format", "--columns", "--voxel-size", "--points"], operator)
}

/// Refuses flags that an operator does not take.
fn refuse(args: &BenchArgs, flags: &[&str], operator: &str) -> Result<(), Failure> {
    let given = [
        ("--input", args.input.is_some()),
        ("--target", args.target.is_some()),
        ("--format", args.read.format.is_some()),
        ("--columns", args.read.columns.is_some()),
        ("--voxel-size", args.voxel_size.is_some()),
        ("--points", args.points.is_some()),
    ];
    given.iter().find(|(flag, given)| *given && flags.contains(flag)).map_or(Ok(()), |(flag, _)| {
        Err(Failure::Usage(format!("{flag}: cannot be used with `bench {operator}`, which has built-in scenes")))
    })
}

/// Reads one of so many inputs.
fn load(input: &Path, read: &ReadArgs, inputs: usize) -> Result<Scan, Failure> {
    let options = read.options()?;
    if is_stdin(input) {
        require_format(&options)?;
    }
    read_cloud(input, &options).map_err(|e| {
        stderr::error(&e);
        Failure::Inputs { failed: 1, inputs }
    })
}

/// The name of a file without its folder.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The pairs of clouds to align: the given files or the built-in ones.
fn pairs(args: &BenchArgs, operator: &str, builtin: fn() -> Vec<IcpCase>) -> Result<Vec<IcpCase>, Failure> {
    refuse(args, &["--voxel-size", "--points"], operator)?;
    let (source, target) = match (&args.input, &args.target) {
        (None, _) => return Ok(builtin()),
        (Some(_), None) => return Err(Failure::Usage(format!("--input: `bench {operator}` also needs --target"))),
        (Some(source), Some(target)) => (source, target),
    };
    let read = |input: &Path| -> Result<Vec<[f32; 3]>, Failure> {
        let scan = load(input, &args.read, 2)?;
        Ok(scan.cloud.points().iter_xyz().filter(|p| p.iter().all(|x| x.is_finite())).collect())
    };
    Ok(vec![IcpCase::found(name_of(source), read(source)?, read(target)?)?])
}

/// Runs the command: each measurement is one `bench` record, a [`Measurement`].
pub(crate) fn run(args: &BenchArgs, name: &str, printer: &mut Printer) -> Result<(), Failure> {
    let Some(suite) = suite(args)? else { return soak::run(args.sweeps, name, printer) };
    if args.sweeps.is_some() {
        return Err(Failure::Usage("--sweeps: can be used with `bench soak` only".into()));
    }
    let devices = with_cpu(device::open(name, &[])?)?;
    let rounds = args.rounds as usize;
    for device in &devices {
        let stream = Stream::new(device)?;
        let rate = copy_rate(&stream)?;
        let begin = Begin {
            device: device::describe(device),
            copy_rate_tb_per_s: rate / 1e12,
            version: VERSION,
            commit: COMMIT,
        };
        printer.record("begin", &begin)?;
        printer.text(&format!("{}, copy {:.3} TB/s, commit {COMMIT}", begin.device, begin.copy_rate_tb_per_s))?;
        printer.text(&line("case", HEAD))?;
        // A CPU is a hundred times slower, so fewer rounds suffice.
        let rounds = if device.is_cpu() { rounds.div_ceil(4) } else { rounds };
        suite.measure(&stream, rounds, rate, &mut |measurements| show(measurements, printer))?;
    }
    Ok(())
}

/// The clouds to measure: the given file or the built-in ones, made larger if asked for.
fn sweeps(args: &BenchArgs) -> Result<Vec<Sweep>, Failure> {
    let sweeps = match &args.input {
        None => builtin(),
        Some(input) => {
            let scan = load(input, &args.read, 1)?;
            let name = name_of(input);
            // Merged sweeps carry a fifth column, and detectors cut them finer.
            let fine = scan.cloud.columns() == 5;
            let voxel_size = args.voxel_size.unwrap_or(if fine { [0.075, 0.075, 0.2] } else { [0.2; 3] });
            vec![Sweep { name, cloud: scan.cloud, voxel_size }]
        }
    };
    Ok(match args.points {
        None => sweeps,
        Some(points) => sweeps.iter().map(|sweep| replicated(sweep, points as usize)).collect(),
    })
}

fn show(measurements: &[Measurement], printer: &mut Printer) -> Result<(), Failure> {
    for m in measurements {
        interrupt::check()?;
        printer.record("bench", m)?;
        let ms = |v: f64| format!("{v:.4}");
        let or_dash = |v: Option<String>| v.unwrap_or_else(|| "-".into());
        let cells = [
            format!("{} x {}", grouped(m.points), m.columns),
            or_dash(m.voxels.map(grouped)),
            ms(m.median_ms),
            ms(m.p95_ms),
            or_dash(m.device_ms.map(ms)),
            grouped(m.floor_bytes as usize),
            ms(m.floor_ms),
            format!("{:.1}", m.ratio),
        ];
        printer.text(&line(&m.case, cells))?;
    }
    Ok(())
}

fn line<T: AsRef<str>>(case: &str, cells: [T; 8]) -> String {
    format!("{case:<46}{}", row(cells, &[17, 12, 11, 11, 11, 15, 10, 8]))
}
