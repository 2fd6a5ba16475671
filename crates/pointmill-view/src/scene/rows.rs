//! Layers of the rows of a cloud.

use super::Layer;
use pointmill_core::Points;

type V3 = [f64; 3];

impl Layer {
    /// Points about an origin with the values of a column, at most so many.
    pub(crate) fn of_rows(name: &str, points: Points, origin: V3, values: Option<usize>, most: usize) -> Self {
        let (xyz, values) = kept(points, origin, values, most);
        values.iter().fold(Self::points(name, &xyz), |layer, values| layer.values(values))
    }
}

/// Every so many of the points, so that at most `most` are left, with their values.
pub(crate) fn kept(points: Points, origin: V3, values: Option<usize>, most: usize) -> (Vec<V3>, Option<Vec<f32>>) {
    let every = points.len().div_ceil(most).max(1);
    let rows = || (0..points.len()).step_by(every);
    let of = |column: usize| rows().map(|i| points.row(i).get(column).copied().unwrap_or(f32::NAN)).collect();
    let place = |i| {
        let p = points.xyz(i);
        [0, 1, 2].map(|k| origin[k] + f64::from(p[k]))
    };
    (rows().map(place).collect(), values.map(of))
}
