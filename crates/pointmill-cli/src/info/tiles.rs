//! What is known of a folder that has a map in tiles.

use super::bounds::Bounds;
use super::cloud::notes;
use crate::batch::prelude::*;
use crate::text::tidy;
use crate::units::Units;
use pointmill_data::find_inputs;
use pointmill_io::{IoError, ReadOptions, read};
use serde::Serialize;
use std::path::Path;

/// Warnings of tiles that are told.
const TOLD: usize = 20;

/// A folder with a map in PCD tiles, as Autoware takes it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TileFolder {
    /// The number of tiles.
    tiles: usize,
    /// The lengths of a tile along x and y in metres.
    edges: [f64; 2],
    /// The points of all tiles.
    pub(super) points: usize,
    /// Points with a NaN or an infinity in x, y or z.
    nonfinite: usize,
    /// The smallest box around the finite points, in metres; null if there are none.
    pub(super) bounds: Option<Bounds>,
}

impl TileFolder {
    /// Reads every tile, one after the other.
    pub(super) fn read(path: &Path, edges: [f64; 2], options: &ReadOptions) -> Result<(Self, Vec<String>), IoError> {
        let (mut folder, mut warnings) =
            (Self { tiles: 0, edges, points: 0, nonfinite: 0, bounds: None }, Vec::<String>::new());
        for tile in find_inputs(&[path])? {
            let scan = read(tile?, options)?;
            folder.tiles += 1;
            folder.points += scan.cloud.len();
            folder.nonfinite += scan.cloud.points().non_finite();
            folder.bounds = [folder.bounds.take(), Bounds::of(&scan)].into_iter().flatten().reduce(Bounds::and);
            for warning in notes(&scan.warnings).warnings {
                if warnings.len() < TOLD && !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        Ok((folder, warnings))
    }

    pub(super) fn line(&self) -> String {
        let [x, y] = self.edges.map(tidy);
        format!("map in tiles: {} of {x} x {y} m", counted(self.tiles, "tile"))
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("           {}, {} points", self.line(), grouped(self.points))];
        lines.extend(self.bounds.iter().flat_map(|bounds| bounds.lines(&Units::default())));
        lines.push(format!("nonfinite  {}", grouped(self.nonfinite)));
        lines
    }
}
