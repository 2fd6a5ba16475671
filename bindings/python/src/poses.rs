//! Poses as callers give them.

use crate::errors::{kind, value};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pointmill::Pose;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The numbers of an array of the host, cast where they are of another type, and its shape.
pub(crate) fn numbers<T: Element>(
    object: &Bound<'_, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<(Vec<T>, Vec<usize>)> {
    let py = object.py();
    let kwargs = PyDict::new(py);
    kwargs.set_item("dtype", T::get_dtype(py))?;
    kwargs.set_item("order", "C")?;
    let array = py.import("numpy")?.call_method("asarray", (object,), Some(&kwargs));
    let told = || object.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    let array = array.map_err(|error| kind(name, expected, format_args!("{}: {error}", told())))?;
    let array = array.cast::<PyArrayDyn<T>>()?;
    let shape = array.shape().to_vec();
    let values = array.call_method0("ravel")?.cast_into::<PyArray1<T>>()?;
    Ok((values.to_vec().map_err(|error| kind(name, expected, error))?, shape))
}

/// Numbers of shape `[N]`.
pub(crate) fn row(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    let expected = "an array of shape [N]";
    let (values, shape) = numbers(object, name, expected)?;
    if shape.len() == 1 { Ok(values) } else { Err(value(name, expected, format_args!("shape {shape:?}"))) }
}

/// A rigid transform, 4x4.
pub(crate) fn matrix(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Pose> {
    let expected = "a rigid transform of shape [4, 4]";
    let (values, shape) = numbers(object, name, expected)?;
    if shape != [4, 4] {
        return Err(value(name, expected, format_args!("shape {shape:?}")));
    }
    of_matrix(values.as_chunks().0[0], name)
}

/// The pose of a matrix whose rows come one after the other.
fn of_matrix(m: [f64; 16], name: &str) -> PyResult<Pose> {
    let rows = std::array::from_fn(|i| std::array::from_fn(|j| m[4 * i + j]));
    Pose::from_matrix(&rows).map_err(|why| value(name, why.expected(), why))
}

/// Rows of three numbers in single precision, of an array of the host or of a GPU.
pub(crate) fn rows(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<[f32; 3]>> {
    let expected = "an array of shape [N, 3]";
    let (values, [rows, columns]) = on_host(object, name, expected)?;
    if columns != 3 {
        return Err(value(name, expected, format_args!("shape [{rows}, {columns}]")));
    }
    Ok(values.as_chunks::<3>().0.iter().map(|row| row.map(|x| x as f32)).collect())
}

/// The values of an array with rows, wherever it lies, and its shape.
pub(crate) fn on_host(object: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<(Vec<f64>, [usize; 2])> {
    let (values, shape) = numbers::<f64>(&to_host(object)?, name, expected)?;
    match shape[..] {
        [rows, columns] => Ok((values, [rows, columns])),
        _ => Err(value(name, expected, format_args!("shape {shape:?}"))),
    }
}

/// An array on the host as numpy takes it: of a tensor of torch or an array of a GPU a copy.
pub(crate) fn to_host<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let has = |attribute: &str| object.hasattr(attribute);
    if has("detach")? {
        // A tensor of torch; it comes to the host by methods of its own, as an array of cupy does.
        let tensor = object.call_method0("detach")?.call_method0("cpu")?;
        // numpy has no bfloat16.
        let is_bf16 = tensor.getattr("dtype")?.str()?.to_string_lossy() == "torch.bfloat16";
        return if is_bf16 { tensor.call_method0("float") } else { Ok(tensor) };
    }
    if has("__cuda_array_interface__")? && has("get")? {
        return object.call_method0("get");
    }
    if has("__dlpack__")? && !has("__array__")? {
        return object.py().import("numpy")?.call_method1("from_dlpack", (object,));
    }
    Ok(object.clone())
}

/// Poses, and whether there is one alone: `[6]` or `[P, 6]` of x, y, z, roll, pitch, yaw, or
/// `[4, 4]` or `[P, 4, 4]` of rigid transforms.
pub(crate) fn poses(object: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<Pose>, bool)> {
    let expected =
        "poses of shape [6] or [P, 6] (x, y, z, roll, pitch, yaw), or rigid transforms of shape [4, 4] or [P, 4, 4]";
    let (values, shape) = numbers::<f64>(object, name, expected)?;
    let matrices = || {
        let (matrices, _) = values.as_chunks::<16>();
        matrices.iter().map(|m| of_matrix(*m, name)).collect::<PyResult<Vec<Pose>>>()
    };
    match shape[..] {
        [6] | [_, 6] => {
            let pose = |xyzrpy: &[f64; 6]| Pose::from_xyzrpy(*xyzrpy).map_err(|why| value(name, why.expected(), why));
            Ok((values.as_chunks().0.iter().map(pose).collect::<PyResult<_>>()?, shape.len() == 1))
        }
        [4, 4] | [_, 4, 4] => Ok((matrices()?, shape.len() == 2)),
        _ => Err(value(name, expected, format_args!("shape {shape:?}"))),
    }
}

/// An origin of coordinates in single precision.
pub(crate) fn origin(object: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<[f64; 3]>> {
    let Some(object) = object else { return Ok(None) };
    let origin: [f64; 3] = crate::args::numbers(object, name, "x, y, z in metres")?;
    if !origin.iter().all(|o| o.is_finite()) {
        return Err(value(name, "three finite numbers", format_args!("{origin:?}")));
    }
    Ok(Some(origin))
}
