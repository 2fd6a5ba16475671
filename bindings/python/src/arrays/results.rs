//! All arrays of a result, in memory of the caller's library or of pointmill's own.

use super::output::failed;
use super::{Backend, BorrowedTensor, OwnedBackend};
use crate::ending::attached;
use crate::errors::CallError;
use pointmill::interop::{ArrayName, ArraySpec, Arrays};
use pointmill::{AnyArray, AnyBuffer, Buffer, Dtype, Stream};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Memory that the caller's library lends for a result.
pub(super) type BorrowedTensors<K> = Vec<(K, BorrowedTensor)>;

/// Arrays of the caller's library, by name.
pub(crate) struct OutputArrays<K>(Vec<(K, Py<PyAny>)>);

impl<K: ArrayName> OutputArrays<K> {
    /// An array, if the call made it and the caller wants it.
    pub(crate) fn take(&mut self, array: K) -> Option<Py<PyAny>> {
        let at = self.0.iter().position(|(one, _)| *one == array)?;
        Some(self.0.swap_remove(at).1)
    }

    /// All arrays, of a call that makes every one.
    pub(crate) fn all<T: From<[Py<PyAny>; N]>, const N: usize>(mut self) -> PyResult<T> {
        let all = K::ALL.iter().filter_map(|array| self.take(*array)).collect::<Vec<_>>();
        let missing = |_| PyRuntimeError::new_err("internal error: an array is missing; please report it");
        <[Py<PyAny>; N]>::try_from(all).map(T::from).map_err(missing)
    }
}

/// Where the arrays of a call go.
pub(crate) struct Lender<'a, K> {
    backend: Option<&'a OwnedBackend>,
    stream: &'a Stream,
    lent: Option<BorrowedTensors<K>>,
}

/// The arrays that a call filled, and their shapes.
pub(crate) enum Filled<K> {
    /// Memory of the caller's library.
    Borrowed(BorrowedTensors<K>, Vec<ArraySpec<K>>),
    /// Memory of pointmill's own.
    Own(Arrays<K>, Vec<ArraySpec<K>>),
}

impl<K: ArrayName> Filled<K> {
    /// The first values of one array, in another shape.
    pub(crate) fn one<const N: usize>(mut self, wanted: K, shape: [usize; N]) -> Self {
        let (Self::Borrowed(_, specs) | Self::Own(_, specs)) = &mut self;
        specs.iter_mut().filter(|spec| spec.array == wanted).for_each(|spec| spec.shape = shape.into());
        self.only(&[wanted])
    }

    /// Without the arrays that nobody asks for.
    pub(crate) fn only(self, wanted: &[K]) -> Self {
        let keep = |mut specs: Vec<ArraySpec<K>>| {
            specs.retain(|spec| wanted.contains(&spec.array));
            specs
        };
        match self {
            Self::Borrowed(tensors, specs) => Self::Borrowed(tensors, keep(specs)),
            Self::Own(arrays, specs) => Self::Own(arrays, keep(specs)),
        }
    }
}

impl<'a, K: ArrayName> Lender<'a, K> {
    /// Without a backend the call's arrays are pointmill's own.
    pub(crate) const fn new(backend: Option<&'a OwnedBackend>, stream: &'a Stream) -> Self {
        Self { backend, stream, lent: None }
    }

    /// Memory of torch for all arrays of the call, as long as they can be.
    pub(crate) fn lend(&mut self, bounds: &[ArraySpec<K>]) -> Result<Arrays<K>, CallError> {
        let Some(backend) = self.backend else { return Ok(Arrays::new(self.stream)) };
        Ok(backend.lend_all(self.stream, bounds, self.lent.insert(Vec::new()))?)
    }

    /// What the call filled; `own` takes the arrays that it made itself.
    pub(crate) fn filled(
        self,
        specs: Vec<ArraySpec<K>>,
        own: impl FnOnce(Arrays<K>) -> pointmill::Result<Arrays<K>>,
    ) -> pointmill::Result<Filled<K>> {
        Ok(match self.lent {
            Some(tensors) => Filled::Borrowed(tensors, specs),
            None => Filled::Own(own(Arrays::new(self.stream))?, specs),
        })
    }
}

