//! `--visualize` of `ndt`: cells as ellipses over points, and a scan before and after it was aligned.

use super::grid::edge;
use crate::failure::Failure;
use crate::outputs::has_extension;
use crate::picture::{save, save_page};
use crate::text::{grouped, titled};
use pointmill::Pose;
use pointmill::ndt::{NdtCells, NdtFit, NdtGrid, NdtRegistration};
use pointmill_io::Scan;
use pointmill_view::{
    Gif, NdtEllipsoids, NdtFitNote, ndt_alignment_frames, ndt_alignment_page, ndt_alignment_picture, ndt_map_page,
    ndt_map_picture, require_memory,
};
use std::path::{Path, PathBuf};

/// How long each side of an alignment is shown.
const FRAME_MS: u32 = 800;

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
        write_map(&self.path, &self.points, grid, [&points, &cells])
    }
}

/// Draws the cells of a map over points.
fn write_map(path: &Path, points: &[[f64; 3]], grid: &NdtGrid, titles: [&str; 2]) -> Result<(), Failure> {
    let cells = grid.read()?;
    require_memory(1, points.len() + cells.len())?;
    let points = &on_map(points.iter().copied(), grid);
    let cells = ellipsoids(&cells);
    let origin = grid.lattice().origin();
    if has_extension(path, "html") {
        let mut page = ndt_map_page(&titled(&titles.join(", "), origin), points, cells);
        page.about(origin);
        return save_page(path, &page);
    }
    let [left, right] = titles;
    save(path, 1, || Ok(ndt_map_picture(points, cells, [&titled(left, origin), right]).encode_png()))
}

/// Draws a scan over the cells of a map, at a pose.
pub(super) fn write_score(path: &Path, grid: &NdtGrid, scan: &Scan, at: At) -> Result<(), Failure> {
    let points: Vec<_> = scan.xyz().into_iter().map(|p| at.pose.apply(p)).collect();
    let left = format!("{} points over {} cells", grouped(points.len()), grouped(grid.len()));
    let right = format!("NVTL {:.3}, probability {:.3}", at.fit.nvtl, at.fit.transform_probability);
    write_map(path, &points, grid, [&left, &right])
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
    if has_extension(path, "html") {
        let origin = grid.lattice().origin();
        let title = format!("{} points onto {} cells", grouped(points.len()), grouped(grid.len()));
        let mut page = ndt_alignment_page(&titled(&title, origin), ellipsoids(&cells), &before, &after, notes);
        page.about(origin);
        return save_page(path, &page);
    }
    if has_extension(path, "gif") {
        let mut gif = Gif::new(FRAME_MS);
        for frame in ndt_alignment_frames(ellipsoids(&cells), &before, &after, notes) {
            gif.push(frame)?;
        }
        return save(path, gif.len(), || gif.encode());
    }
    let picture = ndt_alignment_picture(ellipsoids(&cells), &before, &after, notes);
    save(path, 1, || Ok(picture.encode_png()))
}

/// Points about the origin of the map, as its means are.
fn on_map(points: impl Iterator<Item = [f64; 3]>, grid: &NdtGrid) -> Vec<[f64; 3]> {
    let origin = grid.lattice().origin();
    points.map(|p| [0, 1, 2].map(|axis| p[axis] - origin[axis])).collect()
}

fn ellipsoids(cells: &NdtCells) -> NdtEllipsoids<'_> {
    NdtEllipsoids { means: &cells.mean, covariances: &cells.covariance }
}
