//! Cells and points as pictures need them: near zero, with colours, and what of them is to be seen.

use super::NdtEllipsoids;
use super::colour::Facing;
use crate::camera::View;
use crate::ndt::ellipse::{Ellipse, SIGMAS};
use crate::quantiles::quantiles;

type V3 = [f64; 3];

/// A cell about the scene's origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) mean: V3,
    pub(super) covariance: [f64; 6],
    pub(super) facing: Facing,
}

/// The cells that can be drawn.
#[derive(Debug)]
pub(super) struct Scene {
    /// What is taken off all coordinates: those of maps may be millions of metres, and `f32` would shake.
    origin: V3,
    pub(super) cells: Vec<Cell>,
    /// How many there are with those that cannot be drawn.
    pub(super) given: usize,
}

impl Scene {
    /// The origin is amid the cells; amid `points` if there are none.
    pub(super) fn new(map: NdtEllipsoids, points: &[V3]) -> Self {
        let given = map.means.len().min(map.covariances.len());
        let amid = if given > 0 { &map.means[..given] } else { points };
        let origin = [0, 1, 2].map(|k| {
            let mut values: Vec<f64> = amid.iter().map(|p| p[k]).filter(|v| v.is_finite()).collect();
            let middle = values.len() / 2;
            if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
        });
        let cells = map.means.iter().zip(map.covariances).filter_map(|(mean, covariance)| {
            let mean = [0, 1, 2].map(|k| mean[k] - origin[k]);
            let facing = Facing::new(covariance)?;
            mean.iter().all(|v| v.is_finite()).then_some(Cell { mean, covariance: *covariance, facing })
        });
        Self { origin, cells: cells.collect(), given }
    }

    /// Points about the origin, in rows of three.
    pub(super) fn local(&self, points: &[V3]) -> Vec<f32> {
        points.iter().flat_map(|p| [0, 1, 2].map(|k| (p[k] - self.origin[k]) as f32)).collect()
    }

    /// The ellipses of an image of so many pixels, the farthest first, each with its cell.
    pub(super) fn ellipses(&self, view: &View) -> Vec<(Ellipse, &Cell)> {
        let mut all: Vec<_> = self
            .cells
            .iter()
            .filter_map(|cell| Some((Ellipse::new(view, cell.mean, &cell.covariance)?, cell)))
            .collect();
        all.sort_by(|a, b| b.0.at.depth.total_cmp(&a.0.at.depth));
        all
    }

    /// From where to where the ellipses reach along a direction of length one; far strays do not count.
    pub(super) fn extent(&self, axis: V3) -> Option<[f64; 2]> {
        let spans = self.cells.iter().map(|cell| {
            let [x, y, z] = axis;
            let [xx, xy, xz, yy, yz, zz] = cell.covariance;
            let variance = x * x * xx + y * y * yy + z * z * zz + 2.0 * (x * y * xy + x * z * xz + y * z * yz);
            let middle = (0..3).map(|k| cell.mean[k] * axis[k]).sum::<f64>();
            let reach = SIGMAS * variance.max(0.0).sqrt();
            [middle - reach, middle + reach]
        });
        let (lows, highs): (Vec<f64>, Vec<f64>) = spans.map(|[low, high]| (low, high)).unzip();
        let (low, high) = (quantiles(lows.clone(), STRAYS)?[1], quantiles(highs.clone(), STRAYS)?[2]);
        let air = BEYOND * (high - low);
        let low = lows.into_iter().filter(|v| *v >= low - air).fold(low, f64::min);
        let high = highs.into_iter().filter(|v| *v <= high + air).fold(high, f64::max);
        Some([low, high])
    }
}

/// Which part of the cells, or of a scan's points, may lie anywhere on either side.
pub(super) const STRAYS: f64 = 0.04;
/// How far beyond the others these may be and still be shown, by the others' extent: a map's corners, which few cells fill, are all in the picture.
const BEYOND: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_do_not_count_and_near_ones_do() {
        let mut means: Vec<V3> = (0..200).map(|i| [f64::from(i) + 4e6, 5e6, 0.0]).collect();
        let ball = [0.25, 0.0, 0.0, 0.25, 0.0, 0.25];
        let extent = |means: &[V3]| {
            let covariances = vec![ball; means.len()];
            let scene = Scene::new(NdtEllipsoids { means, covariances: &covariances }, &[]);
            scene.extent([1.0, 0.0, 0.0]).unwrap().map(|v| v + scene.origin[0] - 4e6)
        };
        assert_eq!(extent(&means), [-1.0, 200.0]);
        means[7][0] = -4e6;
        let [low, high] = extent(&means);
        assert_eq!([low, high], [-1.0, 200.0]);
    }

    #[test]
    fn odd_cells_are_left_out() {
        let (nan, ball) = (f64::NAN, [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
        let means = [[0.0; 3], [nan; 3], [1.0; 3], [2.0; 3]];
        let scene = Scene::new(NdtEllipsoids { means: &means, covariances: &[ball, ball, [nan; 6]] }, &[]);
        assert_eq!((scene.cells.len(), scene.given), (1, 3));
        let none = Scene::new(NdtEllipsoids { means: &[], covariances: &[] }, &[[5.0; 3], [7.0; 3], [6.0; 3]]);
        assert_eq!((none.origin, none.extent([1.0, 0.0, 0.0])), ([6.0; 3], None));
    }
}
