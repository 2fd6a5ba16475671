//! The library's errors as Python's.

use pointmill::{Argument, Error};
use pointmill_data::{DataError, is_of_input};
use pointmill_io::IoError;
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

/// Types of values by the names that the library has for them, and by those of numpy and torch.
const TYPES: [(&str, &str); 7] = [
    ("f16", "float16"),
    ("bf16", "bfloat16"),
    ("f32", "float32"),
    ("f64", "float64"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("u32", "uint32"),
];

/// A text of the library with types as Python names them.
pub(crate) fn in_python(text: &str) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        renamed.push_str(TYPES.iter().find(|(library, _)| *library == word).map_or(word, |(_, python)| python));
        let next = after.find(inside).unwrap_or(after.len());
        renamed.push_str(&after[..next]);
        rest = &after[next..];
    }
    renamed
}

/// An error of the library, with arguments under the names of the function that was called.
pub(crate) fn from_library(error: Error, names: Names) -> PyErr {
    let text = match &error {
        Error::Argument { argument, expected, got } => {
            let (of, axis) = argument.of_axis();
            let known = names.iter().find(|(library, _)| *library == of);
            let name = match (known, axis) {
                (None, _) => argument.as_str().to_owned(),
                (Some((_, python)), None) => (*python).to_owned(),
                (Some((_, python)), Some(axis)) => format!("{python}[{axis}]"),
            };
            return value(&name, in_python(expected), in_python(got));
        }
        other => in_python(&other.to_string()),
    };
    match error {
        Error::Tile { .. } => PyValueError::new_err(text),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
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
    match error {
        DataError::File(error) | DataError::Output(error) => file(error),
        DataError::Operator(error) => from_library(error, names),
        DataError::At { error: Error::OutOfMemory { .. }, .. } => PyMemoryError::new_err(error.to_string()),
        DataError::At { error: ref of, .. } if !is_of_input(of) => PyRuntimeError::new_err(error.to_string()),
        DataError::Ended(_) => PyMemoryError::new_err(error.to_string()),
        DataError::Stopped => PyRuntimeError::new_err(error.to_string()),
        // The data layer names other options as the command does.
        DataError::Option { .. } => PyValueError::new_err(error.to_string().replace("--", "")),
        error => PyValueError::new_err(in_python(&error.to_string())),
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
    match error {
        IoError::Io { source, .. } => std::io::Error::new(source.kind(), text).into(),
        IoError::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The words of an error of a file, with types as Python names them.
pub(crate) fn words(error: &IoError) -> String {
    let text = error.to_string();
    // A path stays what it is.
    let after = text.find(&*error.path().to_string_lossy()).map_or(0, |at| at + error.path().as_os_str().len());
    let (path, what) = text.split_at_checked(after).unwrap_or((&text, ""));
    format!("{path}{}", in_python(what))
}

/// Gives each text as a `UserWarning` of the caller.
pub(crate) fn warn(py: Python<'_>, told: impl Iterator<Item = impl ToString>) -> PyResult<()> {
    let kind = py.get_type::<PyUserWarning>();
    told.into_iter().try_for_each(|told| {
        let told = CString::new(told.to_string().replace('\0', "?"))?;
        PyErr::warn(py, &kind, &told, 1)
    })
}
