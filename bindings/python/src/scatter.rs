//! Reductions by row, and their gradients; for ``pointmill.torch``.

use crate::args::named;
use crate::arrays::{Array, Data, Dtype, Place, Value};
use crate::cache::Cache;
use crate::errors::{CallError, kind, value};
use crate::interrupt::Effort;
use pointmill::interop::{
    Reduction, RowLists, RowNumber, RowsOf, Scatter, ScatterWorker, Scattered, spread, spread_lists,
};
use pointmill::{Argument, Buffer, Error, Stream, bf16, f16};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

pub(crate) static CACHE: Cache<(), Option<ScatterWorker>> = Cache::new();

/// So many values take about a millisecond.
const SHORT: usize = 1 << 17;

const VALUES: [Dtype; 5] = [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16, Dtype::I64];

/// Runs an expression with the types of values and of row numbers.
macro_rules! typed {
    ($values:expr, $index:expr, $function:ident($($argument:expr),*)) => {
        match ($values.dtype(), $index.dtype()) {
            (Dtype::F32, Dtype::I32) => $function::<f32, i32>($($argument),*),
            (Dtype::F32, _) => $function::<f32, i64>($($argument),*),
            (Dtype::F64, Dtype::I32) => $function::<f64, i32>($($argument),*),
            (Dtype::F64, _) => $function::<f64, i64>($($argument),*),
            (Dtype::F16, Dtype::I32) => $function::<f16, i32>($($argument),*),
            (Dtype::F16, _) => $function::<f16, i64>($($argument),*),
            (Dtype::Bf16, Dtype::I32) => $function::<bf16, i32>($($argument),*),
            (Dtype::Bf16, _) => $function::<bf16, i64>($($argument),*),
            (_, Dtype::I32) => $function::<i64, i32>($($argument),*),
            (_, _) => $function::<i64, i64>($($argument),*),
        }
    };
}

/// The arguments of both functions, looked at.
struct Call<'py> {
    values: Array<'py>,
    index: Array<'py>,
    columns: usize,
    how: Reduction,
    /// Whether `index` is where rows start.
    splits: bool,
    name: String,
}

/// What a call holds: its values, its row numbers and what a reduction left; and where a GPU writes to.
struct Job<T: Value> {
    values: Data,
    index: Data,
    aux: Option<Data>,
    to: Option<Mutex<To<T>>>,
}

/// Memory that was lent for a result on a GPU.
struct To<T: Value> {
    out: Buffer<T>,
    aux: Option<Buffer<i64>>,
    ok: Buffer<i32>,
}

/// Arrays of a result.
struct Made<T> {
    out: Vec<T>,
    aux: Option<Vec<i64>>,
    rows: usize,
}

impl<'py> Call<'py> {
    fn new(
        (values, named_values): (&Bound<'py, PyAny>, &'static str),
        index: &Bound<'py, PyAny>,
        (reduce, splits): (&str, bool),
        name: String,
    ) -> PyResult<Self> {
        let values = Array::read(values, named_values)?.without_grad()?.of(&VALUES)?;
        let values = values.shaped(&[None, None], "[N, F]")?;
        let index = Array::read(index, "index")?.of(&[Dtype::I32, Dtype::I64])?;
        let index = index.shaped(&[None], "[N]")?.beside(&values)?;
        let columns = values.shape()[1];
        if splits && index.shape()[0] == 0 {
            return Err(value(&name, "where each row starts and the last ends, [V + 1] numbers", "none"));
        }
        Ok(Self { values, index, columns, how: named(reduce, "reduce")?, splits, name })
    }

    /// Shape of what a reduction leaves beside its result; none of a sum.
    fn aux_shape(&self, rows: usize) -> Option<Vec<usize>> {
        match self.how {
            Reduction::Sum => None,
            Reduction::Mean => Some(vec![rows]),
            Reduction::Min | Reduction::Max => Some(vec![rows, self.columns]),
        }
    }

