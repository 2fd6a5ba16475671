//! Arrays of numpy.

use super::{Array, Dtype, Library, Place};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

pub(super) fn read<'py>(array: &Bound<'py, PyUntypedArray>, name: &'static str) -> PyResult<Array<'py>> {
    let descr = array.dtype();
    let native = descr.is_native_byteorder() != Some(false);
    let dtype = match (descr.kind(), descr.itemsize()) {
        (b'f', 2) if native => Dtype::F16,
        (b'f', 4) if native => Dtype::F32,
        (b'f', 8) if native => Dtype::F64,
        (b'i', 4) if native => Dtype::I32,
        (b'i', 8) if native => Dtype::I64,
        _ => Dtype::Other(descr.str()?.to_string()),
    };
    // SAFETY: the object is an array, whose header this field is in.
    let address = unsafe { (*array.as_array_ptr()).fields.data } as usize;
    Ok(Array {
        name,
        object: array.as_any().clone(),
        library: Library::Numpy,
        place: Place::Cpu,
        dtype,
        shape: array.shape().to_vec(),
        address,
        contiguous: array.is_c_contiguous(),
        wants_grad: false,
        lease: None,
        await_work: false,
    })
}
