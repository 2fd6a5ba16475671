//! Plain arguments.

use crate::errors::{kind, unnamed, value};
use pointmill::UnknownName;
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use std::path::PathBuf;
use std::str::FromStr;

/// A value of an argument that is no array: what it must be, in the words of an error.
pub(crate) trait Plain {
    /// Such as "a number".
    fn expected() -> String;
}

/// Types of plain values, and their words.
macro_rules! plain {
    ($($type:ty: $expected:literal),+ $(,)?) => {
        $(impl Plain for $type {
            fn expected() -> String {
                $expected.to_owned()
            }
        })+
    };
}
plain! {
    bool: "True or False",
    f32: "a number",
    f64: "a number",
    i64: "a whole number of 64 bits",
    i128: "a whole number",
    u64: "a whole number from 0 to 2^64 - 1",
    usize: "a whole number from 0 to 2^64 - 1",
    &str: "a str",
    String: "a str",
    PathBuf: "a path",
}

impl Plain for Bound<'_, PyAny> {
    fn expected() -> String {
        "an array".to_owned()
    }
}

impl<T: Plain> Plain for Option<T> {
    fn expected() -> String {
        format!("{} or None", T::expected())
    }
}

impl<T: Plain> Plain for Vec<T> {
    fn expected() -> String {
        format!("a list, each item {}", T::expected())
    }
}

impl<T: Plain> Plain for List<T> {
    fn expected() -> String {
        Vec::<T>::expected()
    }
}

impl<T: Plain, const N: usize> Plain for [T; N] {
    fn expected() -> String {
        format!("{N} values, each {}", T::expected())
    }
}

/// A value of an argument. What is none raises an error that gets the argument's name from pyo3,
/// which knows it; see `_errors.py`.
pub(crate) fn plain<'a, 'py, T: FromPyObject<'a, 'py> + Plain>(object: &'a Bound<'py, PyAny>) -> PyResult<T> {
    object.extract().map_err(|error: T::Error| wrong::<T>(object, error.into(), unnamed))
}

/// The same of an argument whose name is known.
pub(crate) fn plain_of<T: for<'py> FromPyObjectOwned<'py> + Plain>(
    object: &Bound<'_, PyAny>,
    name: &str,
) -> PyResult<T> {
    let named = |_: Python<'_>, is_value: bool, text: String| match is_value {
        true => PyValueError::new_err(format!("{name}: {text}")),
        false => PyTypeError::new_err(format!("{name}: {text}")),
    };
    object.extract().map_err(Into::into).map_err(|error: PyErr| wrong::<T>(object, error, named))
}

/// The error about a value of the wrong type, or about a number that is too large for its type.
fn wrong<T: Plain>(
    object: &Bound<'_, PyAny>,
    error: PyErr,
    make: impl FnOnce(Python<'_>, bool, String) -> PyErr,
) -> PyErr {
    let py = object.py();
    let is_value = error.is_instance_of::<PyOverflowError>(py) || error.is_instance_of::<PyValueError>(py);
    if is_value || error.is_instance_of::<PyTypeError>(py) {
        make(py, is_value, format!("expected {}, got {}", T::expected(), seen(object)))
    } else {
        error
    }
}

/// An object of the class of an argument, or an error as of [`plain`].
pub(crate) fn object<'py, T: pyo3::PyClass>(object: &Bound<'py, PyAny>) -> PyResult<PyRef<'py, T>> {
    object.extract().map_err(|_| {
        let class = <T as pyo3::type_object::PyTypeInfo>::type_object(object.py());
        let class = class.name().map_or_else(|_| "another type".to_owned(), |name| name.to_string());
        unnamed(object.py(), false, format!("expected a {class}, got {}", seen(object)))
    })
}

/// A value as an error shows it: numbers and short text as they are, others by their type.
fn seen(object: &Bound<'_, PyAny>) -> String {
    let plain = object.is_none()
        || object.is_instance_of::<PyBool>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyString>();
    let text = object.repr().ok().filter(|_| plain).map(|text| text.to_string()).filter(|text| text.len() < 80);
    text.or_else(|| object.get_type().name().map(|name| name.to_string()).ok()).unwrap_or_default()
}

