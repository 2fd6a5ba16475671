//! Clouds and poses in files.

mod find;
mod options;
mod poses;
mod reader;
mod scan;
mod views;
mod writer;

pub(crate) use find::{find_inputs, find_log_poses, log_stamp};
pub(crate) use options::{default_options, origin_of};
pub(crate) use poses::{read_poses, write_poses};
pub(crate) use reader::read;
pub(crate) use scan::Scan;
pub(crate) use writer::write;

use crate::errors::value;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

/// Names of columns that have none.
fn default_names(columns: usize) -> Vec<String> {
    let name = |i: usize| ["x", "y", "z"].get(i).map_or_else(|| format!("column{i}"), |&axis| axis.into());
    (0..columns).map(name).collect()
}

/// Values as an array of numpy with rows.
fn rows<T: Element>(py: Python<'_>, values: Vec<T>, columns: usize) -> PyResult<Py<PyAny>> {
    let shape = [values.len() / columns, columns];
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any().unbind())
}

/// The rows of a cloud in an array of the host, and its shape.
fn cloud<T: Element>(object: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<T>, [usize; 2])> {
    let expected = "an array of shape [N, C], x, y, z first";
    let (values, shape) = crate::poses::numbers(object, name, expected)?;
    match shape[..] {
        [rows, columns] if columns >= 3 => Ok((values, [rows, columns])),
        _ => Err(value(name, expected, format_args!("shape {shape:?}"))),
    }
}
