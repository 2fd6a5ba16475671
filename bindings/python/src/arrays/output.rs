//! Results in arrays of the caller's library.

use super::dlpack::DlpackArray;
use super::torch::{strides, torch};
use super::{Dtype, Library, Place};
use crate::ending::detached;
use bytemuck::Pod;
use numpy::{Element, PyArray1};
use pointmill::{Buffer, Stream, bf16, f16};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{Bound, intern};

/// A type of values that results can have.
pub(crate) trait Value: Pod + Send + Sync {
    /// What libraries know values as.
    const DTYPE: Dtype;
    /// Numbers of the same size that numpy has.
    type Bits: Element + Pod;

    /// Values as an array of numpy, of one axis; what numpy has no type for as whole numbers of its
    /// size.
    fn numpy(py: Python<'_>, values: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        let array = PyArray1::<Self::Bits>::from_vec(py, bytemuck::cast_vec(values)).into_any();
        if Self::DTYPE == Dtype::F16 {
            array.call_method1(intern!(py, "view"), (intern!(py, "float16"),))
        } else {
            Ok(array)
        }
    }
}

macro_rules! value {
    ($($type:ty as $bits:ty: $dtype:ident),+ $(,)?) => {$(
        impl Value for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            type Bits = $bits;
        }
    )+};
}
// Rows and places in lists of `u32` are all below 2^31: torch computes with no other 32-bit integers
// than signed ones. Codes in `u64` have 63 bits at most.
value!(i32 as i32: I32, u32 as i32: I32, i64 as i64: I64, u64 as i64: I64, f32 as f32: F32, f64 as f64: F64, f16 as i16: F16, bf16 as i16: Bf16);

/// Where results go: the library and the device of an array that was handed in.
pub(crate) struct Backend<'py> {
    object: Bound<'py, PyAny>,
    library: Library,
    place: Place,
}

/// A [`Backend`] to come back to, with an array of its library that is empty.
pub(crate) struct OwnedBackend {
    object: Py<PyAny>,
    library: Library,
    place: Place,
}

/// An array of torch's that the device fills, see [`Backend::lend`].
pub(crate) struct BorrowedTensor {
    tensor: Py<PyAny>,
    shape: Vec<usize>,
}

impl BorrowedTensor {
    /// All of it.
    pub(crate) fn whole(self) -> Py<PyAny> {
        self.tensor
    }

    /// The values of this shape: those in front, and where rows are shorter those of each row.
    pub(crate) fn cut(self, py: Python<'_>, shape: &[usize]) -> PyResult<Py<PyAny>> {
        if self.shape == shape {
            return Ok(self.tensor);
        }
        let shorter = self.shape.len() == shape.len() && self.shape[1..] != shape[1..];
        let steps = strides(if shorter { &self.shape } else { shape });
        let (sizes, strides) = (PyTuple::new(py, shape)?, PyTuple::new(py, steps)?);
        let cut = self.tensor.call_method1(py, intern!(py, "as_strided"), (sizes, strides))?;
        if shorter { cut.call_method0(py, intern!(py, "contiguous")) } else { Ok(cut) }
    }
}

/// An error of making a result.
pub(super) fn failed(error: pointmill::Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl OwnedBackend {
    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> Backend<'py> {
        Backend::new(self.object.bind(py).clone(), self.library, self.place)
    }
}

impl<'py> Backend<'py> {
    /// The same for later; none of the caller's memory is kept.
    pub(crate) fn keep(&self) -> PyResult<OwnedBackend> {
        let object = self.give_values(Vec::<f64>::new(), &[0])?.unbind();
        Ok(OwnedBackend { object, library: self.library, place: self.place })
    }

    /// The same, for when the interpreter's lock was let go in between; it keeps the array that was
    /// handed in.
    pub(crate) fn unbind(&self) -> OwnedBackend {
        OwnedBackend { object: self.object.clone().unbind(), library: self.library, place: self.place }
    }

    pub(super) const fn new(object: Bound<'py, PyAny>, library: Library, place: Place) -> Self {
        Self { object, library, place }
    }

    /// numpy on the CPU.
    pub(crate) fn numpy(py: Python<'py>) -> Self {
        Self::new(py.None().into_bound(py), Library::Numpy, Place::Cpu)
    }

