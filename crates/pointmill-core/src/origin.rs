//! The origin that coordinates of `f32` are about.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use thiserror::Error;

/// Edge of the squares whose corners are the origins that [`LocalOrigin::Auto`] takes, in metres.
const SQUARE: f64 = 1000.0;

/// Which origin is subtracted from coordinates before they become `f32`.
///
/// Survey clouds are thousands of kilometres from zero, where an `f32` is good to 0.25 m. About an
/// origin near the points it is good to a fraction of a millimetre. **Arithmetic**:
/// `f32(coordinate - origin)`, the difference in `f64`, rounded once.
///
/// ```
/// use pointmill_core::LocalOrigin;
/// assert_eq!("auto".parse(), Ok(LocalOrigin::Auto));
/// assert_eq!("515000,4918000,0".parse(), Ok(LocalOrigin::At([515_000.0, 4_918_000.0, 0.0])));
/// assert_eq!("1,2".parse::<LocalOrigin>().unwrap_err().to_string(), r#"expected auto, none or X,Y,Z of finite numbers, got "1,2""#);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum LocalOrigin {
    /// [`corner`] of the coordinates where one of them moves by a millimetre or more when it is cast to `f32`, else none.
    Auto,
    /// Zero.
    #[default]
    None,
    /// x, y, z in metres.
    At([f64; 3]),
}

/// A text that is no [`LocalOrigin`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected auto, none or X,Y,Z of finite numbers, got {0:?}")]
pub struct UnknownOrigin(pub String);

impl FromStr for LocalOrigin {
    type Err = UnknownOrigin;

    fn from_str(text: &str) -> Result<Self, UnknownOrigin> {
        match text {
            "auto" => return Ok(Self::Auto),
            "none" => return Ok(Self::None),
            _ => {}
        }
        let mut numbers = text.split(',').map(|word| word.trim().parse().ok().filter(|v: &f64| v.is_finite()));
        let axes = [numbers.next(), numbers.next(), numbers.next()];
        match (axes.map(Option::flatten), numbers.next()) {
            ([Some(x), Some(y), Some(z)], None) => Ok(Self::At([x, y, z])),
            _ => Err(UnknownOrigin(text.into())),
        }
    }
}

impl fmt::Display for LocalOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::At([x, y, z]) => write!(f, "{x},{y},{z}"),
        }
    }
}

/// How far a coordinate of the cloud must move for [`LocalOrigin::Auto`] to take an origin, in
/// metres: a millimetre, below the noise of any LiDAR.
pub const WORTH_AN_ORIGIN: f64 = 1e-3;

/// The origin that [`LocalOrigin::Auto`] takes for points: [`corner`] if a coordinate moves by
/// [`WORTH_AN_ORIGIN`] or more when it is cast to `f32`, else zero.
///
/// ```
/// use pointmill_core::auto_origin;
/// assert_eq!(auto_origin(&[[1000.1, 2000.0, 3.0]]), [0.0; 3]);
/// assert_eq!(auto_origin(&[[515_368.37, 4_918_340.11, 3.0]]), [515_000.0, 4_918_000.0, 0.0]);
/// ```
pub fn auto_origin(points: &[[f64; 3]]) -> [f64; 3] {
    let moves = |v: &f64| {
        let moved = v - f64::from(*v as f32);
        moved.is_finite() && !(-WORTH_AN_ORIGIN < moved && moved < WORTH_AN_ORIGIN)
    };
    if points.iter().flatten().any(moves) { corner(points) } else { [0.0; 3] }
}

/// The corner of the square kilometre in which the smallest coordinates lie:
/// `1000 * floor(min / 1000)` for each axis, of the coordinates that are finite as `f32`; 0 where
/// there are none.
///
/// ```
/// use pointmill_core::corner;
/// let points = [[636_001.76, 848_935.2, 406.26], [f64::NAN, 849_000.0, -0.5]];
/// assert_eq!(corner(&points), [636_000.0, 848_000.0, -1000.0]);
/// assert_eq!(corner(&[]), [0.0; 3]);
/// ```
pub fn corner(points: &[[f64; 3]]) -> [f64; 3] {
    // The sum makes a zero without a sign.
    least(points).map(|v| if v.is_finite() { SQUARE * libm::floor(v / SQUARE) + 0.0 } else { 0.0 })
}

/// The smallest coordinate on each axis, of those that are finite as `f32`; infinity where there
/// are none.
///
/// ```
/// use pointmill_core::least;
/// assert_eq!(least(&[[1.0, f64::NAN, -3.0], [2.0, f64::NAN, 1e300]]), [1.0, f64::INFINITY, -3.0]);
/// ```
pub fn least(points: &[[f64; 3]]) -> [f64; 3] {
    let mut least = [f64::INFINITY; 3];
    for point in points {
        for axis in 0..3 {
            let v = point[axis];
            least[axis] = if (v < least[axis]) & (v as f32).is_finite() { v } else { least[axis] };
        }
    }
    least
}

/// A point about an origin.
#[inline]
pub fn about(point: [f64; 3], origin: [f64; 3]) -> [f64; 3] {
    [point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn what_is_written_is_read() {
        for origin in [LocalOrigin::Auto, LocalOrigin::None, LocalOrigin::At([0.1, -1e300, 5_335_000.0])] {
            assert_eq!(origin.to_string().parse(), Ok(origin));
        }
        for bad in ["", "Auto", "1,2", "1,2,3,4", "1,2,nan", "inf,0,0", "1,2,x", "1;2;3"] {
            assert_eq!(bad.parse::<LocalOrigin>(), Err(UnknownOrigin(bad.into())));
        }
    }

    #[test]
    fn corners_are_below_the_points() {
        assert_eq!(corner(&[[-0.0, -0.5, 1000.0]]), [0.0, -1000.0, 1000.0]);
        assert!(corner(&[[-0.0; 3]])[0].is_sign_positive());
        assert_eq!(corner(&[[1e300, -1e300, f64::NEG_INFINITY], [2500.0; 3]]), [2000.0; 3]);
        assert_eq!(about([515_000.25, 0.0, -1.0], [515_000.0, 0.0, 0.0]), [0.25, 0.0, -1.0]);
    }
}
