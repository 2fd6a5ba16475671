//! Rigid transforms, and how two of them are a small motion apart.

use crate::linear::Square;
use crate::svd::svd;
use crate::trig::sin_cos_f64;
pub use crate::vector::{add, cross, dot, multiply, rotate, subtract, transpose, unit, wide};
use thiserror::Error;

/// Most that an entry of `R R^T` may be off, for a matrix to be a rotation as it stands.
const NEARLY: f64 = 1e-6;

/// Most that an entry of a matrix may be off the nearest rotation, for the matrix to be taken as
/// that rotation.
pub const TOLERANCE: f64 = 1e-3;

/// Why a 4x4 matrix is not taken as a rigid transform.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum NotRigid {
    /// An entry is NaN or infinite.
    #[error("{got} in row {row}, column {column}")]
    NotFinite {
        /// Counted from 0.
        row: usize,
        /// Counted from 0.
        column: usize,
        /// The entry.
        got: f64,
    },
    /// The last row is not 0, 0, 0, 1.
    #[error("a last row of {0:?}")]
    LastRow([f64; 4]),
    /// The determinant is negative.
    #[error("a mirroring: the determinant of the 3x3 part is negative")]
    Mirrored,
    /// The 3x3 part is farther from the nearest rotation than [`TOLERANCE`].
    #[error(
        "an entry that is {0:.2e} off the nearest rotation, where {TOLERANCE} is allowed; remove scale and shear from the 3x3 part"
    )]
    Off(f64),
    /// A number of a pose is NaN or infinite.
    #[error("{got} as number {index}")]
    Number {
        /// Counted from 0.
        index: usize,
        /// The number.
        got: f64,
    },
    /// The length of a quaternion is farther than [`TOLERANCE`] from one.
    #[error("a quaternion of length {0}")]
    Quaternion(f64),
    /// An angle is beyond [`MAX_ANGLE`](crate::trig::MAX_ANGLE).
    #[error("an angle of {0} rad")]
    Angle(f64),
}

impl NotRigid {
    /// What is taken instead, for the sentence "expected ..., got ...".
    pub const fn expected(&self) -> &'static str {
        match self {
            Self::Number { .. } => "finite numbers",
            Self::Quaternion(_) => "a quaternion of length 1, to 0.001",
            Self::Angle(_) => "angles within 131072 rad",
            _ => "a rigid transform: a rotation to 0.001, a translation, and 0, 0, 0, 1",
        }
    }
}

/// A rotation and a translation: `x' = R x + t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rigid {
    /// The rotation, rows first.
    pub rotation: Square<3>,
    /// The translation.
    pub translation: [f64; 3],
}

impl Rigid {
    /// The transform that changes nothing.
    pub const IDENTITY: Self =
        Self { rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation: [0.0; 3] };

    /// Where a point goes.
    #[inline(always)]
    pub fn apply(&self, p: [f64; 3]) -> [f64; 3] {
        add(rotate(&self.rotation, p), self.translation)
    }

    /// This after `first`.
    #[inline(always)]
    pub fn after(&self, first: &Self) -> Self {
        Self { rotation: multiply(&self.rotation, &first.rotation), translation: self.apply(first.translation) }
    }

    /// The transform back.
    #[inline(always)]
    pub fn inverse(&self) -> Self {
        let rotation = transpose(&self.rotation);
        let back = rotate(&rotation, self.translation);
        Self { rotation, translation: [-back[0], -back[1], -back[2]] }
    }

    /// Whether all of it is finite.
    #[inline(always)]
    pub(crate) const fn is_finite(&self) -> bool {
        let mut sum = 0.0;
        let mut i = 0;
        while i < 3 {
            // Zero times what is finite is zero, and NaN for all else.
            sum += 0.0 * (self.rotation[i][0] + self.rotation[i][1] + self.rotation[i][2] + self.translation[i]);
            i += 1;
        }
        sum == 0.0
    }

