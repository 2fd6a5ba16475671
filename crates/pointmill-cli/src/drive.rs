//! `--visualize` of a run: its map with the poses, and on a page and in an animation also the scans.

use crate::failure::Failure;
use crate::outputs::has_extension;
use crate::picture::save_scene;
use crate::stderr;
use crate::text::label;
use pointmill::{Error, PointCloud, Pose};
use pointmill_io::Scan;
use pointmill_view::{DriveScene, require_memory};
use std::path::Path;

/// The picture of a run so far.
pub(crate) struct Scans {
    drive: DriveScene,
    /// Every so many scans are shown: in a page each, in an animation as many as it has frames, and
    /// in a picture none.
    every: Option<usize>,
    count: usize,
}

impl Scans {
    /// For a picture of about so many scans.
    pub(crate) fn new(picture: Option<&Path>, scans: usize) -> Self {
        let is = |extension| picture.is_some_and(|path| has_extension(path, extension));
        let every = match () {
            () if is("html") => Some(1),
            () if is("gif") => Some(scans.div_ceil(DriveScene::MOST_FRAMES).max(1)),
            () => None,
        };
        Self { drive: DriveScene::new(every.map_or(1, |every| scans.div_ceil(every))), every, count: 0 }
    }

    /// Adds the next scan, which has no points if it could not be used.
    pub(crate) fn push(&mut self, name: &str, scan: Option<&Scan>) -> Result<(), Failure> {
        let number = self.count;
        self.count += 1;
        if self.every.is_none_or(|every| number % every != 0) {
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
        let every = self.every.unwrap_or(1);
        if every > 1 {
            let shown = poses.len().div_ceil(every);
            stderr::note(&format!("--visualize {}: {shown} frames, one of every {every} scans", path.display()));
        }
        let shown: Vec<Pose> = poses.iter().copied().step_by(every).collect();
        save_scene(path, &self.drive.finish(title, map, &shown))
    }
}
