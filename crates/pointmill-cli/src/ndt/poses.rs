//! `--poses`: the pose of each input, by its number or by its stamp.

use crate::failure::Failure;
use crate::inputs::Source;
use crate::say;
use pointmill::Pose;
use pointmill_io::{BlockMap, Detail, IoError, PoseOptions, Poses, read_poses};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How far a stamp may be from the time of its pose, in seconds: files of poses round times.
const STAMP_TOLERANCE: f64 = 1e-3;

/// The poses of a file, and which of them are those of a stamp.
pub(super) struct InputPoses {
    path: PathBuf,
    poses: Poses,
    used: Mutex<HashSet<usize>>,
}

impl InputPoses {
    /// Reads the poses. Poses by number that no input has become an input that fails.
    pub(super) fn read(path: &Path, sources: &mut Vec<Source>) -> Result<Self, Failure> {
        let poses = read_poses(path, &PoseOptions::default())?;
        let stamped = poses.times.is_some() && sources.iter().any(|source| matches!(source, Source::Cloud(_)));
        let (inputs, lines) = (sources.len(), poses.poses.len());
        if !stamped && lines > inputs {
            let wanted = format!("{inputs}, one for each input");
            sources.push(Source::Nothing(IoError::MissingField(Detail::new(path, "poses", wanted, lines.to_string()))));
        }
        Ok(Self { path: path.into(), poses, used: Mutex::default() })
    }

    /// The pose of an input: the one of its stamp, where it has one and the poses have times, else the one of its number.
    pub(super) fn of(&self, index: usize, stamp: Option<f64>) -> Result<Pose, IoError> {
        let found = match stamp.filter(|_| self.poses.times.is_some()) {
            Some(stamp) => {
                let found = self.poses.nearest(stamp, STAMP_TOLERANCE);
                self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                found
            }
            None => Some(index),
        };
        found.and_then(|i| self.poses.poses.get(i)).copied().ok_or_else(|| {
            let wanted = match stamp.filter(|_| self.poses.times.is_some()) {
                Some(stamp) => format!("a pose within {STAMP_TOLERANCE} s of the stamp {stamp:.6}"),
                None => format!("a pose for input {index} (from 0)"),
            };
            IoError::MissingField(Detail::new(
                &self.path,
                "poses",
                wanted,
                format!("{} others", self.poses.poses.len()),
            ))
        })
    }

    /// What decides the pose of an input.
    pub(super) fn state(&self, index: usize, source: &Source) -> String {
        let stamped = self.poses.times.is_some() && matches!(source, Source::Cloud(_));
        BlockMap::state_of(&self.path, if stamped { "by stamp".into() } else { format!("pose {index}") })
    }

    /// Warns of poses with times of which some are of no input.
    pub(super) fn warn_of_unused(&self) {
        let (used, all) = (self.used.lock().unwrap_or_else(PoisonError::into_inner).len(), self.poses.poses.len());
        if 0 < used && used < all {
            say::warning(format_args!("{}: {} of {all} poses have no input", self.path.display(), all - used));
        }
    }
}
