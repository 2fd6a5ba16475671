//! The angle of a point over the horizon of its sensor.

use crate::float::sqrt;

/// A point turned up by an angle, whose sine and cosine are given, about the axis across its own
/// direction: its azimuth and its range stay.
///
/// A point straight above or below the sensor has no such axis: it stays as it is, and so does one
/// that is not finite.
///
/// ```
/// use pointmill_core::elevation::raised;
/// // By the angle of the triangle with sides 3, 4 and 5.
/// assert_eq!(raised([5.0, 0.0, 0.0], [0.6, 0.8]), [4.0, 0.0, 3.0]);
/// assert_eq!(raised([0.0, 0.0, 2.0], [0.6, 0.8]), [0.0, 0.0, 2.0]);
/// ```
#[inline]
pub fn raised([x, y, z]: [f64; 3], [sine, cosine]: [f64; 2]) -> [f64; 3] {
    let level = sqrt(x * x + y * y);
    if !(level > 0.0 && level < f64::INFINITY && z.is_finite()) {
        return [x, y, z];
    }
    let along = cosine - sine * (z / level);
    [x * along, y * along, z * cosine + level * sine]
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: [f64; 2] = [0.6, 0.8];

    fn near(p: [f64; 3], wanted: [f64; 3]) {
        assert!((0..3).all(|k| (p[k] - wanted[k]).abs() < 1e-12), "{p:?} {wanted:?}");
    }

    #[test]
    fn points_keep_azimuth_and_range() {
        // A point at a range of 5 over the direction (0.6, 0.8), level, then 10 above it.
        near(raised([3.0, 4.0, 0.0], BY), [2.4, 3.2, 3.0]);
        near(raised([3.0, 4.0, 10.0], BY), [-1.2, -1.6, 11.0]);
        // Below the horizon, in the other quarters, and back again.
        near(raised([-3.0, 4.0, -5.0], BY), [-4.2, 5.6, -1.0]);
        near(raised(raised([7.0, -2.0, -1.5], BY), [-0.6, 0.8]), [7.0, -2.0, -1.5]);
    }

    #[test]
    fn points_without_a_direction_stay() {
        let same = |p: [f64; 3]| raised(p, BY).map(f64::to_bits) == p.map(f64::to_bits);
        assert!([0.0, -0.0, 2.0, -2.0].iter().all(|z| same([0.0, 0.0, *z])));
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(same([bad, 1.0, 2.0]) && same([1.0, bad, 2.0]) && same([1.0, 2.0, bad]));
        }
        // The square of such a number is no number.
        assert!(same([1e200, 1.0, 2.0]));
    }
}
