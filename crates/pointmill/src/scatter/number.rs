//! The types of values that are scattered.

use crate::rows::Feature;
use crate::{bf16, f16};
use bytemuck::Pod;
use pointmill_core::reduction::Number;
use pointmill_kernels::Kernel;
use pointmill_kernels::scatter as kernels;
use pointmill_kernels::scatter::{Bf16, F16, ReduceArgs, SpreadArgs, Stored};

/// A type of values that can be scattered: `f32`, `f64`, `f16`, `bf16` or `i64`.
pub trait Scattered: Pod + Send + Sync {
    /// What it is computed in.
    #[doc(hidden)]
    type Wide: Number;
    /// What kernels know it as.
    #[doc(hidden)]
    type Stored: Stored;
    /// Its kernels.
    #[doc(hidden)]
    type Reduce: Kernel<Args = ReduceArgs<Self::Stored>>;
    #[doc(hidden)]
    type ReduceLong: Kernel<Args = ReduceArgs<Self::Stored>>;
    #[doc(hidden)]
    type Spread: Kernel<Args = SpreadArgs<Self::Stored>>;
    /// Values that these read at once.
    #[doc(hidden)]
    const AT_ONCE: usize = if size_of::<Self>() == 8 { 2 } else { 4 };
    /// The value, exact.
    #[doc(hidden)]
    fn widen(self) -> Self::Wide;
    /// The nearest value, ties to even.
    #[doc(hidden)]
    fn narrow(wide: Self::Wide) -> Self;
}

macro_rules! scattered {
    ($type:ty as $stored:ty, $wide:ty: $widen:expr, $narrow:expr; $reduce:ident, $long:ident, $spread:ident) => {
        impl Scattered for $type {
            type Wide = $wide;
            type Stored = $stored;
            type Reduce = kernels::$reduce;
            type ReduceLong = kernels::$long;
            type Spread = kernels::$spread;
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

scattered!(f32 as f32, f32: |value| value, |wide| wide; ReduceF32, ReduceLongF32, SpreadF32);
scattered!(f64 as f64, f64: |value| value, |wide| wide; ReduceF64, ReduceLongF64, SpreadF64);
scattered!(i64 as i64, i64: |value| value, |wide| wide; ReduceI64, ReduceLongI64, SpreadI64);
scattered!(f16 as F16, f32: Feature::widen, Feature::narrow; ReduceF16, ReduceLongF16, SpreadF16);
scattered!(bf16 as Bf16, f32: Feature::widen, Feature::narrow; ReduceBf16, ReduceLongBf16, SpreadBf16);
