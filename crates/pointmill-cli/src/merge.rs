//! `pointmill merge`: the points of several clouds in one file.

use crate::batch::prelude::*;
use crate::changes::ChangeArgs;
use crate::clouds::{Clouds, ColumnArgs, Columns};
use crate::flags::{BatchArgs, FrameArgs, ReadArgs, SensorArgs, names};
use crate::outputs::require_folder_of;
use crate::see::{See, SeeArgs};
use clap::Args;
use pointmill_data::FirstOfVoxel;
use pointmill_data::poses::{Deskew, InputPoses};
use pointmill_io::{IoError, Joined, Scan, Warning, require_empty, write_tiles};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The name of the command.
const COMMAND: &str = "merge";

/// `pointmill merge`
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files, folders, patterns in quotes such as 'tiles/*.laz', or - for the standard input, which
    /// needs --format
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// File to write, with the points of all inputs in their order; its extension decides the
    /// format, as that of `pointmill convert`. Memory holds one input at a time for .ply, .pcd, .las
    /// and .laz, since a file without a name in the folder of OUT holds the others until the end; for
    /// other formats it holds all. With --tiles: a folder
    #[arg(long, value_name = "OUT.npy|.npz|.ply|.pcd|.bin|...|DIR")]
    out: PathBuf,
    /// Keep the columns that all inputs have, and leave out the others; without it inputs whose
    /// columns differ are an error
    #[arg(long)]
    common_columns: bool,
    /// Move each input by a pose from its frame to the frame of the poses, with its normals and
    /// velocities: a file of poses as described at `ndt build --poses`. What a LAS file says of its
    /// frame is not kept: coordinate reference system, scale and offset
    #[arg(long, value_name = "POSES.txt")]
    poses: Option<PathBuf>,
    /// Move each point by the pose of its own time, as described at `ndt build --deskew`
    #[arg(long, value_name = "WHEN", default_value = "off", value_parser = names::<Deskew>(Deskew::NAMES))]
    deskew: Deskew,
    #[command(flatten)]
    sensor: SensorArgs,
    /// Keep the first point of each voxel with this edge in metres, in the order of the inputs, and
    /// drop points that are not finite. The voxels count against --max-memory
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    voxel_size: Option<f64>,
    /// Write a folder for Autoware: a .pcd file of f32 for each square tile with this edge in whole
    /// metres along x and y, and `pointcloud_map_metadata.yaml`, which lists them. --out is a folder
    /// that is new or empty. Points that are not finite are left out, and memory holds all others
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tiles: Option<u32>,
    #[command(flatten)]
    see: SeeArgs,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    frames: FrameArgs,
    #[command(flatten)]
    batch: BatchArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// `frame` of `merge`: an input.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The format of the input.
    format: &'static str,
    /// Points of the input.
    points: usize,
    #[serde(skip)]
    scan: Option<Scan>,
}

/// `summary` of `merge`.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Totals {
    /// Points of all inputs.
    points: usize,
    /// Points that are written.
    points_kept: usize,
    /// The tiles that were written; null without `--tiles`.
    tiles: Option<usize>,
    /// The names of the columns that are written, in order.
    columns: Vec<String>,
    /// The inputs that were read.
    #[serde(skip)]
    joined: Option<Joined>,
    #[serde(skip)]
    first: Option<FirstOfVoxel>,
    #[serde(skip)]
    told: Columns,
}

/// Runs the command.
pub(crate) fn run(args: &MergeArgs, printer: &mut Printer) -> Result<(), Failure> {
    if let Some(edge) = args.voxel_size.filter(|edge| !(edge.is_finite() && *edge > 0.0)) {
        return Err(Failure::Usage(format!("--voxel-size: expected a finite number of metres above 0, got {edge}")));
    }
    args.sensor.require_poses(args.poses.is_some())?;
    let (mut sources, inputs) = Inputs::find_frames(&args.inputs, args.read.options()?, &args.frames.frames())?;
    let count = sources.len();
    let poses = InputPoses::read(args.poses.as_deref(), args.deskew, (&mut sources, &inputs), &stderr::Stderr)?;
    poses.as_ref().map_or(Ok(()), |poses| poses.require_each(count))?;
    let sensor = args.sensor.pose(&sources)?;
    let poses = poses.map(|poses| poses.with_sensor_pose(sensor));
    let out = args.out.as_path();
    let changes = args.changes.changes()?;
    let clouds = match args.tiles {
        None => Clouds::of_one(inputs, &sources, out, args.columns, changes)?,
        Some(_) => {
            require_empty(out).map_err(|e| Failure::Usage(format!("--out: {e}")))?;
            require_folder_of(out)?;
            Clouds::of_tiles(inputs, args.columns, changes)?
        }
    };
    let see = args.see.plan_joined(&sources)?;
    let origin = Some(clouds.inputs.origin());
    let job = Job {
        out: Some(out),
        picture: args.see.visualize.as_deref(),
        origin,
        ..Job::new(COMMAND, &sources, args.batch)
    };
    job.begin(clouds.begin(), printer)?;
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf();
    let out = out.to_path_buf();
    let merge = Merge {
        clouds,
        see,
        poses,
        voxel_size: args.voxel_size,
        tiles: args.tiles.map(|edge| (out.clone(), edge)),
        out,
        common_columns: args.common_columns,
        folder,
    };
    job.run(&merge, printer)?;
    merge.poses.iter().for_each(|poses| poses.warn_of_unused(&stderr::Stderr));
    Ok(())
}

