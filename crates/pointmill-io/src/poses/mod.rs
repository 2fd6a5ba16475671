//! Files of poses: trajectories of KITTI, of the TUM benchmark and of EuRoC, matrices, and x y z
//! roll pitch yaw.

mod columns;
mod draft;
mod lines;
mod names;
mod read;
mod warning;
mod write;

pub use read::{find_poses, read_poses};
pub use warning::PoseWarning;
pub use write::{decimal_seconds, pose_bytes, stamped_pose_bytes, write_poses, write_stamped_poses};

use crate::limits::Limits;
use pointmill_core::Pose;

/// How poses stand in a file: as text with one pose a line, numbers separated by blanks, commas or
/// semicolons, or as a table of Argoverse 2.
///
/// In text, empty lines and lines that start with `#`, `%` or `//` are skipped. A line of names before
/// the first pose, in a comment or not, decides which column is what, whatever the format:
/// `timestamp`, `time`, `t` or `sec` and `nsec`; `x`, `tx`, `px`, `pos_x`, `position.x` and the like;
/// `qx`, `q_x`, `q.x`, `rx` beside `rw`, `orientation.x` and the like. Other columns are not looked at.
/// A unit may stand behind the time: `timestamp [ns]`, `time_s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoseFormat {
    /// 12 numbers: the upper three rows of the 4x4 matrix, rows first.
    Kitti,
    /// 8 numbers: the time in seconds, at most 1e11, the translation, the quaternion x, y, z, w. Where
    /// the format is given, times of 18 or 19 digits are nanoseconds.
    Tum,
    /// 16 numbers: the rows of the 4x4 matrix. A file of four lines may have a row a line.
    Matrix,
    /// 6 numbers: the translation, then roll, pitch and yaw in radians. A file of two lines may have
    /// three a line.
    Xyzrpy,
    /// 17 numbers, or the first 8 of them: the time in nanoseconds, the translation, the quaternion
    /// w, x, y, z, then velocities and biases, which are not used. It is read, not written.
    Euroc,
    /// A Feather table with the columns `timestamp_ns`, `qw`, `qx`, `qy`, `qz`, `tx_m`, `ty_m`,
    /// `tz_m`, as Argoverse 2 has it in `city_SE3_egovehicle.feather`. Some of its times are one `f64`
    /// in seconds, some nanoseconds apart. It is read, not written.
    Argoverse2,
}

pointmill_core::names!(PoseFormat {
    Kitti = "kitti",
    Tum = "tum",
    Matrix = "matrix",
    Xyzrpy = "xyzrpy",
    Euroc = "euroc",
    Argoverse2 = "argoverse2",
});

impl PoseFormat {
    /// Whether poses are written in the format.
    pub const fn is_written(self) -> bool {
        !matches!(self, Self::Euroc | Self::Argoverse2)
    }

    /// The formats in which poses are written.
    pub fn written() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|format| format.is_written())
    }

    /// The numbers of a pose, of a format that knows several the most.
    pub const fn numbers(self) -> usize {
        match self {
            Self::Kitti => 12,
            Self::Tum | Self::Argoverse2 => 8,
            Self::Euroc => 17,
            Self::Matrix => 16,
            Self::Xyzrpy => 6,
        }
    }

    /// The numbers of a line where a pose is spread over several.
    const fn row(self) -> usize {
        match self {
            Self::Matrix => 4,
            Self::Xyzrpy => 3,
            Self::Kitti | Self::Tum | Self::Euroc | Self::Argoverse2 => self.numbers(),
        }
    }
}

/// The poses of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Poses {
    /// The poses.
    pub poses: Vec<Pose>,
    /// The time of each in seconds, where the file has times. They ascend: poses are sorted, and of
    /// equal times the first is kept; `warnings` says so.
    pub times: Option<Vec<f64>>,
    /// What is odd about the file.
    pub warnings: Vec<PoseWarning>,
    /// Whether the file has positions alone. The rotations of the poses are then not known, and no
    /// turn.
    pub positions_only: bool,
}

impl From<Vec<Pose>> for Poses {
    fn from(poses: Vec<Pose>) -> Self {
        Self { poses, ..Self::default() }
    }
}

/// How to read poses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoseOptions {
    /// The format; by default [`PoseFormat::Argoverse2`] for a Feather file, what a header says, else
    /// the one whose lines have as many numbers as the first line.
    pub format: Option<PoseFormat>,
    /// Whether a file of positions alone is read: `time x y z` or `x y z` a line, or such columns by
    /// name. Else it is refused.
    pub positions: bool,
    /// How much a read may take.
    pub limits: Limits,
}

/// How many numbers a line has, of any format of text.
fn numbers_of_formats() -> String {
    let of_text = PoseFormat::ALL.iter().filter(|format| **format != PoseFormat::Argoverse2);
    of_text.map(|format| format!("{} numbers ({format})", format.numbers())).collect::<Vec<_>>().join(" or ")
}
