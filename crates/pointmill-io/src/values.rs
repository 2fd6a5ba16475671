//! Numbers as they lie in files: the byte order in which they are read and written.

use bytemuck::{NoUninit, Pod};
use pointmill_core::array::Dtype;
use std::io::{self, Write};

/// From here on an `f64` does not hold every whole number.
pub(crate) const FAR: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Values as they lie in a file.
pub(crate) trait Raw: Pod {
    /// Whether it is a type of whole numbers.
    const IS_WHOLE: bool;

    /// The value with its bytes in the other order.
    #[inline(always)]
    fn swapped(mut self) -> Self {
        bytemuck::bytes_of_mut(&mut self).reverse();
        self
    }

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
        if value.whole().is_some() && value.to_f64().abs() >= FAR { most.max(1.0) } else { most }
    }
}

/// The most that a value changes in its cast, this one included.
#[inline(always)]
pub(crate) fn change(most: f64, single: f32, exact: f64) -> f64 {
    let moved = (f64::from(single) - exact).abs();
    if moved > most { moved } else { most }
}

macro_rules! raw {
    ($($type:ty: $is_whole:expr, $whole:expr;)*) => {$(impl Raw for $type {
        const IS_WHOLE: bool = $is_whole;

        fn whole(self) -> Option<i128> {
            $whole(self)
        }

        fn to_f64(self) -> f64 {
            self as f64
        }

        fn to_f32(self) -> f32 {
            self as f32
        }
    })*};
}
raw! {
    i8: true, whole; i16: true, whole; i32: true, whole; i64: true, whole;
    u8: true, whole; u16: true, whole; u32: true, whole; u64: true, whole;
    f32: false, |_| None; f64: false, |_| None;
}

fn whole(value: impl Into<i128>) -> Option<i128> {
    Some(value.into())
}

/// The smallest and the largest number of a type of whole numbers.
pub(crate) const fn whole_range(dtype: Dtype) -> Option<(i128, i128)> {
    let bits = 8 * dtype.bytes() as u32;
    match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => Some((-1 << (bits - 1), (1 << (bits - 1)) - 1)),
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

/// The type of whole numbers of so many bytes.
pub(crate) fn whole_type(bytes: u64, signed: bool) -> Option<Dtype> {
    let is_it = |dtype: &Dtype| {
        whole_range(*dtype).is_some_and(|(min, _)| (min < 0) == signed) && dtype.bytes() as u64 == bytes
    };
    Dtype::ALL.iter().copied().find(is_it)
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
