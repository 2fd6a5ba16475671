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

/// Cells of points: x, y, z of each from the least cell, the least cell, and the largest number. Where
/// a coordinate is not finite that is NaN, and there are no cells.
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
    let shape = [cells.len() / 3, 3];
    Ok((points.backend().give_values(cells, &shape)?.unbind(), low, most))
}

/// The coordinates of two points, which are worked on at once.
const LANES: usize = 6;
/// What makes the nearest whole number of one that is smaller by half.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

/// Quotients and floors ascend with the coordinates, so those of the least and of the largest are the
/// least and the largest.
fn cells<T: Copy + Into<f64>>(values: &[T], size: [f64; 3]) -> Result<Cells> {
    let Some(first) = values.first_chunk::<3>() else { return Ok((Vec::new(), [0.0; 3], 0.0)) };
    let (pairs, last) = values.as_chunks::<LANES>();
    let twice = |point: [f64; 3]| -> [f64; LANES] { std::array::from_fn(|k| point[k % 3]) };
    let mut low = twice(first.map(Into::into));
    let (mut high, mut odd) = (low, [0.0; LANES]);
    let mut look = |values: &[T]| {
        for (k, x) in values.iter().map(|&x| x.into()).enumerate() {
            low[k] = if x < low[k] { x } else { low[k] };
            high[k] = if x > high[k] { x } else { high[k] };
            odd[k] += x * 0.0;
        }
    };
    pairs.iter().for_each(|pair| look(pair));
    look(last);
    let low: [f64; 3] = std::array::from_fn(|k| (low[k].min(low[k + 3]) / size[k]).floor());
    let high: [f64; 3] = std::array::from_fn(|k| (high[k].max(high[k + 3]) / size[k]).floor());
    let most: [f64; 3] = std::array::from_fn(|k| high[k] - low[k]);
    if most.iter().chain(&odd).any(|x| x.is_nan()) {
        return Ok((Vec::new(), low, f64::NAN));
    }
    let is_near = low.iter().chain(&high).all(|x| x.abs() < WHOLE / 4.0);
    let (sizes, lows) = (twice(size), twice(low));
    let mut cells = memory::filled(values.len(), 0.0)?;
    let (to, to_last) = cells.as_chunks_mut::<LANES>();
    let cell = |k: usize, x: T| {
        let x = x.into() / sizes[k];
        // The same as `floor`, which is a call for each number.
        let whole = (x + WHOLE) - WHOLE;
        let whole = if is_near { whole - f64::from(u8::from(whole > x)) } else { x.floor() };
        (whole - lows[k]) as f32
    };
    to.iter_mut().zip(pairs).for_each(|(to, pair)| *to = std::array::from_fn(|k| cell(k, pair[k])));
    to_last.iter_mut().zip(last).enumerate().for_each(|(k, (to, &x))| *to = cell(k, x));
    Ok((cells, low, most.into_iter().fold(0.0, f64::max)))
}
