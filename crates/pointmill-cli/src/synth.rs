//! `pointmill synth`: the sweeps of the synthetic drive, and scans of a figure, as files.

use crate::failure::Failure;
use crate::flags::names;
use crate::interrupt::{self, undivided};
use crate::outputs::{clear_unfinished, is_folder, plan_file, require_folder_of};
use crate::printer::Printer;
use crate::text::{grouped, shown};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use pointmill::{PointCloud, Pose};
use pointmill_io::files::entries_of;
use pointmill_io::{Format, NamedPoints, Place, PoseFormat, WriteOptions, write_poses, write_whole};
use pointmill_synth::{Drive, DriveParams, RabbitScans, Scene};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The formats that are written.
const WRITTEN: [Format; 7] =
    [Format::Bin, Format::Npy, Format::Npz, Format::Ply, Format::Pcd, Format::Feather, Format::Csv];
/// The columns of a sweep.
const COLUMNS: [&str; 6] = ["x", "y", "z", "intensity", "ring", "time"];
/// The file of poses beside the sweeps: a row for each, `world_from_sensor`, row-major.
const POSES: &str = "poses.txt";
/// The file of the rabbit's pose, row-major.
const POSE: &str = "target_from_source.txt";

/// `pointmill synth`
#[derive(Debug, Args)]
pub(crate) struct SynthArgs {
    /// Folder to write to. drive: numbered sweeps and poses.txt. rabbit: two scans and the pose
    /// between them. A name that ends in .bin, .npy, .npz, .ply, .pcd, .feather or .csv writes only
    /// the first sweep of the drive
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// What to scan
    #[arg(long, value_enum, default_value = "drive")]
    shape: SynthShape,
    /// What the drive goes through [default: street]
    #[arg(long, value_name = "SCENE", value_parser = names::<Scene>(Scene::NAMES))]
    scene: Option<Scene>,
    /// Leave the motion of the car in the sweeps: each point is in the frame of its own time, as a
    /// sensor measures it. Poses belong to the middle of a sweep, else to its start. Without the flag
    /// times of points are 0
    #[arg(long)]
    distort: bool,
    /// Write the true poses here, 12 numbers a line as in the KITTI benchmark, and no poses.txt
    #[arg(long, value_name = "OUT.txt")]
    poses: Option<PathBuf>,
    /// Sweeps of the drive to write [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    sweeps: Option<u16>,
    /// Seed of the street, the traffic and the noise. The built-in drive of the other commands uses
    /// 0
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Format of the files. bin: raw f32 rows; read them with --columns 6 (rabbit: 3). npy, npz: an
    /// f32 array. ply, pcd, feather, csv: with column names. By default the extension of --out
    /// decides; in a folder the default is bin (rabbit and --distort: ply, which has the names of
    /// the columns)
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
    let of_drive = [
        ("--sweeps", args.sweeps.is_some()),
        ("--scene", args.scene.is_some()),
        ("--distort", args.distort),
        ("--poses", args.poses.is_some()),
    ];
    if let Some((flag, _)) = of_drive.iter().find(|(_, given)| *given) {
        let message = format!("{flag}: can be used with --shape drive only; the rabbit has two scans");
        return Err(Failure::Usage(message));
    }
    if out.extension().is_some() && !is_folder(out) {
        let message = "expected a folder, because --shape rabbit writes three files";
        return Err(Failure::Usage(format!("--out {}: {message}", out.display())));
    }
    std::fs::create_dir_all(out).map_err(Failure::io(out, "make the folder"))?;
    clear_unfinished(out)?;
    let format = args.format.unwrap_or(Format::Ply);
    let scans = RabbitScans::new(args.seed);
    let mut points = 0;
    for (index, (name, cloud)) in [("source", &scans.source), ("target", &scans.target)].into_iter().enumerate() {
        interrupt::check()?;
        let path = out.join(format!("{name}.{format}"));
        points += write(cloud, in_folder(&path), format, index, printer)?;
    }
    let pose = out.join(POSE);
    let poses = Some(write_rows(&pose, scans.target_from_source.iter().map(|row| row.to_vec()))?);
    let summary = Summary { sweeps: 2, seed: args.seed, points, columns: &COLUMNS[..3], poses };
    finish(&summary, format, "target_from_source, 4 rows of 4 numbers", printer)
}

