//! Reductions by row numbers, on the CPU; for ``pointmill.torch``.

use crate::args::named;
use crate::arrays::{Array, Data, Dtype, Place, Value};
use crate::errors::{from_library, kind, value};
use crate::interrupt::{self, Effort};
use pointmill::interop::{Reduction, RowLists, RowNumber, Scattered, spread};
use pointmill::{Argument, Error, bf16, f16};
use pyo3::prelude::*;

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
    name: String,
}

impl<'py> Call<'py> {
    fn new(
        values: (&Bound<'py, PyAny>, &'static str),
        index: &Bound<'py, PyAny>,
        reduce: &str,
        name: String,
    ) -> PyResult<Self> {
        let values = Array::read(values.0, values.1)?.without_grad()?.of(&VALUES)?;
        let values = values.shaped(&[None, None], "[N, F]")?;
        if values.place() != Place::Cpu {
            return Err(value(values.name(), "an array on the CPU", format_args!("one on {}", values.place())));
        }
        let index = Array::read(index, "index")?.of(&[Dtype::I32, Dtype::I64])?;
        let index = index.shaped(&[None], "[N]")?.beside(&values)?;
        let columns = values.shape()[1];
        Ok(Self { values, index, columns, how: named(reduce, "reduce")?, name })
    }

    /// Runs `work` without the interpreter's lock.
    fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        places: Option<Data>,
        work: impl FnOnce(&Data, &Data, Option<&Data>) -> Result<R, Error> + Send + 'static,
    ) -> PyResult<R> {
        let stream = Place::Cpu.stream().map_err(|error| from_library(error, &[]))?;
        let held = (self.values.data(&stream)?, self.index.data(&stream)?, places);
        let effort = Effort::of(Place::Cpu, self.columns.saturating_mul(self.index.shape()[0]), SHORT);
        let done =
            interrupt::run(py, effort, held, move |(values, index, places)| work(values, index, places.as_ref()))?;
        done.map_err(|error| match error {
            Error::Argument { argument: Argument::Index, expected, got } => value(&self.name, expected, got),
            error => from_library(error, &[]),
        })
    }
}

/// Zeros, which the system makes when they are first touched.
fn zeros<T: bytemuck::Zeroable>(rows: usize, columns: usize) -> Result<Vec<T>, Error> {
    let refused = || Error::OutOfMemory { device: "cpu".into(), bytes: (rows as u64).saturating_mul(columns as u64) };
    let len = rows.checked_mul(columns).ok_or_else(refused)?;
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| refused())
}

fn reduced<T: Scattered + Value, I: RowNumber + bytemuck::Pod>(
    py: Python<'_>,
    call: &Call<'_>,
    rows: Option<usize>,
    places: bool,
) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
    let (columns, how) = (call.columns, call.how);
    let (rows, out, from) = call.run(py, None, move |values, index, _| {
        let lists = RowLists::new(index.on_host::<I>(), rows)?;
        let rows = lists.rows();
        let mut out = zeros::<T>(rows, columns)?;
        let mut from = if places && how.picks() { zeros::<i64>(rows, columns)? } else { Vec::new() };
        lists.reduce(values.on_host(), columns, how, &mut out, &mut from)?;
        Ok((rows, out, from))
    })?;
    let backend = call.values.backend();
    let from = if places && how.picks() { Some(backend.give_values(from, &[rows, columns])?.unbind()) } else { None };
    Ok((backend.give_values(out, &[rows, columns])?.unbind(), from))
}

/// Reduces the rows of `features` ``[N, F]`` that `index` ``[N]`` puts into the same row of the
/// result, -1 for none; for ``pointmill.torch``.
///
/// With `places` there is a second array for minima and maxima: the row that each came from, -1 for
/// none. Errors speak of the index as `name`.
#[pyfunction]
#[pyo3(signature = (features, index, rows, reduce, *, places, name))]
pub(crate) fn scatter(
    py: Python<'_>,
    features: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = crate::args::plain)] rows: Option<usize>,
    #[pyo3(from_py_with = crate::args::plain)] reduce: &str,
    #[pyo3(from_py_with = crate::args::plain)] places: bool,
    #[pyo3(from_py_with = crate::args::plain)] name: String,
) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
    let call = Call::new((features, "features"), index, reduce, name)?;
    if call.values.shape()[0] != call.index.shape()[0] {
        return Err(value(
            &call.name,
            format_args!("shape [{}]", call.values.shape()[0]),
            format_args!("{:?}", call.index.shape()),
        ));
    }
    typed!(call.values, call.index, reduced(py, &call, rows, places))
}

fn gradient<T: Scattered + Value, I: RowNumber + bytemuck::Pod>(
    py: Python<'_>,
    call: &Call<'_>,
    places: Option<Data>,
) -> PyResult<Py<PyAny>> {
    let (columns, how, n) = (call.columns, call.how, call.index.shape()[0]);
    let out = call.run(py, places, move |grad, index, places| {
        let mut out = zeros::<T>(n, columns)?;
        let places = places.map_or(&[][..], |places| places.on_host::<i64>());
        spread(grad.on_host(), columns, index.on_host::<I>(), how, places, &mut out)?;
        Ok(out)
    })?;
    Ok(call.values.backend().give_values(out, &[n, columns])?.unbind())
}

/// The gradient of the features of :func:`scatter` from that of its result, ``[rows, F]``; for
/// ``pointmill.torch``.
#[pyfunction]
#[pyo3(signature = (grad, index, places, reduce))]
pub(crate) fn scatter_gradient(
    py: Python<'_>,
    grad: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    places: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::args::plain)] reduce: &str,
) -> PyResult<Py<PyAny>> {
    let call = Call::new((grad, "grad"), index, reduce, "index".to_owned())?;
    let places = match (call.how.picks(), places) {
        (false, _) => None,
        (true, None) => return Err(kind("places", "those of the reduction", "None")),
        (true, Some(places)) => {
            let [rows, columns] = [0, 1].map(|axis| call.values.shape()[axis]);
            let places = Array::read(places, "places")?.of(&[Dtype::I64])?;
            let places = places.shaped(&[Some(rows), Some(columns)], format_args!("[{rows}, {columns}]"))?;
            let stream = Place::Cpu.stream().map_err(|error| from_library(error, &[]))?;
            Some(places.beside(&call.values)?.data(&stream)?)
        }
    };
    typed!(call.values, call.index, gradient(py, &call, places))
}
