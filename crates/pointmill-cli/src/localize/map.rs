//! The map of a run: all of it, or its blocks as they are needed.

use super::args::LocalizeArgs;
use super::records::Totals;
use crate::failure::Failure;
use crate::inputs::Source;
use crate::ndt::map::{Map, MapRequest};
use crate::printer::Printer;
use pointmill::{Device, Pose};
use pointmill_data::BlockMap;
use pointmill_io::Limits;
use pointmill_slam::localize::{LocalizerMap, LocalizerParams};
use std::sync::Arc;

/// Cells of a map as they are drawn.
pub(super) struct Cells {
    pub(super) means: Vec<[f64; 3]>,
    pub(super) covariances: Vec<[f64; 6]>,
}

/// A map.
pub(super) enum MapSource {
    Whole(Map),
    Blocks(BlockMap),
}

impl MapSource {
    /// Opens a map by blocks, or reads the whole map: a search in the whole map needs all blocks.
    pub(super) fn open(
        asked: &MapRequest<'_>,
        args: &LocalizeArgs,
        device: &Device,
        scans: &[Source],
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        let blocks = if args.guess.is_some() || args.region.is_some() { asked.blocks()? } else { None };
        Ok(match blocks {
            Some(blocks) => Self::Blocks(blocks),
            None => Self::Whole(asked.load(&[], device, scans, printer)?),
        })
    }

    /// The map as the localizer takes it.
    pub(super) fn localizer(&self, params: &LocalizerParams, limits: &Limits) -> Result<LocalizerMap, Failure> {
        Ok(match self {
            Self::Whole(map) => Arc::clone(&map.grid).into(),
            Self::Blocks(map) => map.localizer_map(params, limits)?,
        })
    }

    /// Adds a whole map to the totals.
    pub(super) fn count(&self, totals: &mut Totals) {
        if let Self::Whole(map) = self {
            totals.map_cells = map.grid.len();
            totals.map_ms = map.ms;
            totals.map_warnings.clone_from(&map.warnings);
        }
    }

    /// The means and covariances of the cells that are drawn, in global coordinates, and the origin
    /// of the map. They are all cells, or of a map by blocks those within `range` of the poses.
    pub(super) fn cells(&self, poses: &[Pose], range: f64, limits: &Limits) -> Result<(Cells, [f64; 3]), Failure> {
        let (cells, lattice) = match self {
            Self::Whole(Map { grid, .. }) => (grid.read()?, *grid.lattice()),
            Self::Blocks(map) => {
                let centres: Vec<_> = poses.iter().map(|pose| [0, 1].map(|axis| pose.translation()[axis])).collect();
                let near = map.near(&centres, range)?;
                map.read(&near, limits)?
            }
        };
        let origin = lattice.origin();
        let means = cells.mean.iter().map(|mean| [0, 1, 2].map(|axis| mean[axis] + origin[axis])).collect();
        Ok((Cells { means, covariances: cells.covariance }, origin))
    }
}
