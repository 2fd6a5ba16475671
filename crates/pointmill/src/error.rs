//! What can go wrong, told with argument, expected and got.

use crate::Argument;
use pointmill_core::rigid::NotRigid;
use pointmill_core::{CloudError, GridError};
use thiserror::Error;

/// The errors of every operator.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that the operator cannot work with. Nothing was done. It alone is about an
    /// argument: every other variant is about the device, the memory or the library.
    #[error("{argument}: expected {expected}, got {got}")]
    Argument {
        /// The argument's name.
        argument: Argument,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// A device asked for by name that is not there.
    #[error("device {device}: not available: {reason}")]
    DeviceUnavailable {
        /// The device.
        device: String,
        /// Why.
        reason: String,
    },
    /// Memory that the host or the device does not have. The device stays usable.
    #[error("device {device}: out of memory: {bytes} bytes asked for")]
    OutOfMemory {
        /// The device.
        device: String,
        /// How many bytes could not be had.
        bytes: u64,
    },
    /// A device that no longer answers or whose memory can no longer be trusted. The process must
    /// start its work anew.
    #[error("device {device}: lost while it was to {action}: {reason}")]
    DeviceLost {
        /// The device.
        device: String,
        /// What was being done.
        action: &'static str,
        /// What the driver says.
        reason: String,
    },
    /// Any other refusal of the driver, or of the system.
    #[error("device {device}: failed to {action}: {reason}")]
    Device {
        /// The device.
        device: String,
        /// What was being done.
        action: &'static str,
        /// What the driver or the system says.
        reason: String,
    },
    /// A state that the library promises never to reach.
    #[error("internal error: {what}; please report it")]
    Internal {
        /// What was found.
        what: String,
    },
}

impl Error {
    /// An [`Error::Argument`].
    #[doc(hidden)]
    pub fn argument(argument: Argument, expected: impl Into<String>, got: impl ToString) -> Self {
        Self::Argument { argument, expected: expected.into(), got: got.to_string() }
    }
}

/// Refuses an argument that is not as expected; words for it are made then alone.
#[inline]
pub(crate) fn ensure(ok: bool, argument: Argument, expected: impl ToString, got: impl ToString) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::argument(argument, expected.to_string(), got)) }
}

/// A pose that is refused is an [`Error::Argument`].
impl From<NotRigid> for Error {
    fn from(why: NotRigid) -> Self {
        Self::argument(Argument::Pose, why.expected(), why)
    }
}

/// A voxel size and a range that make no grid are an [`Error::Argument`].
impl From<GridError> for Error {
    fn from(why: GridError) -> Self {
        match why {
            GridError::VoxelSize { axis, got } => {
                Self::argument(Argument::VOXEL_SIZE[axis], "a finite size > 0 m", got)
            }
            GridError::Range { axis, min, max } => {
                Self::argument(Argument::RANGE[axis], "finite min < max", format_args!("{min}..{max}"))
            }
            GridError::Cells { axis, cells } => {
                let got = format_args!("{cells} ((max - min) / voxel_size, rounded)");
                Self::argument(Argument::GRID[axis], "1 to 2147483647 cells", got)
            }
            GridError::TooSmall { least: [x, y, z], got: [dx, dy, dz] } => {
                let expected = format!("{x} x {y} x {z} m or more for a grid around all points");
                Self::argument(Argument::VoxelSize, expected, format_args!("{dx} x {dy} x {dz} m"))
            }
            GridError::TooManyCells { dims: [x, y, z] } => {
                Self::argument(Argument::Grid, "at most 2^63 cells", format_args!("{x} x {y} x {z}"))
            }
            other => Self::argument(Argument::Grid, "a voxel size and a range that make a grid", other),
        }
    }
}

/// An array that is not a point cloud is an [`Error::Argument`].
impl From<CloudError> for Error {
    fn from(why: CloudError) -> Self {
        match why {
            CloudError::Columns { got } => Self::argument(Argument::Columns, "at least 3 (x, y, z)", got),
            CloudError::Length { len, columns } => {
                let expected = format!("a multiple of {columns} values ([N, {columns}] row-major)");
                Self::argument(Argument::Points, expected, len)
            }
            other => Self::argument(Argument::Points, "a point cloud", other),
        }
    }
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a variant is about an argument. A new one must be put here; one that is belongs into
    /// [`Error::Argument`], of which each door tells the name, what was expected and what it is.
    const fn is_of_argument(error: &Error) -> bool {
        match error {
            Error::Argument { .. } => true,
            Error::DeviceUnavailable { .. }
            | Error::OutOfMemory { .. }
            | Error::DeviceLost { .. }
            | Error::Device { .. }
            | Error::Internal { .. } => false,
        }
    }

    #[test]
    fn errors_about_arguments_are_one_variant() {
        let text = || "text".to_owned();
        let all = [
            Error::argument(Argument::Map, "the sums of tile 3_-2", "none"),
            Error::DeviceUnavailable { device: text(), reason: text() },
            Error::OutOfMemory { device: text(), bytes: 1 },
            Error::DeviceLost { device: text(), action: "act", reason: text() },
            Error::Device { device: text(), action: "act", reason: text() },
            Error::Internal { what: text() },
        ];
        for error in all {
            let (told, is_of_argument) = (error.to_string(), is_of_argument(&error));
            assert_eq!(told.contains(": expected "), is_of_argument, "{told}");
            let others = ["device text: ", "internal error: "].iter().any(|begin| told.starts_with(begin));
            assert_eq!(others, !is_of_argument, "{told}");
        }
    }

    /// Errors of grids and clouds keep their words, and name an argument.
    #[test]
    fn grids_and_clouds_are_arguments() {
        let grids = [
            (GridError::VoxelSize { axis: 1, got: 0.0 }, "voxel_size[1]"),
            (GridError::Range { axis: 2, min: 3.0, max: f32::NAN }, "range[2]"),
            (GridError::Cells { axis: 0, cells: 3e9 }, "grid[0]"),
            (GridError::TooSmall { least: [0.1, 0.2, 0.3], got: [1e-9; 3] }, "voxel_size"),
            (GridError::TooManyCells { dims: [7, 8, 9] }, "grid"),
        ];
        let clouds =
            [(CloudError::Columns { got: 2 }, "columns"), (CloudError::Length { len: 7, columns: 4 }, "points")];
        let grids = grids.map(|(why, name)| (why.to_string(), Error::from(why), name));
        let clouds = clouds.map(|(why, name)| (why.to_string(), Error::from(why), name));
        for (words, error, name) in grids.into_iter().chain(clouds) {
            assert_eq!(error.to_string(), words);
            let Error::Argument { argument, .. } = error else { panic!("{words}") };
            assert_eq!(argument.as_str(), name);
        }
    }
}
