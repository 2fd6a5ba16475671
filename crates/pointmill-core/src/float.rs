//! Functions of floats, the same bits on every device.

use crate::mean::canonical;

/// Added and taken off again, this leaves a whole number, the nearest.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts, the first of 32 bits.
const LN_2_HEAD: f64 = 6.931_471_803_691_238e-1;
const LN_2_TAIL: f64 = 1.908_214_929_270_587_7e-10;

/// The square root, rounded once.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    // What a GPU computes is rounded once too, and is one instruction.
    #[cfg(target_arch = "nvptx64")]
    return core::f64::math::sqrt(x);
    #[cfg(not(target_arch = "nvptx64"))]
    return libm::sqrt(x);
}

/// The square root of an `f32`, rounded once.
#[inline(always)]
pub fn sqrt_f32(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return core::f32::math::sqrt(x);
    #[cfg(not(target_arch = "nvptx64"))]
    return libm::sqrtf(x);
}

/// e to the power of `x`, for `x` up to 700; 0 below -700. Off by less than 2^-51 of itself.
///
/// Without a branch: neighbouring lanes and the two halves of a vector stay together.
///
/// ```
/// use pointmill_core::float::exp;
/// assert_eq!((exp(0.0), exp(-1e9), exp(f64::NEG_INFINITY)), (1.0, 0.0, 0.0));
/// assert!((exp(-2.5) / (-2.5f64).exp() - 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let near = if x > -700.0 { x } else { -700.0 };
    let whole = (near * core::f64::consts::LOG2_E + ROUND) - ROUND;
    let r = (near - whole * LN_2_HEAD) - whole * LN_2_TAIL;
    // The Taylor polynomial up to r^13, off by less than 1e-17 for r up to half of ln 2; in pairs,
    // so that half of the products need not wait.
    let r2 = r * r;
    let r4 = r2 * r2;
    let a = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
    let b = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5_040.0));
    let c = (1.0 / 40_320.0 + r * (1.0 / 362_880.0)) + r2 * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0));
    let d = 1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0);
    let power = a + r4 * (b + r4 * (c + r4 * d));
    let scale = f64::from_bits(((whole as i64 + 1023) as u64) << 52);
    if x > -700.0 { power * scale } else { 0.0 }
}

/// A number with the order of a float; zeros of both signs differ.
///
/// ```
/// use pointmill_core::float::{from_ordered, ordered};
/// let floats = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, f64::INFINITY];
/// assert!(floats.map(ordered).is_sorted());
/// assert_eq!(floats.map(|x| from_ordered(ordered(x)).to_bits()), floats.map(f64::to_bits));
/// ```
#[inline(always)]
pub const fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The float of a number that [`ordered`] made.
#[inline(always)]
pub const fn from_ordered(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 0 { !key } else { key ^ 1 << 63 })
}

/// Bits that are equal where values are: 0 and -0 have the same, and so have all NaN.
///
/// ```
/// use pointmill_core::float::same_bits;
/// assert_eq!((same_bits(-0.0), same_bits(-f32::NAN)), (same_bits(0.0), same_bits(f32::NAN)));
/// assert_ne!(same_bits(0.1), same_bits(0.2));
/// ```
#[inline(always)]
pub const fn same_bits(value: f32) -> u32 {
    if value == 0.0 { 0 } else { canonical(value).to_bits() }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn powers_are_near_those_of_the_standard_library(x in -699.9f64..699.9) {
            let relative = exp(x) / x.exp() - 1.0;
            prop_assert!(relative.abs() < 5e-16, "{x}: {relative:e}");
        }

        #[test]
        fn small_powers_too(x in -1.0f64..1.0) {
            let relative = exp(x) / x.exp() - 1.0;
            prop_assert!(relative.abs() < 5e-16, "{x}: {relative:e}");
        }
    }

    #[test]
    fn powers_at_the_edges() {
        assert_eq!((exp(-0.0), exp(-700.0), exp(-700.1)), (1.0, 0.0, 0.0));
        assert!(exp(f64::from_bits((-700.0f64).to_bits() - 1)) > 0.0);
        // The score of a point whose distance is no number is zero.
        assert_eq!(exp(f64::NAN), 0.0);
    }

    #[test]
    fn roots() {
        assert_eq!((sqrt(2.0), sqrt(0.0), sqrt(f64::INFINITY)), (core::f64::consts::SQRT_2, 0.0, f64::INFINITY));
        assert!(sqrt(-1.0).is_nan());
        assert_eq!(
            (sqrt_f32(2.0), sqrt_f32(0.0), sqrt_f32(f32::INFINITY)),
            (core::f32::consts::SQRT_2, 0.0, f32::INFINITY)
        );
    }
}
