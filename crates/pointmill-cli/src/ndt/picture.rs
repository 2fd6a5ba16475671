//! `--visualize` of `ndt`: cells as ellipses over points, and a scan before and after it was
//! aligned.

use super::grid::edge;
use crate::failure::Failure;
use crate::inputs::rows;
use crate::picture::save_scene;
use crate::text::{grouped, titled};
use pointmill::Pose;
use pointmill::ndt::{NdtCells, NdtFit, NdtGrid, NdtRegistration};
use pointmill_io::{Place, Scan};
use pointmill_view::{NdtEllipsoids, NdtFitNote, ndt_alignment_scene, ndt_map_scene, ndt_score_scene, require_memory};
use std::path::{Path, PathBuf};

/// The picture of a map in the making.
#[derive(Debug)]
pub(super) struct MapPicture {
    path: PathBuf,
    points: Vec<[f64; 3]>,
    is_written: bool,
}

impl MapPicture {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.into(), points: Vec::new(), is_written: false }
    }

    /// Keeps the points of an input. If each input has a grid, the first is drawn at once.
    pub(super) fn add(&mut self, scan: &Scan, grid: Option<&NdtGrid>) -> Result<(), Failure> {
        if self.is_written {
            return Ok(());
        }
        require_memory(0, self.points.len() + scan.cloud.len())?;
        self.points.extend(scan.xyz());
        grid.map_or(Ok(()), |grid| self.write(grid))
    }

    /// Draws the cells over the points.
    pub(super) fn write(&mut self, grid: &NdtGrid) -> Result<(), Failure> {
        self.is_written = true;
        let points = format!("{} points", grouped(self.points.len()));
        let cells = format!("{} cells of {} m", grouped(grid.len()), edge(grid.lattice().unit()));
        let (title, read) = (format!("{points}, {cells}"), grid.read()?);
        require_memory(1, self.points.len() + read.len())?;
        let origin = grid.lattice().origin();
        let points = on_map(self.points.iter().copied(), grid);
        let mut scene = ndt_map_scene(&titled(&title, origin), &points, ellipsoids(&read));
        scene.about(origin);
        save_scene(Place::named(&self.path), &scene)
    }
}

/// Draws a scan over the cells of a map, at a pose, its points by the likelihood of the best cell.
pub(super) fn write_score(path: &Path, grid: &NdtGrid, scan: &Scan, at: At) -> Result<(), Failure> {
    let cells = grid.read()?;
    require_memory(1, 2 * scan.cloud.len() + cells.len())?;
    let points = on_map(scan.xyz().into_iter().map(|p| at.pose.apply(p)), grid);
    let scores = grid.point_scores(rows(scan)?, &at.pose)?;
    let likelihoods: Vec<f32> = scores.iter().map(|[_, largest]| *largest as f32).collect();
    let left = format!("{} points over {} cells", grouped(points.len()), grouped(grid.len()));
    let right = format!("NVTL {:.3}, probability {:.3}", at.fit.nvtl, at.fit.transform_probability);
    let origin = grid.lattice().origin();
    let title = titled(&format!("{left}, {right}"), origin);
    let mut scene = ndt_score_scene(&title, &points, &likelihoods, ellipsoids(&cells));
    scene.about(origin);
    save_scene(Place::named(path), &scene)
}

/// A pose, and how well a scan fits there.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) pose: Pose,
    pub(super) fit: NdtFit,
}

/// Draws a scan at its guess and at the pose that was found.
pub(super) fn write_alignment(
    path: &Path,
    grid: &NdtGrid,
    scan: &Scan,
    before: At,
    found: &NdtRegistration,
) -> Result<(), Failure> {
    let cells = grid.read()?;
    let note =
        |fit: &NdtFit| NdtFitNote { nvtl: fit.nvtl, transform_probability: fit.transform_probability, error: None };
    let notes = [note(&before.fit), note(&found.fit)];
    require_memory(2, 3 * scan.cloud.len() + cells.len())?;
    let points = scan.xyz();
    let [before, after] =
        [before.pose, found.target_from_source].map(|pose| on_map(points.iter().map(|p| pose.apply(*p)), grid));
    let origin = grid.lattice().origin();
    let title = format!("{} points onto {} cells", grouped(points.len()), grouped(grid.len()));
    let mut scene = ndt_alignment_scene(&titled(&title, origin), ellipsoids(&cells), &before, &after, notes);
    scene.about(origin);
    save_scene(Place::named(path), &scene)
}

/// Points about the origin of the map, as its means are.
fn on_map(points: impl Iterator<Item = [f64; 3]>, grid: &NdtGrid) -> Vec<[f64; 3]> {
    let origin = grid.lattice().origin();
    points.map(|p| [0, 1, 2].map(|axis| p[axis] - origin[axis])).collect()
}

fn ellipsoids(cells: &NdtCells) -> NdtEllipsoids<'_> {
    NdtEllipsoids { means: &cells.mean, covariances: &cells.covariance }
}
