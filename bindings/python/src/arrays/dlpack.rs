//! Arrays of other libraries, and for them.

use super::{Array, Dtype, Library, Place};
use crate::errors::value;
use crate::pickle::refused;
use dlpark::ffi::{DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::consumer::stream;
use dlpark::python::{
    DlpackExporter, DlpackStream, ExportRequest, ImportRequest, ImportedDlpack, StreamArg, export_dlpack,
};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pointmill::{Buffer, Stream};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

/// A stream in the words of `DLPack`.
struct Consumer(usize);

// SAFETY: the stream is alive, being the one that the caller's library works on, or the legacy
// default stream, which always is.
unsafe impl DlpackStream for Consumer {
    fn as_python_arg(&self, _: Python<'_>, device: DLDevice) -> PyResult<StreamArg> {
        Ok(if device.device_type == DLDeviceType::CUDA { stream::cuda(self.0 as *mut c_void) } else { stream::none() })
    }
}

/// The stream that the array's library works on now, if that can be known.
fn current_stream(object: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let py = object.py();
    let module: String = object.get_type().getattr("__module__")?.extract()?;
    if module.split('.').next() == Some("cupy") {
        return py.import("cupy.cuda")?.call_method0("get_current_stream")?.getattr("ptr")?.extract().map(Some);
    }
    Ok(None)
}

/// Borrows an array of a producer that knows nothing but streams.
fn import_old(object: &Bound<'_, PyAny>, stream: Option<&Consumer>) -> PyResult<ImportedDlpack> {
    let kwargs = PyDict::new(object.py());
    if let Some(stream) = stream {
        // The legacy default stream is 1 there.
        kwargs.set_item("stream", stream.0.max(1))?;
    }
    let capsule = object.call_method("__dlpack__", (), Some(&kwargs))?;
    ImportRequest::new(capsule.as_borrowed())?.import(None, None)
}

/// Borrows an array; the producer makes it ready on the stream that is used here.
pub(super) fn read<'py>(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Array<'py>> {
    let request = ImportRequest::new(object.as_borrowed())?;
    let device = request.device()?;
    let known = if device.device_type == DLDeviceType::CUDA { current_stream(object)? } else { None };
    let (place, stream) = match device.device_type {
        DLDeviceType::CPU => (Place::Cpu, None),
        DLDeviceType::CUDA => {
            // Else the legacy default stream.
            let stream = known.unwrap_or(0);
            (Place::Cuda { index: device.device_id as usize, stream }, Some(Consumer(stream)))
        }
        other => return Err(value(name, "an array on the CPU or an NVIDIA GPU", format_args!("one on {other:?}"))),
    };
    let lease = match request.import(stream.as_ref().map(|s| s as &dyn DlpackStream), None) {
        // Producers from before DLPack 1.0 do not know that versions can be asked for.
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => import_old(object, stream.as_ref())?,
        imported => imported?,
    };
    let invalid = |error: dlpark::tensor::Error| PyBufferError::new_err(format!("{name}: {error}"));
    let tensor = lease.validate().map_err(invalid)?;
    let address = if tensor.num_elements() == 0 {
        0
    } else {
        // SAFETY: the descriptor was checked, and is not empty.
        unsafe { tensor.offset_bytes_ptr() }.map_err(invalid)? as usize
    };
    let (dtype, shape) = (Dtype::of_dlpack(tensor.dtype()), tensor.shape().iter().map(|&n| n as usize).collect());
    let contiguous = tensor.is_compact().map_err(invalid)?;
    Ok(Array {
        name,
        object: object.clone(),
        library: Library::Other,
        place,
        dtype,
        shape,
        address,
        contiguous,
        wants_grad: false,
        lease: Some(Arc::new(lease)),
        await_work: device.device_type == DLDeviceType::CUDA && known.is_none(),
    })
}

/// An array of pointmill's own, for any library that speaks ``DLPack``:
/// ``torch.from_dlpack(array)`` and the like take it without a copy.
///
/// It may be taken any number of times; the memory goes away when nobody has it any more.
#[pyclass(frozen, weakref, module = "pointmill")]
pub(crate) struct DlpackArray {
    owner: Arc<dyn Any + Send + Sync>,
    address: usize,
    device: DLDevice,
    dtype: DLDataType,
    shape: Vec<i64>,
    /// The stream whose work makes the values.
    stream: Option<Stream>,
}

impl DlpackArray {
    /// A buffer that becomes an array of this shape.
    pub(super) fn new<T: bytemuck::Pod + Send + Sync>(
        buffer: Buffer<T>,
        place: Place,
        dtype: DLDataType,
        shape: &[usize],
    ) -> Self {
        let device = match place {
            Place::Cpu => DLDevice::CPU,
            Place::Cuda { index, .. } => DLDevice::cuda(index as i32),
        };
        let stream = matches!(place, Place::Cuda { .. }).then(|| buffer.stream().clone());
        let address = buffer.device_pointer() as usize;
        let shape = shape.iter().map(|&n| n as i64).collect();
        Self { owner: Arc::new(buffer), address, device, dtype, shape, stream }
    }

    fn export<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let failed = |error: dlpark::metadata::Error| PyBufferError::new_err(error.to_string());
        let mut tensor =
            Dynamic::compact(self.shape.clone()).initialize_as::<M>(Box::new(self.owner.clone())).map_err(failed)?;
        tensor.set_device(self.device).set_dtype(self.dtype).set_data(self.address as *mut c_void);
        // SAFETY: the values are at the address, of this type and shape, and the owner keeps them.
        Ok(unsafe { tensor.finish() })
    }
}

impl DlpackExporter for DlpackArray {
    fn device(&self) -> DLDevice {
        self.device
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, _: Python<'_>, _: &ExportRequest<'_>) -> PyResult<()> {
        // The consumer's stream may be any; waiting for the values makes all of them right.
        let ready = self.stream.as_ref().map_or(Ok(()), Stream::synchronize);
        ready.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.export()
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.export()
    }
}

#[pymethods]
impl DlpackArray {
    /// The sizes of the array.
    #[getter]
    fn shape(&self) -> Vec<i64> {
        self.shape.clone()
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        self.device.into()
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__(
        slf: &Bound<'_, Self>,
        stream: Option<Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        export_dlpack(slf.get(), slf.py(), ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?)
    }

    fn __reduce__(&self) -> PyResult<()> {
        refused("DlpackArray", "take it with from_dlpack of an array library, and pickle or copy that array")
    }

    fn __repr__(&self) -> String {
        format!("DlpackArray(shape={:?}, device={:?})", self.shape, <(u32, i32)>::from(self.device))
    }
}
