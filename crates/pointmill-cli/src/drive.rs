//! `--visualize` of a run: its map with the poses, and on a page also the scans.

use crate::failure::Failure;
use crate::outputs::has_extension;
use crate::picture::save_scene;
use crate::text::label;
use pointmill::{Error, PointCloud, Pose};
use pointmill_io::Scan;
use pointmill_view::{DriveScene, require_memory};
use std::path::Path;

/// The picture of a run so far.
pub(crate) struct Scans {
    drive: DriveScene,
    /// Whether the scans are shown: only a page does.
    with_scans: bool,
}

impl Scans {
    /// For a picture of about so many scans.
    pub(crate) fn new(picture: Option<&Path>, scans: usize) -> Self {
        let with_scans = picture.is_some_and(|path| has_extension(path, "html"));
        Self { drive: DriveScene::new(if with_scans { scans } else { 1 }), with_scans }
    }

    /// Adds the next scan, which has no points if it could not be used.
    pub(crate) fn push(&mut self, name: &str, scan: Option<&Scan>) -> Result<(), Failure> {
        if !self.with_scans {
            return Ok(());
        }
        let nothing = PointCloud::new(Vec::new(), 3).map_err(Error::from)?;
        let cloud = scan.map_or(&nothing, |scan| &scan.cloud);
        require_memory(0, cloud.len())?;
        self.drive.push(&label(name), cloud, scan.and_then(Scan::intensity));
        Ok(())
    }

    /// Draws the points of the map and the poses of all scans, both in global coordinates, below a
    /// title.
    pub(crate) fn draw(self, path: &Path, map: &[[f64; 3]], poses: &[Pose], title: &str) -> Result<(), Failure> {
        require_memory(1, map.len())?;
        save_scene(path, &self.drive.finish(title, map, poses))
    }
}
