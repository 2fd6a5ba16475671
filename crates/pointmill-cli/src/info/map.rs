//! What is known of an NDT map.

use super::bounds::Bounds;
use crate::batch::prelude::*;
use crate::text::tidy;
use pointmill_data::read_ndt_map_within;
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
}

impl MapFile {
    pub(super) fn read(path: &Path, limits: &Limits) -> Result<Self, IoError> {
        let (cells, lattice) = read_ndt_map_within(Place::named(path), limits)?;
        let points = cells.counts.iter().map(|&count| u64::from(count)).sum();
        let (cells, bounds) = (cells.mean.len(), Bounds::around(&cells.mean));
        Ok(Self { cells, resolution: lattice.unit(), origin: lattice.origin(), points, bounds })
    }

    pub(super) fn line(&self) -> String {
        format!("NDT map: {} of {} m", counted(self.cells, "cell"), tidy(self.resolution))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("           {}, {} points", self.line(), grouped(self.points as usize))];
        lines.extend(self.bounds.iter().flat_map(Bounds::lines));
        let [x, y, z] = self.origin.map(tidy);
        lines.extend((self.origin != [0.0; 3]).then(|| format!("origin     {x}, {y}, {z} m")));
        lines
    }
}
