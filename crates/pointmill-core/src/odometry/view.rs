//! In which direction a sensor sees a point, in bins around it.

use crate::float::sqrt;
use crate::rigid::dot;

/// Bins of a turn.
pub const TURN: usize = 128;
/// Bins of the sine of the elevation.
pub const RISE: usize = 64;
/// Bins of all directions.
pub const BINS: usize = TURN * RISE;
/// Most points of a scan that are put into bins.
const MOST_SEEN: usize = 20_000;

/// Every so many points of a scan are put into bins.
pub const fn step(points: usize) -> usize {
    let step = points.div_ceil(MOST_SEEN);
    if step == 0 { 1 } else { step }
}

/// The bin of a direction, along the turn and the rise, and the distance; none of the sensor itself,
/// of what is straight above or below it, and of what is not finite.
#[inline(always)]
pub fn bin(p: [f64; 3]) -> Option<(usize, usize, f64)> {
    let range = sqrt(dot(p, p));
    let flat = p[0].abs() + p[1].abs();
    if !(range.is_finite() && flat > 0.0) {
        return None;
    }
    // From 0 to 4 around, as an angle but for a smooth distortion.
    let around = if p[1] >= 0.0 { 1.0 - p[0] / flat } else { 3.0 + p[0] / flat };
    let turn = (around * (TURN as f64 / 4.0)) as usize % TURN;
    let rise = ((p[2] / range + 1.0) * (RISE as f64 / 2.0)) as usize;
    Some((turn, if rise < RISE { rise } else { RISE - 1 }, range))
}

/// As [`bin`], the place in an array of all bins, of a point whose squared distance is in a range.
#[inline(always)]
pub fn seen(p: [f64; 3], [near, far]: [f64; 2]) -> Option<(usize, f64)> {
    let square = dot(p, p);
    if !(square >= near && square <= far) {
        return None;
    }
    let (turn, rise, range) = bin(p)?;
    Some((rise * TURN + turn, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_have_bins() {
        assert_eq!(bin([2.0, 0.0, 0.0]), Some((0, 32, 2.0)));
        assert_eq!(bin([0.0, 2.0, 0.0]), Some((32, 32, 2.0)));
        assert_eq!(bin([-3.0, 0.0, 4.0]), Some((64, 57, 5.0)));
        assert_eq!(bin([0.0, -2.0, 0.0]), Some((96, 32, 2.0)));
        assert_eq!(bin([1e-300, -1e-300, 1.0]), Some((112, RISE - 1, 1.0)));
        for odd in [[0.0; 3], [0.0, -0.0, 5.0], [f64::NAN, 1.0, 1.0], [1e200; 3], [f64::INFINITY, 0.0, 0.0]] {
            assert_eq!(bin(odd), None, "{odd:?}");
        }
        assert_eq!(seen([2.0, 0.0, 0.0], [4.0, 9.0]), Some((32 * TURN, 2.0)));
        assert_eq!(seen([2.0, 0.0, 0.0], [4.1, 9.0]), None);
        assert_eq!([0, 1, 20_000, 20_001].map(step), [1, 1, 1, 2]);
    }
}
