//! Weighted sums of features of rows, and their gradients; for ``pointmill.torch``.

use crate::arrays::{Array, Data, Dtype, Place, Value};
use crate::cache::Cache;
use crate::errors::{CallError, kind, value};
use crate::interrupt::Effort;
use crate::scatter::zeros;
use pointmill::interop::{Gather, GatherWorker, Gathered, RowNumber, gather_gradient, weights_gradient};
use pointmill::{Argument, Buffer, Error, Stream, bf16, f16};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

pub(crate) static CACHE: Cache<(), Option<GatherWorker>> = Cache::new();

/// So many products take about a millisecond.
const SHORT: usize = 1 << 17;

/// The arguments, looked at.
struct Call<'py> {
    first: Array<'py>,
    second: Option<Array<'py>>,
    index: Array<'py>,
    of: Gather,
}

/// What a call holds, and where a GPU writes to.
struct Job<O: Value> {
    first: Data,
    second: Option<Data>,
    index: Data,
    to: Option<Mutex<To<O>>>,
}

/// Memory that was lent for a result on a GPU, and for whether all numbers were rows if that is asked.
struct To<O: Value> {
    out: Buffer<O>,
    ok: Option<Buffer<i32>>,
}

type Made = (Py<PyAny>, Option<Py<PyAny>>);

impl Call<'_> {
    /// Runs `host`, or `device` with memory of the caller's library.
    fn run<O: Value + bytemuck::Zeroable>(
        &self,
        py: Python<'_>,
        (shape, asks): (&[usize], bool),
        host: impl FnOnce(&Job<O>, &mut [O]) -> Result<(), Error> + Send + 'static,
        device: impl FnOnce(&mut GatherWorker, &Stream, &Job<O>, &mut To<O>) -> Result<(), Error> + Send + 'static,
    ) -> PyResult<Made> {
        let (backend, place) = (self.first.backend(), self.first.place());
        let mut lent = None;
        let take = |_: &_, stream: &Stream| {
            let (first, index) = (self.first.data(stream)?, self.index.data(stream)?);
            let second = self.second.as_ref().map(|second| second.data(stream)).transpose()?;
            if place == Place::Cpu {
                return Ok(Job { first, second, index, to: None });
            }
            if !backend.lends_memory() {
                return Err(kind(self.first.name(), "a tensor of torch on a GPU", "an array of another library"));
            }
            let (tensor, out) = backend.lend::<O>(stream, shape)?;
            let flag = if asks { Some(backend.lend::<i32>(stream, &[1])?) } else { None };
            let (flag, ok) = flag.unzip();
            lent = Some((tensor.whole(), flag.map(|flag| flag.whole())));
            Ok(Job { first, second, index, to: Some(Mutex::new(To { out, ok })) })
        };
        let [lines, channels, k] = [self.of.items.saturating_mul(self.of.count), self.of.channels, self.of.k];
        let (rows, columns) = (shape.iter().product(), 1);
        let made = CACHE.call(
            py,
            (place, &(), &[]),
            |stream| if place == Place::Cpu { Ok(None) } else { GatherWorker::new(stream).map(Some) },
            take,
            Effort::of(place, lines.saturating_mul(channels).saturating_mul(k), SHORT),
            move |worker, stream, job: &Job<O>| {
                let ran = match (worker, &job.to) {
                    (Some(worker), Some(to)) => {
                        let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                        device(worker, stream, job, &mut to).map(|()| None)
                    }
                    _ => zeros::<O>(rows, columns).and_then(|mut out| host(job, &mut out).map(|()| Some(out))),
                };
                ran.map_err(|error| match error {
                    Error::Argument { argument: Argument::Index, expected, got } => {
                        CallError::Python(value("rows", expected, got))
                    }
                    error => CallError::from(error),
                })
            },
        )?;
        match (made, lent) {
            (Some(made), _) => Ok((backend.give_values(made, shape)?.unbind(), None)),
            (None, Some(lent)) => Ok(lent),
            (None, None) => unreachable!("a device fills what was lent"),
        }
    }
}

