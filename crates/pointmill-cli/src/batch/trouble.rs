//! An input that has no result: whose fault it is, and how it is told.

use crate::failure::Failure;
use crate::printer::Printer;
use crate::records::ErrorRecord;
use crate::say;
use pointmill::Error;
use pointmill_io::{IoError, escape};
use std::path::PathBuf;

/// An input that cannot be used.
#[derive(Debug)]
pub(crate) struct Refused {
    class: &'static str,
    message: String,
    /// The file it is about, if it is about one.
    file: Option<PathBuf>,
    /// How far the file was read, if that is known.
    offset: Option<u64>,
}

impl Refused {
    /// What is said about an input that was read.
    pub(crate) fn new(class: &'static str, name: &str, message: impl std::fmt::Display) -> Self {
        let message = escape(&format!("{name}: {message}"));
        Self { class, message, file: Some(name.into()), offset: None }
    }

    /// Tells of the input on stderr and to machines.
    pub(crate) fn tell(self, printer: &mut Printer, index: usize, input: &str) -> Result<(), Failure> {
        say::error(&self.message);
        let Self { class, message, file, offset } = self;
        let file = file.map(|file| file.to_string_lossy().into_owned());
        let record = ErrorRecord {
            index: Some(index),
            input: Some(input.into()),
            file,
            offset,
            class,
            message,
            exit_code: None,
        };
        printer.record("error", &record)
    }
}

impl From<IoError> for Refused {
    fn from(e: IoError) -> Self {
        Self { class: e.class(), message: e.to_string(), file: Some(e.path().into()), offset: e.offset() }
    }
}

/// Why an input has no result.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It is the input's fault: the others are still done.
    Input(Refused),
    /// It is not.
    Fatal(Failure),
}

impl Trouble {
    /// Whose fault an error of a call on an input is.
    ///
    /// What the library says about its arguments is about the input, since the parameters are checked; `class` says what about it. Memory that one input does not get
    /// another may get: the device stays usable.
    pub(crate) fn blame(class: &'static str, e: Error, name: &str) -> Self {
        match e {
            Error::Argument { .. } => Self::Input(Refused::new(class, name, e)),
            Error::Cloud(_) => Self::Input(Refused::new("ShapeMismatch", name, e)),
            Error::OutOfMemory { .. } => Self::Input(Refused::new("OutOfMemory", name, e)),
            e => Self::Fatal(e.into()),
        }
    }
}

impl From<Refused> for Trouble {
    fn from(refused: Refused) -> Self {
        Self::Input(refused)
    }
}

impl From<IoError> for Trouble {
    fn from(e: IoError) -> Self {
        Self::Input(e.into())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Fatal(failure)
    }
}

impl From<Error> for Trouble {
    fn from(e: Error) -> Self {
        Self::Fatal(e.into())
    }
}
