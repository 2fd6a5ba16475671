//! Tensors of other libraries, as `DLPack` describes them.

use crate::array::{pointmill_array, type_number};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{fill, given};
use pointmill::Dtype;
use std::ffi::c_void;

/// `DLTensor` of dlpack.h.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned` of dlpack.h. The fields before the tensor never change in a major version.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: *mut c_void,
    flags: u64,
    tensor: Tensor,
}

fn expect(holds: bool, expected: &str, got: impl std::fmt::Display) -> Result<()> {
    if holds { Ok(()) } else { Err(Fault::new("tensor", expected, got)) }
}

fn dtype(tensor: &Tensor) -> Result<Dtype> {
    let (code, bits, lanes) = (tensor.code, tensor.bits, tensor.lanes);
    let known = match (code, bits) {
        (0, 8) => Some(Dtype::I8),
        (0, 16) => Some(Dtype::I16),
        (0, 32) => Some(Dtype::I32),
        (0, 64) => Some(Dtype::I64),
        (1, 8) => Some(Dtype::U8),
        (1, 16) => Some(Dtype::U16),
        (1, 32) => Some(Dtype::U32),
        (1, 64) => Some(Dtype::U64),
        (2, 16) => Some(Dtype::F16),
        (2, 32) => Some(Dtype::F32),
        (2, 64) => Some(Dtype::F64),
        (4, 16) => Some(Dtype::Bf16),
        (6, 8) => Some(Dtype::Bool),
        _ => None,
    };
    let got = format_args!("code {code} of {bits} bits, {lanes} a value");
    known.filter(|_| lanes == 1).ok_or_else(|| Fault::new("tensor", "a type of pointmill_type, one a value", got))
}

/// Sizes and steps of the axes, where values stand one after another within a row.
fn axes(tensor: &Tensor) -> Result<(u64, u64, u64)> {
    expect((1..=8).contains(&tensor.ndim), "1 to 8 axes", tensor.ndim)?;
    expect(!tensor.shape.is_null() && tensor.shape.is_aligned(), "a shape", format_args!("{:?}", tensor.shape))?;
    let axes = tensor.ndim as usize;
    // SAFETY: the producer's shape has a size for each axis.
    let shape = unsafe { std::slice::from_raw_parts(tensor.shape, axes) };
    expect(shape.iter().all(|&size| size >= 0), "sizes of 0 or more", format_args!("{shape:?}"))?;
    let mut columns = 1u64;
    for &size in &shape[1..] {
        columns = columns
            .checked_mul(size as u64)
            .ok_or_else(|| Fault::new("tensor", "sizes that fit in memory", format_args!("{shape:?}")))?;
    }
    let rows = shape[0] as u64;
    if tensor.strides.is_null() {
        return Ok((rows, columns, columns));
    }
    expect(tensor.strides.is_aligned(), "strides at an aligned address", format_args!("{:?}", tensor.strides))?;
    // SAFETY: where there are strides, each axis has one.
    let strides = unsafe { std::slice::from_raw_parts(tensor.strides, axes) };
    let mut packed = 1i64;
    let mut contiguous = true;
    for (&size, &stride) in shape[1..].iter().zip(&strides[1..]).rev() {
        contiguous &= size <= 1 || stride == packed;
        packed = packed.saturating_mul(size.max(1));
    }
    let got = format_args!("strides {strides:?} of shape {shape:?}");
    // A stride of 0 would say that there are no gaps, where one row is meant for all.
    let apart = rows <= 1 || columns == 0 || strides[0] >= columns as i64;
    expect(contiguous && apart, "rows whose values stand side by side", got)?;
    Ok((rows, columns, if rows <= 1 || columns == 0 { columns } else { strides[0] as u64 }))
}

