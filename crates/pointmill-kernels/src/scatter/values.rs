//! Values of any type: read widened, written rounded once, one or several at a time.

use crate::simt::*;
use core::mem::MaybeUninit;
use pointmill_core::ElementType;
use pointmill_core::reduction::Number;

/// A type that values have in memory.
pub trait Stored: Copy + 'static {
    /// What they are reduced in.
    type Wide: Number;
    /// Words of shared memory that a wide value takes.
    const WORDS: u32;
    /// The value, exact.
    fn widen(self) -> Self::Wide;
    /// The nearest value, ties to even.
    fn narrow(wide: Self::Wide) -> Self;
    /// The bits of a wide value.
    fn bits(wide: Self::Wide) -> u64;
    /// The wide value with these bits.
    fn of_bits(bits: u64) -> Self::Wide;
}

/// The bits of an `f16`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct F16(pub u16);

/// The bits of a `bf16`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Bf16(pub u16);

macro_rules! stored {
    ($($Type:ty as $Wide:ty, $words:literal: $widen:expr, $narrow:expr, $bits:expr, $of_bits:expr;)+) => {$(
        impl Stored for $Type {
            type Wide = $Wide;
            const WORDS: u32 = $words;
            #[inline(always)]
            fn widen(self) -> $Wide {
                $widen(self)
            }
            #[inline(always)]
            fn narrow(wide: $Wide) -> Self {
                $narrow(wide)
            }
            #[inline(always)]
            fn bits(wide: $Wide) -> u64 {
                $bits(wide)
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> $Wide {
                $of_bits(bits)
            }
        }
    )+};
}

const fn word(value: f32) -> u64 {
    value.to_bits() as u64
}

const fn of_word(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

stored! {
    f32 as f32, 1: |v| v, |w| w, word, of_word;
    f64 as f64, 2: |v| v, |w| w, f64::to_bits, f64::from_bits;
    i64 as i64, 2: |v| v, |w| w, |w| w as u64, |bits| bits as i64;
    F16 as f32, 1: |v: F16| f32_from_f16(v.0 as u32), |w| F16(f16_from_f32(w) as u16), word, of_word;
    Bf16 as f32, 1: |v: Bf16| f32::from_bits((v.0 as u32) << 16), |w| Bf16(ElementType::Bf16.narrow(w) as u16), word, of_word;
}

/// Bytes that are read at once.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Sixteen([u32; 4]);

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Eight([u32; 2]);

/// The `V` values from `p` on.
///
/// # Safety
/// There are such values; where `V` is not 1, aligned to the bytes that they take, 8 or 16.
#[inline(always)]
pub(super) unsafe fn load<T: Copy, const V: usize>(p: *const T) -> [T; V] {
    let mut values = MaybeUninit::<[T; V]>::uninit();
    // SAFETY: the caller's promise; each way writes all values.
    unsafe {
        match V * size_of::<T>() {
            16 if V > 1 => values.as_mut_ptr().cast::<Sixteen>().write_unaligned(*p.cast()),
            8 if V > 1 => values.as_mut_ptr().cast::<Eight>().write_unaligned(*p.cast()),
            _ => {
                for j in 0..V {
                    values.as_mut_ptr().cast::<T>().add(j).write(*p.add(j));
                }
            }
        }
        values.assume_init()
    }
}

/// Writes the `V` values from `p` on.
///
/// # Safety
/// As [`load`].
#[inline(always)]
pub(super) unsafe fn store<T: Copy, const V: usize>(p: *mut T, values: [T; V]) {
    // SAFETY: the caller's promise.
    unsafe {
        match V * size_of::<T>() {
            16 if V > 1 => *p.cast::<Sixteen>() = (&raw const values).cast::<Sixteen>().read_unaligned(),
            8 if V > 1 => *p.cast::<Eight>() = (&raw const values).cast::<Eight>().read_unaligned(),
            _ => {
                for j in 0..V {
                    *p.add(j) = values[j];
                }
            }
        }
    }
}
