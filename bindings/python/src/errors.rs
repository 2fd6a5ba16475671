//! The library's errors as Python's.

use pointmill::{Argument, Dtype, Error};
use pointmill_data::DataError;
use pointmill_io::{Detail, IoError};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use std::ffi::CString;

/// An argument of the wrong value, told as the library tells it.
pub(crate) fn value(argument: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: expected {expected}, got {got}"))
}

/// An argument of the wrong type.
pub(crate) fn kind(argument: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(format!("{argument}: expected {expected}, got {got}"))
}

/// An error about an argument whose name pyo3 adds; see `_errors.py`.
pub(crate) fn unnamed(py: Python<'_>, is_value: bool, text: String) -> PyErr {
    let made = py.import("pointmill._errors").and_then(|module| module.call_method1("unnamed", (is_value, text)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The library's name of an argument and the one that Python's callers know.
pub(crate) type Names = &'static [(Argument, &'static str)];

/// What an argument should be or is, with types of values as numpy and torch name them.
///
/// A dozen errors of arguments say words such as "values of type f32 or f64". To carry each type as
/// a value of its own through all errors would take more code than this. It is for words that the
/// library wrote itself, of which whole ones count: no path and no content of a file comes here.
pub(crate) fn in_python(text: &str) -> String {
    let outside = |c: char| !(c.is_alphanumeric() || c == '_');
    let renamed = text.split_inclusive(outside).flat_map(|part| {
        let word = part.trim_end_matches(outside);
        let known = Dtype::ALL.iter().find(|dtype| dtype.as_str() == word);
        [known.map_or(word, |dtype| dtype.numpy()), &part[word.len()..]]
    });
    renamed.collect()
}

/// The message of an error of the library, with arguments under the names of the function that was
/// called.
fn told(error: &Error, names: Names) -> String {
    let Error::Argument { argument, expected, got } = error else { return error.to_string() };
    let (of, axis) = argument.of_axis();
    let known = names.iter().find(|(library, _)| *library == of);
    let name = match (known, axis) {
        (None, _) => argument.as_str().to_owned(),
        (Some((_, python)), None) => (*python).to_owned(),
        (Some((_, python)), Some(axis)) => format!("{python}[{axis}]"),
    };
    let wanted = in_python(expected);
    // What was found is a type where one was wanted. Else it may be a path or a name of the caller.
    let found = if wanted == *expected { got.clone() } else { in_python(got) };
    format!("{name}: expected {wanted}, got {found}")
}

/// The exception of the class that an error of the library has in Python.
fn raised(error: &Error, text: String) -> PyErr {
    match error {
        Error::Argument { .. } => PyValueError::new_err(text),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// An error of the library, with arguments under the names of the function that was called.
pub(crate) fn from_library(error: Error, names: Names) -> PyErr {
    raised(&error, told(&error, names))
}

/// An error in work for which the interpreter's lock was let go and taken again.
pub(crate) enum CallError {
    /// The library's.
    Library(Error),
    /// The interpreter's.
    Python(PyErr),
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<PyErr> for CallError {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// An error of the data layer: of a file, of the library, or of an argument.
pub(crate) fn data(error: DataError, names: Names) -> PyErr {
    let text = words_of_data(&error, names);
    match error {
        DataError::File(error) | DataError::Output(error) | DataError::OptionFile { error, .. } => of_file(error, text),
        DataError::Operator(error) | DataError::At { error, .. } => raised(&error, text),
        DataError::Ended(_) => PyMemoryError::new_err(text),
        DataError::Stopped => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The words of an error of the data layer, with options as arguments of Python.
pub(crate) fn words_of_data(error: &DataError, names: Names) -> String {
    match error {
        DataError::File(error) | DataError::Output(error) => words(error),
        DataError::Operator(error) => told(error, names),
        DataError::At { path, error } => format!("{}: {}", path.display(), told(error, names)),
        DataError::OptionFile { option, error } => format!("{option}: {}", words(error)),
        error => error.to_string(),
    }
}

/// [`from_library`] for a whole result.
pub(crate) trait OrRaise<T> {
    /// The value, or the error as Python's.
    fn or_raise(self, names: Names) -> PyResult<T>;
}

impl<T> OrRaise<T> for pointmill::Result<T> {
    fn or_raise(self, names: Names) -> PyResult<T> {
        self.map_err(|error| from_library(error, names))
    }
}

impl<T> OrRaise<T> for Result<T, CallError> {
    fn or_raise(self, names: Names) -> PyResult<T> {
        self.map_err(|error| match error {
            CallError::Library(error) => from_library(error, names),
            CallError::Python(error) => error,
        })
    }
}

/// An error of a file: what the system refuses is the `OSError` of its kind, what the file holds a
/// `ValueError`.
pub(crate) fn file(error: IoError) -> PyErr {
    let text = words(&error);
    of_file(error, text)
}

/// The same with other words.
fn of_file(error: IoError, text: String) -> PyErr {
    match error {
        IoError::Io { source, .. } => std::io::Error::new(source.kind(), text).into(),
        IoError::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The words of an error of a file, with types as Python names them: what was wanted is in words of
/// the library, and what was found only where it is a type. The path and the content of the file stay
/// what they are.
pub(crate) fn words(error: &IoError) -> String {
    let Some(detail) = error.detail() else { return error.to_string() };
    let wanted = in_python(&detail.wanted);
    let is_type = matches!(error, IoError::DtypeMismatch(_));
    let found = if is_type { in_python(&detail.found) } else { detail.found.clone() };
    Detail { wanted, found, ..detail.clone() }.to_string()
}

/// Gives each text as a `UserWarning` of the caller.
pub(crate) fn warn(py: Python<'_>, told: impl Iterator<Item = impl ToString>) -> PyResult<()> {
    let kind = py.get_type::<PyUserWarning>();
    told.into_iter().try_for_each(|told| {
        let told = CString::new(pointmill_io::escape(&told.to_string()))?;
        PyErr::warn(py, &kind, &told, 1)
    })
}
