//! `pointmill demo`: a synthetic drive, its trajectory, a map of it, and pictures.

use crate::batch::at_once;
use crate::batch::prelude::*;
use crate::json::Run;
use crate::outputs::clear_unfinished;
use crate::picture::save_scene;
use clap::Args;
use pointmill::ndt::{NdtBuilder, NdtParams};
use pointmill::{Device, Pose, Rows};
use pointmill_data::poses::Deskew;
use pointmill_data::runs::{OdometryRun, SweepStatuses, TrajectoryFormat};
use pointmill_data::write_ndt_map;
use pointmill_io::{Place, PoseFormat, escape, write_poses};
use pointmill_slam::odometry::OdometryParams;
use pointmill_slam::trajectory::{EvaluationParams, Trajectory, evaluate};
use pointmill_synth::{Drive, DriveParams, Scene};
use pointmill_view::{DriveScene, require_memory};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Sweeps of the drive, once round the block, and how many of them the pictures show.
const SWEEPS: usize = 180;
const SHOWN: usize = 60;
/// Edge of a cell of the map in metres.
const RESOLUTION: f64 = 1.0;
/// The files that are written, with what they are.
const FILES: [(&str, &str); 5] = [
    ("drive.gif", "the drive, seen from behind the car"),
    ("drive.html", "the same for a browser, to be turned and stepped through"),
    ("poses.txt", "the trajectory, a line for each sweep"),
    ("truth.txt", "where the car really was"),
    ("map.npz", "the NDT map"),
];
const EXAMPLES: &str = "\
Examples:
  pointmill demo
  pointmill demo --out /tmp/demo --device cpu";

/// `pointmill demo`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Folder to write to; it is made if there is none. Files of an earlier demo are replaced
    #[arg(long, value_name = "DIR", default_value = "pointmill-demo")]
    out: PathBuf,
}

/// `summary` of `demo`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Summary {
    /// Command, version and device.
    #[serde(flatten)]
    run: Run,
    /// Sweeps of the drive.
    sweeps: usize,
    /// Points of all sweeps.
    points: usize,
    /// How many sweeps have each status.
    statuses: SweepStatuses,
    /// Metres along all poses.
    length: f64,
    /// Root mean square of the distances between the poses and the truth, in metres.
    rmse: f64,
    /// The largest of these distances in metres.
    max_error: f64,
    /// SHA-256 of the file of poses.
    poses_sha256: String,
    /// Cells of the map.
    cells: usize,
    /// The files that were written.
    files: Vec<String>,
}

/// What the drive leaves behind.
struct Driven {
    run: OdometryRun,
    map: NdtBuilder,
    scene: DriveScene,
    points: usize,
}

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, device: &str, printer: &mut Printer) -> Result<(), Failure> {
    let out = args.out.as_path();
    if out.exists() && !out.is_dir() {
        return Err(Failure::Usage(format!("--out {}: expected a folder, got a file", out.display())));
    }
    let drive = Drive::new(DriveParams { scene: Scene::Loop, sweeps: SWEEPS, ..DriveParams::default() });
    let truth = truth(&drive)?;
    let (sources, inputs) = Inputs::of_drive(drive);
    let device = device::open(device, &sources)?;
    std::fs::create_dir_all(out).map_err(Failure::io(out, "make the folder"))?;
    clear_unfinished(out)?;
    let files = FILES.map(|(name, _)| out.join(name));
    let [gif, page, poses, true_poses, map] = &files;

    let readers = at_once(&sources, Some(&device));
    let driven = inputs.reading_ahead(&sources, readers, || odometry(&device, &sources, &inputs))?;
    let trajectory = driven.run.trajectory();
    let estimate = trajectory.poses().to_vec();
    let found = evaluate(&Trajectory::new(estimate)?, &Trajectory::new(truth.clone())?, &EvaluationParams::default())?;

    let poses_sha256 = undivided(|| trajectory.write(poses, TrajectoryFormat::Kitti))?;
    undivided(|| write_poses(true_poses, &truth.into(), PoseFormat::Kitti))?;
    let cells = write_map(driven.map, map)?;
    let length = trajectory.length();
    let poses: Vec<Pose> = trajectory.poses().iter().copied().step_by(SWEEPS / SHOWN).collect();
    let scene =
        driven.scene.finish(&format!("pointmill demo: {SWEEPS} sweeps, {length:.1} m"), &driven.run.map()?, &poses);
    for path in [gif, page] {
        interrupt::check()?;
        save_scene(path, &scene)?;
    }

    let summary = Summary {
        run: Run::new("demo", Some(&device)),
        sweeps: SWEEPS,
        points: driven.points,
        statuses: driven.run.statuses(),
        length,
        rmse: found.absolute.translation.rmse,
        max_error: found.absolute.translation.max,
        poses_sha256,
        cells,
        files: files.iter().map(|path| shown(path)).collect(),
    };
    printer.record("summary", &summary)?;
    lines(&summary).iter().try_for_each(|line| printer.text(line))
}

