//! Arrays of callers: what they are, where they lie, and where results of theirs go.
//!
//! Tensors of torch and arrays of numpy are read by their own means, which takes a microsecond;
//! everything else through `DLPack`. Nothing is copied but what an operator cannot use in place.

mod dlpack;
mod numbers;
mod numpy;
mod output;
mod results;
mod target;
mod torch;

pub(crate) use dlpack::DlpackArray;
pub(crate) use numbers::{Numbers, Taken};
pub(crate) use output::{Backend, BorrowedTensor, OwnedBackend, Value};
pub(crate) use results::{Filled, Lender, OutputArrays};
pub(crate) use target::{Made, Target};

use crate::ending::detached;
use crate::errors::{OrRaise, kind, value};
use crate::files::Scan;
use ::dlpark::ffi::DLDataType;
use ::numpy::PyUntypedArray;
use pointmill::internals::memory;
use pointmill::interop::{Lent, RawRows};
use pointmill::{Argument, Buffer, Device, Error, Result, Rows, Stream};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// How far a coordinate may move where it becomes one of float32, in metres, as `_arrays.py` has it.
const MOST_MOVED: f64 = 1e-3;

/// Whose array it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Numpy,
    Torch,
    /// Another library that speaks `DLPack`.
    Other,
}

/// Where an array lies, and the queue that its work belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Cpu,
    Cuda {
        index: usize,
        /// The caller's current stream, a `CUstream`.
        stream: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("the CPU"),
            Self::Cuda { index, .. } => write!(f, "cuda:{index}"),
        }
    }
}

impl Place {
    /// A stream for the caller's work there.
    pub(crate) fn stream(&self) -> Result<Stream> {
        match *self {
            Self::Cpu => Device::cpu().stream(),
            // SAFETY: it is the stream that the caller's own library works on; what is kept beyond
            // the call retires it first (see `cache`).
            Self::Cuda { index, stream } => unsafe { Stream::from_raw_cuda(&Device::cuda(index)?, stream) },
        }
    }
}

/// The types of values that there are operators for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dtype {
    F16,
    Bf16,
    F32,
    F64,
    I32,
    I64,
    /// The name of another one.
    Other(String),
}

impl Dtype {
    /// All that have names of their own.
    const KNOWN: [Self; 6] = [Self::F32, Self::F16, Self::Bf16, Self::F64, Self::I32, Self::I64];

    /// The name that numpy and torch know it by.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::F16 => pointmill::Dtype::F16.numpy(),
            Self::Bf16 => pointmill::Dtype::Bf16.numpy(),
            Self::F32 => pointmill::Dtype::F32.numpy(),
            Self::F64 => pointmill::Dtype::F64.numpy(),
            Self::I32 => pointmill::Dtype::I32.numpy(),
            Self::I64 => pointmill::Dtype::I64.numpy(),
            Self::Other(name) => name,
        }
    }

    /// The type in `DLPack`.
    const fn dlpack(&self) -> DLDataType {
        match self {
            Self::F16 => DLDataType::F16,
            Self::Bf16 => DLDataType::BF16,
            Self::F64 => DLDataType::F64,
            Self::I32 => DLDataType::I32,
            Self::I64 => DLDataType::I64,
            _ => DLDataType::F32,
        }
    }

    fn of_dlpack(dtype: DLDataType) -> Self {
        let known = Self::KNOWN.into_iter().find(|known| known.dlpack() == dtype);
        known.unwrap_or_else(|| Self::Other(format!("{dtype:?}")))
    }

    /// The type of rows of the library.
    pub(crate) const fn of_rows(dtype: pointmill::Dtype) -> Self {
        match dtype {
            pointmill::Dtype::F64 => Self::F64,
            pointmill::Dtype::F16 => Self::F16,
            pointmill::Dtype::Bf16 => Self::Bf16,
            _ => Self::F32,
        }
    }

    /// The library's name of a type of values.
    const fn of_values(&self) -> pointmill::Dtype {
        match self {
            Self::F64 => pointmill::Dtype::F64,
            Self::I32 => pointmill::Dtype::I32,
            Self::I64 => pointmill::Dtype::I64,
            other => other.of_library(),
        }
    }

    /// The library's name of a type of features.
    pub(crate) const fn of_library(&self) -> pointmill::Dtype {
        match self {
            Self::F16 => pointmill::Dtype::F16,
            Self::Bf16 => pointmill::Dtype::Bf16,
            _ => pointmill::Dtype::F32,
        }
    }
}

