//! Why something about a drive cannot be done.

use pointmill::Error;
use pointmill_io::IoError;
use std::fmt;
use std::path::{Path, PathBuf};

/// An option that another one needs, and the value that it needs if not any will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The option's name.
    pub option: &'static str,
    /// Its value.
    pub value: Option<String>,
}

impl Needs {
    pub(crate) const fn any(option: &'static str) -> Self {
        Self { option, value: None }
    }
}

/// The option, and the value behind a space.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.option)?;
        self.value.iter().try_for_each(|value| write!(f, " {value}"))
    }
}

/// What the functions of this crate fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file or a folder.
    #[error("{0}")]
    File(#[from] IoError),
    /// A file of a map that cannot be written, which ends a run.
    #[error("{0}")]
    Output(IoError),
    /// An operator of the library.
    #[error("{0}")]
    Operator(#[from] Error),
    /// An operator of the library, with what it was called for.
    #[error("{}: {error}", path.display())]
    At {
        /// The file or the folder.
        path: PathBuf,
        /// What the library says.
        error: Error,
    },
    /// Two inputs of one name in a map.
    #[error("{first} and {second}: expected inputs of different names, got one input twice")]
    Twice {
        /// The one, as it was given.
        first: String,
        /// The other.
        second: String,
    },
    /// An option that cannot be used as it is given. A door spells the names of options, such as
    /// `--deskew` on the command line.
    #[error("{option}: expected {expected}, got {got}{}", needs.as_ref().map(|n| format!("; needs {n}")).unwrap_or_default())]
    Option {
        /// The option's name.
        option: &'static str,
        /// What was expected.
        expected: String,
        /// What was given.
        got: String,
        /// Another option that makes it one that can be used.
        needs: Option<Needs>,
    },
    /// An option that names a file which cannot be used.
    #[error("{option}: {error}")]
    OptionFile {
        /// The option's name.
        option: &'static str,
        /// Why.
        error: IoError,
    },
    /// An input without something that the run was told to need.
    #[error("{input}: {reason}")]
    MissingField {
        /// The input.
        input: String,
        /// What was expected and what was found.
        reason: &'static str,
    },
    /// A run that cannot go on, since memory was refused amid an input: the input and why.
    #[error("{0}")]
    Ended(String),
    /// The observer asked to stop.
    #[error("stopped")]
    Stopped,
}

impl DataError {
    /// An option that cannot be used.
    pub fn option(option: &'static str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self::Option { option, expected: expected.into(), got: got.into(), needs: None }
    }

    /// The same of an option that can be used with another one.
    pub(crate) fn without(
        option: &'static str,
        expected: impl Into<String>,
        got: impl Into<String>,
        needs: Needs,
    ) -> Self {
        Self::Option { option, expected: expected.into(), got: got.into(), needs: Some(needs) }
    }

    /// An error of the library that is about a file or a folder.
    pub(crate) fn at(path: &Path) -> impl FnOnce(Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::At { path, error }
    }
}

/// Whether an error of an operator is about the input that it works on, so that the others are done
/// all the same. Parameters are checked before, so an error about an argument is.
pub const fn is_of_input(e: &Error) -> bool {
    matches!(e, Error::Argument { .. } | Error::OutOfMemory { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill_io::Detail;

    /// The option that an error is about. A new variant must be put here: one about an option has its
    /// name as a part, which each door spells.
    const fn option_of(error: &DataError) -> Option<&'static str> {
        match error {
            DataError::Option { option, .. } | DataError::OptionFile { option, .. } => Some(option),
            DataError::File(_)
            | DataError::Output(_)
            | DataError::Operator(_)
            | DataError::At { .. }
            | DataError::Twice { .. }
            | DataError::MissingField { .. }
            | DataError::Ended(_)
            | DataError::Stopped => None,
        }
    }

    #[test]
    fn options_are_named_by_doors_alone() {
        let needs = Needs { option: "local-origin", value: Some("1,2,3".into()) };
        let file = IoError::BadValue(Detail::new("a.txt", "line 1", "--numbers", "none"));
        let errors = [
            (DataError::option("frames", "1:2", "3:4"), "frames: expected 1:2, got 3:4"),
            (
                DataError::without("no-merge", "one", "none", needs),
                "no-merge: expected one, got none; needs local-origin 1,2,3",
            ),
            (
                DataError::OptionFile { option: "poses", error: file },
                "poses: a.txt: line 1: expected --numbers, got none",
            ),
        ];
        for (error, told) in errors {
            assert_eq!(error.to_string(), told);
            assert!(told.starts_with(option_of(&error).unwrap()));
        }
    }
}