    /// The array of the caller's library.
    pub(crate) const fn object(&self) -> &Bound<'py, PyAny> {
        &self.object
    }

    /// Whether results on a GPU are made in memory of the caller's library.
    pub(crate) fn lends_memory(&self) -> bool {
        self.library == Library::Torch && self.place != Place::Cpu
    }

    /// Memory of torch for a result of this shape, and a buffer that writes to it. torch takes it
    /// back as it does its own, so that a result that is dropped costs nothing.
    pub(crate) fn lend<T: Value>(&self, stream: &Stream, shape: &[usize]) -> PyResult<(BorrowedTensor, Buffer<T>)> {
        let py = self.object.py();
        let torch = torch(py)?.ok_or_else(|| PyRuntimeError::new_err("torch is gone"))?;
        let Place::Cuda { index, .. } = self.place else { unreachable!("memory is lent on a GPU") };
        let tensor = torch.empty(&self.object, index, shape, torch.of_dtype(&T::DTYPE))?;
        let address = tensor.call_method0(intern!(py, "data_ptr"))?.extract()?;
        let len = shape.iter().product();
        // SAFETY: torch made room for so many values on the stream's GPU. Who lets the tensor go
        // while work is under way gives it back to the stream that the work is on.
        let buffer = unsafe { Buffer::from_raw_cuda(stream, address, len) };
        let lent = BorrowedTensor { tensor: tensor.unbind(), shape: shape.to_vec() };
        Ok((lent, buffer.map_err(failed)?))
    }

    /// Memory for a result of one array, where the library lends it; see [`Backend::finish`].
    pub(crate) fn room<T: Value>(&self, shape: &[usize]) -> PyResult<(Option<BorrowedTensor>, Option<Buffer<T>>)> {
        if !self.lends_memory() {
            return Ok((None, None));
        }
        let (tensor, buffer) = self.lend(&self.place.stream().map_err(failed)?, shape)?;
        Ok((Some(tensor), Some(buffer)))
    }

    /// A result of one array, for which [`Backend::room`] was asked.
    pub(crate) fn finish<T: Value>(
        &self,
        lent: Option<BorrowedTensor>,
        buffer: Buffer<T>,
        shape: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        match lent {
            Some(tensor) => Ok(tensor.whole().into_bound(self.object.py())),
            None => self.give(buffer, shape),
        }
    }

    /// A result of pointmill's own, of which the first values make up this shape, as an array of
    /// the caller's library.
    pub(crate) fn give<T: Value>(&self, buffer: Buffer<T>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        let py = self.object.py();
        let len = shape.iter().product();
        if self.lends_memory() {
            // torch lends memory in the order of the caller's stream, whichever stream the result
            // was made on; a copy keeps both in order.
            let (array, mut lent) = self.lend(&self.place.stream().map_err(failed)?, shape)?;
            detached(py, || lent.copy_from(&buffer, len)).map_err(failed)?;
            return Ok(array.whole().into_bound(py));
        }
        if self.library == Library::Other || buffer.as_slice().is_none() {
            return self.give_dlpack(buffer, shape);
        }
        let mut values = buffer.into_vec().unwrap_or_default();
        values.truncate(len);
        self.give_host(values, shape)
    }

    /// Whole numbers of a device in the type that numpy and torch index with.
    pub(crate) fn wide(&self, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.object.py();
        if self.library == Library::Torch {
            return array.call_method0(intern!(py, "long"));
        }
        array.call_method1(intern!(py, "astype"), (intern!(py, "int64"),))
    }

    /// Whether results are made in memory of the host.
    pub(crate) fn is_on_host(&self) -> bool {
        self.place == Place::Cpu
    }

    /// A few values of the host as an array of the caller's library, on its device.
    pub(crate) fn give_values<T: Value>(&self, values: Vec<T>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        if self.place == Place::Cpu && self.library != Library::Other {
            return self.give_host(values, shape);
        }
        let uploaded = self.place.stream().and_then(|stream| stream.upload(&values));
        self.give(uploaded.map_err(failed)?, shape)
    }

    /// Values of the host as an array of numpy or torch there.
    fn give_host<T: Value>(&self, values: Vec<T>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        let py = self.object.py();
        let array = T::numpy(py, values)?.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,))?;
        if self.library == Library::Numpy {
            return Ok(array);
        }
        let torch = torch(py)?.ok_or_else(|| PyRuntimeError::new_err("torch is gone"))?;
        let tensor = torch.from_numpy.bind(py).call1((array,))?;
        if T::DTYPE == Dtype::Bf16 {
            return tensor.call_method1(intern!(py, "view"), (torch.of_dtype(&T::DTYPE),));
        }
        Ok(tensor)
    }

    /// A result for a library that is not known by name.
    fn give_dlpack<T: Value>(&self, buffer: Buffer<T>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        let py = self.object.py();
        let array = Bound::new(py, DlpackArray::new(buffer, self.place, T::DTYPE.dlpack(), shape))?.into_any();
        if let Ok(namespace) = self.object.call_method0("__array_namespace__")
            && let Ok(take) = namespace.getattr("from_dlpack")
        {
            return take.call1((array,));
        }
        let module: String = self.object.get_type().getattr("__module__")?.extract()?;
        let root = module.split('.').next().unwrap_or_default();
        match py.import(root).and_then(|module| module.getattr("from_dlpack")) {
            Ok(take) => take.call1((array,)),
            Err(_) => Ok(array),
        }
    }
}
