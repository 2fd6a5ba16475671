//! Where most points of a cloud are.

use crate::{Result, memory};

/// Points that a centre is made from.
const SAMPLE: usize = 1023;

/// The median, axis by axis, of points that are evenly spaced in the cloud. Unlike a mean or the
/// middle of a box it lies where most points are, even if a few are far away.
pub(crate) fn centre_of(points: &[[f64; 3]]) -> [f64; 3] {
    if points.is_empty() {
        return [0.0; 3];
    }
    let n = points.len().min(SAMPLE);
    let mut values = [0.0; SAMPLE];
    [0, 1, 2].map(|axis| {
        let values = &mut values[..n];
        values.iter_mut().enumerate().for_each(|(i, value)| *value = points[i * points.len() / n][axis]);
        *values.select_nth_unstable_by(n / 2, f64::total_cmp).1
    })
}

/// The largest coordinate about a centre that half of the points stay within; 0 of none.
pub(crate) fn reach_of(points: &[[f64; 3]], centre: [f64; 3]) -> Result<f64> {
    let mut all = memory::collect(points.iter().map(|p| aside(*p, centre)))?;
    let half = all.len() / 2;
    Ok(if all.is_empty() { 0.0 } else { *all.select_nth_unstable_by(half, f64::total_cmp).1 })
}

/// The largest coordinate of a point about a centre.
pub(crate) fn aside(p: [f64; 3], centre: [f64; 3]) -> f64 {
    (0..3).map(|k| (p[k] - centre[k]).abs()).fold(0.0, f64::max)
}

/// A middle of points that a few of them may have moved: the centre in its place where the two are
/// more than `most` metres apart on an axis.
pub(crate) fn unless_far(middle: [f64; 3], centre: [f64; 3], most: f64) -> [f64; 3] {
    if aside(middle, centre) <= most { middle } else { centre }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_point_moves_no_centre() {
        let mut points: Vec<[f64; 3]> = (0..999).map(|i| [f64::from(i % 10), 1.0, -2.0]).collect();
        let centre = centre_of(&points);
        points.push([1e6, 1e6, 1e6]);
        assert_eq!((centre, centre_of(&points)), ([4.0, 1.0, -2.0], [5.0, 1.0, -2.0]));
        assert_eq!(unless_far([9.0, 1.0, -2.0], centre, 5.0), [9.0, 1.0, -2.0]);
        assert_eq!(unless_far([9.0, 1.0, -2.0], centre, 4.0), centre);
        assert_eq!(reach_of(&points, centre).unwrap(), 3.0);
        assert_eq!((centre_of(&[]), reach_of(&[], centre).unwrap()), ([0.0; 3], 0.0));
    }
}
