//! Where each input of a run is.

use super::{Deskew, deskew, find_log_poses, is_deskewed, log_stamp, pose_of_sweep};
use crate::inputs::{Inputs, Source};
use crate::maps::{BlockMap, BlockRow};
use crate::{DataError, Needs, Observer};
use pointmill_core::Pose;
use pointmill_io::{Dataset, Detail, IoError, PoseOptions, Poses, Scan, read_poses};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why sweeps with times are not deskewed.
pub const PUBLISHED: &str =
    "sweeps were published deskewed; they are taken as they are (--deskew on: deskewed all the same)";

/// The poses of a file, and which of them inputs have.
#[derive(Debug)]
pub struct InputPoses {
    path: PathBuf,
    poses: Poses,
    used: Mutex<HashSet<usize>>,
    /// Whether stamps decide.
    stamped: bool,
    /// Whether each pose should have an input: those of Argoverse 2 are also of cameras.
    all_used: bool,
    deskew: Deskew,
    /// What tells these poses from others, where they are of no file.
    given: Option<OnceLock<String>>,
    /// The pose of the sensor on the vehicle whose poses they were.
    sensor: Option<Pose>,
}

/// What of the inputs decides which poses they have.
#[derive(Clone, Copy, Debug, Default)]
pub struct InputKinds {
    /// Their data set, if it was named.
    dataset: Option<Dataset>,
    count: usize,
    is_bag: bool,
    is_stamped: bool,
    is_published: bool,
}

impl InputKinds {
    /// Of no input so far.
    pub fn new(dataset: Option<Dataset>) -> Self {
        Self { dataset, ..Self::default() }
    }

    /// Adds an input: its file, or a cloud of a bag.
    pub fn add(&mut self, file: &Path, is_cloud: bool) {
        self.count += 1;
        self.is_bag |= is_cloud;
        self.is_stamped |= is_cloud || log_stamp(file).is_some();
        self.is_published |= !is_cloud && is_deskewed(file, self.dataset);
    }
}

/// Memory for so many values of an input.
fn room(name: &str, values: usize) -> Result<Vec<f64>, IoError> {
    let mut room = Vec::new();
    let bytes = values.saturating_mul(size_of::<f64>());
    let refused = || Detail::new(Path::new(name), "memory", format!("{bytes} bytes"), "a refusal");
    room.try_reserve_exact(values).map_err(|_| IoError::OutOfMemory(refused()))?;
    Ok(room)
}

/// The poses of the log of Argoverse 2 whose folder of sweeps is the only argument; a note names
/// the file.
pub fn log_poses(args: &[PathBuf], observer: &dyn Observer) -> Option<PathBuf> {
    let [folder] = args else { return None };
    let poses = find_log_poses(folder).filter(|_| folder.is_dir())?;
    observer.note(&format!("{}: poses of the log; each sweep is moved by its pose (--poses)", poses.display()));
    Some(poses)
}

impl InputPoses {
    /// Reads the poses of a file, if there is one. If numbers decide and there are more poses than
    /// inputs, an input that fails says so.
    ///
    /// # Errors
    /// A file that cannot be read, which is an error of usage; deskewing without poses, or with
    /// poses without times.
    pub fn read(
        path: Option<&Path>,
        deskew: Deskew,
        (sources, inputs): (&mut Vec<Source>, &Inputs),
        observer: &dyn Observer,
    ) -> Result<Option<Self>, DataError> {
        let Some(path) = path else {
            return match deskew {
                Deskew::Off => Ok(None),
                _ => Err(Self::missing()),
            };
        };
        let poses = read_poses(path, &PoseOptions::default()).map_err(Self::refused)?;
        poses.warnings.iter().for_each(|told| observer.warning(&format!("{}: {told}", path.display())));
        let mut kinds = InputKinds::new(inputs.options().dataset);
        for source in sources.iter() {
            kinds.add(source.path().unwrap_or(Path::new("")), matches!(source, Source::Cloud(_)));
        }
        let (known, nothing) = Self::of(path, poses, deskew, &kinds, observer)?;
        let known = Self { given: None, ..known };
        sources.extend(nothing.map(Source::Nothing));
        Ok(Some(known))
    }

    /// The error of a run that deskews without poses.
    pub fn missing() -> DataError {
        DataError::without("deskew", "poses with times", "none", Needs::any("poses"))
    }

    /// The error of poses that cannot be used.
    const fn refused(error: IoError) -> DataError {
        DataError::OptionFile { option: "poses", error }
    }

    /// With poses that were read, or that no file has: `path` names them in errors. If numbers
    /// decide and there are more poses than inputs, the error is that of one more input.
    ///
    /// # Errors
    /// Deskewing by poses without times; poses that are not those of the lines one by one, for inputs
    /// without stamps.
    pub fn of(
        path: &Path,
        poses: Poses,
        deskew: Deskew,
        inputs: &InputKinds,
        observer: &dyn Observer,
    ) -> Result<(Self, Option<IoError>), DataError> {
        let deskew = match (&poses.times, deskew) {
            (None, Deskew::On) => {
                let got = format!("poses without: {}", path.display());
                return Err(DataError::option("deskew", "poses with times (TUM) for on", got));
            }
            (None, Deskew::Auto) => {
                observer.note(&format!("{}: poses without times; sweeps are taken as they are", path.display()));
                Deskew::Off
            }
            (Some(_), Deskew::Auto) if inputs.is_published => {
                observer.note(PUBLISHED);
                Deskew::Off
            }
            (_, deskew) => deskew,
        };
        let stamped = poses.times.is_some() && inputs.is_stamped;
        if let Some(told) = poses.warnings.iter().find(|told| !stamped && told.moves_lines()) {
            let wanted = "one for each input, as inputs without stamps take them one by one";
            return Err(Self::refused(IoError::BadValue(Detail::new(path, "lines", wanted, told.to_string()))));
        }
        let (count, found) = (inputs.count, poses.poses.len());
        let nothing = (!stamped && found > count).then(|| Self::another_number(path, count, found));
        let known = Self { all_used: stamped && inputs.is_bag, ..Self::settled(path, poses, deskew, stamped) };
        Ok((known, nothing))
    }

