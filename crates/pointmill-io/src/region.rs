//! Parts of space.

use crate::polygon::Polygon;

/// A part of space: the points that are in all of what is given. Without anything that is all
/// finite points.
///
/// Coordinates and distances are in metres, in the frame of the points. A point that is not finite
/// is in no region, inverted or not.
///
/// ```
/// use pointmill_io::Region;
/// let near = Region { distance: Some([0.0, 2.0]), ..Region::default() };
/// assert!(near.contains([0.0, 2.0, 0.0]) && !near.contains([2.0, 2.0, 0.0]));
/// assert!(Region { invert: true, ..near }.contains([2.0, 2.0, 0.0]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Smallest x, y, z, largest x, y, z, all inclusive.
    pub bounds: Option<[f64; 6]>,
    /// A polygon for x and y; any z.
    pub polygon: Option<Polygon>,
    /// Smallest and largest distance from zero of the frame, both inclusive.
    pub distance: Option<[f64; 2]>,
    /// Whether the region is all that is outside.
    pub invert: bool,
}

impl Region {
    /// Whether a point is in the region.
    pub fn contains(&self, p: [f64; 3]) -> bool {
        let in_bounds = |b: &[f64; 6]| (0..3).all(|axis| b[axis] <= p[axis] && p[axis] <= b[axis + 3]);
        let length = || p.iter().map(|v| v * v).sum::<f64>().sqrt();
        let is_inside = self.bounds.as_ref().is_none_or(in_bounds)
            && self.polygon.as_ref().is_none_or(|polygon| polygon.contains([p[0], p[1]]))
            && self.distance.is_none_or(|[min, max]| (min..=max).contains(&length()));
        p.iter().all(|v| v.is_finite()) && is_inside != self.invert
    }
}