    /// This, then a translation by `twist[..3]` and a turn by the rotation vector `twist[3..]`, in
    /// radians, about `pivot`.
    #[inline(always)]
    pub fn moved(&self, twist: &[f64; 6], pivot: [f64; 3]) -> Self {
        let turn = exponential([twist[3], twist[4], twist[5]]);
        let arm = rotate(&turn, subtract(self.translation, pivot));
        let rotation = multiply(&turn, &self.rotation);
        Self { rotation, translation: add(add(arm, pivot), [twist[0], twist[1], twist[2]]) }
    }

    /// The rows of a 4x4 matrix.
    pub fn matrix(&self) -> [[f64; 4]; 4] {
        let row = |i: usize| {
            let r = self.rotation[i];
            [r[0], r[1], r[2], self.translation[i]]
        };
        [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
    }

    /// The transform of a 4x4 matrix, rows first, whose rotation may be off by what [`TOLERANCE`]
    /// allows. An exact rotation stays as it is.
    ///
    /// # Errors
    /// What [`nearly`](Self::nearly) refuses.
    pub fn from_matrix(m: &[f64; 16]) -> Result<Self, NotRigid> {
        Ok(Self::nearly(m)?.orthonormal())
    }

    /// This, with rows made orthogonal and of length one, one after the other.
    pub fn orthonormal(&self) -> Self {
        Self { rotation: orthonormal(&self.rotation), translation: self.translation }
    }

    /// As [`from_matrix`](Self::from_matrix), but a rotation that is one to a millionth keeps every
    /// bit. Only one that is farther off becomes [the nearest](nearest_rotation).
    ///
    /// # Errors
    /// A matrix that is not finite, whose last row is not 0, 0, 0, 1, that mirrors, or that has an
    /// entry farther than [`TOLERANCE`] from the nearest rotation.
    ///
    /// ```
    /// use pointmill_core::rigid::{NotRigid, Rigid};
    /// let mut m = [1.0, 0.0, 0.0, 5.0, /**/ 0.0, 1.0, 0.0, 0.0, /**/ 0.0, 0.0, 1.0, 0.0, /**/ 0.0, 0.0, 0.0, 1.0];
    /// m[0] = 0.9995;
    /// assert_eq!(Rigid::nearly(&m)?.rotation, Rigid::IDENTITY.rotation);
    /// m[0] = 0.99;
    /// assert!(matches!(Rigid::nearly(&m), Err(NotRigid::Off(off)) if (off - 0.01).abs() < 1e-12));
    /// # Ok::<(), NotRigid>(())
    /// ```
    pub fn nearly(m: &[f64; 16]) -> Result<Self, NotRigid> {
        if let Some(i) = m.iter().position(|x| !x.is_finite()) {
            return Err(NotRigid::NotFinite { row: i / 4, column: i % 4, got: m[i] });
        }
        let last = [m[12], m[13], m[14], m[15]];
        if last != [0.0, 0.0, 0.0, 1.0] {
            return Err(NotRigid::LastRow(last));
        }
        let given = [0, 4, 8].map(|i| [m[i], m[i + 1], m[i + 2]]);
        let translation = [m[3], m[7], m[11]];
        if is_rotation(&given) {
            return Ok(Self { rotation: given, translation });
        }
        let (rotation, off) = nearest_rotation(&given);
        if off <= TOLERANCE {
            return Ok(Self { rotation, translation });
        }
        Err(if dot(cross(given[0], given[1]), given[2]) < 0.0 { NotRigid::Mirrored } else { NotRigid::Off(off) })
    }
}

/// Whether the rows are orthogonal, of length one and not mirrored, to a millionth.
pub fn is_rotation(r: &Square<3>) -> bool {
    let off = |i: usize, j: usize| (dot(r[i], r[j]) - if i == j { 1.0 } else { 0.0 }).abs();
    let mut good = true;
    for i in 0..3 {
        for j in i..3 {
            good &= off(i, j) <= NEARLY;
        }
    }
    good && dot(cross(r[0], r[1]), r[2]) > 0.0
}

/// The rotation with the smallest sum of squared differences from a finite matrix, and the largest
/// difference of an entry.
///
/// **Source**: Kabsch, A discussion of the solution for the best rotation to relate two sets of
/// vectors, 1978.
///
/// ```
/// use pointmill_core::rigid::nearest_rotation;
/// let (rotation, off) = nearest_rotation(&[[0.0, -1.25, 0.0], [1.25, 0.0, 0.0], [0.0, 0.0, 1.25]]);
/// assert_eq!((rotation, off), ([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 0.25));
/// ```
pub fn nearest_rotation(m: &Square<3>) -> (Square<3>, f64) {
    let largest = m.as_flattened().iter().fold(0.0f64, |most, x| most.max(x.abs()));
    // The rotation is the same for any multiple; squares of what is far from one overflow or
    // vanish.
    let scale = if largest > 2.0 || largest < 0.25 && largest > 0.0 { largest } else { 1.0 };
    let of = svd(&m.map(|row| row.map(|x| x / scale)));
    let rotation = multiply(&transpose(&of.left), &of.right);
    let pairs = m.as_flattened().iter().zip(rotation.as_flattened());
    (rotation, pairs.fold(0.0, |most, (a, b)| most.max((a - b).abs())))
}

/// The rotation by a rotation vector: its direction is the axis, its length the angle in radians.
///
/// **Accuracy**: a few roundings for any angle below pi. **Limits**: angles up to
/// [`MAX_ANGLE`](crate::trig::MAX_ANGLE).
///
/// ```
/// use pointmill_core::rigid::exponential;
/// let quarter = exponential([0.0, 0.0, std::f64::consts::FRAC_PI_2]);
/// assert!((quarter[1][0] - 1.0).abs() < 1e-15 && quarter[0][0].abs() < 1e-15);
/// assert_eq!(exponential([0.0; 3]), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
/// ```
#[inline(always)]
pub fn exponential(w: [f64; 3]) -> Square<3> {
    let square = dot(w, w);
    let angle = crate::float::sqrt(square);
    // Below this angle the next term of each series is less than a rounding of one.
    let (a, b) = if angle < 1e-4 {
        (1.0 - square / 6.0, 0.5 - square / 24.0)
    } else {
        let half = sin_cos_f64(0.5 * angle).0 / angle;
        (sin_cos_f64(angle).0 / angle, 2.0 * half * half)
    };
    let [x, y, z] = w;
    // I + a [w] + b [w]^2; the square as w w^T - |w|^2.
    [
        [1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y],
        [b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x],
        [b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)],
    ]
}