/// A list or tuple as an array of numpy of this type; others as they are.
pub(crate) fn listed<'py>(object: &Bound<'py, PyAny>, name: &str, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    if !object.is_instance_of::<PyList>() && !object.is_instance_of::<PyTuple>() {
        return Ok(object.clone());
    }
    let array = object.py().import("numpy")?.call_method1("array", (object, dtype));
    array.map_err(|error| kind(name, "an array, or rows of as many numbers each", error.value(object.py())))
}

/// Whatever keeps the values of an array besides its object.
type Lease = Arc<dyn Any + Send + Sync>;

/// An array that was handed in.
pub(crate) struct Array<'py> {
    name: &'static str,
    object: Bound<'py, PyAny>,
    library: Library,
    place: Place,
    dtype: Dtype,
    shape: Vec<usize>,
    address: usize,
    contiguous: bool,
    /// Whether a gradient of it is asked for.
    wants_grad: bool,
    lease: Option<Lease>,
    /// Whether the array's library knows nothing of the stream that works on it here, and could use
    /// its memory again while that goes on.
    await_work: bool,
}

impl<'py> Array<'py> {
    /// Looks at an argument.
    pub(crate) fn read(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Self> {
        if let Ok(scan) = object.cast::<Scan>() {
            return Self::read(scan.get().points(object.py()), name);
        }
        if let Ok(array) = object.cast::<PyUntypedArray>() {
            return numpy::read(array, name);
        }
        if let Some(array) = torch::read(object, name)? {
            return Ok(array);
        }
        if object.hasattr("__dlpack__")? {
            return dlpack::read(object, name);
        }
        if object.hasattr("__array_interface__")? {
            let array = object.py().import("numpy")?.call_method1("asarray", (object,))?;
            return numpy::read(array.cast()?, name);
        }
        let expected = "an array (numpy, torch, or anything with DLPack or __array_interface__)";
        let got = object.get_type().name()?;
        if object.hasattr("to_numpy")? {
            return Err(kind(name, expected, format_args!("{got}; pass {name}.to_numpy(numpy.float32)")));
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            return Err(kind(name, expected, format_args!("{got}; pass numpy.array({name}, numpy.float32)")));
        }
        Err(kind(name, expected, got))
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    pub(crate) const fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Refuses an array that asks for a gradient where there is none.
    pub(crate) fn without_grad(self) -> PyResult<Self> {
        if self.wants_grad {
            let expected = "a tensor that does not require grad (call detach() on it, or work under torch.no_grad())";
            return Err(value(self.name, expected, "requires_grad=True"));
        }
        Ok(self)
    }

    /// Looks at points or boxes, which may be about an origin, an argument of this name. Those of
    /// another type or layout than the operator uses, and lists, are copied once.
    pub(crate) fn taken(
        object: &Bound<'py, PyAny>,
        name: &'static str,
        dtypes: &[Dtype],
        origin: Option<&str>,
    ) -> PyResult<Self> {
        Self::read(&listed(object, name, "float64")?, name)?.without_grad()?.copied(dtypes, origin)
    }

    /// An array that the operator can use: this one, or a copy of it; see `_arrays.py`.
    pub(crate) fn copied(self, dtypes: &[Dtype], origin: Option<&str>) -> PyResult<Self> {
        let in_place = dtypes.contains(&self.dtype) && self.contiguous && self.is_aligned();
        if in_place || self.library == Library::Other {
            return self.of(dtypes);
        }
        if dtypes.contains(&Dtype::F32)
            && let Some(narrow) = self.narrowed()?
        {
            return Ok(narrow);
        }
        let names: Vec<&str> = dtypes.iter().map(Dtype::name).collect();
        let module = self.object.py().import("pointmill._arrays")?;
        let copy = module.call_method1("copied", (&self.object, self.name, names, origin))?;
        Self::read(&copy, self.name)?.of(dtypes)
    }

    /// Values of float64 of the host in single precision. None where they do not lie row after row, or
    /// where a coordinate moves by more than 1 mm: `_arrays.py` copies them, or says what moved.
    fn narrowed(&self) -> PyResult<Option<Self>> {
        let Some(columns) = self.shape.last().copied().filter(|&columns| columns > 0) else { return Ok(None) };
        if self.dtype != Dtype::F64 || self.place != Place::Cpu || !self.contiguous || !self.is_aligned() {
            return Ok(None);
        }
        let data = self.data(&Device::cpu().stream().or_raise(&[])?)?;
        let moves = |x: &f64| (x - f64::from(*x as f32)).abs() > MOST_MOVED;
        let narrow = detached(self.object.py(), || {
            let values: &[f64] = data.on_host();
            let narrow = memory::collect(values.iter().map(|&x| x as f32))?;
            let far = values.chunks_exact(columns).any(|row| row.iter().take(3).any(moves));
            Ok::<_, Error>((!far).then_some(narrow))
        });
        Ok(narrow.or_raise(&[])?.map(|narrow| Self {
            name: self.name,
            object: self.object.clone(),
            shape: self.shape.clone(),
            dtype: Dtype::F32,
            address: narrow.as_ptr() as usize,
            lease: Some(Arc::new(narrow)),
            ..*self
        }))
    }

    /// Whole numbers of 32 or 64 bits: this array, or a copy of one of other strides or of another
    /// type of whole numbers; see `_arrays.py`.
    pub(crate) fn whole(self) -> PyResult<Self> {
        let types = [Dtype::I32, Dtype::I64];
        if (types.contains(&self.dtype) && self.contiguous && self.is_aligned()) || self.library == Library::Other {
            return self.of(&types);
        }
        let copy = self.object.py().import("pointmill._arrays")?.call_method1("whole", (&self.object, self.name))?;
        Self::read(&copy, self.name)?.of(&types)
    }

    /// Refuses values of other types.
    pub(crate) fn of(self, dtypes: &[Dtype]) -> PyResult<Self> {
        if dtypes.contains(&self.dtype) {
            return Ok(self);
        }
        let to = &dtypes[0];
        let call = match (self.library, to) {
            (Library::Numpy, to) => format!("{}.astype(numpy.{})", self.name, to.name()),
            (Library::Torch, Dtype::F32) => format!("{}.float()", self.name),
            (Library::Torch, to) => format!("{}.to(torch.{})", self.name, to.name()),
            (Library::Other, to) => format!("an array of {}", to.name()),
        };
        let names: Vec<&str> = dtypes.iter().map(Dtype::name).collect();
        let expected = format_args!("values of type {}", names.join(" or "));
        Err(kind(self.name, expected, format_args!("{}; pass {call}", self.dtype.name())))
    }

    /// Refuses another shape; `None` is any size, and `text` tells all of it.
    pub(crate) fn shaped(self, wanted: &[Option<usize>], text: impl fmt::Display) -> PyResult<Self> {
        let fits = |(&have, &want): (&usize, &Option<usize>)| want.is_none_or(|want| have == want);
        if self.shape.len() != wanted.len() || !self.shape.iter().zip(wanted).all(fits) {
            return Err(value(self.name, format!("an array of shape {text}"), format_args!("shape {:?}", self.shape)));
        }
        if !self.contiguous {
            let call = match self.library {
                Library::Torch => format!("{}.contiguous()", self.name),
                Library::Numpy => format!("numpy.ascontiguousarray({})", self.name),
                Library::Other => "a copy of it".to_owned(),
            };
            let got = format_args!("shape {:?} with other strides; pass {call}", self.shape);
            return Err(value(self.name, "a C-contiguous array", got));
        }
        Ok(self)
    }

    /// Refuses an array that lies elsewhere than another.
    pub(crate) fn beside(self, other: &Array<'_>) -> PyResult<Self> {
        if self.place == other.place {
            return Ok(self);
        }
        let (expected, got) = (other.place.to_string(), self.place.to_string());
        if expected == got {
            let expected = format!("an array whose library works on the stream of {}'s", other.name);
            return Err(value(self.name, expected, "one of another stream"));
        }
        Err(value(self.name, format!("an array on {expected}, as {}", other.name), format_args!("one on {got}")))
    }

    /// The array itself.
    pub(crate) const fn object(&self) -> &Bound<'py, PyAny> {
        &self.object
    }

    /// Where results go that belong to this array.
    pub(crate) fn backend(&self) -> Backend<'py> {
        Backend::new(self.object.clone(), self.library, self.place)
    }

