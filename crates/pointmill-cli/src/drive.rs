//! What a run over a drive leaves behind: its poses, also where it ends early, and `--visualize`,
//! its map with the poses, and on a page and in an animation also the scans.

use crate::failure::Failure;
use crate::interrupt::{self, undivided};
use crate::json::Counts;
use crate::outputs::{has_extension, plan_file};
use crate::picture::save_scene;
use crate::stderr;
use crate::text::{counted, label, written};
use pointmill::{Error, PointCloud, Pose};
use pointmill_data::runs::{Trajectory, TrajectoryFormat};
use pointmill_io::{Place, Scan};
use pointmill_view::{DriveFix, DriveScene, NdtEllipsoids, require_memory};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Checks the name of the file of poses.
pub(crate) fn plan_poses(out: &Path, format: TrajectoryFormat, inputs: &[&Path]) -> Result<(), Failure> {
    if format != TrajectoryFormat::Csv && has_extension(out, "csv") {
        let way = format!("--format-poses csv, or a name ending in .{} for {format}", format.extension());
        return Err(Failure::Usage(format!("--out {}: expected {way}", out.display())));
    }
    plan_file("--out", out, &[format.extension()], inputs).map(drop)
}

/// The poses of a run so far, for the file of a run that ends early, and whether an input was read.
#[derive(Default)]
pub(crate) struct PosesSoFar(Arc<Mutex<(Trajectory, bool)>>);

impl PosesSoFar {
    /// For a run over so many inputs. If it ends early, `out` is written with the poses until then.
    pub(crate) fn new(out: Option<&Path>, format: TrajectoryFormat, inputs: usize, input: &'static str) -> Self {
        let poses = Self::default();
        let Some(out) = out.map(Path::to_path_buf) else { return poses };
        let shared = Arc::clone(&poses.0);
        interrupt::set_last_write(move || {
            let so_far = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (trajectory, true) = &*so_far else { return };
            let count = trajectory.poses().len();
            match undivided(|| trajectory.write(Place::named(&out), format)) {
                Err(e) => stderr::error(e),
                Ok(_) => stderr::note(format_args!(
                    "{} has the poses of {count} of {}{}",
                    out.display(),
                    counted(inputs, input),
                    if count < inputs { "; run again for all of them" } else { "" },
                )),
            }
        });
        poses
    }

    /// Takes the poses that were added to the trajectory of the run, by an input that was read or by
    /// one that was not.
    pub(crate) fn follow(&self, trajectory: &Trajectory, read: bool) {
        let mut so_far = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.0.follow(trajectory);
        so_far.1 |= read;
    }

    /// Writes the poses of a run that came to its end. Returns the SHA-256 of the file.
    pub(crate) fn write(trajectory: &Trajectory, out: &Path, format: TrajectoryFormat) -> Result<String, Failure> {
        interrupt::check()?;
        interrupt::clear_last_write();
        Ok(undivided(|| trajectory.write(Place::named(out), format))?)
    }

    /// A run that ended, once the poses of one that ended early are written.
    pub(crate) fn end(ran: Result<(), Failure>) -> Result<(), Failure> {
        ran.inspect_err(|_| interrupt::last_write())
    }

    /// The line about the file, which says if a run with `--fail-fast` left out inputs.
    pub(crate) fn line(out: Option<&str>, counts: Counts, input: &str) -> Option<String> {
        let (count, inputs) = (counts.done + counts.failed, counts.inputs);
        let partial =
            if count < inputs { format!(", partial: {count} of {}", counted(inputs, input)) } else { String::new() };
        written("poses", out).map(|line| line + &partial)
    }
}

/// The picture of a run so far.
pub(crate) struct Scans {
    drive: DriveScene,
    /// Every so many scans are shown: in a page each, in an animation, and in a picture that has
    /// them, as many as it has frames.
    every: Option<usize>,
    count: usize,
    /// The pose of the sensor on the vehicle whose poses are drawn.
    sensor: Option<Pose>,
}

impl Scans {
    /// For a picture of about so many scans. `in_picture` says if they are in a still one too: a
    /// map of points has them already.
    pub(crate) fn new(picture: Option<&Path>, scans: usize, in_picture: bool) -> Self {
        let is = |extension| picture.is_some_and(|path| has_extension(path, extension));
        let every = match () {
            () if is("html") => Some(1),
            () if is("gif") || (in_picture && is("png")) => Some(scans.div_ceil(DriveScene::MOST_FRAMES).max(1)),
            () => None,
        };
        Self { drive: DriveScene::new(every.map_or(1, |every| scans.div_ceil(every))), every, count: 0, sensor: None }
    }

    /// With poses of the vehicle.
    pub(crate) fn with_sensor_pose(self, sensor: Option<Pose>) -> Self {
        Self { sensor, ..self }
    }

    /// Adds the next scan, which has no points if it could not be used.
    pub(crate) fn push(&mut self, name: &str, scan: Option<&Scan>) -> Result<(), Failure> {
        let number = self.count;
        self.count += 1;
        if self.every.is_none_or(|every| !number.is_multiple_of(every)) {
            return Ok(());
        }
        let nothing = PointCloud::new(Vec::new(), 3).map_err(Error::from)?;
        let cloud = scan.map_or(&nothing, |scan| &scan.cloud);
        require_memory(0, cloud.len())?;
        let moved = self.sensor.map(|sensor| {
            let rows = cloud.points().iter_xyz().flat_map(|p| sensor.apply(p.map(f64::from)));
            PointCloud::new(rows.map(|x| x as f32).collect(), 3).map_err(Error::from)
        });
        let moved = moved.transpose()?;
        let cloud = moved.as_ref().unwrap_or(cloud);
        self.drive.push(&label(name), cloud, scan.and_then(Scan::intensity));
        Ok(())
    }

    /// What became of all scans in a map of these cells, in global coordinates.
    pub(crate) fn fixes(&mut self, fixes: Vec<DriveFix>, cells: NdtEllipsoids<'_>) -> Result<(), Failure> {
        require_memory(0, cells.means.len())?;
        self.drive.fixes(fixes, cells);
        Ok(())
    }

    /// The places and scores beside a fix and its score, or without a fix.
    pub(crate) fn rivals(&mut self, best: Option<f64>, places: Vec<([f64; 3], f64)>) {
        self.drive.rivals(best, places);
    }

    /// Draws the points of the map and the poses of all scans, both in global coordinates, below a
    /// title.
    pub(crate) fn draw(self, path: &Path, map: &[[f64; 3]], poses: &[Pose], title: &str) -> Result<(), Failure> {
        require_memory(1, map.len())?;
        let every = self.every.unwrap_or(1);
        if every > 1 {
            let shown = poses.len().div_ceil(every);
            stderr::note(format!("--visualize {}: shows {shown} scans, one of every {every}", path.display()));
        }
        let shown: Vec<Pose> = poses.iter().copied().step_by(every).collect();
        save_scene(Place::named(path), &self.drive.finish(title, map, &shown))
    }
}
