//! Arrays of any type: read widened, written rounded once, one value or four at a time.

use crate::simt::*;
use pointmill_core::ElementType;

/// An array of any type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// The values.
    pub data: *mut u8,
    /// Their type.
    pub element: ElementType,
}

/// Four words that are read at once.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Four(pub(crate) [u32; 4]);

/// Two words that are read at once.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Two([u32; 2]);

impl Values {
    /// The `N` values from `i` on, widened.
    #[inline(always)]
    pub(crate) unsafe fn get_row<const N: usize>(&self, i: usize) -> [f32; N] {
        let mut bits = [0; N];
        // SAFETY: the caller promises `N` values from `i` on, of this type.
        unsafe {
            if self.element == ElementType::F32 {
                for j in 0..N {
                    bits[j] = *self.data.cast::<u32>().add(i + j);
                }
            } else {
                for j in 0..N {
                    bits[j] = *self.data.cast::<u16>().add(i + j) as u32;
                }
            }
        }
        let mut values = [0.0; N];
        for j in 0..N {
            values[j] = self.widen(bits[j]);
        }
        values
    }

    #[inline(always)]
    fn widen(&self, bits: u32) -> f32 {
        match self.element {
            ElementType::F32 => f32::from_bits(bits),
            ElementType::F16 => f32_from_f16(bits),
            ElementType::Bf16 => f32::from_bits(bits << 16),
        }
    }

    #[inline(always)]
    fn narrow(&self, value: f32) -> u32 {
        match self.element {
            ElementType::F16 => f16_from_f32(value),
            other => other.narrow(value),
        }
    }

    /// The `V` values from `i` on, one or four; four are read at once, and `i` is then a multiple
    /// of four.
    #[inline(always)]
    pub(crate) unsafe fn get_all<const V: usize>(&self, i: usize) -> [f32; V] {
        // SAFETY: the caller promises `V` values from `i` on; they are read as what they are.
        unsafe {
            match self.element {
                ElementType::F32 => Words::get(self, i),
                _ => Halves::get(self, i),
            }
        }
    }

    /// Writes the values from `i` on, rounded once; as [`Values::get_all`].
    #[inline(always)]
    pub(crate) unsafe fn set_all<const V: usize>(&self, i: usize, values: [f32; V]) {
        // SAFETY: the caller promises room for `V` values of this type, aligned for four.
        unsafe {
            match (self.element, V) {
                (ElementType::F32, 4) => {
                    let mut four = [0; 4];
                    for j in 0..V {
                        four[j] = self.narrow(values[j]);
                    }
                    *self.data.cast::<Four>().add(i / 4) = Four(four);
                }
                (ElementType::F32, _) => *self.data.cast::<u32>().add(i) = self.narrow(values[0]),
                (_, 4) => {
                    let mut two = [0; 2];
                    for j in 0..V {
                        two[j / 2] |= self.narrow(values[j]) << (16 * (j % 2));
                    }
                    *self.data.cast::<Two>().add(i / 4) = Two(two);
                }
                _ => *self.data.cast::<u16>().add(i) = self.narrow(values[0]) as u16,
            }
        }
    }
}

/// The `V` values from `i` on, one or four; four are read at once, and `i` is then a multiple of
/// four.
///
/// # Safety
/// There are such values, aligned for four.
#[inline(always)]
pub(crate) unsafe fn get_all_i32<const V: usize>(data: *const i32, i: usize) -> [i32; V] {
    let mut values = [0; V];
    // SAFETY: the caller's promise.
    unsafe {
        if V == 4 {
            let Four(four) = *data.cast::<Four>().add(i / 4);
            for j in 0..V {
                values[j] = four[j] as i32;
            }
        } else {
            values[0] = *data.add(i);
        }
    }
    values
}

/// Writes the values from `i` on; as [`get_all_i32`].
///
/// # Safety
/// As there.
#[inline(always)]
pub(crate) unsafe fn set_all_i32<const V: usize>(data: *mut i32, i: usize, values: [i32; V]) {
    // SAFETY: the caller's promise.
    unsafe {
        if V == 4 {
            let mut four = [0; 4];
            for j in 0..V {
                four[j] = values[j] as u32;
            }
            *data.cast::<Four>().add(i / 4) = Four(four);
        } else {
            *data.add(i) = values[0];
        }
    }
}

/// How values are read, known when the code is made: a loop over values has no room for questions.
pub(crate) trait Read {
    /// As [`Values::get_all`].
    ///
    /// # Safety
    /// As there; the values are of this type.
    unsafe fn get<const V: usize>(values: &Values, i: usize) -> [f32; V];
}

/// `f32`.
pub(crate) struct Words;

/// `f16` or `bf16`.
pub(crate) struct Halves;

impl Read for Words {
    #[inline(always)]
    unsafe fn get<const V: usize>(values: &Values, i: usize) -> [f32; V] {
        let mut out = [0.0; V];
        if V == 4 {
            // SAFETY: the caller promises four values from `i` on, at a multiple of 16 bytes.
            let Four(four) = unsafe { *values.data.cast::<Four>().add(i / 4) };
            for j in 0..V {
                out[j] = f32::from_bits(four[j]);
            }
        } else {
            // SAFETY: the caller promises a value at `i`.
            out[0] = unsafe { *values.data.cast::<f32>().add(i) };
        }
        out
    }
}

impl Read for Halves {
    #[inline(always)]
    unsafe fn get<const V: usize>(values: &Values, i: usize) -> [f32; V] {
        let mut out = [0.0; V];
        if V == 4 {
            // SAFETY: the caller promises four values from `i` on, at a multiple of 8 bytes.
            let Two(two) = unsafe { *values.data.cast::<Two>().add(i / 4) };
            for j in 0..V {
                out[j] = values.widen((two[j / 2] >> (16 * (j % 2))) & 0xffff);
            }
        } else {
            // SAFETY: the caller promises a value at `i`.
            out[0] = values.widen(unsafe { *values.data.cast::<u16>().add(i) } as u32);
        }
        out
    }
}
