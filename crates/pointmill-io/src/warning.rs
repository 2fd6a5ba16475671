//! What is odd about a cloud that was read all the same.

use crate::error::escape;
use pointmill_core::array::Dtype;
use std::fmt;

/// Something odd that did not keep a cloud from being read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// There is no point.
    Empty,
    /// There are points, and every one has a NaN or an infinity in x, y or z.
    NoFinitePoint {
        /// The number of points.
        points: usize,
    },
    /// Some points have a NaN or an infinity in x, y or z.
    NonFinite {
        /// How many.
        count: usize,
        /// The number of points.
        points: usize,
    },
    /// The values were cast to `f32`, each rounded once.
    Cast {
        /// The type in the file.
        from: Dtype,
    },
    /// Coordinates moved by [`Warning::WORTH_TELLING`] or more when they were cast to `f32`; [`Scan::xyz_f64`](crate::Scan::xyz_f64) has them in full.
    Rounded {
        /// The farthest that a coordinate moved, in metres.
        by: f64,
        /// The origin that was subtracted first.
        origin: [f64; 3],
    },
    /// Some points lie outside the box that the header gives. It decides nothing; but compressed files have no checksum, and this
    /// may be the only sign of damage.
    OutsideBounds {
        /// How many.
        count: usize,
        /// The number of points.
        points: usize,
    },
    /// Points whose coordinates the file marks as not valid were left out.
    Invalid {
        /// How many.
        count: usize,
        /// The number of points in the file.
        points: usize,
    },
    /// The file is damaged; the whole points before the damage were read, as [`ReadOptions::salvage`](crate::ReadOptions::salvage) asks.
    Salvaged {
        /// The points that were read.
        points: u64,
        /// The points that the file declares, where it declares some.
        declared: Option<u64>,
    },
    /// Raw rows look as if they had another number of columns.
    MixedColumns {
        /// The number of columns that they were read with.
        columns: usize,
        /// The number that separates the columns.
        likely: usize,
    },
    /// Columns that hold no numbers were left out.
    LeftOut {
        /// Their names.
        columns: Vec<String>,
    },
    /// There is more behind the data that the header declares.
    TrailingBytes {
        /// At least how many bytes.
        bytes: u64,
    },
}

impl Warning {
    /// How far a coordinate must move for [`Warning::Rounded`], in metres: a millimetre, below the noise of any LiDAR.
    pub const WORTH_TELLING: f64 = pointmill_core::WORTH_AN_ORIGIN;
}

// Only numbers that are compared, never NaN.
impl Eq for Warning {}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the cloud is empty"),
            Self::NoFinitePoint { points } => write!(f, "none of the {points} points is finite"),
            Self::NonFinite { count, points } => write!(f, "{count} of {points} points are not finite"),
            Self::Cast { from } => write!(f, "values of {from} were cast to f32"),
            Self::Rounded { by, origin } => {
                write!(f, "coordinates moved by up to {by:.3} m when they were cast to f32")?;
                match origin {
                    [0.0, 0.0, 0.0] => Ok(()),
                    [x, y, z] => write!(f, " about the origin {x}, {y}, {z}"),
                }
            }
            Self::OutsideBounds { count, points } => {
                write!(f, "{count} of {points} points lie outside the box that the header gives")
            }
            Self::Invalid { count, points } => {
                write!(f, "{count} of {points} points were left out, since their coordinates are marked as not valid")
            }
            Self::Salvaged { points, declared } => {
                let of = declared.map_or_else(String::new, |declared| format!(" of the {declared} declared"));
                write!(f, "the file is damaged; {points} points{of} were salvaged")
            }
            Self::MixedColumns { columns, likely } => {
                write!(f, "the {columns} columns look mixed; with {likely} they would not (--columns {likely})")
            }
            Self::LeftOut { columns } => {
                let shown: Vec<_> = columns.iter().take(8).map(|name| format!("`{}`", escape(name))).collect();
                let more = if columns.len() > shown.len() { ", ..." } else { "" };
                write!(f, "columns that hold no numbers were left out: {}{more}", shown.join(", "))
            }
            Self::TrailingBytes { bytes } => write!(f, "{bytes} or more bytes after the declared data were ignored"),
        }
    }
}
