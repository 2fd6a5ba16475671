//! Why a command did not do what it was asked to, and the exit code that says so.

use pointmill::Error;
use pointmill_io::IoError;
use pointmill_view::ViewError;

/// What ends a command. Its message goes to stderr, its code to the shell.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// 1: a file that cannot be written, memory that is not there, a device that refuses.
    #[error("{0}")]
    Io(String),
    /// 2: arguments that make no sense. Nothing was done.
    #[error("{0}")]
    Usage(String),
    /// 3: some inputs failed, each told before; the rest is complete.
    #[error("{failed} of {inputs} input(s) failed")]
    Inputs {
        /// How many failed.
        failed: usize,
        /// How many there were.
        inputs: usize,
    },
    /// 4: a device asked for by name is not there.
    #[error("{0}")]
    NoDevice(String),
    /// 5: the device no longer answers.
    #[error("{0}")]
    DeviceLost(String),
    /// 6: the work is done, and the answer is "no".
    #[error("{0}")]
    No(String),
    /// 130: interrupted from the keyboard.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// The code for the shell.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Io(_) => 1,
            Self::Usage(_) => 2,
            Self::Inputs { .. } => 3,
            Self::NoDevice(_) => 4,
            Self::DeviceLost(_) => 5,
            Self::No(_) => 6,
            Self::Interrupted => 130,
        }
    }

    /// The kind, for machines.
    pub(crate) const fn class(&self) -> &'static str {
        match self {
            Self::Io(_) => "Io",
            Self::Usage(_) => "Usage",
            Self::Inputs { .. } => "Inputs",
            Self::NoDevice(_) => "NoDevice",
            Self::DeviceLost(_) => "DeviceLost",
            Self::No(_) => "No",
            Self::Interrupted => "Interrupted",
        }
    }

    /// [`Failure::Io`] about a path, in the words of the library that reads and writes.
    pub(crate) fn io(path: &std::path::Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let told = IoError::io(path, action);
        move |e| Self::Io(told(e).to_string())
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        let told = e.to_string();
        match e {
            Error::Argument { .. } | Error::Grid(_) | Error::Cloud(_) => Self::Usage(told),
            Error::DeviceUnavailable { .. } => Self::NoDevice(told),
            Error::DeviceLost { .. } => Self::DeviceLost(told),
            _ => Self::Io(told),
        }
    }
}

impl From<IoError> for Failure {
    fn from(e: IoError) -> Self {
        match e {
            IoError::InvalidArgument(_) => Self::Usage(e.to_string()),
            _ => Self::Io(e.to_string()),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(e: ViewError) -> Self {
        Self::Io(e.to_string())
    }
}
