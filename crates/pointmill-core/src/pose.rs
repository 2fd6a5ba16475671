//! Poses: where a frame lies in another.

use crate::euler;
use crate::rigid::{NotRigid, Rigid, TOLERANCE, add, cross, dot, exponential, is_rotation, rotate, subtract};
use crate::trig::{MAX_ANGLE, sin_cos_f64};
use core::ops::Mul;

/// A rigid transform in `f64`: a rotation, then a translation in metres.
///
/// A pose that is named `target_from_source` takes points of the frame `source` to the frame
/// `target`; [`compose`](Self::compose) reads from right to left, as the names do:
/// `map_from_base * base_from_lidar` is `map_from_lidar`.
///
/// **Angles**: roll, pitch and yaw in radians; the rotation is `Rx(roll) * Ry(pitch) * Rz(yaw)`, as
/// the poses of NDT in PCL and Autoware. A pose that was made from angles keeps them, so that
/// [`xyzrpy`](Self::xyzrpy) returns the same numbers.
///
/// **Determinism**: every operation gives the same bits on every platform.
///
/// ```
/// use pointmill_core::Pose;
/// let map_from_base = Pose::from_xyzrpy([10.0, 0.0, 0.0, 0.0, 0.0, std::f64::consts::FRAC_PI_2])?;
/// let base_from_lidar = Pose::from_translation([1.0, 0.0, 2.0]);
/// let map_from_lidar = map_from_base * base_from_lidar;
/// let p = map_from_lidar.apply([3.0, 0.0, 0.0]);
/// assert!((p[0] - 10.0).abs() < 1e-12 && (p[1] - 4.0).abs() < 1e-12 && p[2] == 2.0);
/// assert_eq!(map_from_base.xyzrpy()[5], std::f64::consts::FRAC_PI_2);
/// # Ok::<(), pointmill_core::rigid::NotRigid>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pose {
    rigid: Rigid,
    /// The roll, pitch and yaw that the pose was made from.
    angles: Option<[f64; 3]>,
}

impl PartialEq for Pose {
    fn eq(&self, other: &Self) -> bool {
        self.rigid == other.rigid
    }
}

impl Default for Pose {
    fn default() -> Self {
        Self::IDENTITY
    }
}

impl Pose {
    /// The pose that changes nothing.
    pub const IDENTITY: Self = Self { rigid: Rigid::IDENTITY, angles: None };

    /// The pose of a 4x4 matrix, given as rows.
    ///
    /// A rotation that is exact to a millionth keeps every bit. One that is off by up to a
    /// thousandth becomes the nearest rotation.
    ///
    /// # Errors
    /// A matrix that is not finite, whose last row is not 0, 0, 0, 1, that mirrors, or that has an
    /// entry farther than [`TOLERANCE`] from the nearest rotation.
    pub fn from_matrix(rows: &[[f64; 4]; 4]) -> Result<Self, NotRigid> {
        let mut flat = [0.0; 16];
        flat.copy_from_slice(rows.as_flattened());
        Ok(Rigid::nearly(&flat)?.into())
    }

    /// The pose without a rotation.
    pub const fn from_translation(translation: [f64; 3]) -> Self {
        Self { rigid: Rigid { translation, ..Rigid::IDENTITY }, angles: None }
    }