/// So many finite or infinite numbers, from a sequence or an array of them.
pub(crate) fn numbers<const N: usize>(object: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<[f64; N]> {
    let expected = format!("{N} numbers ({what})");
    let got = || object.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
    let Ok(len) = object.len() else { return Err(kind(name, expected, got())) };
    if len != N {
        return Err(value(name, expected, got()));
    }
    let mut numbers = [0.0; N];
    for (number, item) in numbers.iter_mut().zip(object.try_iter()?) {
        *number = item?.extract().map_err(|_| kind(name, &expected, got()))?;
    }
    Ok(numbers)
}

/// So many numbers in single precision.
pub(crate) fn singles<const N: usize>(object: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<[f32; N]> {
    Ok(numbers::<N>(object, name, what)?.map(|number| number as f32))
}

/// Three numbers along x, y, z, or one for all.
pub(crate) fn along_axes(object: &Bound<'_, PyAny>, name: &str, what: &str) -> PyResult<[f64; 3]> {
    object
        .extract()
        .map_or_else(|_| numbers(object, name, &format!("{what} along x, y, z; or one for all")), |one| Ok([one; 3]))
}

/// A whole number from `least` up to what the library counts with.
pub(crate) fn whole(number: i64, least: u32, name: &str) -> PyResult<u32> {
    let fits = u32::try_from(number).ok().filter(|n| *n >= least && i32::try_from(*n).is_ok());
    fits.ok_or_else(|| value(name, format_args!("a whole number from {least} to {}", i32::MAX), number))
}

/// Three whole numbers along z, y, x, or one for all.
pub(crate) fn triple(object: &Bound<'_, PyAny>, name: &str, least: u32) -> PyResult<[u32; 3]> {
    if let Ok(one) = object.extract::<i64>() {
        return Ok([whole(one, least, name)?; 3]);
    }
    let what = "3 whole numbers along z, y, x, or one for all";
    let all: Vec<i64> = list(object, name, what, 3)?;
    let all = all.into_iter().map(|one| whole(one, least, name)).collect::<PyResult<Vec<_>>>()?;
    <[u32; 3]>::try_from(all).map_err(|all| value(name, what, format_args!("{all:?}")))
}

/// The items of a list or an array, at most so many. Memory is taken for items that are there,
/// whatever length the object says.
pub(crate) fn list<'py, T: FromPyObjectOwned<'py>>(
    object: &Bound<'py, PyAny>,
    name: &str,
    what: &str,
    most: usize,
) -> PyResult<Vec<T>> {
    let len = object.len().unwrap_or(0);
    if len > most {
        return Err(value(name, format_args!("at most {most} {what}"), len));
    }
    let py = object.py();
    List::take(object, most).map_err(|error| {
        if error.is_instance_of::<PyTypeError>(py) {
            kind(name, what, error.value(py))
        } else if error.is_instance_of::<PyOverflowError>(py) {
            value(name, what, error.value(py))
        } else {
            error
        }
    })
}

/// A list as an argument; see [`list`].
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> List<T> {
    fn take<'py>(object: &Bound<'py, PyAny>, most: usize) -> PyResult<Vec<T>>
    where
        T: FromPyObjectOwned<'py>,
    {
        if object.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("expected a list, got a str"));
        }
        let mut all = Vec::new();
        for item in object.try_iter()?.take(most.saturating_add(1)) {
            all.try_reserve(1).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
            all.push(item?.extract().map_err(Into::into)?);
        }
        Ok(all)
    }
}

impl<'py, T: FromPyObjectOwned<'py>> FromPyObject<'_, 'py> for List<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Self::take(&object, usize::MAX).map(Self)
    }
}

/// A name of the library's, such as that of an enum's variant.
pub(crate) fn named<T: FromStr<Err = UnknownName>>(word: &str, name: &str) -> PyResult<T> {
    word.parse().map_err(|unknown| PyValueError::new_err(format!("{name}: {unknown}")))
}

/// One of some words.
pub(crate) fn choice<T: Copy>(word: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    if let Some((_, choice)) = choices.iter().find(|(known, _)| *known == word) {
        return Ok(*choice);
    }
    let known: Vec<String> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
    Err(value(name, known.join(" or "), format_args!("{word:?}")))
}
