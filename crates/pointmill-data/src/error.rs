//! Why something about a drive cannot be done.

use pointmill::Error;
use pointmill_io::IoError;
use std::path::{Path, PathBuf};

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
    /// An option that cannot be used as it is given. A door spells its name: `--deskew` on the
    /// command line.
    #[error("{option}: {reason}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// What was expected and what was given.
        reason: String,
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
    pub fn option(option: &'static str, reason: impl Into<String>) -> Self {
        Self::Option { option, reason: reason.into() }
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
    matches!(e, Error::Argument { .. } | Error::Tile { .. } | Error::OutOfMemory { .. })
}
