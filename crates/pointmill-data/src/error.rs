//! Why something about a drive cannot be done.

use pointmill::Error;
use pointmill_io::IoError;

/// What the functions of this crate fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file or a folder.
    #[error("{0}")]
    File(#[from] IoError),
    /// An operator of the library.
    #[error("{0}")]
    Operator(#[from] Error),
    /// An option that cannot be used as it is given. A door spells its name: `--deskew` on the command line.
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
}

/// Whether an error of an operator is about the input that it works on, so that the others are done
/// all the same. Parameters are checked before, so an error about an argument is.
pub const fn is_of_input(e: &Error) -> bool {
    matches!(
        e,
        Error::Argument { .. } | Error::Tile { .. } | Error::Grid(_) | Error::Cloud(_) | Error::OutOfMemory { .. }
    )
}
