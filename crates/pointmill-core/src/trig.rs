//! Sine and cosine of an angle, the same bits on every device.

use core::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// The bits of the angle from which on reduction needs more bits of pi: 131,072.
const NEAR: u32 = 0x4800_0000;
/// pi/2 in two parts, the first of 33 bits.
const HALF_PI_HEAD: f64 = 1.5707963267341256;
const HALF_PI_TAIL: f64 = 6.077100506506192e-11;
/// Its second part in two, the first of 33 bits.
const HALF_PI_MIDDLE: f64 = 6.077_100_506_303_966e-11;
const HALF_PI_TAIL_OF_THREE: f64 = 2.022_266_248_795_950_6e-21;
/// Added and taken off again, this leaves a whole number, the nearest.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// The bits of 2/pi behind a word of zeros, the highest first.
const TWO_OVER_PI: [u32; 12] = [
    0x0000_0000,
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
    0xdebb_c561,
    0xb724_6e3a,
    0x424d_d2e0,
    0x0649_2eea,
];

/// Sine and cosine of an angle in radians, computed in `f64` and rounded once to `f32`.
///
/// Any finite angle is reduced exactly, however large. Before rounding the error is below 2^-50, so
/// the result is the nearest `f32` but for about one angle in a hundred million, where it is a
/// neighbour; on all devices the same one.
///
/// ```
/// use pointmill_core::trig::sin_cos;
/// assert_eq!(sin_cos(0.0), (0.0, 1.0));
/// assert_eq!(sin_cos(std::f32::consts::FRAC_PI_2), (1.0, -4.371139e-8));
/// ```
#[inline(always)]
pub fn sin_cos(angle: f32) -> (f32, f32) {
    let (s, c) = turned(reduce(angle));
    (s as f32, c as f32)
}

/// Largest angle that [`sin_cos_f64`] takes: 2^17 radians.
pub const MAX_ANGLE: f64 = 131_072.0;

/// Sine and cosine of an angle up to [`MAX_ANGLE`] in radians, off by less than 2^-50.
///
/// ```
/// use pointmill_core::trig::sin_cos_f64;
/// let (sin, cos) = sin_cos_f64(1e5);
/// assert!((sin - 1e5f64.sin()).abs() < 1e-15 && (cos - 1e5f64.cos()).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn sin_cos_f64(angle: f64) -> (f64, f64) {
    // As in `reduce`; what both parts of pi/2 leave out is a third one.
    let multiple = (angle * FRAC_2_PI + ROUND) - ROUND;
    let rest = ((angle - multiple * HALF_PI_HEAD) - multiple * HALF_PI_MIDDLE) - multiple * HALF_PI_TAIL_OF_THREE;
    turned((rest, multiple as i32 as u32 & 3))
}

/// Sine and cosine of a reduced angle.
#[inline(always)]
fn turned((r, quadrant): (f64, u32)) -> (f64, f64) {
    let (s, c) = (sin_near_zero(r), cos_near_zero(r));
    match quadrant {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    }
}

/// The angle less a multiple of pi/2, within about +-pi/4, and that multiple modulo 4.
#[inline(always)]
fn reduce(angle: f32) -> (f64, u32) {
    let bits = angle.to_bits() & 0x7fff_ffff;
    if bits < NEAR {
        // The multiple has at most 20 bits and the head 33, so their product is exact, and so is
        // what it leaves.
        let multiple = (angle as f64 * FRAC_2_PI + ROUND) - ROUND;
        let rest = (angle as f64 - multiple * HALF_PI_HEAD) - multiple * HALF_PI_TAIL;
        return (rest, multiple as i32 as u32 & 3);
    }
    reduce_far(angle, bits)
}

