//! Results as `pickle` and `copy` take them: their fields by name, and a way back.

use crate::errors::value;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// What `__reduce__` returns: the function that makes a result again, and what it takes.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyDict>,));

/// What the class method `_restore` makes of fields.
pub(crate) fn way_back<'py, T>(result: &Bound<'py, T>, fields: Bound<'py, PyDict>) -> PyResult<Reduced<'py>> {
    Ok((result.as_any().get_type().getattr("_restore")?, (fields,)))
}

/// What `__reduce__` returns of what its constructor makes again: the class with its arguments.
pub(crate) type MadeAgain<'py> = (Bound<'py, PyAny>, ());

/// The class of an object and the keyword arguments that make it again.
pub(crate) fn made_again<'py, T>(object: &Bound<'py, T>, arguments: &Bound<'py, PyDict>) -> PyResult<MadeAgain<'py>> {
    let partial = object.py().import("functools")?.getattr("partial")?;
    Ok((partial.call((object.as_any().get_type(),), Some(arguments))?, ()))
}

/// The error of what is tied to this process, and what to do in place of a pickle or a copy.
pub(crate) fn refused<T>(class: &str, instead: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!("{class}: cannot be pickled or copied ({instead})")))
}

/// One field.
pub(crate) fn field<'py, T: FromPyObjectOwned<'py>>(fields: &Bound<'py, PyDict>, name: &'static str) -> PyResult<T> {
    let Some(value) = fields.get_item(name)? else { return Err(PyKeyError::new_err(name)) };
    value.extract().map_err(Into::into)
}

/// Values as they lie in memory.
pub(crate) fn bytes<'py, T: bytemuck::NoUninit>(py: Python<'py>, values: &[T]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, bytemuck::cast_slice(values))
}

/// Values of a field that was written by [`bytes`].
pub(crate) fn values<T: bytemuck::Pod>(fields: &Bound<'_, PyDict>, name: &'static str) -> PyResult<Vec<T>> {
    let bytes: Bound<'_, PyBytes> = field(fields, name)?;
    let bytes = bytes.as_bytes();
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(value(name, format_args!("a multiple of {} bytes", size_of::<T>()), bytes.len()));
    }
    Ok(bytemuck::pod_collect_to_vec(bytes))
}