    /// Runs `host`, or `device` with memory of the caller's library for a result of so many rows;
    /// whether all numbers were rows is the last array.
    fn run<T: Scattered + Value, R: Send + 'static>(
        &self,
        py: Python<'_>,
        (rows, with_aux): (Option<usize>, bool),
        aux: Option<&Array<'_>>,
        host: impl FnOnce(&Job<T>) -> Result<R, Error> + Send + 'static,
        device: impl FnOnce(&mut ScatterWorker, &Stream, &Job<T>, &mut To<T>) -> Result<(), Error> + Send + 'static,
    ) -> PyResult<Ran<R>> {
        let backend = self.values.backend();
        let place = self.values.place();
        let mut lent = None;
        let take = |_: &_, stream: &Stream| {
            let values = self.values.data(stream)?;
            let (index, aux) = (self.index.data(stream)?, aux.map(|aux| aux.data(stream)).transpose()?);
            if place == Place::Cpu {
                return Ok(Job { values, index, aux, to: None });
            }
            if !backend.lends_memory() {
                return Err(kind(self.values.name(), "a tensor of torch on a GPU", "an array of another library"));
            }
            let rows = rows.ok_or_else(|| value("rows", "a number on a GPU", "None"))?;
            let (tensor, out) = backend.lend::<T>(stream, &[rows, self.columns])?;
            let shape = self.aux_shape(rows).filter(|_| with_aux);
            let beside = shape.map(|shape| backend.lend::<i64>(stream, &shape)).transpose()?;
            let (beside, of_aux) = beside.unzip();
            let (flag, ok) = backend.lend::<i32>(stream, &[1])?;
            lent = Some((tensor.whole(), beside.map(|beside| beside.whole()), flag.whole()));
            Ok(Job { values, index, aux, to: Some(Mutex::new(To { out, aux: of_aux, ok })) })
        };
        let made = CACHE.call(
            py,
            (place, &(), &[]),
            |stream| if place == Place::Cpu { Ok(None) } else { ScatterWorker::new(stream).map(Some) },
            take,
            Effort::of(place, self.columns.saturating_mul(self.values.shape()[0]), SHORT),
            {
                let name = self.name.clone();
                move |worker, stream, job: &Job<T>| {
                    let ran = match (worker, &job.to) {
                        (Some(worker), Some(to)) => {
                            let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                            device(worker, stream, job, &mut to).map(|()| None)
                        }
                        _ => host(job).map(Some),
                    };
                    ran.map_err(|error| match error {
                        Error::Argument { argument: Argument::Index | Argument::RowSplits, expected, got } => {
                            CallError::Python(value(&name, expected, got))
                        }
                        error => CallError::from(error),
                    })
                }
            },
        )?;
        match (made, lent) {
            (Some(made), _) => Ok(Ran::Host(made)),
            (None, Some((out, aux, ok))) => Ok(Ran::Device(out, aux, ok)),
            (None, None) => unreachable!("a device fills what was lent"),
        }
    }
}

/// A result of the host, or tensors that a device fills: the result, what is beside it, and whether
/// all numbers were rows.
enum Ran<R> {
    Host(R),
    Device(Py<PyAny>, Option<Py<PyAny>>, Py<PyAny>),
}

/// Zeros, which the system makes when they are first touched.
pub(crate) fn zeros<T: bytemuck::Zeroable>(rows: usize, columns: usize) -> Result<Vec<T>, Error> {
    let refused = || Error::OutOfMemory { device: "cpu".into(), bytes: (rows as u64).saturating_mul(columns as u64) };
    let len = rows.checked_mul(columns).ok_or_else(refused)?;
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| refused())
}

/// Row numbers of a device as a call means them.
const fn rows_of<I>(index: &Buffer<I>, splits: bool) -> RowsOf<'_, I> {
    if splits { RowsOf::Splits(index) } else { RowsOf::Index(index) }
}

type Reduced = (Py<PyAny>, Option<Py<PyAny>>, Option<Py<PyAny>>);

fn reduced<T: Scattered + Value, I: RowNumber + Value>(
    py: Python<'_>,
    call: &Call<'_>,
    rows: Option<usize>,
    with_aux: bool,
) -> PyResult<Reduced> {
    let (columns, how, splits) = (call.columns, call.how, call.splits);
    let len = call.values.shape()[0];
    let rows = if splits { Some(call.index.shape()[0] - 1) } else { rows };
    let host = move |job: &Job<T>| {
        let index = job.index.on_host::<I>();
        let lists = if splits { RowLists::of_splits(index, len) } else { RowLists::new(index, rows) }?;
        let rows = lists.rows();
        let mut out = zeros::<T>(rows, columns)?;
        let mut places = if with_aux && how.picks() { zeros::<i64>(rows, columns)? } else { Vec::new() };
        lists.reduce(job.values.on_host(), columns, how, &mut out, &mut places)?;
        let aux = match how {
            Reduction::Mean if with_aux => {
                let mut counts = zeros(rows, 1)?;
                counts.iter_mut().enumerate().for_each(|(row, count)| *count = i64::from(lists.count(row)));
                Some(counts)
            }
            Reduction::Min | Reduction::Max if with_aux => Some(places),
            _ => None,
        };
        Ok(Made { out, aux, rows })
    };
    let device = move |worker: &mut ScatterWorker, stream: &Stream, job: &Job<T>, to: &mut To<T>| {
        let scatter = Scatter { len, columns, rows: rows.unwrap_or_default(), how };
        let (values, index) = (job.values.on_device(stream)?, job.index.on_device::<I>(stream)?);
        worker.reduce(&values, rows_of(&index, splits), scatter, &mut to.out, to.aux.as_mut(), &mut to.ok)
    };
    match call.run(py, (rows, with_aux), None, host, device)? {
        Ran::Host(Made { out, aux, rows }) => {
            let backend = call.values.backend();
            let shape = call.aux_shape(rows).unwrap_or_default();
            let aux = aux.map(|aux| Ok::<_, PyErr>(backend.give_values(aux, &shape)?.unbind()));
            Ok((backend.give_values(out, &[rows, columns])?.unbind(), aux.transpose()?, None))
        }
        Ran::Device(out, aux, ok) => Ok((out, aux, Some(ok))),
    }
}