/// The rows made orthogonal and of length one, one after the other.
fn orthonormal(r: &Square<3>) -> Square<3> {
    let x = unit(r[0]);
    let along = dot(x, r[1]);
    let y = unit([r[1][0] - along * x[0], r[1][1] - along * x[1], r[1][2] - along * x[2]]);
    [x, y, cross(x, y)]
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    fn close(a: &Square<3>, b: &Square<3>, within: f64) -> bool {
        a.as_flattened().iter().zip(b.as_flattened()).all(|(a, b)| (a - b).abs() <= within)
    }

    proptest! {
        #[test]
        fn exponentials_are_rotations_by_the_angle(axis in prop::array::uniform3(-1f64..1.0), power in -30i32..1) {
            let w = axis.map(|x| x * libm::scalbn(1.5, power));
            let r = exponential(w);
            prop_assert!(close(&multiply(&r, &transpose(&r)), &Rigid::IDENTITY.rotation, 1e-15 * 4.0));
            // The axis stays, and back is the transpose.
            let along = rotate(&r, w);
            prop_assert!((0..3).all(|i| (along[i] - w[i]).abs() <= 1e-15 * 4.0));
            prop_assert!(close(&exponential(w.map(|x| -x)), &transpose(&r), 0.0));
            // Twice half of it is all of it.
            let half = exponential(w.map(|x| 0.5 * x));
            prop_assert!(close(&multiply(&half, &half), &r, 1e-15 * 4.0));
        }

        #[test]
        fn transforms_combine(w in prop::array::uniform3(-1f64..1.0), t in prop::array::uniform3(-9f64..9.0), p in prop::array::uniform3(-9f64..9.0)) {
            let a = Rigid { rotation: exponential(w), translation: t };
            let b = a.moved(&[0.5, -1.0, 2.0, 0.3, w[0], -0.2], p);
            let near = |x: [f64; 3], y: [f64; 3]| (0..3).all(|i| (x[i] - y[i]).abs() < 1e-12);
            prop_assert!(near(b.after(&a).apply(p), b.apply(a.apply(p))));
            prop_assert!(near(a.inverse().apply(a.apply(p)), p));
            // The pivot itself is only translated.
            let at = a.inverse().apply(p);
            prop_assert!(near(b.apply(at), add(p, [0.5, -1.0, 2.0])));
            prop_assert_eq!(Rigid::from_matrix(&flat(&Rigid::IDENTITY)), Ok(Rigid::IDENTITY));
            let again = Rigid::from_matrix(&flat(&a)).unwrap();
            prop_assert!(close(&again.rotation, &a.rotation, 1e-15 * 4.0) && again.translation == t);
            prop_assert_eq!(Rigid::nearly(&flat(&a)), Ok(a));
        }

        /// Of all rotations near it: no small turn makes the sum of squares smaller.
        #[test]
        fn the_nearest_rotation_is_the_nearest(
            w in prop::array::uniform3(-2f64..2.0), noise in prop::array::uniform9(-1f64..1.0), power in -30i32..-2, scale in -300i32..300
        ) {
            let exact = exponential(w);
            let size = libm::scalbn(1.0, power);
            let given = [0, 1, 2].map(|i| [0, 1, 2].map(|j| exact[i][j] + size * noise[3 * i + j]));
            let (nearest, off) = nearest_rotation(&given);
            prop_assert!(close(&multiply(&nearest, &transpose(&nearest)), &Rigid::IDENTITY.rotation, 1e-15 * 4.0));
            prop_assert!(dot(cross(nearest[0], nearest[1]), nearest[2]) > 0.0);
            let largest = |r: &Square<3>| given.as_flattened().iter().zip(r.as_flattened()).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            prop_assert_eq!(off, largest(&nearest));
            // The sum of squares is least where the sum of products is greatest.
            let fit = |r: &Square<3>| -> f64 { given.as_flattened().iter().zip(r.as_flattened()).map(|(a, b)| a * b).sum() };
            for axis in 0..3 {
                for angle in [1e-3, -1e-3] {
                    let mut turn = [0.0; 3];
                    turn[axis] = angle;
                    prop_assert!(fit(&multiply(&exponential(turn), &nearest)) < fit(&nearest));
                }
            }
            // Nothing overflows or vanishes.
            let (same, _) = nearest_rotation(&given.map(|row| row.map(|x| libm::scalbn(x, scale))));
            prop_assert!(close(&same, &nearest, 1e-14));
        }

        #[test]
        fn rotations_of_three_digits_are_taken(w in prop::array::uniform3(-2f64..2.0)) {
            let exact = Rigid { rotation: exponential(w), translation: [1.0, 2.0, 3.0] };
            let three = flat(&exact).map(|x| libm::round(x * 1e3) / 1e3);
            let taken = Rigid::from_matrix(&three).unwrap();
            prop_assert!(is_rotation(&taken.rotation) && close(&taken.rotation, &exact.rotation, 1.5e-3));
        }
    }

    fn flat(of: &Rigid) -> [f64; 16] {
        of.matrix().as_flattened().try_into().unwrap()
    }

    #[test]
    fn small_angles_join_large_ones() {
        let (below, above) = (exponential([0.0, 0.999_999e-4, 0.0]), exponential([0.0, 1.000_001e-4, 0.0]));
        assert!(close(&below, &above, 3e-10));
        assert!((below[0][2] - libm::sin(0.999_999e-4)).abs() < 1e-19);
        assert!((below[0][0] - libm::cos(0.999_999e-4)).abs() < 2e-16);
    }

    #[test]
    fn expectations_have_the_limits() {
        let said = |why: NotRigid, limit: f64| why.expected().contains(&std::format!("{limit}"));
        assert!(said(NotRigid::Mirrored, TOLERANCE) && said(NotRigid::Quaternion(2.0), TOLERANCE));
        assert!(said(NotRigid::Angle(1e9), crate::trig::MAX_ANGLE));
    }

    #[test]
    fn what_is_no_rigid_transform() {
        let good = flat(&Rigid { rotation: exponential([0.1, 0.2, 0.3]), translation: [1.0, 2.0, 3.0] });
        let with = |i: usize, x: f64| {
            let mut m = good;
            m[i] = x;
            Rigid::from_matrix(&m)
        };
        assert!(Rigid::from_matrix(&good).is_ok());
        let infinite = with(7, f64::INFINITY).unwrap_err();
        assert_eq!(infinite, NotRigid::NotFinite { row: 1, column: 3, got: f64::INFINITY });
        assert!(matches!(with(0, f64::NAN), Err(NotRigid::NotFinite { row: 0, column: 0, .. })));
        assert_eq!(with(12, 1.0), Err(NotRigid::LastRow([1.0, 0.0, 0.0, 1.0])));
        assert_eq!(with(15, 2.0), Err(NotRigid::LastRow([0.0, 0.0, 0.0, 2.0])));
        for (factor, wanted) in [(1.5, 0.5), (2.0, 1.0), (1e300, 1e300), (1e-300, 1.0), (0.0, 1.0)] {
            let mut scaled = flat(&Rigid::IDENTITY).map(|x| x * factor);
            scaled[15] = 1.0;
            let Err(NotRigid::Off(off)) = Rigid::from_matrix(&scaled) else { panic!("{factor}") };
            assert!((off - wanted).abs() <= 1e-12 * wanted, "{factor}: {off}");
        }
        let mut mirrored = good;
        (8..11).for_each(|i| mirrored[i] = -mirrored[i]);
        assert_eq!(Rigid::from_matrix(&mirrored), Err(NotRigid::Mirrored));
    }

    #[test]
    fn what_is_a_little_off_is_put_right() {
        let exact = flat(&Rigid { rotation: exponential([0.1, 0.2, 0.3]), translation: [1.0, 2.0, 3.0] });
        let grown = |by: f64| {
            let mut m = exact;
            [0, 1, 2, 4, 5, 6, 8, 9, 10].iter().for_each(|i| m[*i] *= 1.0 + by);
            m
        };
        let rotation = |m: &[f64; 16]| [0, 4, 8].map(|i| [m[i], m[i + 1], m[i + 2]]);
        // To a millionth every bit stays, and rows are made orthogonal one after the other.
        let given = grown(4e-7);
        assert_eq!(Rigid::nearly(&given).unwrap().rotation, rotation(&given));
        assert_eq!(Rigid::from_matrix(&given).unwrap().rotation, orthonormal(&rotation(&given)));
        // Beyond it the nearest rotation counts, up to the tolerance.
        for by in [1e-6, 1e-4, 9.9e-4] {
            let taken = Rigid::nearly(&grown(by)).unwrap();
            assert!(close(&taken.rotation, &rotation(&exact), 1e-15 * 4.0), "{by}");
        }
        assert!(matches!(Rigid::nearly(&grown(2e-3)), Err(NotRigid::Off(off)) if off > TOLERANCE));
        // The rotation of a tutorial, with three digits.
        let three = [
            0.862, 0.011, -0.507, 0.5, /**/ -0.139, 0.967, -0.215, 0.7, /**/ 0.487, 0.255, 0.835, -1.4,
            /**/ 0.0, 0.0, 0.0, 1.0,
        ];
        assert!(!is_rotation(&rotation(&three)) && is_rotation(&Rigid::from_matrix(&three).unwrap().rotation));
        // A thousand poses of single precision, one after the other.
        let step = exponential([0.01, -0.02, 0.015]).map(|row| row.map(|x| x as f32));
        let mut chain = [[1.0f32, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for _ in 0..1000 {
            chain = chain.map(|row| [0, 1, 2].map(|j| row[0] * step[0][j] + row[1] * step[1][j] + row[2] * step[2][j]));
        }
        let mut chained = exact;
        (0..9).for_each(|i| chained[i / 3 * 4 + i % 3] = f64::from(chain[i / 3][i % 3]));
        assert!(!is_rotation(&rotation(&chained)) && is_rotation(&Rigid::from_matrix(&chained).unwrap().rotation));
    }
}
