//! Plain arguments.

use crate::errors::{kind, value};
use pointmill::UnknownName;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::str::FromStr;

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
    List::take(object, most).map_err(|error| match error.is_instance_of::<PyTypeError>(object.py()) {
        true => kind(name, what, error.value(object.py())),
        false => error,
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
