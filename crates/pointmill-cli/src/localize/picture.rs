//! `--visualize`: the map, and the scans where they were found.

use crate::failure::Failure;
use crate::outputs::has_extension;
use crate::picture::save_scene;
use crate::text::{counted, grouped, label, titled};
use pointmill::{PointCloud, Pose};
use pointmill_view::{DriveScene, require_memory};
use std::path::Path;

/// The picture so far.
pub(super) struct Scans {
    drive: DriveScene,
    /// Whether the scans are shown: only a page does.
    with_scans: bool,
}

impl Scans {
    /// For a picture of about so many scans.
    pub(super) fn new(picture: Option<&Path>, scans: usize) -> Self {
        let with_scans = picture.is_some_and(|path| has_extension(path, "html"));
        Self { drive: DriveScene::new(scans), with_scans }
    }

    /// Adds the next scan.
    pub(super) fn push(&mut self, name: &str, cloud: &PointCloud, intensity: Option<usize>) -> Result<(), Failure> {
        if self.with_scans {
            require_memory(0, cloud.len())?;
            self.drive.push(&label(name), cloud, intensity);
        }
        Ok(())
    }

    /// Draws the means of the map's cells, and the poses of all scans, both in global coordinates. `origin` is the origin of the map.
    pub(super) fn draw(
        self,
        path: &Path,
        (means, origin): (&[[f64; 3]], [f64; 3]),
        poses: &[Pose],
        fixes: usize,
    ) -> Result<(), Failure> {
        require_memory(1, means.len())?;
        let left = format!("{}, {} with a fix", counted(poses.len(), "scan"), grouped(fixes));
        let left = titled(&left, origin);
        let right = format!("{} cells", grouped(means.len()));
        save_scene(path, &self.drive.finish(&format!("{left}; {right}"), means, poses))
    }
}
