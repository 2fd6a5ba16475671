//! Tensors of torch, read by attributes: the exchange through `DLPack` takes 13 us a tensor, this
//! less than one.
//!
//! torch is never imported here: who hands in a tensor has done that.

use super::{Array, Dtype, Library, Place};
use crate::errors::{kind, value};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict, PyTuple, PyType};
use pyo3::{Py, intern};

/// What is needed of torch.
pub(crate) struct Torch {
    tensor: Py<PyType>,
    dtypes: [(Dtype, Py<PyAny>); 6],
    strided: Py<PyAny>,
    pub(super) from_numpy: Py<PyAny>,
    is_grad_enabled: Py<PyAny>,
    /// Whether `torch.jit.trace` is at work, and how many modes see each operator.
    is_tracing: Py<PyAny>,
    modes: Py<PyAny>,
    /// The raw current stream of a device; there is none in a torch without CUDA.
    current_stream: Option<Py<PyAny>>,
    /// The current device, and memory there without the dispatcher's detour, which takes twice as
    /// long: what torch's own compiled code calls.
    current_device: Option<Py<PyAny>>,
    empty_strided: Option<Py<PyAny>>,
}

static TORCH: PyOnceLock<Torch> = PyOnceLock::new();
static MODULES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// torch, if somebody has imported it.
pub(super) fn torch(py: Python<'_>) -> PyResult<Option<&'static Torch>> {
    if let Some(torch) = TORCH.get(py) {
        return Ok(Some(torch));
    }
    let modules = MODULES.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind())
    })?;
    let Some(module) = modules.bind(py).get_item(intern!(py, "torch"))? else { return Ok(None) };
    // A torch that is still being imported has no tensors yet.
    if !module.hasattr("Tensor")? || !module.hasattr("from_numpy")? {
        return Ok(None);
    }
    // Made before the cell is touched: a fork meanwhile leaves no cell that is half made.
    let made = Torch::of(&module)?;
    Ok(Some(TORCH.get_or_init(py, || made)))
}

impl Torch {
    fn of(module: &Bound<'_, PyAny>) -> PyResult<Self> {
        let get = |name: &str| module.getattr(name).map(Bound::unbind);
        let mut dtypes = Dtype::KNOWN.map(|dtype| (dtype, module.py().None()));
        for (dtype, object) in &mut dtypes {
            *object = get(dtype.name())?;
        }
        let inner = module.getattr("_C")?;
        let guards = inner.getattr("_dynamo").and_then(|dynamo| dynamo.getattr("guards"));
        Ok(Self {
            tensor: module.getattr("Tensor")?.cast_into::<PyType>()?.unbind(),
            dtypes,
            strided: get("strided")?,
            from_numpy: get("from_numpy")?,
            is_grad_enabled: get("is_grad_enabled")?,
            is_tracing: inner.getattr("_is_tracing")?.unbind(),
            modes: inner.getattr("_len_torch_dispatch_stack")?.unbind(),
            current_stream: inner.getattr("_cuda_getCurrentRawStream").ok().map(Bound::unbind),
            current_device: inner.getattr("_cuda_getDevice").ok().map(Bound::unbind),
            empty_strided: guards.and_then(|guards| guards.getattr("_empty_strided_cuda")).ok().map(Bound::unbind),
        })
    }

    fn dtype(&self, dtype: &Bound<'_, PyAny>) -> Dtype {
        let found = self.dtypes.iter().find(|(_, object)| dtype.is(object.bind(dtype.py())));
        found.map_or_else(|| Dtype::Other(dtype.to_string().replace("torch.", "")), |(dtype, _)| dtype.clone())
    }

    /// torch's name of a type of values.
    pub(super) fn of_dtype(&self, dtype: &Dtype) -> &Py<PyAny> {
        &self.dtypes.iter().find(|(known, _)| known == dtype).expect("a type that is known").1
    }

