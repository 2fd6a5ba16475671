//! All arrays of a result, in memory of the caller's library or of pointmill's own.

use super::{Backend, BorrowedTensor};
use pointmill::interop::{ArrayName, ArraySpec, Arrays};
use pointmill::{AnyBuffer, Buffer, Dtype, Stream};
use pyo3::prelude::*;

/// Memory that the caller's library lends for a result.
pub(crate) type BorrowedTensors<K> = Vec<(K, BorrowedTensor)>;

/// Arrays of the caller's library, by name.
pub(crate) struct OutputArrays<K>(Vec<(K, Py<PyAny>)>);

impl<K: ArrayName> OutputArrays<K> {
    /// An array, if the call made it and the caller wants it.
    pub(crate) fn take(&mut self, array: K) -> Option<Py<PyAny>> {
        let at = self.0.iter().position(|(one, _)| *one == array)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// Runs an expression with the Rust type of a result's values as `$type`.
macro_rules! typed {
    ($dtype:expr, $type:ident => $e:expr) => {
        match $dtype {
            Dtype::F16 => {
                type $type = pointmill::f16;
                $e
            }
            Dtype::Bf16 => {
                type $type = pointmill::bf16;
                $e
            }
            Dtype::I32 => {
                type $type = i32;
                $e
            }
            Dtype::I64 => {
                type $type = i64;
                $e
            }
            Dtype::U32 => {
                type $type = u32;
                $e
            }
            _ => {
                type $type = f32;
                $e
            }
        }
    };
}

impl Backend<'_> {
    /// Memory of torch for an array of any type, and a buffer that writes to it. There is room for at least `room` values.
    pub(crate) fn lend_any(
        &self,
        stream: &Stream,
        dtype: Dtype,
        shape: &[usize],
        room: usize,
    ) -> PyResult<(BorrowedTensor, AnyBuffer)> {
        typed!(dtype, T => {
            let (array, buffer): (_, Buffer<T>) =
                if room > shape.iter().product() { self.lend(stream, &[room])? } else { self.lend(stream, shape)? };
            Ok((array, buffer.into()))
        })
    }

    /// Memory of torch for all arrays of a call, as long as they can be.
    pub(crate) fn lend_all<K: ArrayName>(
        &self,
        stream: &Stream,
        bounds: &[ArraySpec<K>],
    ) -> PyResult<(BorrowedTensors<K>, Arrays<K>)> {
        let (mut lent, mut arrays) = (Vec::with_capacity(bounds.len()), Arrays::new(stream));
        for spec in bounds {
            let (array, buffer) = self.lend_any(stream, spec.dtype, &spec.shape, spec.room)?;
            arrays.set(spec.array, buffer);
            lent.push((spec.array, array));
        }
        Ok((lent, arrays))
    }

    /// Arrays that a call filled in lent memory, cut to their shapes.
    pub(crate) fn cut<K: ArrayName>(
        &self,
        lent: BorrowedTensors<K>,
        specs: &[ArraySpec<K>],
    ) -> PyResult<OutputArrays<K>> {
        let cut = |(array, memory): (K, BorrowedTensor)| {
            let spec = specs.iter().find(|spec| spec.array == array)?;
            Some(memory.cut(self.object().py(), &spec.shape).map(|given| (array, given)))
        };
        Ok(OutputArrays(lent.into_iter().filter_map(cut).collect::<PyResult<_>>()?))
    }

    /// Arrays that a call made in memory of pointmill's own.
    pub(crate) fn give_all<K: ArrayName>(
        &self,
        mut arrays: Arrays<K>,
        specs: impl IntoIterator<Item = ArraySpec<K>>,
    ) -> PyResult<OutputArrays<K>> {
        let mut given = Vec::with_capacity(K::ALL.len());
        for spec in specs {
            if let Some(buffer) = arrays.take(spec.array) {
                given.push((spec.array, self.give_any(buffer, &spec.shape)?.unbind()));
            }
        }
        Ok(OutputArrays(given))
    }
}

impl<'py> Backend<'py> {
    /// [`Backend::give`] for an array of any type.
    pub(crate) fn give_any(&self, buffer: AnyBuffer, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        match buffer {
            AnyBuffer::F32(buffer) => self.give(buffer, shape),
            AnyBuffer::F16(buffer) => self.give(buffer, shape),
            AnyBuffer::Bf16(buffer) => self.give(buffer, shape),
            AnyBuffer::I32(buffer) => self.give(buffer, shape),
            AnyBuffer::I64(buffer) => self.give(buffer, shape),
            AnyBuffer::U32(buffer) => self.give(buffer, shape),
        }
    }
}
