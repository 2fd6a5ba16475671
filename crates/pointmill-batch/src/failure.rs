//! Why a command failed, and its exit code.

use crate::signal;
use crate::text::counted;
use pointmill::{Argument, Error};
use pointmill_data::inputs::STDIN;
use pointmill_data::{DataError, Needs};
use pointmill_io::IoError;
use pointmill_view::ViewError;
use std::path::{Path, PathBuf};

/// What ends a command. Its message goes to stderr, its code to the shell.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// 1: a device that refuses, a result that cannot be printed.
    #[error("{0}")]
    Io(String),
    /// 1: a file that cannot be written, or a setting that cannot be read.
    #[error("{message}")]
    File {
        /// All of it.
        message: String,
        /// The file or folder.
        file: PathBuf,
    },
    /// 1: too little memory on the host or on a device.
    #[error("{0}")]
    OutOfMemory(String),
    /// 2: arguments that cannot be used. Nothing was done.
    #[error("{0}")]
    Usage(String),
    /// 3: some inputs failed, each reported before; the rest is complete.
    #[error("{failed} of {} failed", counted(*inputs, "input"))]
    Inputs {
        /// How many failed.
        failed: usize,
        /// How many there were.
        inputs: usize,
    },
    /// 4: a device asked for by name is not available.
    #[error("{0}")]
    NoDevice(String),
    /// 5: the device no longer answers.
    #[error("{0}")]
    DeviceLost(String),
    /// 6: the work is done, and the answer is "no".
    #[error("{0}")]
    No(String),
    /// 70: a bug in this program, caught.
    #[error("internal error: {0}; please report it")]
    Internal(String),
    /// 128 and the signal's number: 130 from the keyboard, 143 by `kill`.
    #[error("{}", if *_0 == 2 { "interrupted" } else { "terminated" })]
    Interrupted(u8),
}

impl Failure {
    /// The code for the shell.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Io(_) | Self::File { .. } | Self::OutOfMemory(_) => 1,
            Self::Usage(_) => 2,
            Self::Inputs { .. } => 3,
            Self::NoDevice(_) => 4,
            Self::DeviceLost(_) => 5,
            Self::No(_) => 6,
            Self::Internal(_) => 70,
            Self::Interrupted(signal) => 128 + *signal,
        }
    }

    /// The kind, for machines.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Io(_) | Self::File { .. } => "Io",
            Self::OutOfMemory(_) => "OutOfMemory",
            Self::Usage(_) => "InvalidArgument",
            Self::Inputs { .. } => "PartialFailure",
            Self::NoDevice(_) => "DeviceUnavailable",
            Self::DeviceLost(_) => "DeviceLost",
            Self::No(_) => "No",
            Self::Internal(_) => "Internal",
            Self::Interrupted(_) => "Interrupted",
        }
    }

    /// The file that the failure is about, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File { file, .. } => Some(file),
            _ => None,
        }
    }

    /// Whether stderr has the reason already: the one input that failed.
    pub(crate) const fn is_reported(&self) -> bool {
        matches!(self, Self::Inputs { inputs: 1, .. })
    }

    /// A [`Failure::File`] with the message of the library that reads and writes.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let error = IoError::io(path, action);
        move |e| error(e).into()
    }
}

