//! An input that has no result: who is to blame, and how it is reported.

use crate::failure::Failure;
use crate::json::ErrorRecord;
use crate::printer::Printer;
use crate::stderr;
use crate::text::shown;
use pointmill::{Argument, Error};
use pointmill_data::{DataError, is_of_input};
use pointmill_io::{IoError, escape};
use std::path::PathBuf;

/// Whether an argument is part of a grid around an input.
fn is_of_grid(argument: Argument) -> bool {
    matches!(argument.of_axis().0, Argument::Grid | Argument::Range | Argument::VoxelSize)
}

/// An input that cannot be used.
#[derive(Debug)]
pub struct InputIssue {
    class: &'static str,
    message: String,
    /// The file, if the error is about one.
    file: Option<PathBuf>,
    /// How many bytes of the file were read, if that is known.
    offset: Option<u64>,
}

impl InputIssue {
    /// The refusal of an input that was read.
    pub fn new(class: &'static str, name: &str, message: impl std::fmt::Display) -> Self {
        let message = escape(&format!("{name}: {message}"));
        Self { class, message, file: Some(name.into()), offset: None }
    }

    /// Reports the input on stderr and as a JSON line.
    fn tell(self, printer: &mut Printer, index: usize, input: &str) -> Result<(), Failure> {
        stderr::error(&self.message);
        let Self { class, message, file, offset } = self;
        let file = file.map(|file| shown(&file));
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

impl std::fmt::Display for InputIssue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<IoError> for InputIssue {
    fn from(e: IoError) -> Self {
        Self { class: e.class(), message: e.to_string(), file: Some(e.path().into()), offset: e.offset() }
    }
}

/// Why an input has no result.
#[derive(Debug)]
pub enum InputError {
    /// The input cannot be used, for one or more reasons. The others are still done.
    Input(Vec<InputIssue>),
    /// An earlier run has done the input.
    AlreadyDone,
    /// The command ends.
    Fatal(Failure),
}

impl InputError {
    /// Decides whether an error of a call blames the input or ends the command.
    ///
    /// The parameters are checked before, so an error about an argument blames the input; `class`
    /// names its kind. So does a grid that an input decides. An input for which memory is short is
    /// refused, since the device stays usable for others.
    pub fn blame(class: &'static str, e: Error, name: &str) -> Self {
        match e {
            e if !is_of_input(&e) => Self::Fatal(e.into()),
            Error::Argument { argument, .. } if is_of_grid(argument) => {
                InputIssue::new("BadValue", name, format_args!("{e}; --bounds leaves out points far away")).into()
            }
            Error::Argument { argument: Argument::Columns, .. } => InputIssue::new("ShapeMismatch", name, e).into(),
            Error::OutOfMemory { .. } => InputIssue::new("OutOfMemory", name, e).into(),
            e => InputIssue::new(class, name, e).into(),
        }
    }

    /// The same of an input of a run.
    pub fn of_run(class: &'static str, e: DataError, name: &str) -> Self {
        match e {
            DataError::Operator(e) => Self::blame(class, e, name),
            DataError::MissingField { reason, .. } => InputIssue::new("MissingField", name, reason).into(),
            e => e.into(),
        }
    }

    /// Why the input cannot be used; `None` if the command ends.
    pub fn reason(&self) -> Option<String> {
        let Self::Input(refused) = self else { return None };
        Some(refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    /// Reports the reasons of an input.
    ///
    /// # Errors
    /// The failure that ends the command.
    pub fn tell(self, printer: &mut Printer, index: usize, input: &str) -> Result<(), Failure> {
        match self {
            Self::Fatal(failure) => Err(failure),
            Self::AlreadyDone => Ok(()),
            Self::Input(refused) => refused.into_iter().try_for_each(|refused| refused.tell(printer, index, input)),
        }
    }
}

impl From<InputIssue> for InputError {
    fn from(refused: InputIssue) -> Self {
        Self::Input(vec![refused])
    }
}

impl From<IoError> for InputError {
    fn from(e: IoError) -> Self {
        Self::Input(vec![e.into()])
    }
}

/// The failure of work on all inputs at once.
impl From<InputError> for Failure {
    fn from(input_error: InputError) -> Self {
        match input_error {
            InputError::Fatal(failure) => failure,
            InputError::AlreadyDone => Self::Internal("an input that is done was to be done again".into()),
            InputError::Input(refused) => {
                let message = refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
                let file = refused.into_iter().find_map(|refused| refused.file).unwrap_or_default();
                Self::File { message, file }
            }
        }
    }
}

/// Of a block that is merged, or the like.
impl From<DataError> for InputError {
    fn from(e: DataError) -> Self {
        match e {
            DataError::File(e) => e.into(),
            DataError::At { path, error } => Self::blame("BadValue", error, &shown(&path)),
            e => Self::Fatal(e.into()),
        }
    }
}

impl From<Failure> for InputError {
    fn from(failure: Failure) -> Self {
        Self::Fatal(failure)
    }
}

impl From<Error> for InputError {
    fn from(e: Error) -> Self {
        Self::Fatal(e.into())
    }
}