    /// The pose of a translation and a quaternion x, y, z, w. The quaternion is scaled to length
    /// one.
    ///
    /// # Errors
    /// A number that is not finite; a quaternion whose length is farther than [`TOLERANCE`] from
    /// one.
    pub fn from_quaternion(translation: [f64; 3], [x, y, z, w]: [f64; 4]) -> Result<Self, NotRigid> {
        let [tx, ty, tz] = translation;
        finite(&[tx, ty, tz, x, y, z, w])?;
        let length = crate::float::sqrt(x * x + y * y + z * z + w * w);
        if (length - 1.0).abs() > TOLERANCE {
            return Err(NotRigid::Quaternion(length));
        }
        let [x, y, z, w] = [x / length, y / length, z / length, w / length];
        let rotation = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ];
        Ok(Rigid { rotation, translation }.into())
    }

    /// The pose of x, y, z in metres and roll, pitch, yaw in radians.
    ///
    /// # Errors
    /// A number that is not finite; an angle beyond [`MAX_ANGLE`].
    pub fn from_xyzrpy(xyzrpy: [f64; 6]) -> Result<Self, NotRigid> {
        finite(&xyzrpy)?;
        let [x, y, z, roll, pitch, yaw] = xyzrpy;
        if let Some(angle) = [roll, pitch, yaw].into_iter().find(|angle| angle.abs() > MAX_ANGLE) {
            return Err(NotRigid::Angle(angle));
        }
        Ok(Self::of_angles([x, y, z], [roll, pitch, yaw]))
    }

    /// The pose of x, y, z in metres and roll, pitch, yaw in radians about fixed axes, as URDF and
    /// `static_transform_publisher` have them: the rotation is `Rz(yaw) * Ry(pitch) * Rx(roll)`.
    ///
    /// ```
    /// use pointmill_core::Pose;
    /// let [roll, pitch, yaw] = [0.1, -0.2, 0.3];
    /// let turn = |axis: usize, by: f64| Pose::exp(&std::array::from_fn(|i| if i == axis + 3 { by } else { 0.0 }));
    /// let wanted = turn(2, yaw).compose(&turn(1, pitch)).compose(&turn(0, roll));
    /// let pose = Pose::from_urdf([0.0, 0.0, 0.0, roll, pitch, yaw]).unwrap();
    /// let (a, b) = (pose.rotation(), wanted.rotation());
    /// assert!(a.as_flattened().iter().zip(b.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-15));
    /// ```
    ///
    /// # Errors
    /// As [`from_xyzrpy`](Self::from_xyzrpy).
    pub fn from_urdf([x, y, z, roll, pitch, yaw]: [f64; 6]) -> Result<Self, NotRigid> {
        // The transpose of Rx(-roll) * Ry(-pitch) * Rz(-yaw).
        let back = Self::from_xyzrpy([0.0, 0.0, 0.0, -roll, -pitch, -yaw])?.rotation();
        finite(&[x, y, z])?;
        let rotation = [0, 1, 2].map(|i| [0, 1, 2].map(|j| back[j][i]));
        Ok(Rigid { rotation, translation: [x, y, z] }.into())
    }

    /// The pose of a translation and of roll, pitch, yaw, which are not checked.
    pub(crate) fn of_angles(translation: [f64; 3], angles: [f64; 3]) -> Self {
        Self { rigid: Rigid { rotation: euler::rotation(angles), translation }, angles: Some(angles) }
    }

    /// The rows of the 4x4 matrix.
    pub fn matrix(&self) -> [[f64; 4]; 4] {
        self.rigid.matrix()
    }

    /// The rows of the rotation.
    pub const fn rotation(&self) -> [[f64; 3]; 3] {
        self.rigid.rotation
    }

    /// The translation in metres.
    pub const fn translation(&self) -> [f64; 3] {
        self.rigid.translation
    }

    /// Rotation and translation, as kernels take them.
    pub const fn rigid(&self) -> &Rigid {
        &self.rigid
    }

    /// The quaternion x, y, z, w of the rotation, of length one, with w >= 0.
    ///
    /// **Source**: Shepperd, Quaternion from Rotation Matrix, 1978.
    pub fn quaternion(&self) -> [f64; 4] {
        let r = &self.rigid.rotation;
        let trace = r[0][0] + r[1][1] + r[2][2];
        let four = [r[0][0], r[1][1], r[2][2], trace];
        // The largest of the four divides without loss; of equal ones the first.
        let mut largest = 0;
        for i in 1..4 {
            if four[i] > four[largest] {
                largest = i;
            }
        }
        let mut q = [0.0; 4];
        if largest == 3 {
            q = [r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1], 1.0 + trace];
        } else {
            let [i, j, k] = [largest, (largest + 1) % 3, (largest + 2) % 3];
            q[i] = 1.0 + r[i][i] - r[j][j] - r[k][k];
            q[j] = r[j][i] + r[i][j];
            q[k] = r[k][i] + r[i][k];
            q[3] = r[k][j] - r[j][k];
        }
        let length = crate::float::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        let scale = if q[3] < 0.0 { -length } else { length };
        q.map(|x| x / scale)
    }

    /// The transform of [`xyzrpy`](Self::xyzrpy): that of the pose, to the rounding of its angles.
    pub fn of_xyzrpy(&self) -> Rigid {
        let [x, y, z, roll, pitch, yaw] = self.xyzrpy();
        Rigid { rotation: euler::rotation([roll, pitch, yaw]), translation: [x, y, z] }
    }

    /// x, y, z in metres and roll, pitch, yaw in radians, with the pitch within a quarter turn;
    /// where the pitch is a quarter turn, the yaw is 0. The angles that the pose was made from come
    /// back as they were.
    pub fn xyzrpy(&self) -> [f64; 6] {
        let [x, y, z] = self.rigid.translation;
        let [roll, pitch, yaw] = self.angles.unwrap_or_else(|| euler::angles(&self.rigid.rotation));
        [x, y, z, roll, pitch, yaw]
    }

    /// The pose back: the inverse of `target_from_source` is `source_from_target`.
    pub fn inverse(&self) -> Self {
        self.rigid.inverse().into()
    }

    /// The same transform of points that are about `source_origin`, to points about
    /// `target_origin`; `pose.about(-source_origin, -target_origin)` is the way back.
    ///
    /// ```
    /// use pointmill_core::Pose;
    /// let map_from_lidar = Pose::from_translation([515_020.0, 4_918_010.0, 3.0]);
    /// let local = map_from_lidar.about([0.0; 3], [515_000.0, 4_918_000.0, 0.0]);
    /// assert_eq!(local.translation(), [20.0, 10.0, 3.0]);
    /// ```
    #[must_use]
    pub fn about(&self, source_origin: [f64; 3], target_origin: [f64; 3]) -> Self {
        let turned = self.rotate(source_origin);
        let translation = add(subtract(turned, target_origin), self.rigid.translation);
        Self { rigid: Rigid { translation, ..self.rigid }, angles: self.angles }
    }

    /// This pose after `first`; also written `self * first`.
    pub fn compose(&self, first: &Self) -> Self {
        self.rigid.after(&first.rigid).into()
    }

    /// Where a point goes.
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        self.rigid.apply(point)
    }

    /// The pose between this one, at `t = 0`, and `other`, at `t = 1`: the translation along a
    /// line, the rotation about one axis at one speed. Values of `t` outside of 0 to 1 continue
    /// both.
    ///
    /// ```
    /// use pointmill_core::Pose;
    /// let quarter = Pose::from_xyzrpy([2.0, 0.0, 0.0, 0.0, 0.0, std::f64::consts::FRAC_PI_2])?;
    /// let [x, .., yaw] = Pose::IDENTITY.interpolate(&quarter, 0.5).xyzrpy();
    /// assert!(x == 1.0 && (yaw - std::f64::consts::FRAC_PI_4).abs() < 1e-15);
    /// # Ok::<(), pointmill_core::rigid::NotRigid>(())
    /// ```
    pub fn interpolate(&self, other: &Self, t: f64) -> Self {
        if t == 0.0 {
            return *self;
        }
        if t == 1.0 {
            return *other;
        }
        let between = Self::from(Rigid { translation: [0.0; 3], ..self.rigid }.inverse()).compose(other);
        let turn = exponential(between.rotation_vector().map(|x| t * x));
        let way = subtract(other.rigid.translation, self.rigid.translation);
        let rotation = crate::rigid::multiply(&self.rigid.rotation, &turn);
        Rigid { rotation, translation: add(self.rigid.translation, way.map(|x| t * x)) }.into()
    }

    /// The rotation vector: its direction is the axis, its length the angle in radians, at most pi.
    pub fn rotation_vector(&self) -> [f64; 3] {
        let [x, y, z, w] = self.quaternion();
        let sine = crate::float::sqrt(x * x + y * y + z * z);
        // The angle by the sine of its half; near zero it is twice the sine.
        let scale = if sine < 1e-9 { 2.0 } else { 2.0 * libm::atan2(sine, w) / sine };
        [scale * x, scale * y, scale * z]
    }

    /// The pose that is reached after moving with a constant twist for one unit of time:
    /// `twist[..3]` is the velocity, `twist[3..]` the rotation vector, both in the moving frame.
    /// The exponential map of SE(3).
    ///
    /// **Limits**: angles up to [`MAX_ANGLE`].
    pub fn exp(twist: &[f64; 6]) -> Self {
        let (v, w) = ([twist[0], twist[1], twist[2]], [twist[3], twist[4], twist[5]]);
        let square = dot(w, w);
        let angle = crate::float::sqrt(square);
        // Below this angle the next term of each series is less than a rounding of the first.
        let (b, c) = if angle < 1e-4 {
            (0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0)
        } else {
            let half = sin_cos_f64(0.5 * angle).0 / angle;
            (2.0 * half * half, (1.0 - sin_cos_f64(angle).0 / angle) / square)
        };
        let once = cross(w, v);
        let twice = cross(w, once);
        let translation = [0, 1, 2].map(|i| v[i] + b * once[i] + c * twice[i]);
        Rigid { rotation: exponential(w), translation }.into()
    }

    /// The twist whose [`exp`](Self::exp) is this pose: velocity, then rotation vector. The
    /// logarithm of SE(3).
    ///
    /// ```
    /// use pointmill_core::Pose;
    /// let twist = [1.0, -2.0, 0.5, 0.1, 0.2, -0.3];
    /// let back = Pose::exp(&twist).log();
    /// assert!(twist.iter().zip(back).all(|(a, b)| (a - b).abs() < 1e-14));
    /// ```
    pub fn log(&self) -> [f64; 6] {
        let w = self.rotation_vector();
        let square = dot(w, w);
        let angle = crate::float::sqrt(square);
        let d = if angle < 1e-3 {
            1.0 / 12.0 + square / 720.0
        } else {
            let (sine, cosine) = sin_cos_f64(0.5 * angle);
            (1.0 - 0.5 * angle * cosine / sine) / square
        };
        let t = self.rigid.translation;
        let once = cross(w, t);
        let twice = cross(w, once);
        let v = [0, 1, 2].map(|i| t[i] - 0.5 * once[i] + d * twice[i]);
        [v[0], v[1], v[2], w[0], w[1], w[2]]
    }

    /// Whether every number is finite and the rotation is one to a millionth.
    pub fn is_rigid(&self) -> bool {
        self.rigid.translation.iter().all(|x| x.is_finite()) && is_rotation(&self.rigid.rotation)
    }

    /// A direction turned, without the translation.
    pub fn rotate(&self, direction: [f64; 3]) -> [f64; 3] {
        rotate(&self.rigid.rotation, direction)
    }
}