    /// With what [`InputPoses::of`] has decided for all inputs of a run.
    pub fn settled(path: &Path, poses: Poses, deskew: Deskew, stamped: bool) -> Self {
        let given = Some(OnceLock::new());
        Self { path: path.into(), poses, used: Mutex::default(), stamped, all_used: false, deskew, given, sensor: None }
    }

    /// With the pose of the sensor on the vehicle, whose poses these are: they become those of the
    /// sensor.
    #[must_use]
    pub fn with_sensor_pose(mut self, sensor: Option<Pose>) -> Self {
        if let Some(sensor) = &sensor {
            self.poses.poses.iter_mut().for_each(|pose| *pose = pose.compose(sensor));
        }
        Self { sensor, ..self }
    }

    /// Whether stamps decide which pose an input has.
    pub const fn is_by_stamp(&self) -> bool {
        self.stamped
    }

    /// Whether sweeps are deskewed: `off` where the poses have no times.
    pub const fn deskew(&self) -> Deskew {
        self.deskew
    }

    /// The pose of an input, and its time in seconds if the poses have times.
    ///
    /// # Errors
    /// An input without a pose.
    pub fn at(&self, index: usize, scan: &Scan, stamp: Option<f64>) -> Result<(Pose, Option<f64>), IoError> {
        let found = pose_of_sweep(&self.poses, &self.path, index, stamp, scan.times().as_ref())?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(found);
        Ok((self.poses.poses[found], self.poses.times.as_ref().map(|times| times[found])))
    }

    /// x, y, z of an input in the frame of the poses, `[N, 3]` row-major: moved by its pose, or
    /// deskewed.
    ///
    /// # Errors
    /// An input without a pose; where sweeps must be deskewed one without times; as
    /// [`deskew`].
    pub fn moved(&self, index: usize, name: &str, scan: &Scan, stamp: Option<f64>) -> Result<Vec<f64>, IoError> {
        // Finding times takes memory that is not asked for first, a value or two for each point.
        drop(room(name, 2 * scan.cloud.len())?);
        let times = scan.times();
        let found = pose_of_sweep(&self.poses, &self.path, index, stamp, times.as_ref())?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(found);
        let times = times.filter(|_| self.deskew != Deskew::Off);
        match times {
            Some(times) => deskew(&self.poses, &self.path, scan.iter_xyz(), &times, index, stamp),
            None if self.deskew == Deskew::On => {
                let wanted = "a column named t, time, timestamp or the like with times of a sweep in s, ms, us or ns";
                Err(IoError::MissingField(Detail::new(Path::new(name), "times", wanted, "none")))
            }
            None => {
                let mut moved = room(name, 3 * scan.cloud.len())?;
                moved.extend(scan.iter_xyz().flat_map(|p| self.poses.poses[found].apply(p)));
                Ok(moved)
            }
        }
    }

    /// An input in the frame of the poses, with all of its columns: as [`InputPoses::moved`] in
    /// `f64`. Normals and velocities turn by the pose of the sweep.
    ///
    /// # Errors
    /// As [`InputPoses::moved`].
    pub fn placed(&self, index: usize, name: &str, scan: &Scan, stamp: Option<f64>) -> Result<Scan, IoError> {
        let moved = self.moved(index, name, scan, stamp)?;
        let (pose, _) = self.at(index, scan, stamp)?;
        Ok(scan.placed(moved, &pose, true))
    }

    /// Refuses poses that are not one for each of so many inputs, where numbers decide.
    ///
    /// # Errors
    /// Another number of poses.
    pub fn require_each(&self, inputs: usize) -> Result<(), DataError> {
        if self.stamped || self.poses.poses.len() == inputs {
            return Ok(());
        }
        Err(Self::refused(Self::another_number(&self.path, inputs, self.poses.poses.len())))
    }

    fn another_number(path: &Path, inputs: usize, found: usize) -> IoError {
        let wanted = format!("{inputs}, one for each input");
        IoError::MissingField(Detail::new(path, "poses", wanted, found.to_string()))
    }

    /// What decides where an input is.
    pub fn state(&self, index: usize) -> String {
        let pose = if self.stamped { "by stamp".into() } else { format!("pose {index}") };
        let sensor = self.sensor.map_or_else(String::new, |sensor| format!(", sensor {:?}", sensor.matrix()));
        let how = format!("{pose}, deskew {:?}{sensor}", self.deskew);
        match (&self.given, self.poses.poses.get(index)) {
            (None, _) => BlockMap::state_of(&self.path, how),
            // The pose alone decides, so that inputs may be given in another order.
            (Some(_), Some(pose)) if !self.stamped && self.deskew == Deskew::Off => format!("{pose:?}"),
            (Some(all), _) => {
                let all = all.get_or_init(|| BlockRow::hash(&format!("{:?}", self.poses)));
                format!("{how}, poses {all}")
            }
        }
    }

    /// Warns of poses with times that no stamp has.
    pub fn warn_of_unused(&self, observer: &dyn Observer) {
        let (used, all) = (self.used.lock().unwrap_or_else(PoisonError::into_inner).len(), self.poses.poses.len());
        if self.all_used && used < all {
            observer.warning(&format!("{}: {} of {all} poses have no input", self.path.display(), all - used));
        }
    }
}