/// As [`reduce`], for angles that are far from zero.
#[inline(always)]
fn reduce_far(angle: f32, bits: u32) -> (f64, u32) {
    // angle = significand * 2^exponent, exponent >= -6. In significand * 2/pi * 2^exponent, bits of
    // 2/pi that make multiples of 4 do not matter, and a window of 128 bits behind them is more
    // than enough: the product is taken modulo 4, in units of 2^-126.
    let significand = (bits & 0x007f_ffff) | 0x0080_0000;
    let exponent = (bits >> 23) as i32 - 150;
    let first = (exponent + 30) as u32;
    let (word, shift) = (((first / 32) & 7) as usize, first % 32);
    let mut window = 0u128;
    let mut i = 0;
    while i < 4 {
        window = (window << 32) | TWO_OVER_PI[word + i] as u128;
        i += 1;
    }
    // A shift by 32 would be one too many where `shift` is zero; in 64 bits it is none.
    let last = ((TWO_OVER_PI[word + 4] as u64) << shift) >> 32;
    let window = (window << shift) | last as u128;
    let product = window.wrapping_mul(significand as u128);
    let quadrant = product.wrapping_add(1 << 125) >> 126;
    let rest = product.wrapping_sub(quadrant << 126);
    const HIGH: f64 = 1.0 / (1u64 << 62) as f64;
    const LOW: f64 = HIGH / 18_446_744_073_709_551_616.0;
    let rest = ((rest >> 64) as i64 as f64 * HIGH + rest as u64 as f64 * LOW) * FRAC_PI_2;
    if angle < 0.0 { (-rest, quadrant.wrapping_neg() as u32 & 3) } else { (rest, quadrant as u32) }
}

/// Sine up to pi/4: the Taylor polynomial up to x^17, off by less than 1e-19.
#[inline(always)]
fn sin_near_zero(x: f64) -> f64 {
    let y = x * x;
    let p = 1.0 / 355_687_428_096_000.0;
    let p = -1.0 / 1_307_674_368_000.0 + y * p;
    let p = 1.0 / 6_227_020_800.0 + y * p;
    let p = -1.0 / 39_916_800.0 + y * p;
    let p = 1.0 / 362_880.0 + y * p;
    let p = -1.0 / 5_040.0 + y * p;
    let p = 1.0 / 120.0 + y * p;
    let p = -1.0 / 6.0 + y * p;
    x * (1.0 + y * p)
}

/// Cosine up to pi/4: the Taylor polynomial up to x^18, off by less than 1e-20.
#[inline(always)]
fn cos_near_zero(x: f64) -> f64 {
    let y = x * x;
    let p = -1.0 / 6_402_373_705_728_000.0;
    let p = 1.0 / 20_922_789_888_000.0 + y * p;
    let p = -1.0 / 87_178_291_200.0 + y * p;
    let p = 1.0 / 479_001_600.0 + y * p;
    let p = -1.0 / 3_628_800.0 + y * p;
    let p = 1.0 / 40_320.0 + y * p;
    let p = -1.0 / 720.0 + y * p;
    let p = 1.0 / 24.0 + y * p;
    let p = -0.5 + y * p;
    1.0 + y * p
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with libm, which is the same on every platform; the platform's own functions are
    /// not.
    fn check(angle: f32) {
        let (sin, cos) = sin_cos(angle);
        assert_eq!(sin.to_bits(), (libm::sin(f64::from(angle)) as f32).to_bits(), "sin {angle:e}");
        assert_eq!(cos.to_bits(), (libm::cos(f64::from(angle)) as f32).to_bits(), "cos {angle:e}");
    }

    #[test]
    fn headings_of_boxes() {
        for eighths in -24..=24 {
            let angle = eighths as f32 * core::f32::consts::FRAC_PI_4;
            [angle, angle.next_up(), angle.next_down()].into_iter().for_each(check);
        }
        assert_eq!(sin_cos(-0.0).0.to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn every_exponent_and_both_signs() {
        let mut state = 1u32;
        for exponent in 0..255u32 {
            for _ in 0..2000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                check(f32::from_bits((state & 0x8000_0000) | exponent << 23 | (state >> 8 & 0x007f_ffff)));
            }
        }
        [f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::from_bits(1)].into_iter().for_each(check);
    }

    #[test]
    fn angles_of_f64() {
        let mut state = 1u64;
        for i in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let angle = ((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * [1.0, 7.0, 1e3, MAX_ANGLE][i % 4];
            let (sin, cos) = sin_cos_f64(angle);
            let off = (sin - libm::sin(angle)).abs().max((cos - libm::cos(angle)).abs());
            assert!(off < 1.0 / (1u64 << 50) as f64, "{angle}: {off:e}");
        }
        assert_eq!(sin_cos_f64(0.0), (0.0, 1.0));
    }

    #[test]
    fn the_hardest_angle() {
        // Of all f32 the nearest to a multiple of pi/2.
        check(f32::from_bits(0x6f79_be45));
        check(16_367_173.0 * f32::from_bits((127 + 72) << 23));
    }
}