/// The flag that sets an argument of the library, if a flag of another name or none does.
const fn flag_of(argument: Argument) -> Option<&'static str> {
    Some(match argument {
        Argument::Depth => "--depth",
        Argument::EigenRatio => "--eigen-ratio",
        Argument::Epsilon => "--epsilon",
        Argument::Grid => "--voxel-size and --range",
        Argument::GridSize => "--grid-size",
        Argument::Guess | Argument::TargetFromSource => "--guess",
        Argument::Map => "--map",
        Argument::Margin => "--margin",
        Argument::MaxDistance => "--max-distance",
        Argument::MaxIterations => "--max-iterations",
        Argument::MaxPoints | Argument::MaxPointsPerVoxel => "--max-points",
        Argument::MaxRange => "--max-range",
        Argument::MaxRejections => "--max-rejections",
        Argument::MaxTimeDifference => "--max-time-difference",
        Argument::MaxVoxels => "--max-voxels",
        Argument::Metric => "--metric",
        Argument::MinConfirmed => "--min-confirmed",
        Argument::MinExplained => "--min-explained",
        Argument::MinMargin => "--min-margin",
        Argument::MinNvtl => "--min-nvtl",
        Argument::MinPoints => "--min-points",
        Argument::MinRange => "--min-range",
        Argument::Orders => "--orders",
        Argument::OutSize => "--out-size",
        Argument::PostMax => "--post-max",
        Argument::PreMax => "--pre-max",
        Argument::Range => "--range",
        Argument::Region => "--region",
        Argument::Resolution => "--resolution",
        Argument::Robust | Argument::RobustWidth => "--robust",
        Argument::ScoreThreshold => "--score-threshold",
        Argument::SearchRadius => "--search-radius",
        Argument::SensorHeight => "--sensor-height",
        Argument::StepSize => "--step-size",
        Argument::StepTolerance => "--step-tolerance",
        Argument::Threads => "--threads",
        Argument::Threshold => "--threshold",
        Argument::VoxelSize => "--voxel-size",
        Argument::YawRange => "--yaw-range",
        _ => return None,
    })
}

/// The message of an error about an argument, with the name of its flag.
fn with_flag(e: &Error) -> String {
    if let Error::Argument { argument, expected, got } = e
        && let Some(flag) = flag_of(argument.of_axis().0)
    {
        return format!("{flag}: expected {expected}, got {got}");
    }
    e.to_string()
}

/// The message of an option that cannot be used, with the names of flags.
fn of_option(option: &str, expected: &str, got: &str, needs: Option<&Needs>) -> String {
    let dashes = if option == STDIN { "" } else { "--" };
    let needs = needs.map(|needs| format!("; needs --{needs}")).unwrap_or_default();
    format!("{dashes}{option}: expected {expected}, got {got}{needs}")
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        let message = with_flag(&e);
        match e {
            Error::Argument { .. } => Self::Usage(message),
            Error::DeviceUnavailable { .. } => Self::NoDevice(message),
            Error::DeviceLost { .. } => Self::DeviceLost(message),
            Error::OutOfMemory { .. } => Self::OutOfMemory(message),
            Error::Internal { what } => Self::Internal(what),
            _ => Self::Io(message),
        }
    }
}

impl From<IoError> for Failure {
    fn from(e: IoError) -> Self {
        match e {
            IoError::InvalidArgument(_) => Self::Usage(e.to_string()),
            IoError::OutOfMemory(_) => Self::OutOfMemory(e.to_string()),
            _ => Self::File { message: e.to_string(), file: e.path().into() },
        }
    }
}

impl From<DataError> for Failure {
    fn from(e: DataError) -> Self {
        match e {
            DataError::File(e) | DataError::Output(e) => e.into(),
            DataError::Operator(e) => e.into(),
            DataError::Twice { .. } => Self::Usage(e.to_string()),
            DataError::Option { option, expected, got, needs } => {
                Self::Usage(of_option(option, &expected, &got, needs.as_ref()))
            }
            DataError::OptionFile { option, error } => Self::Usage(format!("--{option}: {error}")),
            DataError::Ended(message) => Self::OutOfMemory(message),
            DataError::Stopped => {
                signal::requested().map_or_else(|| Self::Internal("stopped by nobody".into()), Self::Interrupted)
            }
            e => Self::Io(e.to_string()),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(e: ViewError) -> Self {
        match e {
            ViewError::OutOfMemory { .. } => Self::OutOfMemory(e.to_string()),
            e => Self::Io(e.to_string()),
        }
    }
}
