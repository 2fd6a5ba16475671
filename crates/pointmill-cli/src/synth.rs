//! `pointmill synth`: the sweeps of the synthetic drive, and scans of a figure, as files.

use crate::failure::Failure;
use crate::interrupt::{self, undivided};
use crate::outputs::{is_folder, require_folder_of};
use crate::printer::Printer;
use crate::text::{grouped, shown};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use pointmill::PointCloud;
use pointmill_io::{Format, NamedPoints, Place, WriteOptions, write_whole};
use pointmill_synth::{Drive, DriveParams, RabbitScans};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The formats that are written.
const WRITTEN: [Format; 3] = [Format::Bin, Format::Npy, Format::Ply];
/// The columns of a sweep.
const COLUMNS: [&str; 6] = ["x", "y", "z", "intensity", "ring", "time"];
/// The file of poses beside the sweeps: a row for each, `world_from_sensor`, row-major.
const POSES: &str = "poses.txt";
/// The file of the rabbit's pose, row-major.
const POSE: &str = "target_from_source.txt";

/// `pointmill synth`
#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    /// Folder to write to. drive: numbered sweeps and poses.txt. rabbit: two scans and the pose between them. A name ending in .bin, .npy or .ply writes only the first sweep of the drive
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// What to scan
    #[arg(long, value_enum, default_value = "drive")]
    shape: SynthShape,
    /// Sweeps of the drive to write [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    sweeps: Option<u16>,
    /// Seed of the street, the traffic and the noise. The built-in drive of the other commands uses 0
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Format of the files. bin: raw f32 rows; read them with --columns 6 (rabbit: 3). npy: an f32 array. ply: binary, with column names. By default the extension of --out decides; in a folder the default is bin (rabbit: ply)
    #[arg(long, value_parser = PossibleValuesParser::new(WRITTEN.map(Format::as_str)).try_map(|name| name.parse::<Format>()))]
    format: Option<Format>,
}

/// What `synth` scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SynthShape {
    /// A street, by a sensor on a car
    Drive,
    /// A small figure from two sides, about 40,000 points each: input of `pointmill icp`
    Rabbit,
}

/// `frame` of `synth`: a file that was written.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Written {
    /// The number of the sweep.
    index: usize,
    /// The file that was written.
    out: String,
    /// Points of the file.
    points: usize,
}

/// `summary` of `synth`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Summary {
    /// The sweeps or scans written.
    sweeps: usize,
    /// The seed.
    seed: u64,
    /// Points of all files.
    points: usize,
    /// The names of the columns.
    columns: &'static [&'static str],
    /// The file of poses; null for a single file.
    poses: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &SynthArgs, printer: &mut Printer) -> Result<(), Failure> {
    match args.shape {
        SynthShape::Drive => drive(args, printer),
        SynthShape::Rabbit => rabbit(args, printer),
    }
}

/// Two scans of the rabbit, and the pose between them.
fn rabbit(args: &SynthArgs, printer: &mut Printer) -> Result<(), Failure> {
    let out = &args.out;
    if args.sweeps.is_some() {
        return Err(Failure::Usage("--sweeps: can be used with --shape drive only; the rabbit has two scans".into()));
    }
    if out.extension().is_some() && !is_folder(out) {
        let told = "expected a folder, because --shape rabbit writes three files";
        return Err(Failure::Usage(format!("--out {}: {told}", out.display())));
    }
    let scans = RabbitScans::new(args.seed);
    let clouds = [("source".to_owned(), scans.source), ("target".to_owned(), scans.target)].into_iter();
    let pose = scans.target_from_source.iter().map(|row| row.to_vec());
    let about = "target_from_source, 4 rows of 4 numbers";
    folder(args, Format::Ply, clouds, (POSE, pose, about), printer)
}

