//! The types of values that are scattered, and what they are computed in.

use crate::rows::Feature;
use crate::{bf16, f16};
use bytemuck::Pod;
use pointmill_core::mean;

/// A type of values that can be scattered: `f32`, `f64`, `f16`, `bf16` or `i64`.
pub trait Scattered: Pod + Send + Sync {
    /// What it is computed in.
    #[doc(hidden)]
    type Wide: Number;
    /// The value, exact.
    #[doc(hidden)]
    fn widen(self) -> Self::Wide;
    /// The nearest value, ties to even.
    #[doc(hidden)]
    fn narrow(wide: Self::Wide) -> Self;
}

/// A type that is computed in.
pub trait Number: Copy + PartialOrd + Send + Sync {
    const ZERO: Self;
    /// What a minimum or maximum is where there is nothing but NaN.
    const ABSENT: Self;
    fn is_nan(self) -> bool;
    fn plus(self, other: Self) -> Self;
    /// The mean of so many values, of which this is the sum.
    fn over(self, count: u32) -> Self;
    /// The value itself; for a NaN the one that all processors give.
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
            fn over(self, count: u32) -> Self {
                $over(self, count)
            }
            #[inline(always)]
            fn canonical(self) -> Self {
                $canonical(self)
            }
        }
        scattered!($type, $type, |value| value, |wide| wide);
    };
}

macro_rules! scattered {
    ($type:ty, $wide:ty, $widen:expr, $narrow:expr) => {
        impl Scattered for $type {
            type Wide = $wide;
            #[inline(always)]
            fn widen(self) -> $wide {
                $widen(self)
            }
            #[inline(always)]
            fn narrow(wide: $wide) -> Self {
                $narrow(wide)
            }
        }
    };
}

float!(f32, mean::mean_from_sum, mean::canonical);
float!(f64, |sum: f64, count| one_nan(sum / f64::from(count)), one_nan);
scattered!(f16, f32, Feature::widen, Feature::narrow);
scattered!(bf16, f32, Feature::widen, Feature::narrow);

fn one_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// Sums wrap, means are rounded down.
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
    fn over(self, count: u32) -> Self {
        self.div_euclid(Self::from(count))
    }
    #[inline(always)]
    fn canonical(self) -> Self {
        self
    }
}
scattered!(i64, Self, |value| value, |wide| wide);