/// The sweeps of the drive.
fn drive(args: &SynthArgs, printer: &mut Printer) -> Result<(), Failure> {
    let out = &args.out;
    let named = Format::for_writing(out).filter(|format| WRITTEN.contains(format) && !out.is_dir());
    let default = DriveParams {
        seed: args.seed,
        scene: args.scene.unwrap_or_default(),
        motion_compensated: !args.distort,
        ..DriveParams::default()
    };
    if let Some(poses) = &args.poses {
        plan_file("--poses", poses, &["txt"], &[])?;
    }
    if let Some(named) = named {
        let refuse = |expected: &str| Err(Failure::Usage(format!("--out {}: expected {expected}", out.display())));
        if args.sweeps.is_some_and(|n| n > 1) {
            return refuse("a folder for more than one sweep");
        }
        if args.format.is_some_and(|f| f != named) {
            return refuse("a name that goes with --format");
        }
        require_folder_of(out)?;
        // The sweep is the first of the whole drive's.
        let drive = Drive::new(default);
        let points = write(&sweep(&drive, 0), Place::named(out), named, 0, printer)?;
        let poses = args.poses.as_deref();
        poses.map_or(Ok(()), |path| write_truth(&drive, 1, path))?;
        let poses = poses.map(shown);
        let summary = Summary { sweeps: 1, seed: args.seed, points, columns: &COLUMNS, poses };
        return finish(&summary, named, KITTI, printer);
    }
    let refuse = |expected: &str| Err(Failure::Usage(format!("--out {}: expected {expected}", out.display())));
    if Format::from_name(out).is_some() && !is_folder(out) {
        let endings: Vec<_> = WRITTEN.iter().map(|format| format!(".{format}")).collect();
        return refuse(&format!("a folder, or a file name ending in {}", endings.join(", ")));
    }
    let format = args.format.unwrap_or(if args.distort { Format::Ply } else { Format::Bin });
    let sweeps = args.sweeps.map_or(default.sweeps, usize::from);
    let name = |i: usize| format!("sweep_{i:03}.{format}");
    if let Some(other) = other_sweep(out, &(0..sweeps).map(name).collect::<Vec<_>>()) {
        return refuse(&format!(
            "a folder without sweeps of another drive, got {other}; remove them, or use another folder"
        ));
    }
    std::fs::create_dir_all(out).map_err(Failure::io(out, "make the folder"))?;
    clear_unfinished(out)?;
    let drive = Drive::new(DriveParams { sweeps, ..default });
    let mut points = 0;
    for i in 0..drive.len() {
        interrupt::check()?;
        let path = out.join(name(i));
        points += write(&sweep(&drive, i), in_folder(&path), format, i, printer)?;
    }
    if let Some(path) = &args.poses {
        write_truth(&drive, sweeps, path)?;
        let summary = Summary { sweeps, seed: args.seed, points, columns: &COLUMNS, poses: Some(shown(path)) };
        return finish(&summary, format, KITTI, printer);
    }
    let poses = (0..drive.len()).map(|i| drive.world_from_sensor_at(drive.seconds(i)).as_flattened().to_vec());
    let poses = Some(write_rows(&out.join(POSES), poses)?);
    let summary = Summary { sweeps, seed: args.seed, points, columns: &COLUMNS, poses };
    finish(&summary, format, "world_from_sensor, 16 numbers a row", printer)
}

/// A sweep of a folder that is none of those to be written, which would lie beside poses that are
/// not its own.
fn other_sweep(folder: &Path, written: &[String]) -> Option<String> {
    let entries = entries_of(folder).ok()?;
    let names = entries.iter().filter_map(|entry| entry.file_name()?.to_str().map(String::from));
    let is_sweep = |name: &String| {
        let number = name.strip_prefix("sweep_").and_then(|rest| rest.split_once('.'));
        number.is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    names.filter(|name| is_sweep(name) && !written.contains(name)).min()
}

/// What the lines of `--poses` are.
const KITTI: &str = "world_from_sensor, 12 numbers a row";

/// A sweep as it is written. One without motion in it is as if taken at an instant: its times are
/// zero, so that nobody takes out a motion that is not there.
fn sweep(drive: &Drive, i: usize) -> PointCloud {
    let mut sweep = drive.sweep(i);
    if drive.params().motion_compensated {
        sweep.rows_mut().for_each(|row| row[COLUMNS.len() - 1] = 0.0);
    }
    sweep
}

/// Writes the true poses of the first sweeps.
fn write_truth(drive: &Drive, sweeps: usize, path: &Path) -> Result<(), Failure> {
    let pose = |i: usize| Pose::from_matrix(&drive.world_from_sensor_at(drive.seconds(i)));
    let poses: Result<Vec<Pose>, _> = (0..sweeps).map(pose).collect();
    let poses = poses.map_err(|e| Failure::Internal(format!("a pose of the drive: {e}")))?;
    Ok(undivided(|| write_poses(Place::named(path), &poses.into(), PoseFormat::Kitti))?)
}

/// A file of a folder, where a symbolic link is replaced.
const fn in_folder(path: &Path) -> Place<'_> {
    Place { path, follow_links: false }
}

/// Writes numbers row by row, and returns the name of the file.
fn write_rows(path: &Path, rows: impl Iterator<Item = Vec<f64>>) -> Result<String, Failure> {
    let rows: String = rows.map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ") + "\n").collect();
    undivided(|| write_whole(in_folder(path), |file| file.write_all(rows.as_bytes())))?;
    Ok(shown(path))
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