/// The sweeps of the drive.
fn drive(args: &SynthArgs, printer: &mut Printer) -> Result<(), Failure> {
    let out = &args.out;
    let named = Format::for_writing(out).filter(|format| WRITTEN.contains(format) && !out.is_dir());
    let default = DriveParams::default();
    if let Some(named) = named {
        let told = |expected: &str| Err(Failure::Usage(format!("--out {}: expected {expected}", out.display())));
        if args.sweeps.is_some_and(|n| n > 1) {
            return told("a folder for more than one sweep");
        }
        if args.format.is_some_and(|f| f != named) {
            return told("a name that goes with --format");
        }
        require_folder_of(out)?;
        // The sweep is the first of the whole drive's.
        let drive = Drive::new(DriveParams { seed: args.seed, ..default });
        let points = write(&drive.sweep(0), Place { path: out, follow_links: true }, named, 0, printer)?;
        let summary = Summary { sweeps: 1, seed: args.seed, points, columns: &COLUMNS, poses: None };
        return finish(&summary, named, "", printer);
    }
    let sweeps = args.sweeps.map_or(default.sweeps, usize::from);
    let drive = Drive::new(DriveParams { seed: args.seed, sweeps, ..default });
    let clouds = (0..drive.len()).map(|i| (format!("sweep_{i:03}"), drive.sweep(i)));
    let poses = (0..drive.len()).map(|i| drive.world_from_sensor(i).as_flattened().to_vec());
    folder(args, Format::Bin, clouds, (POSES, poses, "world_from_sensor, 16 numbers a row"), printer)
}

/// Writes clouds by their names into a folder, and beside them poses: a file, its rows, and what they are.
fn folder(
    args: &SynthArgs,
    default: Format,
    clouds: impl Iterator<Item = (String, PointCloud)>,
    (file, rows, about): (&str, impl Iterator<Item = Vec<f64>>, &str),
    printer: &mut Printer,
) -> Result<(), Failure> {
    let (out, format) = (&args.out, args.format.unwrap_or(default));
    std::fs::create_dir_all(out).map_err(Failure::io(out, "make the folder"))?;
    let mut summary = Summary { sweeps: 0, seed: args.seed, points: 0, columns: &COLUMNS, poses: None };
    for (name, cloud) in clouds {
        interrupt::check()?;
        summary.points +=
            write(&cloud, in_folder(&out.join(format!("{name}.{format}"))), format, summary.sweeps, printer)?;
        summary.columns = &COLUMNS[..cloud.columns()];
        summary.sweeps += 1;
    }
    let rows: String = rows.map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ") + "\n").collect();
    let poses = out.join(file);
    undivided(|| write_whole(in_folder(&poses), |file| file.write_all(rows.as_bytes())))?;
    summary.poses = Some(shown(&poses));
    finish(&summary, format, about, printer)
}

/// A file of a folder, where a symbolic link is replaced.
const fn in_folder(path: &Path) -> Place<'_> {
    Place { path, follow_links: false }
}

fn write(
    cloud: &PointCloud,
    to: Place<'_>,
    format: Format,
    index: usize,
    printer: &mut Printer,
) -> Result<usize, Failure> {
    let named = NamedPoints::new(cloud.points(), &COLUMNS[..cloud.columns()]);
    undivided(|| pointmill_io::write(to, named, &WriteOptions { format: Some(format) }))?;
    let written = Written { index, out: shown(to.path), points: cloud.len() };
    printer.record("frame", &written)?;
    printer.text(&format!("{}  {} points", pointmill_io::escape(&written.out), grouped(written.points)))?;
    Ok(cloud.len())
}

fn finish(summary: &Summary, format: Format, poses_are: &str, printer: &mut Printer) -> Result<(), Failure> {
    printer.record("summary", summary)?;
    if let Some(poses) = &summary.poses {
        printer.text(&format!("{}  {poses_are}", pointmill_io::escape(poses)))?;
    }
    let n = summary.columns.len();
    let hint = if format == Format::Bin { format!("; read with --columns {n}") } else { String::new() };
    printer.text(&format!("{n} columns: {}{hint}", summary.columns.join(", ")))
}
