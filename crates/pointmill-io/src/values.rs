//! Numbers as they lie in files: the byte order in which they are read and written.

use crate::wide::change;
use bytemuck::{NoUninit, Pod};
use std::io::{self, Write};

/// Values as they lie in a file.
pub(crate) trait Raw: Pod {
    /// The value with its bytes in the other order.
    fn swapped(self) -> Self;

    /// The value if it is of a type of whole numbers.
    fn whole(self) -> Option<i128>;

    /// The value as `f64`.
    fn to_f64(self) -> f64;

    /// The value as `f32`, rounded once.
    fn to_f32(self) -> f32;

    /// The most that values change in their cast to `f32`, this one included. Whole numbers that an
    /// `f64` does not hold count as changed.
    #[inline(always)]
    fn change(most: f64, value: Self) -> f64 {
        let most = change(most, value.to_f32(), value.to_f64());
        if value.whole().is_some() && value.to_f64().abs() >= LARGEST_WHOLE { most.max(1.0) } else { most }
    }
}

/// From here on an `f64` does not hold every whole number.
const LARGEST_WHOLE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

macro_rules! raw {
    ($($int:ty)*) => {$(impl Raw for $int {
        fn swapped(self) -> Self {
            self.swap_bytes()
        }

        fn whole(self) -> Option<i128> {
            Some(self.into())
        }

        fn to_f64(self) -> f64 {
            self as f64
        }

        fn to_f32(self) -> f32 {
            self as f32
        }
    })*};
}
raw!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Raw for f32 {
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }

    fn whole(self) -> Option<i128> {
        None
    }

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl Raw for f64 {
    fn swapped(self) -> Self {
        Self::from_bits(self.to_bits().swap_bytes())
    }

    fn whole(self) -> Option<i128> {
        None
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn to_f32(self) -> f32 {
        self as f32
    }
}

/// Writes values in little-endian order: as they lie in memory, without a copy, where that is the
/// machine's order.
pub(crate) fn write_values<T: NoUninit, const B: usize>(
    out: &mut dyn Write,
    values: &[T],
    bytes: impl Fn(T) -> [u8; B],
) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return out.write_all(bytemuck::cast_slice(values));
    }
    for &v in values {
        out.write_all(&bytes(v))?;
    }
    Ok(())
}