struct Merge {
    clouds: Clouds,
    see: See,
    poses: Option<InputPoses>,
    voxel_size: Option<f64>,
    /// The folder and the edge of tiles.
    tiles: Option<(PathBuf, u32)>,
    common_columns: bool,
    out: PathBuf,
    /// The folder of the output.
    folder: PathBuf,
}

impl Command for Merge {
    type Worker = ();
    type Row = Row;
    type Totals = Totals;
    const ON_DEVICE: bool = false;

    fn worker(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn one(&self, (): &mut (), index: usize, source: &Source) -> Result<Frame<Row>, InputError> {
        let ((scan, stamp_ns), read_ms) = self.clouds.inputs.read_stamped(source)?;
        let format = source.format(&scan);
        let (scan, warnings) = match &self.poses {
            Some(poses) => {
                let placed = poses.placed(index, &source.name(), &scan, stamp_ns.map(|ns| ns as f64 / 1e9))?;
                (placed, scan.warnings_moved_in(self.clouds.to))
            }
            None => {
                let warnings = scan.warnings_in(self.clouds.to);
                (scan, warnings)
            }
        };
        let scan = self.clouds.changes.apply(scan, &source.name(), self.clouds.to)?;
        let notes = Notes::of(&warnings);
        let of = Row { format, points: scan.cloud.len(), scan: Some(scan) };
        Ok(Frame::read(index, source.name(), read_ms, notes, of))
    }

    fn add(&self, totals: &mut Totals, frame: &mut Frame<Row>) -> Result<(), Failure> {
        totals.points += frame.of.points;
        let Some(mut scan) = frame.of.scan.take() else { return Ok(()) };
        if let Some(edge) = self.voxel_size {
            let max_memory = self.clouds.inputs.options().limits.max_memory;
            scan = totals.first.get_or_insert_with(|| FirstOfVoxel::new(edge, max_memory)).of(&frame.input, &scan)?;
        }
        totals.points_kept += scan.cloud.len();
        if totals.joined.is_none() {
            totals.joined = Some(Joined::new(&self.folder, self.common_columns)?);
        }
        let pushed = totals.joined.as_mut().map_or(Ok(()), |joined| joined.push(&frame.input, scan));
        pushed.map_err(|e| match e {
            IoError::InvalidArgument(at) if at.field == "columns" => {
                Failure::Usage(format!("{at}; --common-columns keeps those that all inputs have"))
            }
            IoError::InvalidArgument(at) if at.field == "coordinate reference system" => {
                Failure::Usage(format!("{at}; --crs gives all inputs one"))
            }
            e => e.into(),
        })
    }

    fn cells(&self, frame: &Frame<Row>) -> Vec<Cell> {
        vec![("points", grouped(frame.of.points))]
    }

    fn finish(&self, totals: &mut Totals, _: Vec<()>, counts: Counts) -> Result<bool, Failure> {
        // A file that lacks an input is not what was asked for.
        if counts.done < counts.inputs {
            return Err(Failure::Inputs { failed: counts.failed, inputs: counts.inputs });
        }
        let Some(joined) = totals.joined.take() else { return Ok(true) };
        if let Some((out, edge)) = &self.tiles {
            interrupt::check()?;
            let all = joined.scan()?;
            let written = undivided(|| write_tiles(out, &all, *edge))?;
            (totals.tiles, totals.points_kept) = (Some(written.tiles), written.points);
            totals.columns = all.fields.iter().map(|field| field.name.clone()).collect();
            let rounded = all.warnings.iter().filter(|warning| matches!(warning, Warning::Rounded { .. }));
            rounded.for_each(|warning| stderr::warning(format_args!("{}: {warning}", out.display())));
        } else {
            let written = self.clouds.write_joined(&joined)?;
            totals.told.add(&written.columns, written.left_out);
            totals.columns = written.columns;
        }
        self.see.draw_joined(&shown(&self.out), &joined)?;
        Ok(true)
    }

    fn lines(&self, summary: &Summary<Totals>) -> Vec<String> {
        let Totals { points, points_kept, tiles, .. } = &summary.of;
        let of = if points_kept != points { format!("{} of ", grouped(*points_kept)) } else { String::new() };
        let tiles = tiles.map_or_else(String::new, |n| format!(", {}", counted(n, "tile")));
        let line = format!("{}, {of}{} points{tiles}", counted(summary.counts.done, "input"), grouped(*points));
        let told = summary.of.told.lines(&self.clouds);
        std::iter::once(line).chain(told).chain(written("picture", summary.picture.as_deref())).collect()
    }
}
