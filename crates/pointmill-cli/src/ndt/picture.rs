//! `--visualize` of `ndt`: cells as ellipses over points, and a scan before and after it was aligned.

use super::cloud::Cloud;
use super::grid::edge;
use crate::failure::Failure;
use crate::picture::save;
use crate::text::grouped;
use pointmill::Pose;
use pointmill::ndt::{NdtCells, NdtFit, NdtGrid, NdtRegistration};
use pointmill_view::{
    Gif, NdtEllipsoids, NdtFitNote, ndt_alignment_frames, ndt_alignment_picture, ndt_map_picture, require_memory,
};
use std::path::{Path, PathBuf};

/// How long each side of an alignment is shown.
const FRAME_MS: u32 = 800;

/// The picture of a map in the making.
#[derive(Debug)]
pub(super) struct MapPicture {
    path: PathBuf,
    points: Vec<[f64; 3]>,
}

impl MapPicture {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.into(), points: Vec::new() }
    }

    /// Keeps points to be drawn.
    pub(super) fn add_points(&mut self, cloud: &Cloud) -> Result<(), Failure> {
        require_memory(0, self.points.len() + cloud.len())?;
        self.points.extend(cloud.xyz());
        Ok(())
    }

    /// Draws the cells over the points.
    pub(super) fn write(&self, grid: &NdtGrid) -> Result<(), Failure> {
        let cells = grid.read()?;
        require_memory(1, self.points.len() + cells.len())?;
        let left = format!("{} points", grouped(self.points.len()));
        let right = format!("{} cells of {} m", grouped(cells.len()), edge(grid.lattice().unit()));
        let picture = ndt_map_picture(&self.points, ellipsoids(&cells), [&left, &right]);
        save(&self.path, 1, || Ok(picture.encode_png()))
    }
}

/// A scan at its guess.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) pose: Pose,
    pub(super) fit: NdtFit,
}

/// Draws a scan at its guess and at the pose that was found.
pub(super) fn write_alignment(
    path: &Path,
    grid: &NdtGrid,
    scan: &Cloud,
    before: Before,
    found: &NdtRegistration,
) -> Result<(), Failure> {
    let cells = grid.read()?;
    let note =
        |fit: &NdtFit| NdtFitNote { nvtl: fit.nvtl, transform_probability: fit.transform_probability, error: None };
    let notes = [note(&before.fit), note(&found.fit)];
    require_memory(2, 3 * scan.len() + cells.len())?;
    let points = scan.xyz();
    let [before, after] =
        [before.pose, found.target_from_source].map(|pose| points.iter().map(|p| pose.apply(*p)).collect::<Vec<_>>());
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gif")) {
        let mut gif = Gif::new(FRAME_MS);
        for frame in ndt_alignment_frames(ellipsoids(&cells), &before, &after, notes) {
            gif.push(frame)?;
        }
        return save(path, gif.len(), || gif.encode());
    }
    let picture = ndt_alignment_picture(ellipsoids(&cells), &before, &after, notes);
    save(path, 1, || Ok(picture.encode_png()))
}

fn ellipsoids(cells: &NdtCells) -> NdtEllipsoids<'_> {
    NdtEllipsoids { means: &cells.mean, covariances: &cells.covariance }
}
