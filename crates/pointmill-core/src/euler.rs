//! Rotations by roll, pitch and yaw, as the poses of NDT in PCL and Autoware:
//! `Rx(roll) * Ry(pitch) * Rz(yaw)`.

use crate::linear::Square;
use crate::trig::sin_cos_f64;

/// A rotation about one axis, or its derivative by the angle: its factors along the axis and
/// across.
#[derive(Clone, Copy)]
pub(crate) struct AxisRotation {
    along: f64,
    cos: f64,
    sin: f64,
}

impl AxisRotation {
    #[inline(always)]
    pub(crate) fn by(angle: f64) -> Self {
        let (sin, cos) = sin_cos_f64(angle);
        Self { along: 1.0, cos, sin }
    }

    #[inline(always)]
    pub(crate) fn derived(self) -> Self {
        Self { along: 0.0, cos: -self.sin, sin: self.cos }
    }
}

/// The product of a rotation about x, one about y and one about z.
#[inline(always)]
pub(crate) fn product(x: AxisRotation, y: AxisRotation, z: AxisRotation) -> Square<3> {
    [
        [x.along * (y.cos * z.cos), -x.along * (y.cos * z.sin), x.along * (y.sin * z.along)],
        [
            x.cos * (y.along * z.sin) + x.sin * (y.sin * z.cos),
            x.cos * (y.along * z.cos) - x.sin * (y.sin * z.sin),
            -x.sin * (y.cos * z.along),
        ],
        [
            x.sin * (y.along * z.sin) - x.cos * (y.sin * z.cos),
            x.sin * (y.along * z.cos) + x.cos * (y.sin * z.sin),
            x.cos * (y.cos * z.along),
        ],
    ]
}

/// `Rx(roll) * Ry(pitch) * Rz(yaw)`, of angles in radians.
#[inline(always)]
pub(crate) fn rotation([roll, pitch, yaw]: [f64; 3]) -> Square<3> {
    product(AxisRotation::by(roll), AxisRotation::by(pitch), AxisRotation::by(yaw))
}

/// Roll, pitch and yaw of a rotation, with the pitch within a quarter turn. Where the pitch is a
/// quarter turn, roll and yaw turn about one axis, and the yaw is 0.
pub(crate) fn angles(r: &Square<3>) -> [f64; 3] {
    let sine = r[0][2].clamp(-1.0, 1.0);
    let (roll, yaw) = if r[0][2].abs() < 1.0 - 1e-12 {
        (libm::atan2(-r[1][2], r[2][2]), libm::atan2(-r[0][1], r[0][0]))
    } else {
        (libm::atan2(r[2][1], r[1][1]), 0.0)
    };
    [roll, libm::asin(sine), yaw]
}