/// Arrays of which some are widened on the host.
fn widened<K: ArrayName>(
    mut arrays: Arrays<K>,
    mut specs: Vec<ArraySpec<K>>,
    wide: &[K],
) -> pointmill::Result<Filled<K>> {
    for spec in specs.iter_mut().filter(|spec| wide.contains(&spec.array)) {
        let Some(buffer) = arrays.take(spec.array) else { continue };
        let stream = buffer.stream().clone();
        let values: Vec<i64> = match buffer.read(spec.shape.num_values())? {
            // Rows and places are below 2^31, and what is filled up is -1.
            AnyArray::U32(values) => values.into_iter().map(|value| i64::from(value as i32)).collect(),
            AnyArray::I32(values) => values.into_iter().map(i64::from).collect(),
            _ => unreachable!("whole numbers of 32 bits are widened"),
        };
        arrays.set(spec.array, stream.upload(&values)?);
        spec.dtype = Dtype::I64;
    }
    Ok(Filled::Own(arrays, specs))
}

/// Lent memory with a buffer of any type.
fn any<T>((tensor, buffer): (BorrowedTensor, Buffer<T>)) -> (BorrowedTensor, AnyBuffer)
where
    AnyBuffer: From<Buffer<T>>,
{
    (tensor, buffer.into())
}

impl OwnedBackend {
    /// Memory of torch for all arrays of a call; its tensors join `lent`.
    pub(super) fn lend_all<K: ArrayName>(
        &self,
        stream: &Stream,
        bounds: &[ArraySpec<K>],
        lent: &mut BorrowedTensors<K>,
    ) -> PyResult<Arrays<K>> {
        attached(|py| {
            let (backend, mut arrays) = (self.bind(py), Arrays::new(stream));
            for spec in bounds {
                let (tensor, buffer) = backend.lend_any(stream, spec.dtype, &spec.shape, spec.room)?;
                arrays.set(spec.array, buffer);
                lent.push((spec.array, tensor));
            }
            Ok(arrays)
        })
    }
}

impl Backend<'_> {
    /// Memory of torch for an array of any type, and a buffer that writes to it. There is room for
    /// at least `room` values.
    pub(crate) fn lend_any(
        &self,
        stream: &Stream,
        dtype: Dtype,
        shape: &[usize],
        room: usize,
    ) -> PyResult<(BorrowedTensor, AnyBuffer)> {
        let whole = [room];
        let shape = if room > shape.iter().product() { &whole } else { shape };
        Ok(match dtype {
            Dtype::F16 => any(self.lend::<pointmill::f16>(stream, shape)?),
            Dtype::Bf16 => any(self.lend::<pointmill::bf16>(stream, shape)?),
            Dtype::I32 => any(self.lend::<i32>(stream, shape)?),
            Dtype::I64 => any(self.lend::<i64>(stream, shape)?),
            Dtype::U32 => any(self.lend::<u32>(stream, shape)?),
            Dtype::U64 => any(self.lend::<u64>(stream, shape)?),
            _ => any(self.lend::<f32>(stream, shape)?),
        })
    }

    /// The arrays that a call filled.
    pub(crate) fn outputs<K: ArrayName>(&self, filled: Filled<K>) -> PyResult<OutputArrays<K>> {
        match filled {
            Filled::Borrowed(tensors, specs) => self.cut(tensors, &specs),
            Filled::Own(arrays, specs) => self.give_all(arrays, specs),
        }
    }

    /// The same with some arrays in 64 bits, as numpy and torch index.
    pub(crate) fn outputs_wide<K: ArrayName>(&self, filled: Filled<K>, wide: &[K]) -> PyResult<OutputArrays<K>> {
        // A library without `astype` gets what the host has widened.
        let converts = self.lends_memory() || (!self.is_on_host() && self.object().hasattr("astype")?);
        let filled = match filled {
            Filled::Own(arrays, specs) if !converts => widened(arrays, specs, wide).map_err(failed)?,
            other => other,
        };
        let mut outputs = self.outputs(filled)?;
        for (_, array) in outputs.0.iter_mut().filter(|(one, _)| converts && wide.contains(one)) {
            *array = self.wide(array.bind(self.object().py()))?.unbind();
        }
        Ok(outputs)
    }

    /// Arrays that a call filled in lent memory, cut to their shapes.
    fn cut<K: ArrayName>(&self, lent: BorrowedTensors<K>, specs: &[ArraySpec<K>]) -> PyResult<OutputArrays<K>> {
        let cut = |(array, memory): (K, BorrowedTensor)| {
            let spec = specs.iter().find(|spec| spec.array == array)?;
            Some(memory.cut(self.object().py(), &spec.shape).map(|given| (array, given)))
        };
        Ok(OutputArrays(lent.into_iter().filter_map(cut).collect::<PyResult<_>>()?))
    }

    /// Arrays that a call made in memory of pointmill's own.
    fn give_all<K: ArrayName>(
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
            AnyBuffer::U64(buffer) => self.give(buffer, shape),
        }
    }
}
