//! Cells in double precision of a grid that begins at zero, as Pointcept has them; for
//! `pointmill.compat`.

use crate::arrays::{Array, Data, Dtype, Place};
use crate::errors::{OrRaise, kind};
use crate::interrupt::{self, Effort};
use pointmill::internals::memory;
use pointmill::{Device, Result};
use pyo3::prelude::*;

/// So many points take no longer than a millisecond.
const SHORT: usize = 1 << 17;

/// Cells of points: x, y, z of each from the least cell, the least cell, and the largest number; which
/// is no number where a coordinate is none.
type Cells = (Vec<f32>, [f64; 3], f64);

/// The cells ``floor(p / size)`` of points ``[N, 3]`` of the host.
#[pyfunction]
#[pyo3(name = "_cells_of")]
pub(crate) fn cells_of(
    py: Python<'_>,
    coord: &Bound<'_, PyAny>,
    size: [f64; 3],
) -> PyResult<(Py<PyAny>, [f64; 3], f64)> {
    let points = Array::taken(coord, "coord", &[Dtype::F32, Dtype::F64], None)?.shaped(&[None, Some(3)], "[N, 3]")?;
    if points.place() != Place::Cpu {
        return Err(kind("coord", "an array of the host", format_args!("one on {}", points.place())));
    }
    let (n, is_single) = (points.shape()[0], *points.dtype() == Dtype::F32);
    let data = points.data(&Device::cpu().stream().or_raise(&[])?)?;
    let work = move |data: &Data| match is_single {
        true => cells(data.on_host::<f32>(), size),
        false => cells(data.on_host::<f64>(), size),
    };
    let (cells, low, most) = interrupt::run(py, Effort::of(Place::Cpu, n, SHORT), data, work)?.or_raise(&[])?;
    Ok((points.backend().give_values(cells, &[n, 3])?.unbind(), low, most))
}

/// Quotients and floors ascend with the coordinates, so those of the least and of the largest are the
/// least and the largest.
fn cells<T: Copy + Into<f64>>(values: &[T], size: [f64; 3]) -> Result<Cells> {
    let (points, _) = values.as_chunks::<3>();
    let Some(first) = points.first() else { return Ok((Vec::new(), [0.0; 3], 0.0)) };
    let (mut low, mut high) = (first.map(Into::into), first.map(Into::into));
    let mut is_number = true;
    for point in points {
        for (axis, x) in point.map(Into::into).into_iter().enumerate() {
            low[axis] = if x < low[axis] { x } else { low[axis] };
            high[axis] = if x > high[axis] { x } else { high[axis] };
            is_number &= !x.is_nan();
        }
    }
    let cell = |axis: usize, x: f64| (x / size[axis]).floor();
    let low = [0, 1, 2].map(|axis| cell(axis, low[axis]));
    let most = [0, 1, 2].map(|axis| cell(axis, high[axis]) - low[axis]);
    is_number &= !most.iter().any(|most| most.is_nan());
    let mut cells = memory::filled(points.len() * 3, 0.0)?;
    for (to, point) in cells.as_chunks_mut::<3>().0.iter_mut().zip(points) {
        *to = [0, 1, 2].map(|axis| (cell(axis, point[axis].into()) - low[axis]) as f32);
    }
    Ok((cells, low, if is_number { most.into_iter().fold(0.0, f64::max) } else { f64::NAN }))
}