    fn is_aligned(&self) -> bool {
        self.address.is_multiple_of(match self.dtype {
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::F32 | Dtype::I32 => 4,
            _ => 8,
        })
    }

    /// The values, kept alive, on the stream of the call.
    pub(crate) fn data(&self, stream: &Stream) -> PyResult<Data> {
        let len: usize = self.shape.iter().product();
        if len > 0 && self.address == 0 {
            let expected =
                "an array with memory (in pointmill.torch are operators for tensors that torch traces or wraps)";
            return Err(value(self.name, expected, format_args!("one of shape {:?} at address 0", self.shape)));
        }
        if len > 0 && !self.is_aligned() {
            return Err(value(
                self.name,
                "values that are aligned for their type",
                format_args!("address {:#x}; pass a copy of it", self.address),
            ));
        }
        let on_device = matches!(self.place, Place::Cuda { .. });
        let raw = RawRows::packed(self.address, self.dtype.of_values(), len, 1, on_device);
        // SAFETY: the array says that so many values of its type are there, and `Data` keeps it.
        // That nobody writes to it meanwhile is for the caller to see to, as for every function of
        // numpy that works without the lock of the interpreter. On a device, work that is under way
        // when it is let go comes first on the stream, before whatever the array's library has done
        // there with memory that it takes back.
        let lent = unsafe { raw.lend(Argument::Values, stream) };
        Ok(Data {
            lent: lent.map_err(|error| crate::errors::from_library(error, &[]))?,
            _object: self.object.clone().unbind(),
            _lease: self.lease.clone(),
            finish: self.await_work.then(|| stream.clone()),
        })
    }
}

