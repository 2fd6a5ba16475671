//! `--visualize` of a run: its map from above with the poses, and on a page also the scans.

use crate::failure::Failure;
use crate::outputs::has_extension;
use crate::picture::{save, save_page};
use crate::text::label;
use pointmill::{Error, PointCloud, Pose};
use pointmill_io::Scan;
use pointmill_view::{DrivePage, drive_picture, require_memory};
use std::path::Path;

/// The scans of a page so far, if a page is wanted.
pub(crate) struct Scans(Option<DrivePage>);

impl Scans {
    /// For a picture of about so many scans.
    pub(crate) fn new(picture: Option<&Path>, scans: usize) -> Self {
        Self(picture.filter(|path| has_extension(path, "html")).map(|_| DrivePage::new(scans)))
    }

    /// Adds the next scan, which has no points if it could not be used.
    pub(crate) fn push(&mut self, name: &str, scan: Option<&Scan>) -> Result<(), Failure> {
        let Some(page) = &mut self.0 else { return Ok(()) };
        let nothing = PointCloud::new(Vec::new(), 3).map_err(Error::from)?;
        let cloud = scan.map_or(&nothing, |scan| &scan.cloud);
        require_memory(0, cloud.len())?;
        page.push(&label(name), cloud, scan.and_then(Scan::intensity));
        Ok(())
    }

    /// Draws the points of the map and the poses of all scans, both in global coordinates, below two titles.
    pub(crate) fn draw(
        self,
        path: &Path,
        map: &[[f64; 3]],
        poses: &[Pose],
        [left, right]: [&str; 2],
    ) -> Result<(), Failure> {
        require_memory(1, map.len())?;
        match self.0 {
            Some(page) => save_page(path, &page.finish(&format!("{left}; {right}"), map, poses)),
            None => {
                let way: Vec<_> = poses.iter().map(Pose::translation).collect();
                save(path, 1, || Ok(drive_picture(map, &way, [left, right]).encode_png()))
            }
        }
    }
}