/// A tensor of another library as an array, without a copy. `tensor` is a `DLManagedTensorVersioned` of
/// dlpack.h, version 1; it stays the caller's, who calls its deleter when the array is no longer used.
/// The first axis is rows, and the values of the others stand side by side. Memory may be of the host, of
/// CUDA, or of the host and pinned by CUDA; memory of CUDA is that of the GPU of the stream of the call.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_array_of_dlpack(tensor: *const c_void, array: *mut pointmill_array) -> pointmill_status {
    guard(|| {
        let out = given(array).map_err(|fault| fault.about("array"))?;
        let pointer = tensor.cast::<Versioned>();
        expect(!pointer.is_null() && pointer.is_aligned(), "a DLManagedTensorVersioned", format_args!("{tensor:?}"))?;
        // SAFETY: every version begins with its number.
        let [major, minor] = unsafe { pointer.cast::<[u32; 2]>().read() };
        expect(major == 1, "DLPack of version 1", format_args!("{major}.{minor}"))?;
        // SAFETY: of version 1 it has these fields.
        let tensor = unsafe { &(*pointer).tensor };
        let dtype = dtype(tensor)?;
        let place = match tensor.device_type {
            1 | 3 => 0,
            2 | 13 => 1,
            other => return Err(Fault::new("tensor", "a device of 1, 2, 3 or 13: CPU or CUDA", other)),
        };
        let (rows, columns, step) = axes(tensor)?;
        let stride = step
            .checked_mul(dtype.bytes() as u64)
            .ok_or_else(|| Fault::new("tensor", "strides that fit in memory", format_args!("{step} values")))?;
        let data = tensor.data.wrapping_byte_add(tensor.byte_offset as usize);
        fill(array, pointmill_array { data, rows, columns, stride, r#type: type_number(dtype), place, ..out })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    fn seen(tensor: Tensor, major: u32) -> Result<pointmill_array, String> {
        let managed = Versioned { major, minor: 0, manager: null_mut(), deleter: null_mut(), flags: 0, tensor };
        let mut array = pointmill_array::new();
        if pointmill_array_of_dlpack((&raw const managed).cast(), &raw mut array) == pointmill_status::POINTMILL_OK {
            return Ok(array);
        }
        // SAFETY: the text of this thread.
        Err(unsafe { std::ffi::CStr::from_ptr(crate::pointmill_last_message()) }.to_str().unwrap().to_owned())
    }

    #[test]
    fn tensors_are_seen_in_place_or_refused() {
        let (values, shape) = ([0.0f32; 24], [3i64, 2, 2]);
        let tensor = |shape: &[i64], strides: Option<&[i64]>| Tensor {
            data: values.as_ptr().cast_mut().cast(),
            device_type: 1,
            device_id: 0,
            ndim: shape.len() as i32,
            code: 2,
            bits: 32,
            lanes: 1,
            shape: shape.as_ptr(),
            strides: strides.map_or(null(), <[i64]>::as_ptr),
            byte_offset: 8,
        };
        let array = seen(tensor(&shape, None), 1).unwrap();
        let at = (array.data as usize, array.rows, array.columns, array.stride, array.r#type, array.place);
        assert_eq!(at, (values.as_ptr() as usize + 8, 3, 4, 16, 7, 0));
        let gaps = seen(Tensor { device_type: 2, ..tensor(&shape, Some(&[5, 2, 1])) }, 1).unwrap();
        assert_eq!((gaps.rows, gaps.columns, gaps.stride, gaps.place), (3, 4, 20, 1));
        let numbers = seen(Tensor { code: 0, bits: 64, ..tensor(&[7], Some(&[1])) }, 1).unwrap();
        assert_eq!((numbers.rows, numbers.columns, numbers.stride, numbers.r#type), (7, 1, 8, 11));
        let cases = [
            (seen(tensor(&shape, None), 2), "version 1, got 2.0"),
            (seen(tensor(&[], None), 1), "1 to 8 axes, got 0"),
            (seen(tensor(&[-1], None), 1), "sizes of 0 or more"),
            (seen(tensor(&[1, i64::MAX, 3], None), 1), "fit in memory"),
            (seen(tensor(&shape, Some(&[4, 1, 2])), 1), "side by side"),
            (seen(tensor(&shape, Some(&[0, 2, 1])), 1), "side by side"),
            (seen(tensor(&shape, Some(&[-4, 2, 1])), 1), "side by side"),
            (seen(Tensor { lanes: 4, ..tensor(&shape, None) }, 1), "one a value"),
            (seen(Tensor { code: 5, bits: 64, ..tensor(&shape, None) }, 1), "code 5 of 64 bits"),
            (seen(Tensor { device_type: 10, ..tensor(&shape, None) }, 1), "CPU or CUDA, got 10"),
            (seen(Tensor { shape: null(), ..tensor(&shape, None) }, 1), "a shape"),
        ];
        for (got, expected) in cases {
            let said = got.map(|array| array.rows).unwrap_err();
            assert!(said.starts_with("tensor: expected ") && said.contains(expected), "{expected}: {said}");
        }
        let mut array = pointmill_array::new();
        assert_ne!(pointmill_array_of_dlpack(null(), &raw mut array), pointmill_status::POINTMILL_OK);
    }
}