/// The values of an array, which cannot go away before this does.
pub(crate) struct Data {
    lent: Lent,
    _object: Py<PyAny>,
    _lease: Option<Lease>,
    /// What is to be done before the array may be let go.
    finish: Option<Stream>,
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(stream) = &self.finish {
            // An error of the device has nobody here to hear it; the next call will.
            let _ = stream.synchronize();
        }
    }
}

impl Data {
    /// The values of an array on the host.
    pub(crate) fn on_host<T: bytemuck::Pod>(&self) -> &[T] {
        self.lent.host()
    }

    /// The values of an array on a device, for as long as this lives.
    pub(crate) fn on_device<T: Value>(&self, stream: &Stream) -> Result<Buffer<T>> {
        let buffer = self.lent.device(stream)?;
        buffer.ok_or_else(|| Error::argument(Argument::Values, "values of a device", "others"))
    }

    /// The values as operators take them, in rows of so many.
    pub(crate) fn rows(&self, columns: usize) -> Result<Rows<'_>> {
        self.lent.rows_of(columns)
    }

    /// A buffer of whole numbers: over those of the device, for as long as this lives, or a copy of
    /// the host's.
    pub(crate) fn whole_numbers(&self, stream: &Stream) -> Result<Buffer<i32>> {
        self.lent.ints_on(stream)
    }
}
