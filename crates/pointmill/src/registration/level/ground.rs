//! The ground of a map.

use crate::ndt::NdtCells;
use crate::{Error, Result, memory};
use std::collections::HashMap;

/// A cell is ground if the z component of its normal is at least this.
const LEVEL: f64 = 0.8;

/// The lowest level cell of each column.
#[derive(Default)]
pub(super) struct Ground {
    unit: f64,
    columns: HashMap<[i32; 2], (usize, f64)>,
}

impl Ground {
    pub(super) fn new(cells: &NdtCells, unit: f64) -> Result<Self> {
        let mut columns = HashMap::new();
        columns.try_reserve(cells.len()).map_err(|_| Error::OutOfMemory {
            device: "cpu".into(),
            bytes: (cells.len() * size_of::<([i32; 2], (usize, f64))>()) as u64,
        })?;
        // Rows go by z first, so that the first level cell of a column is the lowest.
        for (row, [x, y, _]) in cells.coords.iter().enumerate() {
            if cells.normal[row][2].abs() >= LEVEL {
                columns.entry([*x, *y]).or_insert((row, cells.mean[row][2]));
            }
        }
        Ok(Self { unit, columns })
    }

    /// Whether a cell is the ground of its column.
    pub(super) fn has(&self, cells: &NdtCells, row: usize) -> bool {
        let [x, y, _] = cells.coords[row];
        self.columns.get(&[x, y]).is_some_and(|(ground, _)| *ground == row)
    }

    /// The height of the ground at a place: that of its column, else the lowest of those beside it.
    pub(super) fn height(&self, x: f64, y: f64) -> Option<f64> {
        let [i, j] = [x, y].map(|x| (x / self.unit).floor() as i32);
        let at = |di: i32, dj: i32| self.columns.get(&[i + di, j + dj]).map(|(_, height)| *height);
        at(0, 0).or_else(|| (0..9).filter_map(|k| at(k % 3 - 1, k / 3 - 1)).min_by(f64::total_cmp))
    }
}

/// Gives places without a height, rows of `width`, that of the place that reaches them with the
/// fewest steps along x and y; of several the first.
pub(super) fn spread(heights: &mut [f64], width: usize) -> Result<()> {
    let mut reached = Vec::new();
    memory::room(&mut reached, heights.len())?;
    reached.extend((0..heights.len()).filter(|&at| !heights[at].is_nan()));
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        let [x, y] = [at % width, at / width];
        let beside = [
            (x > 0).then(|| at - 1),
            (x + 1 < width).then(|| at + 1),
            at.checked_sub(width),
            (y + 1 < heights.len() / width).then(|| at + width),
        ];
        for to in beside.into_iter().flatten() {
            if heights[to].is_nan() {
                heights[to] = heights[at];
                reached.push(to);
            }
        }
    }
    Ok(())
}
