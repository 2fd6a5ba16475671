//! The map as the host looks at it: which cells stand on the ground around a place.

use super::fix::Evidence;
use super::scan::{ABOVE_GROUND, Scan, Sight};
use pointmill::internals::memory;
use pointmill::ndt::NdtGrid;
use pointmill::{Pose, Result};
use std::collections::HashMap;

/// Cells so many metres from the sensor, and nearer, are held against the scan.
const NEAR: f64 = 40.0;

/// Means of cells by column.
#[derive(Debug, Default)]
pub(super) struct Ground {
    unit: f64,
    columns: HashMap<[i32; 2], Vec<[f64; 3]>>,
}

impl Ground {
    pub(super) fn new(grid: &NdtGrid) -> Result<Self> {
        let (cells, unit) = (grid.read()?, grid.lattice().unit());
        let mut ground = Self { unit, ..Self::default() };
        for ([x, y, _], mean) in cells.coords.iter().zip(&cells.mean) {
            memory::push(ground.columns.entry([*x, *y]).or_default(), *mean)?;
        }
        Ok(ground)
    }

    fn cell(&self, x: f64) -> i32 {
        (x / self.unit).floor().clamp(-4e6, 4e6) as i32
    }

    /// Whether the map covers the place of a point: one of the 27 cells about it is in the map.
    /// Elsewhere nothing was seen: for its range, for what hid it, since no beam goes that high, or
    /// because points were too few for a cell.
    pub(super) fn covers(&self, [x, y, z]: [f64; 3]) -> bool {
        let [i, j, k] = [x, y, z].map(|x| self.cell(x));
        let mut about = (-1..=1).flat_map(|dj| (-1..=1).map(move |di| [i + di, j + dj]));
        let beside = |mean: &[f64; 3]| self.cell(mean[2]).abs_diff(k) <= 1;
        about.any(|at| self.columns.get(&at).is_some_and(|means| means.iter().any(beside)))
    }

    /// Holds the cells that stand on the ground near a pose against what the scan sees.
    pub(super) fn sights(&self, scan: &Scan, pose: &Pose) -> Evidence {
        let (back, [x, y, _]) = (pose.inverse(), pose.translation());
        let mut found = Evidence::default();
        self.for_each_near([x, y], |means| {
            for mean in means {
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
    fn for_each_near(&self, [x, y]: [f64; 2], mut visit: impl FnMut(&[[f64; 3]])) {
        let reach = (NEAR / self.unit).ceil() as i32;
        let [i, j] = [self.cell(x), self.cell(y)];
        if (2.0 * f64::from(reach) + 1.0).powi(2) > self.columns.len() as f64 {
            let near = |[a, b]: [i32; 2]| a.abs_diff(i).max(b.abs_diff(j)) <= reach.unsigned_abs();
            self.columns.iter().filter(|(at, _)| near(**at)).for_each(|(_, means)| visit(means));
        } else {
            // A square of no more columns than a map has is far from the ends of i32, and so is
            // every cell.
            let square = (-reach..=reach).flat_map(|dj| (-reach..=reach).map(move |di| [i + di, j + dj]));
            square.filter_map(|at| self.columns.get(&at)).for_each(|means| visit(means));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of one mean each, so that a mean tells its column.
    fn ground(unit: f64, columns: impl IntoIterator<Item = [i32; 2]>) -> Ground {
        let of = |at: [i32; 2]| (at, vec![[f64::from(at[0]), f64::from(at[1]), 0.0]]);
        Ground { unit, columns: columns.into_iter().map(of).collect() }
    }

    fn near(ground: &Ground, place: [f64; 2]) -> Vec<[i32; 2]> {
        let mut found = Vec::new();
        ground.for_each_near(place, |means| found.push([means[0][0] as i32, means[0][1] as i32]));
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
    fn a_place_is_covered_where_a_cell_is_about_it() {
        // Means are at the height 0, in the cells from 0 to 2 m.
        let square = ground(2.0, (0..10).flat_map(|i| (0..10).map(move |j| [i, j])));
        let covers = |x: f64, y: f64, z: f64| square.covers([x, y, z]);
        assert_eq!([covers(9.0, 9.0, 1.0), covers(-1.9, 21.9, 3.9), covers(0.0, 0.0, -1.9)], [true; 3]);
        assert_eq!([covers(-2.1, 9.0, 1.0), covers(9.0, 22.1, 1.0), covers(9.0, 9.0, 4.1)], [false; 3]);
        assert_eq!([covers(f64::INFINITY, 9.0, 0.0), covers(-1e300, 1e300, 0.0), covers(9.0, 9.0, 1e300)], [false; 3]);
        assert!(!Ground { unit: 2.0, ..Ground::default() }.covers([0.0; 3]));
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
