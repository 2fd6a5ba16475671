//! Rigid transforms, and how two of them are a small motion apart.

use crate::linear::Square;
use crate::trig::sin_cos_f64;

/// Most that an entry of `R R^T` may be off, for a matrix to be taken as a rotation.
const NEARLY: f64 = 1e-6;

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

    /// This, then a translation by `twist[..3]` and a turn by the rotation vector `twist[3..]`, in radians, about `pivot`.
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

    /// The transform of a 4x4 matrix; `None` if it is not finite, its last row is not 0, 0, 0, 1, or its rotation is none, by more than a millionth. What is left
    /// of that millionth is taken away; an exact rotation stays as it is.
    pub fn from_matrix(m: &[[f64; 4]; 4]) -> Option<Self> {
        let rotation = [0, 1, 2].map(|i| [m[i][0], m[i][1], m[i][2]]);
        let finite = m.iter().flatten().all(|x| x.is_finite());
        if !finite || m[3] != [0.0, 0.0, 0.0, 1.0] || !is_rotation(&rotation) {
            return None;
        }
        Some(Self { rotation: orthonormal(&rotation), translation: [m[0][3], m[1][3], m[2][3]] })
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

/// The rotation by a rotation vector: its direction is the axis, its length the angle in radians.
///
/// **Accuracy**: a few roundings for any angle below pi. **Limits**: angles up to [`MAX_ANGLE`](crate::trig::MAX_ANGLE).
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
    let unit = |v: [f64; 3]| {
        let length = crate::float::sqrt(dot(v, v));
        v.map(|x| x / length)
    };
    let x = unit(r[0]);
    let along = dot(x, r[1]);
    let y = unit([r[1][0] - along * x[0], r[1][1] - along * x[1], r[1][2] - along * x[2]]);
    [x, y, cross(x, y)]
}

/// `a` plus `b`.
#[inline(always)]
pub fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// `a` less `b`.
#[inline(always)]
pub fn subtract(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// The scalar product.
#[inline(always)]
pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector product.
#[inline(always)]
pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A matrix times a vector.
#[inline(always)]
pub fn rotate(m: &Square<3>, p: [f64; 3]) -> [f64; 3] {
    [dot(m[0], p), dot(m[1], p), dot(m[2], p)]
}

/// The product of two matrices.
#[inline(always)]
pub fn multiply(a: &Square<3>, b: &Square<3>) -> Square<3> {
    let columns = transpose(b);
    let mut out = [[0.0; 3]; 3];
    let mut i = 0;
    while i < 3 {
        out[i] = [dot(a[i], columns[0]), dot(a[i], columns[1]), dot(a[i], columns[2])];
        i += 1;
    }
    out
}

/// Rows become columns.
#[inline(always)]
pub fn transpose(m: &Square<3>) -> Square<3> {
    [[m[0][0], m[1][0], m[2][0]], [m[0][1], m[1][1], m[2][1]], [m[0][2], m[1][2], m[2][2]]]
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
            prop_assert_eq!(Rigid::from_matrix(&Rigid::IDENTITY.matrix()), Some(Rigid::IDENTITY));
            let again = Rigid::from_matrix(&a.matrix()).unwrap();
            prop_assert!(close(&again.rotation, &a.rotation, 1e-15 * 4.0) && again.translation == t);
        }
    }

    #[test]
    fn small_angles_join_large_ones() {
        let (below, above) = (exponential([0.0, 0.999_999e-4, 0.0]), exponential([0.0, 1.000_001e-4, 0.0]));
        assert!(close(&below, &above, 3e-10));
        assert!((below[0][2] - libm::sin(0.999_999e-4)).abs() < 1e-19);
        assert!((below[0][0] - libm::cos(0.999_999e-4)).abs() < 2e-16);
    }

    #[test]
    fn what_is_no_rigid_transform() {
        let good = Rigid { rotation: exponential([0.1, 0.2, 0.3]), translation: [1.0, 2.0, 3.0] }.matrix();
        let with = |i: usize, j: usize, x: f64| {
            let mut m = good;
            m[i][j] = x;
            Rigid::from_matrix(&m)
        };
        assert!(Rigid::from_matrix(&good).is_some());
        for bad in [with(0, 0, f64::NAN), with(1, 3, f64::INFINITY), with(3, 0, 1.0), with(3, 3, 2.0), with(0, 0, 1.5)]
        {
            assert_eq!(bad, None);
        }
        let mut mirrored = good;
        (0..3).for_each(|j| mirrored[2][j] = -mirrored[2][j]);
        assert_eq!(Rigid::from_matrix(&mirrored), None);
        // A little off is put right.
        let off = with(0, 0, good[0][0] + 3e-7).unwrap();
        assert!(close(&multiply(&off.rotation, &transpose(&off.rotation)), &Rigid::IDENTITY.rotation, 1e-15));
    }
}
