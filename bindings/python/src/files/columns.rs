//! Clouds as arrays of numpy with named columns.

use crate::errors::value;
use crate::poses;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

/// Names of columns that have none.
pub(super) fn default_names(columns: usize) -> Vec<String> {
    let name = |i: usize| ["x", "y", "z"].get(i).map_or_else(|| format!("column{i}"), |&axis| axis.into());
    (0..columns).map(name).collect()
}

/// Values as an array of numpy with rows.
pub(super) fn rows<T: Element>(py: Python<'_>, values: Vec<T>, columns: usize) -> PyResult<Py<PyAny>> {
    let shape = [values.len() / columns, columns];
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any().unbind())
}

/// The rows of a cloud in an array of the host, and its shape.
pub(super) fn cloud<T: Element>(object: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<T>, [usize; 2])> {
    let expected = "an array of shape [N, C], x, y, z first";
    let (values, shape) = poses::numbers(object, name, expected)?;
    match shape[..] {
        [rows, columns] if columns >= 3 => Ok((values, [rows, columns])),
        _ => Err(value(name, expected, format_args!("shape {shape:?}"))),
    }
}
