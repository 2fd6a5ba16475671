//! The library's errors as Python's.

use pointmill::{Argument, Error};
use pointmill_io::IoError;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};

/// An argument of the wrong value, told as the library tells it.
pub(crate) fn value(argument: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: expected {expected}, got {got}"))
}

/// An argument of the wrong type.
pub(crate) fn kind(argument: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(format!("{argument}: expected {expected}, got {got}"))
}

/// The library's name of an argument and the one that Python's callers know.
pub(crate) type Names = &'static [(Argument, &'static str)];

/// An error of the library, with arguments under the names of the function that was called.
pub(crate) fn from_library(error: Error, names: Names) -> PyErr {
    let text = match &error {
        Error::Argument { argument, expected, got } => {
            let known = names.iter().find(|(library, _)| library == argument);
            return value(known.map_or(argument.as_str(), |(_, python)| python), expected, got);
        }
        other => other.to_string(),
    };
    match error {
        Error::Grid(_) | Error::Cloud(_) => {
            // "range[0]: ..." and such: the name is what stands before the first bracket or colon.
            let end = text.find(['[', ':']).unwrap_or(0);
            let known = names.iter().find(|(library, _)| library.as_str() == &text[..end]);
            PyValueError::new_err(known.map_or_else(|| text.clone(), |(_, python)| format!("{python}{}", &text[end..])))
        }
        Error::Tile { .. } => PyValueError::new_err(text),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// An error in work for which the interpreter's lock was let go and taken again.
pub(crate) enum Trouble {
    /// The library's.
    Library(Error),
    /// The interpreter's.
    Python(PyErr),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<PyErr> for Trouble {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// [`from_library`] for a whole result.
pub(crate) trait OrRaise<T> {
    /// The value, or the error as Python's.
    fn or_raise(self, names: Names) -> pyo3::PyResult<T>;
}

impl<T> OrRaise<T> for pointmill::Result<T> {
    fn or_raise(self, names: Names) -> pyo3::PyResult<T> {
        self.map_err(|error| from_library(error, names))
    }
}

impl<T> OrRaise<T> for Result<T, Trouble> {
    fn or_raise(self, names: Names) -> pyo3::PyResult<T> {
        self.map_err(|trouble| match trouble {
            Trouble::Library(error) => from_library(error, names),
            Trouble::Python(error) => error,
        })
    }
}

/// An error of a file: what the system refuses is the `OSError` of its kind, what the file holds a `ValueError`.
pub(crate) fn file(error: IoError) -> PyErr {
    let text = error.to_string();
    match error {
        IoError::Io { source, .. } => std::io::Error::new(source.kind(), text).into(),
        IoError::OutOfMemory { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
