//! Where each input of a run is.

use super::{Deskew, deskew, find_log_poses, log_stamp, pose_of_sweep};
use crate::inputs::{Inputs, Source};
use crate::maps::BlockMap;
use crate::{DataError, Observer};
use pointmill_io::{Detail, IoError, PoseOptions, Poses, Scan, read_poses};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
}

/// Memory for so many values of an input.
fn room(name: &str, values: usize) -> Result<Vec<f64>, IoError> {
    let mut room = Vec::new();
    let bytes = values.saturating_mul(size_of::<f64>());
    let refused = || Detail::new(Path::new(name), "memory", format!("{bytes} bytes"), "a refusal");
    room.try_reserve_exact(values).map_err(|_| IoError::OutOfMemory(refused()))?;
    Ok(room)
}

/// The poses of the log of Argoverse 2 whose folder of sweeps is the only argument; a note names the file.
pub fn log_poses(args: &[PathBuf], observer: &dyn Observer) -> Option<PathBuf> {
    let [folder] = args else { return None };
    let poses = find_log_poses(folder).filter(|_| folder.is_dir())?;
    observer.note(&format!("{}: poses of the log; each sweep is moved by its pose (--poses)", poses.display()));
    Some(poses)
}

impl InputPoses {
    /// Reads the poses of a file, if there is one. If numbers decide and there are more poses than inputs, an input that fails says so.
    ///
    /// # Errors
    /// A file that cannot be read, which is an error of usage; deskewing without poses, or with poses without times.
    pub fn read(
        path: Option<&Path>,
        deskew: Deskew,
        (sources, inputs): (&mut Vec<Source>, &Inputs),
        observer: &dyn Observer,
    ) -> Result<Option<Self>, DataError> {
        let Some(path) = path else {
            return match deskew {
                Deskew::Off => Ok(None),
                _ => Err(DataError::option("deskew", "needs poses with times, got none")),
            };
        };
        let poses = read_poses(path, &PoseOptions::default()).map_err(|e| DataError::option("poses", e.to_string()))?;
        let deskew = match (&poses.times, deskew) {
            (None, Deskew::On) => {
                let message = "on: expected poses with times (TUM), got poses without";
                return Err(DataError::option("deskew", format!("{message}: {}", path.display())));
            }
            (None, Deskew::Auto) => {
                observer.note(&format!("{}: poses without times; sweeps are taken as they are", path.display()));
                Deskew::Off
            }
            (Some(_), Deskew::Auto) if !deskew.applies_to(sources, inputs) => {
                observer.note(PUBLISHED);
                Deskew::Off
            }
            (_, deskew) => deskew,
        };
        let of_bag = |source: &Source| matches!(source, Source::Cloud(_));
        let stamp = |source: &Source| of_bag(source) || source.path().is_some_and(|path| log_stamp(path).is_some());
        let stamped = poses.times.is_some() && sources.iter().any(stamp);
        let all_used = stamped && sources.iter().any(of_bag);
        let (inputs, found) = (sources.len(), poses.poses.len());
        if !stamped && found > inputs {
            let wanted = format!("{inputs}, one for each input");
            sources.push(Source::Nothing(IoError::MissingField(Detail::new(path, "poses", wanted, found.to_string()))));
        }
        Ok(Some(Self { path: path.into(), poses, used: Mutex::default(), stamped, all_used, deskew }))
    }

    /// Whether sweeps are deskewed: `off` where the poses have no times.
    pub const fn deskew(&self) -> Deskew {
        self.deskew
    }

    /// x, y, z of an input in the frame of the poses, `[N, 3]` row-major: moved by its pose, or deskewed.
    ///
    /// # Errors
    /// An input without a pose; where sweeps must be deskewed one without times; as [`Poses::deskew`].
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

    /// What decides where an input is.
    pub fn state(&self, index: usize) -> String {
        let pose = if self.stamped { "by stamp".into() } else { format!("pose {index}") };
        BlockMap::state_of(&self.path, format_args!("{pose}, deskew {:?}", self.deskew))
    }

    /// Warns of poses with times that no stamp has.
    pub fn warn_of_unused(&self, observer: &dyn Observer) {
        let (used, all) = (self.used.lock().unwrap_or_else(PoisonError::into_inner).len(), self.poses.poses.len());
        if self.all_used && used < all {
            observer.warning(&format!("{}: {} of {all} poses have no input", self.path.display(), all - used));
        }
    }
}
