//! The map as the host looks at it: where its ground is, and which cells stand on it.

use super::fix::Evidence;
use super::scan::{ABOVE_GROUND, Scan, Sight};
use crate::ndt::NdtGrid;
use crate::{Pose, Result, memory};
use std::collections::HashMap;

/// A cell is ground if the z component of its normal is at least this.
const LEVEL: f64 = 0.8;
/// Cells so many metres from the sensor, and nearer, are held against the scan.
const NEAR: f64 = 40.0;

/// Means of cells by column, the ground of each, and the extent of all.
#[derive(Debug, Default)]
pub(super) struct Ground {
    unit: f64,
    columns: HashMap<[i32; 2], Column>,
    /// Least and largest x and y of the cells.
    pub(super) extent: Option<[f64; 4]>,
}

#[derive(Debug, Default)]
struct Column {
    means: Vec<[f64; 3]>,
    /// Height of the lowest level cell.
    ground: Option<f64>,
}

impl Ground {
    pub(super) fn new(grid: &NdtGrid) -> Result<Self> {
        let (cells, unit) = (grid.read()?, grid.lattice().unit());
        let mut ground = Self { unit, ..Self::default() };
        // Rows go by z first, so that the first level cell of a column is the lowest.
        for (row, mean) in cells.mean.iter().enumerate() {
            let [x, y, _] = cells.coords[row];
            let column = ground.columns.entry([x, y]).or_default();
            memory::push(&mut column.means, *mean)?;
            if cells.normal[row][2].abs() >= LEVEL && column.ground.is_none() {
                column.ground = Some(mean[2]);
            }
            let [x0, y0, x1, y1] = ground.extent.unwrap_or([mean[0], mean[1], mean[0], mean[1]]);
            ground.extent = Some([x0.min(mean[0]), y0.min(mean[1]), x1.max(mean[0]), y1.max(mean[1])]);
        }
        Ok(ground)
    }

    fn cell(&self, x: f64) -> i32 {
        (x / self.unit).floor().clamp(-4e6, 4e6) as i32
    }

    /// The height of the ground at a place: that of its column, else the lowest of those beside it.
    pub(super) fn height(&self, x: f64, y: f64) -> Option<f64> {
        let [i, j] = [self.cell(x), self.cell(y)];
        let at = |di: i32, dj: i32| self.columns.get(&[i + di, j + dj]).and_then(|column| column.ground);
        at(0, 0).or_else(|| (0..9).filter_map(|k| at(k % 3 - 1, k / 3 - 1)).min_by(f64::total_cmp))
    }

    /// Holds the cells that stand on the ground near a pose against what the scan sees.
    pub(super) fn sights(&self, scan: &Scan, pose: &Pose) -> Evidence {
        let (back, [x, y, _]) = (pose.inverse(), pose.translation());
        let reach = (NEAR / self.unit).ceil() as i32;
        let mut found = Evidence::default();
        let [i, j] = [self.cell(x), self.cell(y)];
        for dj in -reach..=reach {
            for di in -reach..=reach {
                let Some(column) = self.columns.get(&[i + di, j + dj]) else { continue };
                for mean in &column.means {
                    let p = back.apply(*mean);
                    let near = p.iter().map(|x| x * x).sum::<f64>() < NEAR * NEAR;
                    if !near || p[2] < scan.ground + ABOVE_GROUND {
                        continue;
                    }
                    match scan.view.look(p, self.unit) {
                        Sight::Confirmed => found.confirmed += 1,
                        Sight::SeenThrough => found.seen_through += 1,
                        Sight::Unknown => {}
                    }
                }
            }
        }
        found
    }
}
