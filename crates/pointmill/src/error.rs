//! What can go wrong, told with argument, expected and got.

use crate::Argument;
use pointmill_core::rigid::NotRigid;
use pointmill_core::{CloudError, GridError};
use thiserror::Error;

/// The errors of every operator.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument that the operator cannot work with. Nothing was done.
    #[error("{argument}: expected {expected}, got {got}")]
    Argument {
        /// The argument's name.
        argument: Argument,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// A voxel size and a range that make no grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// An array that is not a point cloud.
    #[error(transparent)]
    Cloud(#[from] CloudError),
    /// A tile of a map that its source could not give.
    #[error("tile {}_{}: expected its sums, got: {reason}", tile[0], tile[1])]
    Tile {
        /// The numbers of the tile along x and y.
        tile: [i32; 2],
        /// What the source says.
        reason: String,
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

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
