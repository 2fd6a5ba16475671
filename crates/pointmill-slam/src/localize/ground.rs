//! The map as the host looks at it: where its ground is, and which cells stand on it.

use super::fix::Evidence;
use super::scan::{ABOVE_GROUND, Scan, Sight};
use pointmill::internals::memory;
use pointmill::ndt::NdtGrid;
use pointmill::{Pose, Result};
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
        let mut found = Evidence::default();
        self.for_each_near([x, y], |column| {
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
        });
        found
    }

    /// Calls `visit` with each column of the square about a place, in no order. Where the square
    /// has room for more columns than there are, it goes through those that there are: small cells
    /// cost no more than large ones.
    fn for_each_near(&self, [x, y]: [f64; 2], mut visit: impl FnMut(&Column)) {
        let reach = (NEAR / self.unit).ceil() as i32;
        let [i, j] = [self.cell(x), self.cell(y)];
        if (2.0 * f64::from(reach) + 1.0).powi(2) > self.columns.len() as f64 {
            let near = |[a, b]: [i32; 2]| a.abs_diff(i).max(b.abs_diff(j)) <= reach.unsigned_abs();
            self.columns.iter().filter(|(at, _)| near(**at)).for_each(|(_, column)| visit(column));
        } else {
            // A square of no more columns than a map has is far from the ends of i32, and so is
            // every cell.
            let square = (-reach..=reach).flat_map(|dj| (-reach..=reach).map(move |di| [i + di, j + dj]));
            square.filter_map(|at| self.columns.get(&at)).for_each(visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of one mean each, so that a mean tells its column.
    fn ground(unit: f64, columns: impl IntoIterator<Item = [i32; 2]>) -> Ground {
        let of = |at: [i32; 2]| (at, Column { means: vec![[f64::from(at[0]), f64::from(at[1]), 0.0]], ground: None });
        Ground { unit, columns: columns.into_iter().map(of).collect(), extent: None }
    }

    fn near(ground: &Ground, place: [f64; 2]) -> Vec<[i32; 2]> {
        let mut found = Vec::new();
        ground.for_each_near(place, |column| found.push([column.means[0][0] as i32, column.means[0][1] as i32]));
        found.sort_unstable();
        found
    }

    #[test]
    fn columns_near_a_place_are_the_same_either_way() {
        let place = [11.0, -7.0];
        let square = (-15..=25).flat_map(|i| (-24..=16).map(move |j| [i, j]));
        let wanted: Vec<_> = square.filter(|[i, j]| (i * i + j) % 7 < 4).collect();
        let few = ground(2.0, wanted.iter().copied());
        assert!(few.columns.len() < 41 * 41);
        // More columns than the square has, which is around (5, -4): the others are beside it.
        let beside = (26..=66).flat_map(|i| (-24..=16).map(move |j| [i, j])).chain([[-16, -4], [5, 17], [5, -25]]);
        let many = ground(2.0, wanted.iter().copied().chain(beside));
        assert!(many.columns.len() > 41 * 41);
        assert_eq!((near(&few, place), near(&many, place)), (wanted.clone(), wanted));
    }

    #[test]
    fn cells_of_any_size_take_no_longer() {
        // Whole squares would have 6e11 columns and more.
        for unit in [1e-4, 1e-6, f64::MIN_POSITIVE] {
            let few = ground(unit, [[0, 0], [3, 4], [-4_000_000, 4_000_000]]);
            let found = near(&few, [0.0; 2]);
            assert!(found.contains(&[0, 0]) && found.contains(&[3, 4]), "{unit}: {found:?}");
            assert_eq!(found.len(), if unit == 1e-4 { 2 } else { 3 });
        }
    }
}
