//! Reductions of a voxel's values, the last step of which must not depend on the processor.

/// The value itself; for a NaN the one quiet NaN `0x7fc00000`.
///
/// Processors differ in the payload that an operation on NaNs leaves, so results that came from
/// arithmetic pass through here.
#[inline(always)]
pub const fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fc0_0000) } else { x }
}

/// The mean of `count` values from their sum: one true division. Zero values give NaN.
///
/// ```
/// use pointmill_core::mean::mean_from_sum;
/// assert_eq!(mean_from_sum(1.0, 3), 1.0 / 3.0);
/// ```
#[inline(always)]
pub const fn mean_from_sum(sum: f32, count: u32) -> f32 {
    canonical(sum / count as f32)
}

/// The larger of the best value so far and the next; the first one stays on a tie, and a NaN never
/// wins. Start with NaN.
///
/// ```
/// use pointmill_core::mean::larger;
/// let best = [f32::NAN, 1.0, 2.0, f32::NAN, 2.0].into_iter().fold(f32::NAN, larger);
/// assert_eq!(best, 2.0);
/// ```
#[inline(always)]
pub fn larger(best: f32, next: f32) -> f32 {
    if (next > best) | (best.is_nan() & !next.is_nan()) { next } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_nan_for_all() {
        let odd = f32::from_bits(0xffc1_2345);
        assert_eq!(canonical(odd).to_bits(), 0x7fc0_0000);
        assert_eq!(mean_from_sum(odd, 2).to_bits(), 0x7fc0_0000);
        assert_eq!(mean_from_sum(0.0, 0).to_bits(), 0x7fc0_0000);
        assert_eq!(canonical(-0.0).to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn the_first_of_equal_maxima_stays() {
        assert!(larger(-0.0, 0.0).is_sign_negative());
        assert!(larger(f32::NAN, f32::NAN).is_nan());
        assert_eq!(larger(f32::NAN, f32::NEG_INFINITY), f32::NEG_INFINITY);
    }
}