/// Where the sensor really is at each sweep, from where it began, as odometry has it.
fn truth(drive: &Drive) -> Result<Vec<Pose>, Failure> {
    let pose = |i: usize| Pose::from_matrix(&drive.world_from_sensor(i));
    let poses: Result<Vec<Pose>, _> = (0..drive.len()).map(pose).collect();
    let poses = poses.map_err(|e| Failure::Internal(format!("a pose of the drive: {e}")))?;
    let start_from_world = poses[0].inverse();
    Ok(poses.iter().map(|pose| start_from_world.compose(pose)).collect())
}

/// Finds the pose of each sweep, and adds its points to the map there.
fn odometry(device: &Device, sources: &[Source], inputs: &Inputs) -> Result<Driven, Failure> {
    let stream = device.stream()?;
    let params = OdometryParams { deskew: false, keep_map: true, ..OdometryParams::default() };
    let mut driven = Driven {
        run: OdometryRun::new(&stream, &params, Deskew::Off, inputs)?,
        map: NdtBuilder::new(&stream, RESOLUTION, &NdtParams::default())?,
        scene: DriveScene::new(SHOWN),
        points: 0,
    };
    for (index, source) in sources.iter().enumerate() {
        interrupt::check()?;
        let step = driven.run.push(inputs, source, &stderr::Stderr)?;
        let scan = step.scan?;
        let pose = step.found.world_from_sensor;
        let moved: Vec<f64> = scan.iter_xyz().flat_map(|point| pose.apply(point)).collect();
        driven.map.add(Rows::f64(&moved, 3)?)?;
        driven.points += scan.cloud.len();
        if index % (SWEEPS / SHOWN) == 0 {
            require_memory(0, scan.cloud.len())?;
            driven.scene.push(&format!("sweep {index} of {SWEEPS}"), &scan.cloud, scan.intensity());
        }
    }
    Ok(driven)
}

/// Writes the map, and returns how many cells it has.
fn write_map(mut map: NdtBuilder, path: &Path) -> Result<usize, Failure> {
    let grid = map.finish()?;
    let cells = grid.read()?;
    undivided(|| write_ndt_map(Place { path, follow_links: false }, &cells, grid.lattice()))?;
    Ok(grid.len())
}

/// What was done, for people.
fn lines(of: &Summary) -> Vec<String> {
    let sweeps = format!("{} of a synthetic drive, {} points", counted(of.sweeps, "sweep"), grouped(of.points));
    let error = format!("error against the truth: {:.3} m rmse, {:.3} m at most", of.rmse, of.max_error);
    let mut lines = vec![
        sweeps,
        format!("odometry: {:.1} m on {}; {}", of.length, of.run.device_name(), of.statuses),
        error,
        format!("map: {} of {RESOLUTION} m", counted(of.cells, "cell")),
        format!("sha256 of the poses, the same on CPU and GPU and for any number of threads: {}", of.poses_sha256),
    ];
    lines.extend(of.files.iter().zip(FILES).map(|(file, (_, what))| format!("{}: {what}", escape(file))));
    lines.push("next, with your own sweeps: pointmill odometry SWEEPS/ --out poses.txt --visualize drive.html".into());
    lines
}