/// Reduces the rows of `features` ``[N, F]``: those that `index` ``[N]`` puts into the same row of the
/// result, -1 for none, or with `splits` those from ``index[v]`` to ``index[v + 1]``; for
/// ``pointmill.torch``.
///
/// With `aux` there is a second array: of minima and maxima the row that each came from, -1 for none;
/// of means how many values each row has. On a GPU the third says whether all numbers are rows. Errors
/// speak of the index as `name`.
#[pyfunction]
#[pyo3(signature = (features, index, rows, reduce, *, splits, aux, name))]
pub(crate) fn scatter(
    py: Python<'_>,
    features: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] rows: Option<usize>,
    #[pyo3(from_py_with = crate::args::plain)] reduce: &str,
    #[pyo3(from_py_with = crate::args::plain)] splits: bool,
    #[pyo3(from_py_with = crate::args::plain)] aux: bool,
    #[pyo3(from_py_with = crate::args::plain)] name: String,
) -> PyResult<Reduced> {
    let call = Call::new((features, "features"), index, (reduce, splits), name)?;
    if !splits && call.values.shape()[0] != call.index.shape()[0] {
        return Err(value(
            &call.name,
            format_args!("shape [{}]", call.values.shape()[0]),
            format_args!("{:?}", call.index.shape()),
        ));
    }
    typed!(call.values, call.index, reduced(py, &call, rows, aux))
}

fn gradient<T: Scattered + Value, I: RowNumber + Value>(
    py: Python<'_>,
    call: &Call<'_>,
    len: usize,
    aux: Option<&Array<'_>>,
) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
    let (columns, how, splits) = (call.columns, call.how, call.splits);
    let rows = call.values.shape()[0];
    let host = move |job: &Job<T>| {
        let mut out = zeros::<T>(len, columns)?;
        let aux = job.aux.as_ref().map_or(&[][..], |aux| aux.on_host::<i64>());
        let (grad, index) = (job.values.on_host(), job.index.on_host::<I>());
        if splits {
            spread_lists(grad, columns, index, how, aux, &mut out)?;
        } else {
            spread(grad, columns, index, how, aux, &mut out)?;
        }
        Ok(out)
    };
    let device = move |worker: &mut ScatterWorker, stream: &Stream, job: &Job<T>, to: &mut To<T>| {
        let scatter = Scatter { len, columns, rows, how };
        let (grad, index) = (job.values.on_device(stream)?, job.index.on_device::<I>(stream)?);
        let aux = job.aux.as_ref().map(|aux| aux.on_device(stream)).transpose()?;
        worker.spread(&grad, rows_of(&index, splits), scatter, aux.as_ref(), &mut to.out, &mut to.ok)
    };
    match call.run(py, (Some(len), false), aux, host, device)? {
        Ran::Host(out) => Ok((call.values.backend().give_values(out, &[len, columns])?.unbind(), None)),
        Ran::Device(out, _, ok) => Ok((out, Some(ok))),
    }
}

/// The gradient of the features of :func:`scatter` from that of its result, ``[rows, F]``; of `length`
/// features where `index` says where rows start. For ``pointmill.torch``.
#[pyfunction]
#[pyo3(signature = (grad, index, aux, reduce, *, length))]
pub(crate) fn scatter_gradient(
    py: Python<'_>,
    grad: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    aux: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] reduce: &str,
    #[pyo3(from_py_with = crate::args::plain)] length: Option<usize>,
) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
    let call = Call::new((grad, "grad"), index, (reduce, length.is_some()), "index".to_owned())?;
    let rows = call.values.shape()[0];
    if length.is_some() && rows + 1 != call.index.shape()[0] {
        return Err(value("index", format_args!("[{}] numbers", rows + 1), format_args!("{:?}", call.index.shape())));
    }
    let aux = match (call.aux_shape(rows), aux) {
        (None, _) => None,
        (Some(_), None) => return Err(kind("aux", "what the reduction left", "None")),
        (Some(shape), Some(aux)) => {
            let aux = Array::read(aux, "aux")?.of(&[Dtype::I64])?;
            let wanted: Vec<_> = shape.iter().copied().map(Some).collect();
            Some(aux.shaped(&wanted, format_args!("{shape:?}"))?.beside(&call.values)?)
        }
    };
    let len = length.unwrap_or(call.index.shape()[0]);
    typed!(call.values, call.index, gradient(py, &call, len, aux.as_ref()))
}
