//! What is odd about a cloud that was read all the same.

use crate::error::escape;
use crate::times::unit_of;
use pointmill_core::array::Dtype;
use std::collections::BTreeSet;
use std::fmt;

/// Names that a warning shows.
const SHOWN: usize = 8;

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
    /// Values of columns behind z changed by more than [`Warning::WORTH_TELLING`] of their unit
    /// when they were cast, each rounded once.
    /// [`Scan::wide`](crate::Scan::wide) has them in full.
    Cast {
        /// The names of the columns.
        columns: Vec<String>,
        /// The most that a value changed.
        by: f64,
        /// The type that they were cast to.
        to: Dtype,
    },
    /// Coordinates moved by [`Warning::WORTH_TELLING`] or more when they were cast to `f32`;
    /// [`Scan::xyz_f64`](crate::Scan::xyz_f64) has them in full.
    Rounded {
        /// The farthest that a coordinate moved, in metres.
        by: f64,
        /// The origin that was subtracted first.
        origin: [f64; 3],
    },
    /// Coordinates of `f64` are rounded to the steps of a LAS file, because 32 bits hold no finer
    /// ones.
    Steps {
        /// The farthest that a coordinate moved, in metres.
        by: f64,
    },
    /// Some points lie outside the box that the header gives. It decides nothing; but compressed
    /// files have no checksum, and this may be the only sign of damage.
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
    /// The file is damaged; the whole points before the damage were read, as
    /// [`ReadOptions::salvage`](crate::ReadOptions::salvage) asks.
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
    /// Names of columns are written as others, because the format cannot hold them.
    Renamed {
        /// Each name, and what is written.
        names: Vec<(String, String)>,
    },
    /// There is more behind the data that the header declares.
    TrailingBytes {
        /// At least how many bytes.
        bytes: u64,
    },
}

impl Warning {
    /// How far a coordinate must move for [`Warning::Rounded`], in metres: a millimetre, below the
    /// noise of any LiDAR.
    pub const WORTH_TELLING: f64 = pointmill_core::WORTH_AN_ORIGIN;
}

/// Some names.
fn listed(columns: &[String]) -> String {
    let shown: Vec<_> = columns.iter().take(SHOWN).map(|name| format!("`{}`", escape(name))).collect();
    let more = if columns.len() > shown.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

// Only numbers that are compared, never NaN.
impl Eq for Warning {}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the cloud is empty"),
            Self::NoFinitePoint { points } => write!(f, "none of the {points} points is finite"),
            Self::NonFinite { count, points } => write!(f, "{count} of {points} points are not finite"),
            Self::Cast { columns, by, to } => {
                let (word, verb) = if columns.len() == 1 { ("column", "is") } else { ("columns", "are") };
                let units: BTreeSet<_> = columns.iter().map(|name| unit_of(name).map(|unit| unit.as_str())).collect();
                let unit =
                    if let [Some(unit)] = Vec::from_iter(units)[..] { format!(" {unit}") } else { String::new() };
                let by: f64 = format!("{by:.1e}").parse().unwrap_or(*by);
                write!(f, "{word} {} {verb} rounded to {to} (largest change {by}{unit})", listed(columns))
            }
            Self::Rounded { by, origin } => {
                write!(f, "coordinates moved by up to {by:.3} m when they were cast to f32")?;
                match origin {
                    [0.0, 0.0, 0.0] => Ok(()),
                    [x, y, z] => write!(f, " about the origin {x}, {y}, {z}"),
                }
            }
            Self::Steps { by } => {
                let by: f64 = format!("{by:.1e}").parse().unwrap_or(*by);
                write!(f, "coordinates are rounded by up to {by} m, since LAS has 32 bits for each; .ply keeps them")
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
                write!(f, "{columns} values per point is probably wrong; try --columns {likely}")
            }
            Self::LeftOut { columns } => {
                write!(f, "columns that hold no numbers were left out: {}", listed(columns))
            }
            Self::Renamed { names } => {
                let one = |(from, to): &(String, String)| format!("`{}` is written as `{}`", escape(from), escape(to));
                let shown: Vec<_> = names.iter().take(SHOWN).map(one).collect();
                let more = if names.len() > shown.len() { ", ..." } else { "" };
                write!(f, "the format cannot hold some names of columns: {}{more}", shown.join(", "))
            }
            Self::TrailingBytes { bytes } => write!(f, "{bytes} or more bytes after the declared data were ignored"),
        }
    }
}
