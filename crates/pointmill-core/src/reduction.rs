//! Reductions of the values of a row: sums, means, minima and maxima, in the order of the values.

use crate::mean;

/// What becomes of the values of a row.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum, from zero on.
    Sum,
    /// The sum divided once by the number of values; of whole numbers rounded down.
    Mean,
    /// The smallest value that is not NaN.
    Min,
    /// The largest value that is not NaN.
    Max,
}

crate::names!(Reduction { Sum = "sum", Mean = "mean", Min = "min", Max = "max" });

/// No value of a row.
pub const NONE: u32 = u32::MAX;

impl Reduction {
    /// Whether a value of the result is one of the values.
    #[inline(always)]
    pub const fn picks(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }

    /// Whether the next value takes the place of the best so far, which is value `from` of the row:
    /// the first of equal values stays, and a NaN never wins.
    #[inline(always)]
    pub fn takes<N: Number>(self, next: N, best: N, from: u32) -> bool {
        let better = if matches!(self, Self::Max) { next > best } else { next < best };
        !next.is_nan() & ((from == NONE) | better)
    }

    /// What a row becomes: of its sum, or of the best of its values, which is value `from`.
    #[inline(always)]
    pub fn of<N: Number>(self, value: N, from: u32, count: u32) -> N {
        match self {
            Self::Mean if count > 0 => value.over(count),
            Self::Sum | Self::Mean => value.canonical(),
            _ if from != NONE => value,
            _ if count > 0 => N::ABSENT,
            _ => N::ZERO,
        }
    }
}

/// A type that values are reduced in.
pub trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// What sums begin with.
    const ZERO: Self;
    /// What a minimum or maximum is where there is nothing but NaN.
    const ABSENT: Self;
    /// Whether it is no number.
    fn is_nan(self) -> bool;
    /// The sum; of whole numbers it wraps.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The product; of whole numbers it wraps.
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// The mean of so many values, of which this is the sum.
    #[must_use]
    fn over(self, count: u32) -> Self;
    /// The value itself; for a NaN the one that all processors give.
    #[must_use]
    fn canonical(self) -> Self;
}

macro_rules! float {
    ($type:ty, $over:expr, $canonical:expr) => {
        impl Number for $type {
            const ZERO: Self = 0.0;
            const ABSENT: Self = Self::NAN;
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn over(self, count: u32) -> Self {
                $over(self, count)
            }
            #[inline(always)]
            fn canonical(self) -> Self {
                $canonical(self)
            }
        }
    };
}

float!(f32, mean::mean_from_sum, mean::canonical);
float!(f64, |sum: f64, count| one_nan(sum / count as f64), one_nan);

#[inline(always)]
const fn one_nan(value: f64) -> f64 {
    if value.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { value }
}

impl Number for i64 {
    const ZERO: Self = 0;
    const ABSENT: Self = 0;
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    #[inline(always)]
    fn over(self, count: u32) -> Self {
        self.div_euclid(count as Self)
    }
    #[inline(always)]
    fn canonical(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(how: Reduction, values: &[f32]) -> (f32, u32) {
        let (mut best, mut from) = (0.0, NONE);
        for (i, &value) in values.iter().enumerate() {
            if !how.picks() {
                best = best.plus(value);
            } else if how.takes(value, best, from) {
                (best, from) = (value, i as u32);
            }
        }
        (how.of(best, from, values.len() as u32), from)
    }

    #[test]
    fn rows_of_one_of_none_and_of_nan() {
        assert_eq!(fold(Reduction::Mean, &[1.0, 2.0, 4.5]), (2.5, NONE));
        assert_eq!(fold(Reduction::Max, &[f32::NAN, 3.0, 3.0, 1.0]), (3.0, 1));
        assert_eq!(fold(Reduction::Min, &[f32::NAN, 3.0, -1.0, -1.0]), (-1.0, 2));
        for &how in Reduction::ALL {
            assert_eq!(fold(how, &[]), (0.0, NONE), "{how}");
            assert_eq!(fold(how, &[f32::from_bits(0xffc1_2345)]).0.to_bits(), 0x7fc0_0000, "{how}");
        }
        // A sum begins with zero, a minimum is the value itself.
        assert!(fold(Reduction::Sum, &[-0.0]).0.is_sign_positive());
        assert!(fold(Reduction::Min, &[-0.0, 0.0]).0.is_sign_negative());
    }

    #[test]
    fn whole_numbers_are_rounded_down() {
        assert_eq!(Reduction::Mean.of(-7i64, NONE, 3), -3);
        assert_eq!(i64::MAX.plus(1), i64::MIN);
    }
}
