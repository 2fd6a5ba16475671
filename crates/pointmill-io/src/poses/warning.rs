//! What is odd about poses that were read all the same.

use std::fmt;

/// Something odd that did not keep poses from being read. Each is told once a file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PoseWarning {
    /// Poses whose time another has were left out; of each time the first pose is kept.
    EqualTimes {
        /// How many were left out.
        count: usize,
        /// The first such time in seconds.
        first: f64,
    },
    /// Times do not ascend; poses were sorted by time.
    Sorted {
        /// How many times are before the one in front of them.
        count: usize,
    },
    /// Quaternions are farther from length one than their use in a trajectory explains, and were
    /// scaled to it.
    Normalized {
        /// How many.
        count: usize,
        /// The length farthest from one.
        length: f64,
    },
    /// Times of 18 or 19 digits were taken as nanoseconds.
    Nanoseconds,
    /// Times with a fraction were taken as seconds, though the header is that of EuRoC, which counts
    /// nanoseconds.
    Seconds,
    /// The header names no column of times.
    NoTimes,
    /// There are positions alone; rotations are not known.
    PositionsOnly,
}

impl PoseWarning {
    /// Whether the poses are no longer those of the lines one by one.
    pub const fn moves_lines(&self) -> bool {
        matches!(self, Self::EqualTimes { .. } | Self::Sorted { .. })
    }
}

// Only numbers that are compared, never NaN.
impl Eq for PoseWarning {}

impl fmt::Display for PoseWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        match *self {
            Self::EqualTimes { count, first } => {
                let (poses, verb) = (counted(count, "pose"), if count == 1 { "has" } else { "have" });
                write!(f, "{poses} {verb} the time of the pose before, first {first} s; the first of each time is kept")
            }
            Self::Sorted { count } => {
                write!(f, "times do not ascend at {}; the poses were sorted by time", counted(count, "place"))
            }
            Self::Normalized { count, length } => {
                let verb = if count == 1 { "was" } else { "were" };
                write!(f, "{} {verb} scaled to length 1; the farthest has {length:.4}", counted(count, "quaternion"))
            }
            Self::Nanoseconds => write!(f, "times of 18 or 19 digits are taken as nanoseconds"),
            Self::Seconds => write!(f, "times with fractions are taken as seconds, not as EuRoC's nanoseconds"),
            Self::NoTimes => write!(f, "the header names no column of times; the poses have none"),
            Self::PositionsOnly => write!(f, "the file has positions alone; rotations are not known"),
        }
    }
}
