//! Plain arguments.

use crate::errors::{kind, value};
use pointmill::UnknownName;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
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

/// A whole number from `least` up to what the library counts with.
pub(crate) fn whole(number: i64, least: u32, name: &str) -> PyResult<u32> {
    let fits = u32::try_from(number).ok().filter(|n| *n >= least && *n <= i32::MAX as u32);
    fits.ok_or_else(|| value(name, format_args!("a whole number from {least} to {}", i32::MAX), number))
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
