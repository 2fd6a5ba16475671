//! `--visualize`: the map, and the scans where they were found.

use crate::failure::Failure;
use crate::outputs::has_extension;
use crate::picture::{save, save_page};
use crate::text::{counted, grouped, label, titled};
use pointmill::{PointCloud, Pose};
use pointmill_view::{DrivePage, drive_picture, require_memory};
use std::path::Path;

/// The scans of a page so far, if a page is wanted.
pub(super) struct Scans(Option<DrivePage>);

impl Scans {
    /// For a picture of about so many scans.
    pub(super) fn new(picture: Option<&Path>, scans: usize) -> Self {
        Self(picture.filter(|path| has_extension(path, "html")).map(|_| DrivePage::new(scans)))
    }

    /// Adds the next scan.
    pub(super) fn push(&mut self, name: &str, cloud: &PointCloud, intensity: Option<usize>) -> Result<(), Failure> {
        let Some(page) = &mut self.0 else { return Ok(()) };
        require_memory(0, cloud.len())?;
        page.push(&label(name), cloud, intensity);
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
        match self.0 {
            Some(page) => save_page(path, &page.finish(&format!("{left}; {right}"), means, poses)),
            None => {
                let way: Vec<_> = poses.iter().map(Pose::translation).collect();
                save(path, 1, || Ok(drive_picture(means, &way, [&left, &right]).encode_png()))
            }
        }
    }
}
