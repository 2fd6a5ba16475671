//! Element types of arrays, and the way of a value through them.

use crate::half::{bf16_bits_from_f32, f16_bits_from_f32, f32_from_bf16_bits, f32_from_f16_bits};
use crate::mean::canonical;

/// The type of an array's values. Arithmetic is in `f32`; the half types are widened before and
/// rounded once after it.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElementType {
    /// `f32`.
    #[default]
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of an `f32`.
    Bf16,
}

crate::names!(ElementType { F32 = "f32", F16 = "f16", Bf16 = "bf16" });

impl ElementType {
    /// The size of a value in bytes.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The value with these bits, exact.
    #[inline(always)]
    pub const fn widen(self, bits: u32) -> f32 {
        match self {
            Self::F32 => f32::from_bits(bits),
            Self::F16 => f32_from_f16_bits(bits as u16),
            Self::Bf16 => f32_from_bf16_bits(bits as u16),
        }
    }

    /// The bits of the nearest value, ties to even; every NaN becomes the type's one quiet NaN.
    #[inline(always)]
    pub const fn narrow(self, value: f32) -> u32 {
        match self {
            Self::F32 => canonical(value).to_bits(),
            Self::F16 => f16_bits_from_f32(value) as u32,
            Self::Bf16 => bf16_bits_from_f32(value) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_and_nans_are_one() {
        for element in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
            assert_eq!(element.widen(element.narrow(-1.5)), -1.5);
            let nan = element.narrow(f32::from_bits(0xff80_0001));
            let want = [0x7fc0_0000, 0x7e00, 0x7fc0][element as usize];
            assert_eq!(nan, want);
        }
    }
}