fn run<T: Gathered<Wide: Value> + Value, I: RowNumber + Value>(
    py: Python<'_>,
    call: &Call<'_>,
    into: &str,
) -> PyResult<Made> {
    let of = call.of;
    let features = shape_of(&of, of.rows);
    if into == "weights" {
        let host = move |job: &Job<T::Wide>, out: &mut [T::Wide]| {
            let features = job.second.as_ref().map_or(&[][..], |second| second.on_host::<T>());
            weights_gradient(job.first.on_host::<T>(), features, job.index.on_host::<I>(), of, out)
        };
        let device = move |worker: &mut GatherWorker, stream: &Stream, job: &Job<T::Wide>, to: &mut To<T::Wide>| {
            let (grad, index) = (job.first.on_device::<T>(stream)?, job.index.on_device::<I>(stream)?);
            let features =
                job.second.as_ref().map_or_else(|| stream.alloc(0), |second| second.on_device::<T>(stream))?;
            worker.weights_gradient(&grad, &features, &index, of, &mut to.out)
        };
        return call.run(py, (&[of.items, of.count, of.k], false), host, device);
    }
    let is_sums = into == "sums";
    let shape = if is_sums { shape_of(&of, of.count) } else { features };
    let host = move |job: &Job<T>, out: &mut [T]| {
        let weights = job.second.as_ref().map(|second| second.on_host::<T::Wide>());
        let (values, index) = (job.first.on_host::<T>(), job.index.on_host::<I>());
        if is_sums {
            pointmill::interop::gather(values, weights, index, of, out)
        } else {
            gather_gradient(values, weights, index, of, out)
        }
    };
    let device = move |worker: &mut GatherWorker, stream: &Stream, job: &Job<T>, to: &mut To<T>| {
        let (values, index) = (job.first.on_device::<T>(stream)?, job.index.on_device::<I>(stream)?);
        let weights = job.second.as_ref().map(|second| second.on_device::<T::Wide>(stream)).transpose()?;
        match &mut to.ok {
            Some(ok) => worker.gather(&values, weights.as_ref(), &index, of, &mut to.out, ok),
            None => worker.gradient(&values, weights.as_ref(), &index, of, &mut to.out),
        }
    };
    call.run(py, (&shape, is_sums), host, device)
}

/// The shape of features or sums, of so many rows of an item.
const fn shape_of(of: &Gather, len: usize) -> [usize; 3] {
    if of.channels_last { [of.items, len, of.channels] } else { [of.items, of.channels, len] }
}

/// Adds up the weighted features of the rows that `index` ``[B, M, K]`` names, or makes a gradient of
/// that; for ``pointmill.torch``.
///
/// `into` "sums" takes features ``[B, C, N]`` and weights ``[B, M, K]`` to ``[B, C, M]``; "features" the
/// gradient of the sums and weights to that of so many (`length`) features; "weights" the gradient of the
/// sums and features to that of the weights. Without weights K is 1. With `last` channels come last. On a
/// GPU the second result of sums says whether all numbers are rows.
#[pyfunction]
#[pyo3(signature = (into, first, second, index, length, last))]
pub(crate) fn gather(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::args::plain)] into: &str,
    first: &Bound<'_, PyAny>,
    second: Option<&Bound<'_, PyAny>>,
    index: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] length: usize,
    #[pyo3(from_py_with = crate::args::plain)] last: bool,
) -> PyResult<Made> {
    let (name, beside) = match into {
        "sums" => ("features", "weights"),
        "features" => ("grad", "weights"),
        _ => ("grad", "features"),
    };
    let first = Array::read(first, name)?.without_grad()?.of(&[Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16])?;
    let first = first.shaped(&[None; 3], if last { "[B, N, C]" } else { "[B, C, N]" })?;
    let index = Array::read(index, "rows")?.of(&[Dtype::I32, Dtype::I64])?;
    let index = index.shaped(&[Some(first.shape()[0]), None, None], "[B, M, K]")?.beside(&first)?;
    let [items, count, k] = [0, 1, 2].map(|axis| index.shape()[axis]);
    let channels = first.shape()[if last { 2 } else { 1 }];
    let rows = if into == "sums" { first.shape()[if last { 1 } else { 2 }] } else { length };
    let of = Gather { items, channels, rows, count, k, channels_last: last };
    let wide = if *first.dtype() == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
    let (dtype, shape) =
        if into == "weights" { (first.dtype().clone(), shape_of(&of, rows)) } else { (wide, [items, count, k]) };
    let second = match second {
        None => None,
        Some(second) => {
            let second = Array::read(second, beside)?.without_grad()?.of(&[dtype])?;
            Some(second.shaped(&shape.map(Some), format_args!("{shape:?}"))?.beside(&first)?)
        }
    };
    let is_wide = *index.dtype() != Dtype::I32;
    let dtype = first.dtype().clone();
    let call = Call { first, second, index, of };
    match (dtype, is_wide) {
        (Dtype::F32, false) => run::<f32, i32>(py, &call, into),
        (Dtype::F32, true) => run::<f32, i64>(py, &call, into),
        (Dtype::F64, false) => run::<f64, i32>(py, &call, into),
        (Dtype::F64, true) => run::<f64, i64>(py, &call, into),
        (Dtype::F16, false) => run::<f16, i32>(py, &call, into),
        (Dtype::F16, true) => run::<f16, i64>(py, &call, into),
        (_, false) => run::<bf16, i32>(py, &call, into),
        (_, true) => run::<bf16, i64>(py, &call, into),
    }
}
