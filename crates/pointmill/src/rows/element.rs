//! The types of values in rows.

use super::{Values, bf16, f16};
use bytemuck::Pod;
use pointmill_core::ElementType;
use pointmill_core::array::Dtype;

/// A type that rows can have: `f32`, `f64`, `f16` or `bf16`.
pub trait Element: Pod + Send + Sync + sealed::Element {
    /// The type's name as a value.
    const DTYPE: Dtype;
}

/// A type that features can have; arithmetic on them is in `f32`.
pub(crate) trait Feature: Element {
    const TYPE: ElementType;

    fn bits(self) -> u32;
    fn from_bits(bits: u32) -> Self;

    /// The value, exact.
    #[inline(always)]
    fn widen(self) -> f32 {
        Self::TYPE.widen(self.bits())
    }

    /// The nearest value, ties to even; every NaN becomes the type's one quiet NaN.
    #[inline(always)]
    fn narrow(value: f32) -> Self {
        Self::from_bits(Self::TYPE.narrow(value))
    }
}

pub(super) mod sealed {
    use super::Values;

    pub trait Element: Sized {
        fn values(values: &[Self]) -> Values<'_>;
        fn slice(values: Values<'_>) -> Option<&[Self]>;
    }
}

macro_rules! element {
    ($type:ty, $variant:ident) => {
        impl sealed::Element for $type {
            fn values(values: &[Self]) -> Values<'_> {
                Values::$variant(values)
            }
            fn slice(values: Values<'_>) -> Option<&[Self]> {
                if let Values::$variant(values) = values { Some(values) } else { None }
            }
        }
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$variant;
        }
    };
}
element!(f32, F32);
element!(f64, F64);
element!(f16, F16);
element!(bf16, Bf16);

macro_rules! feature {
    ($type:ty, $variant:ident, $bits:ty) => {
        impl Feature for $type {
            const TYPE: ElementType = ElementType::$variant;

            #[inline(always)]
            fn bits(self) -> u32 {
                u32::from(self.to_bits())
            }
            #[inline(always)]
            fn from_bits(bits: u32) -> Self {
                Self::from_bits(bits as $bits)
            }
        }
    };
}
feature!(f32, F32, u32);
feature!(f16, F16, u16);
feature!(bf16, Bf16, u16);