impl From<Rigid> for Pose {
    fn from(rigid: Rigid) -> Self {
        Self { rigid, angles: None }
    }
}

impl Mul for Pose {
    type Output = Self;

    fn mul(self, first: Self) -> Self {
        self.compose(&first)
    }
}

crate::with_serde! {
    /// 16 numbers, the rows of the matrix one after the other.
    impl serde::Serialize for Pose {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_seq(self.matrix().as_flattened())
        }
    }

    /// 16 numbers, the rows of the matrix one after the other, which must be
    /// [rigid](Pose::from_matrix).
    impl<'de> serde::Deserialize<'de> for Pose {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let flat = <[f64; 16] as serde::Deserialize>::deserialize(from)?;
            Ok(Rigid::nearly(&flat).map_err(serde::de::Error::custom)?.into())
        }
    }
}

crate::with_schema! {
    impl schemars::JsonSchema for Pose {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> alloc::borrow::Cow<'static, str> {
            "Pose".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({ "type": "array", "items": { "type": "number" }, "minItems": 16, "maxItems": 16 })
        }
    }
}

fn finite(numbers: &[f64]) -> Result<(), NotRigid> {
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(NotRigid::Number { index, got: numbers[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    fn near(a: &Pose, b: &Pose, within: f64) -> bool {
        a.matrix().as_flattened().iter().zip(b.matrix().as_flattened()).all(|(a, b)| (a - b).abs() < within)
    }

    fn pose() -> impl Strategy<Value = Pose> {
        let angle = prop_oneof![Just(0.0), Just(core::f64::consts::PI), -3.2..3.2f64, -1e-5..1e-5f64];
        ([-1e3..1e3f64, -1e3..1e3f64, -1e3..1e3f64], [angle.clone(), angle.clone(), angle])
            .prop_map(|([x, y, z], [a, b, c])| Pose::from_xyzrpy([x, y, z, a, b, c]).unwrap())
    }

    proptest! {
        #[test]
        fn every_form_leads_back(p in pose(), q in pose(), t in -0.5..1.5f64) {
            prop_assert!(p.is_rigid());
            prop_assert_eq!(Pose::from_matrix(&p.matrix()).unwrap(), p);
            let from_quaternion = Pose::from_quaternion(p.translation(), p.quaternion()).unwrap();
            prop_assert!(near(&from_quaternion, &p, 1e-14));
            let plain = Pose::from(*p.rigid());
            prop_assert!(near(&Pose::from_xyzrpy(plain.xyzrpy()).unwrap(), &p, 1e-7));
            prop_assert!(near(&(p * p.inverse()), &Pose::IDENTITY, 1e-11));
            prop_assert!(near(&Pose::exp(&p.log()), &p, 1e-9));
            prop_assert!(p.rotation_vector().iter().map(|x| x * x).sum::<f64>() < 9.8697);
            let point = [1.0, 2.0, -3.0];
            let [a, b] = [(p * q).apply(point), p.apply(q.apply(point))];
            prop_assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11));
            let between = p.interpolate(&q, t);
            prop_assert!(between.is_rigid());
            prop_assert!(near(&p.interpolate(&q, 0.0), &p, 1e-15) && near(&p.interpolate(&q, 1.0), &q, 1e-15));
            prop_assert!(near(&p.interpolate(&q, 0.999_999_999), &q, 1e-4));
        }
    }

    #[test]
    fn what_is_no_pose_is_refused() {
        assert!(matches!(Pose::from_quaternion([0.0; 3], [0.0; 4]), Err(NotRigid::Quaternion(0.0))));
        let nan = Pose::from_quaternion([0.0, f64::NAN, 0.0], [0.0, 0.0, 0.0, 1.0]);
        assert!(matches!(nan, Err(NotRigid::Number { index: 1, .. })));
        assert!(matches!(Pose::from_xyzrpy([0.0, 0.0, 0.0, 1e9, 0.0, 0.0]), Err(NotRigid::Angle(1e9))));
        let mut mirrored = Pose::IDENTITY.matrix();
        mirrored[0][0] = -1.0;
        assert_eq!(Pose::from_matrix(&mirrored), Err(NotRigid::Mirrored));
    }
}
