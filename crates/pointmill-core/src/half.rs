//! Half precision, `f16` and `bf16`, in integer arithmetic: the same bits on every device, NaN
//! included.

/// The bits of the `f16` nearest to `x`, ties to even.
///
/// Values from 65520 on become infinity, values below 2^-25 (in magnitude, ties included) zero.
/// Every NaN becomes the one quiet NaN `0x7e00`, because processors differ in the payload they
/// keep.
///
/// ```
/// use pointmill_core::half::f16_bits_from_f32;
/// assert_eq!(f16_bits_from_f32(1.0), 0x3c00);
/// assert_eq!(f16_bits_from_f32(65520.0), 0x7c00);
/// ```
#[inline(always)]
pub const fn f16_bits_from_f32(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return 0x7e00;
    }
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude >= 0x3880_0000 {
        // Normal: rebias the exponent from 127 to 15, round the 13 bits that go. A carry runs into
        // the exponent, rightly.
        let rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
        return sign | ((rounded - 0x3800_0000) >> 13) as u16;
    }
    if magnitude < 0x3300_0000 {
        return sign;
    }
    // Subnormal: the significand with its hidden bit, shifted to units of 2^-24.
    let shift = 126 - (magnitude >> 23);
    let significand = (magnitude & 0x007f_ffff) | 0x0080_0000;
    let half = 1 << (shift - 1);
    let rest = significand & ((1 << shift) - 1);
    let units = significand >> shift;
    let up = (rest > half) | ((rest == half) & (units & 1 == 1));
    sign | (units + up as u32) as u16
}

/// The value of an `f16`, exact. A NaN keeps its sign and its payload in the upper bits.
#[inline(always)]
pub const fn f32_from_f16_bits(bits: u16) -> f32 {
    let sign = (bits as u32 & 0x8000) << 16;
    let exponent = (bits as u32 >> 10) & 0x1f;
    let fraction = bits as u32 & 0x3ff;
    let magnitude = match (exponent, fraction) {
        (0, 0) => 0,
        (0, f) => {
            // Subnormal: move the leading one to the hidden place.
            let up = f.leading_zeros() - 21;
            ((113 - up) << 23) | (((f << up) & 0x3ff) << 13)
        }
        (0x1f, f) => 0x7f80_0000 | (f << 13),
        (e, f) => ((e + 112) << 23) | (f << 13),
    };
    f32::from_bits(sign | magnitude)
}

/// The bits of the `bf16` nearest to `x`, ties to even. Every NaN becomes the one quiet NaN
/// `0x7fc0`.
///
/// ```
/// use pointmill_core::half::bf16_bits_from_f32;
/// assert_eq!(bf16_bits_from_f32(1.0), 0x3f80);
/// ```
#[inline(always)]
pub const fn bf16_bits_from_f32(x: f32) -> u16 {
    let bits = x.to_bits();
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return 0x7fc0;
    }
    // A carry runs into the exponent, and from the largest value to infinity, rightly.
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// The value of a `bf16`, exact.
#[inline(always)]
pub const fn f32_from_bf16_bits(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_rounds_to_the_nearest_ties_to_even() {
        for bits in 0..=u16::MAX {
            let x = f32_from_bf16_bits(bits);
            if x.is_nan() {
                assert_eq!(bf16_bits_from_f32(x), 0x7fc0);
                continue;
            }
            assert_eq!(bf16_bits_from_f32(x), bits);
            if x.is_finite() {
                let middle = f32::from_bits(x.to_bits() | 0x8000);
                assert_eq!(bf16_bits_from_f32(middle), bits + (bits & 1));
                assert_eq!(bf16_bits_from_f32(f32::from_bits(middle.to_bits() - 1)), bits);
                assert_eq!(bf16_bits_from_f32(f32::from_bits(middle.to_bits() + 1)), bits + 1);
            }
        }
    }

    #[test]
    fn every_half_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let x = f32_from_f16_bits(bits);
            if x.is_nan() {
                assert_eq!(f16_bits_from_f32(x), 0x7e00);
            } else {
                assert_eq!(f16_bits_from_f32(x), bits, "{x}");
            }
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_half_ties_to_even() {
        // Between each pair of neighbours: just below the middle, the middle, just above.
        for low in 0..0x7bffu16 {
            let (a, b) = (f32_from_f16_bits(low), f32_from_f16_bits(low + 1));
            let middle = a + (b - a) / 2.0;
            let even = if low & 1 == 0 { low } else { low + 1 };
            assert_eq!(f16_bits_from_f32(middle), even);
            assert_eq!(f16_bits_from_f32(middle.next_down()), low);
            assert_eq!(f16_bits_from_f32(middle.next_up()), low + 1);
            assert_eq!(f16_bits_from_f32(-middle), even | 0x8000);
        }
        assert_eq!(f16_bits_from_f32(65519.996), 0x7bff);
        assert_eq!(f16_bits_from_f32(65520.0), 0x7c00);
        assert_eq!(f16_bits_from_f32(f32::INFINITY), 0x7c00);
        assert_eq!(f16_bits_from_f32(1e-40), 0);
    }
}
