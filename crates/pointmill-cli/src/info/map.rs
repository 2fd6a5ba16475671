//! What is known of an NDT map: of a file, and of a folder that has one by blocks.

use super::bounds::Bounds;
use crate::batch::prelude::*;
use crate::ndt::cells_of;
use crate::text::tidy;
use crate::units::Units;
use pointmill::ndt::{Covariance, NdtReport};
use pointmill_data::{BlockMap, read_ndt_map_within};
use pointmill_io::{IoError, Limits, Place};
use serde::Serialize;
use std::path::Path;

/// An NDT map, as `pointmill ndt build` writes it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MapFile {
    /// The number of its cells.
    cells: usize,
    /// The edge of a cell in metres.
    resolution: f64,
    /// What the lattice of cells is relative to, in metres.
    origin: [f64; 3],
    /// The points of all its cells.
    points: u64,
    /// The smallest box around the means of its cells, in metres; null without cells.
    bounds: Option<Bounds>,
    /// What was counted when it was made.
    report: NdtReport,
}

/// A folder with an NDT map by blocks, as `pointmill ndt build --blocks` writes it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BlockFolder {
    /// The edge of a cell in metres.
    resolution: f64,
    /// The edge of a block in cells.
    cells: u32,
    /// The edge of a block in metres.
    block: f64,
    /// What cells and blocks are counted from, in metres.
    origin: [f64; 3],
    /// The definition of a cell's covariance.
    covariance: Covariance,
    /// Fewest points of a cell.
    min_points: u32,
    /// Least ratio of an eigenvalue to the largest of its cell.
    eigen_ratio: f64,
    /// The number of blocks with points.
    blocks: usize,
    /// Inputs that are done.
    inputs: usize,
    /// Inputs that failed.
    failed: usize,
    /// The points of all inputs.
    points: u64,
    /// The smallest rectangle of whole blocks around all: smallest x and y, largest x and y in
    /// metres; null without blocks.
    area: Option<[f64; 4]>,
}

impl MapFile {
    pub(super) fn read(path: &Path, limits: &Limits) -> Result<Self, IoError> {
        let (cells, lattice) = read_ndt_map_within(Place::named(path), limits)?;
        let points = cells.counts.iter().map(|&count| u64::from(count)).sum();
        let (report, bounds) = (cells.report, Bounds::around(&cells.mean));
        let (resolution, origin) = (lattice.unit(), lattice.origin());
        Ok(Self { cells: cells.len(), resolution, origin, points, bounds, report })
    }

    pub(super) fn line(&self) -> String {
        format!("NDT map: {} of {} m", counted(self.cells, "cell"), tidy(self.resolution))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("           {}, {} points", self.line(), grouped(self.points as usize))];
        lines.extend(self.bounds.iter().flat_map(|bounds| bounds.lines(&Units::default())));
        lines.extend((self.origin != [0.0; 3]).then(|| format!("origin     {}", Units::default().place(self.origin))));
        lines.push(format!("made of    {} points", grouped(self.report.points as usize)));
        lines.push(format!("cells      {}", cells_of(&self.report)));
        lines
    }
}

impl BlockFolder {
    pub(super) fn read(path: &Path) -> Result<Self, IoError> {
        let map = BlockMap::open(path)?;
        let (settings, blocks, rows) = (map.settings(), map.blocks()?, map.rows()?);
        let failed = rows.iter().filter(|row| row.error.is_some()).count();
        let (block, origin) = (settings.block(), settings.origin);
        let corner = |axis: usize, block_of: i32, more: f64| tidy(origin[axis] + (f64::from(block_of) + more) * block);
        let area = |[x0, y0, x1, y1]: [i32; 4]| {
            [corner(0, x0, 0.0), corner(1, y0, 0.0), corner(0, x1, 1.0), corner(1, y1, 1.0)]
        };
        let around = blocks
            .iter()
            .map(|&[x, y]| [x, y, x, y])
            .reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]);
        Ok(Self {
            resolution: settings.resolution,
            cells: settings.cells,
            block,
            origin,
            covariance: settings.covariance,
            min_points: settings.min_points,
            eigen_ratio: settings.eigen_ratio,
            blocks: blocks.len(),
            inputs: rows.len() - failed,
            failed,
            points: rows.iter().fold(0, |sum, row| sum.saturating_add(row.points)),
            area: around.map(area),
        })
    }

    pub(super) fn line(&self) -> String {
        format!("NDT map: {} of {} m", counted(self.blocks, "block"), tidy(self.block))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let failed = if self.failed == 0 { String::new() } else { format!(", {} failed", grouped(self.failed)) };
        let inputs = counted(self.inputs, "input");
        let mut lines = vec![
            format!("           {}, {} points of {inputs}{failed}", self.line(), grouped(self.points as usize)),
            format!("cells      {} m, {} along a block", tidy(self.resolution), grouped(self.cells as usize)),
        ];
        lines.extend(
            self.area.iter().flat_map(|[x0, y0, x1, y1]| {
                [format!("x          {x0} .. {x1} m"), format!("y          {y0} .. {y1} m")]
            }),
        );
        lines.extend((self.origin != [0.0; 3]).then(|| format!("origin     {}", Units::default().place(self.origin))));
        let (least, ratio) = (counted(self.min_points as usize, "point"), self.eigen_ratio);
        lines.push(format!(
            "covariance {}; cells of {least} or more; eigenvalue ratio {ratio} or more",
            self.covariance
        ));
        lines
    }
}
