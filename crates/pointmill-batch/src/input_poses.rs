//! `--poses`: the pose of each input.

use crate::failure::Failure;
use crate::inputs::Source;
use crate::say;
use pointmill::Pose;
use pointmill_io::{BlockMap, Detail, IoError, PoseOptions, Poses, read_poses};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The poses of a file, and which of them inputs have.
#[derive(Debug)]
pub struct InputPoses {
    path: PathBuf,
    poses: Poses,
    used: Mutex<HashSet<usize>>,
    /// Whether stamps decide.
    stamped: bool,
}

impl InputPoses {
    /// Reads the poses. If numbers decide and there are more poses than inputs, an input that fails says so.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(path: &Path, sources: &mut Vec<Source>) -> Result<Self, Failure> {
        let poses = read_poses(path, &PoseOptions::default())?;
        let stamped = poses.times.is_some() && sources.iter().any(|source| matches!(source, Source::Cloud(_)));
        let (inputs, found) = (sources.len(), poses.poses.len());
        if !stamped && found > inputs {
            let wanted = format!("{inputs}, one for each input");
            sources.push(Source::Nothing(IoError::MissingField(Detail::new(path, "poses", wanted, found.to_string()))));
        }
        Ok(Self { path: path.into(), poses, used: Mutex::default(), stamped })
    }

    /// The pose of an input.
    ///
    /// # Errors
    /// An input without a pose.
    pub fn of(&self, index: usize, stamp: Option<f64>) -> Result<Pose, IoError> {
        let found = self.poses.of(&self.path, index, stamp)?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(found);
        Ok(self.poses.poses[found])
    }

    /// What decides the pose of an input.
    pub fn state(&self, index: usize) -> String {
        BlockMap::state_of(&self.path, if self.stamped { "by stamp".into() } else { format!("pose {index}") })
    }

    /// Warns of poses with times that no stamp has.
    pub fn warn_of_unused(&self) {
        let (used, all) = (self.used.lock().unwrap_or_else(PoisonError::into_inner).len(), self.poses.poses.len());
        if self.stamped && used < all {
            say::warning(format_args!("{}: {} of {all} poses have no input", self.path.display(), all - used));
        }
    }
}