    /// A tensor of this shape beside another one, which is on a GPU.
    pub(super) fn empty<'py>(
        &self,
        beside: &Bound<'py, PyAny>,
        index: usize,
        shape: &[usize],
        dtype: &Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = beside.py();
        let sizes = PyTuple::new(py, shape)?;
        if let (Some(current_device), Some(empty_strided)) = (&self.current_device, &self.empty_strided)
            && beside.get_type().is(self.tensor.bind(py))
            && current_device.bind(py).call0()?.extract::<usize>()? == index
        {
            return empty_strided.bind(py).call1((sizes, PyTuple::new(py, strides(shape))?, dtype));
        }
        let kwargs = [(intern!(py, "dtype"), dtype)].into_py_dict(py)?;
        beside.call_method(intern!(py, "new_empty"), (sizes,), Some(&kwargs))
    }

    /// Whether torch records operators with real tensors (`torch.jit.trace`, `make_fx`). It would
    /// take what a call returns for a constant; the operators of `pointmill.torch` get here
    /// unrecorded.
    fn records(&self, py: Python<'_>) -> PyResult<bool> {
        if self.is_tracing.bind(py).call0()?.is_truthy()? {
            return Ok(true);
        }
        if !self.modes.bind(py).call0()?.is_truthy()? {
            return Ok(false);
        }
        let modules = py.import("sys")?.getattr("modules")?;
        let proxies = modules.call_method1("get", ("torch.fx.experimental.proxy_tensor",))?;
        Ok(!proxies.is_none() && !proxies.call_method0("get_proxy_mode")?.is_none())
    }

    /// Where a tensor lies.
    fn place(&self, tensor: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Place> {
        let py = tensor.py();
        if let Some(stream) = &self.current_stream
            && tensor.getattr(intern!(py, "is_cuda"))?.is_truthy()?
        {
            let index = tensor.call_method0(intern!(py, "get_device"))?;
            return Ok(Place::Cuda { index: index.extract()?, stream: stream.bind(py).call1((index,))?.extract()? });
        }
        if tensor.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
            return Ok(Place::Cpu);
        }
        Err(value(name, "a tensor on the CPU or an NVIDIA GPU", format_args!("one on {}", tensor.getattr("device")?)))
    }
}

/// Strides of an array in C order.
pub(super) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}

/// The tensor, if it is one.
pub(super) fn read<'py>(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Option<Array<'py>>> {
    let py = object.py();
    let Some(torch) = torch(py)? else { return Ok(None) };
    let tensor = torch.tensor.bind(py);
    if !object.get_type().is(tensor) && !object.is_instance(tensor)? {
        return Ok(None);
    }
    if torch.records(py)? {
        let expected =
            "a tensor of a call that torch does not record (in pointmill.torch are operators that it can record)";
        return Err(value(name, expected, "one under torch.jit.trace or make_fx"));
    }
    let layout = object.getattr(intern!(py, "layout"))?;
    if !layout.is(torch.strided.bind(py)) {
        return Err(kind(name, "a dense tensor", format_args!("one of layout {layout}; pass {name}.to_dense()")));
    }
    if object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
        return Err(value(name, "a tensor without its negative bit (call resolve_neg() on it)", "one with it"));
    }
    let shape = object.getattr(intern!(py, "shape"))?;
    let shape = shape.cast::<PyTuple>()?.iter().map(|n| n.extract()).collect::<PyResult<Vec<usize>>>()?;
    let wants_grad = object.getattr(intern!(py, "requires_grad"))?.is_truthy()?
        && torch.is_grad_enabled.bind(py).call0()?.is_truthy()?;
    Ok(Some(Array {
        name,
        object: object.clone(),
        library: Library::Torch,
        place: torch.place(object, name)?,
        dtype: torch.dtype(&object.getattr(intern!(py, "dtype"))?),
        shape,
        address: address(object, name)?,
        contiguous: object.call_method0(intern!(py, "is_contiguous"))?.is_truthy()?,
        wants_grad,
        lease: None,
        await_work: false,
    }))
}

/// The address of a tensor's values; fake tensors have none.
fn address(tensor: &Bound<'_, PyAny>, name: &'static str) -> PyResult<usize> {
    let refused = |_| {
        let expected = "an array with memory (in pointmill.torch are operators for tensors that torch traces or wraps)";
        let class = tensor.get_type().name().map_or_else(|_| "tensor".into(), |class| class.to_string());
        value(name, expected, format_args!("a {class} without"))
    };
    tensor.call_method0(intern!(tensor.py(), "data_ptr")).map_err(refused)?.extract()
}
