//! What is odd about a cloud that was read all the same.

use crate::error::escape;
use crate::format::Format;
use crate::times::unit_of;
use pointmill_core::array::Dtype;
use std::collections::BTreeSet;
use std::fmt;

/// Names that a warning shows.
pub(crate) const SHOWN: usize = 8;

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
    /// Points without an echo, which the file has at (0, 0, 0) of the scanner, became NaN.
    NoEcho {
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
    /// Fields that cannot be read, and that nobody needs, were left out.
    NotRead {
        /// Some of them: the name, and why it was left out.
        fields: Vec<(String, String)>,
        /// How many they are.
        count: u64,
    },
    /// A name stands for several columns; the later ones have other names.
    Repeated {
        /// Each name, and the one that the column has.
        names: Vec<(String, String)>,
    },
    /// A part of the file says what the rest of it and its bytes contradict, and did not count.
    Overruled {
        /// The part.
        field: String,
        /// What it says.
        said: String,
        /// What was taken.
        used: String,
    },
    /// The file is of a later version of its format than is known, and was read as the newest known.
    LaterVersion {
        /// The version that it says.
        said: String,
        /// The version that it was read as.
        read: String,
    },
    /// Quaternions of poses are of another length than 1, as those of few digits are, and were
    /// divided by it.
    Normalized {
        /// How many.
        count: usize,
        /// The length that is farthest from 1.
        length: f64,
    },
    /// The first bytes are those of another format than the name says or the caller asked for.
    OtherContent {
        /// The format of the first bytes.
        content: Format,
        /// The format in which the file was read.
        read: Format,
    },
    /// Whole numbers of text that an `f32` does not hold were rounded: columns of text are `f32`, but
    /// for coordinates and times.
    WholeRounded {
        /// How many.
        count: u64,
    },
    /// Words for a value that is not there, such as `NA` or an empty cell, became NaN.
    Missing {
        /// How many.
        count: u64,
    },
    /// An array of few long rows was read as if it were transposed.
    Transposed {
        /// The rows of the array, which became columns.
        rows: usize,
        /// The columns of the array, which became points.
        columns: usize,
    },
    /// An array has fewer rows than columns and was read as it is.
    FewRows {
        /// The rows of the array.
        rows: usize,
        /// The columns of the array.
        columns: usize,
    },
    /// Columns of other names were taken for x, y and z.
    Axes {
        /// Their names.
        names: [String; 3],
    },
    /// Raw rows look as if they were no `f32`: coordinates are beyond 10,000 km or next to nothing.
    Implausible {
        /// How many of the points that were looked at.
        count: usize,
        /// The points that were looked at.
        points: usize,
    },
    /// Columns that hold no numbers were left out.
    LeftOut {
        /// Their names.
        columns: Vec<String>,
    },
    /// What a file says of all its points, or of each, is not in the file that is written.
    NotKept {
        /// What it is.
        parts: Vec<String>,
    },
    /// The clouds of several topics of a bag were joined, sweep by sweep.
    Joined {
        /// The first topic, of which each cloud makes a sweep.
        topic: String,
        /// The frame that the points are in.
        frame: String,
        /// The number of sweeps.
        sweeps: u64,
        /// Each other topic; the sweeps without a cloud of it, and its clouds in no sweep.
        others: Vec<(String, u64, u64)>,
        /// Columns that not all topics have, and that were left out.
        left_out: Vec<String>,
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

impl Warning {
    /// Adds a field that is left out to the warnings, one for all of them.
    pub(crate) fn left_out(warnings: &mut Vec<Self>, name: impl Into<String>, why: impl Into<String>) {
        if !matches!(warnings.last(), Some(Self::NotRead { .. })) {
            warnings.push(Self::NotRead { fields: vec![], count: 0 });
        }
        if let Some(Self::NotRead { fields, count }) = warnings.last_mut() {
            *count += 1;
            if fields.len() < SHOWN {
                fields.push((name.into(), why.into()));
            }
        }
    }
}

/// Some names.
fn listed(columns: &[String]) -> String {
    let shown: Vec<_> = columns.iter().take(SHOWN).map(|name| format!("`{}`", escape(name))).collect();
    let more = if columns.len() > shown.len() { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

// Only numbers that are compared, never NaN.
impl Eq for Warning {}

/// `{:#}` names types as numpy does: `float32` for `f32`.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if f.alternate() { Dtype::numpy } else { Dtype::as_str };
        let f32 = name(Dtype::F32);
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
                let to = name(*to);
                write!(f, "{word} {} {verb} rounded to {to} (largest change {by}{unit})", listed(columns))
            }
            Self::Rounded { by, origin } => {
                write!(f, "coordinates moved by up to {by:.3} m when they were cast to {f32}")?;
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
            Self::NoEcho { count, points } => {
                write!(f, "{count} of {points} points have no echo (0, 0, 0 of the scanner) and became NaN")
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
            Self::NotRead { fields, count } => {
                let shown = fields.iter().map(|(name, why)| format!("`{}` ({})", escape(name), escape(why)));
                let more = if *count > fields.len() as u64 { ", ..." } else { "" };
                let (word, verb) = if *count == 1 { ("field", "was") } else { ("fields", "were") };
                write!(f, "{count} {word} {verb} left out: {}{more}", shown.collect::<Vec<_>>().join(", "))
            }
            Self::Repeated { names } => {
                let one = |(name, read): &(String, String)| format!("another `{}` is `{}`", escape(name), escape(read));
                let shown: Vec<_> = names.iter().take(SHOWN).map(one).collect();
                let more = if names.len() > shown.len() { ", ..." } else { "" };
                write!(f, "columns of one name: {}{more}", shown.join(", "))
            }
            Self::Overruled { field, said, used } => {
                write!(
                    f,
                    "{} is {}, but the rest of the file gives {}, which was taken",
                    escape(field),
                    escape(said),
                    escape(used)
                )
            }
            Self::LaterVersion { said, read } => {
                write!(f, "version {} is not known; the file was read as {}", escape(said), escape(read))
            }
            Self::Normalized { count, length } => {
                let (word, verb) = if *count == 1 { ("quaternion", "was") } else { ("quaternions", "were") };
                write!(f, "{count} {word} of a pose {verb} normalized (a length of {length:.4})")
            }
            Self::OtherContent { content, read } if content == read => {
                write!(f, "the content is {content}, whatever the name says, and was read as that")
            }
            Self::OtherContent { content, read } => {
                write!(f, "the first bytes are those of {content}, but the file was read as {read}, as asked for")
            }
            Self::WholeRounded { count } => {
                let (word, verb) = if *count == 1 { ("number", "was") } else { ("numbers", "were") };
                write!(
                    f,
                    "{count} whole {word} of text {verb} rounded to {f32}; a format with types of columns (.ply, .pcd, .feather) keeps all digits"
                )
            }
            Self::Missing { count: 1 } => {
                write!(f, "1 value is not there (an empty cell, NA or the like) and became NaN")
            }
            Self::Missing { count } => {
                write!(f, "{count} values are not there (empty cells, NA or the like) and became NaN")
            }
            Self::Transposed { rows, columns } => {
                write!(
                    f,
                    "the array has {rows} rows of {columns} columns and was read as {columns} points of {rows} columns"
                )
            }
            Self::FewRows { rows, columns } => {
                write!(f, "{rows} rows of {columns} columns: is the array transposed? --columns {rows} reads it so")
            }
            Self::Axes { names: [x, y, z] } => {
                write!(f, "x, y, z are the columns `{}`, `{}`, `{}`", escape(x), escape(y), escape(z))
            }
            Self::Implausible { count, points } => {
                write!(
                    f,
                    "{count} of {points} points looked at are beyond 10,000 km or next to zero: these may be no rows of little-endian {f32}"
                )
            }
            Self::LeftOut { columns } => {
                write!(f, "columns that hold no numbers were left out: {}", listed(columns))
            }
            Self::NotKept { parts } => {
                let shown: Vec<_> = parts.iter().map(|part| escape(part)).collect();
                write!(f, "not kept in the file that is written: {}", shown.join("; "))
            }
            Self::Joined { topic, frame, sweeps, others, left_out } => {
                let sweep = |n: &u64| format!("{n} {}", if *n == 1 { "sweep" } else { "sweeps" });
                let all: Vec<_> = others.iter().map(|(name, ..)| escape(name)).collect();
                let (topic, all, frame) = (escape(topic), all.join(", "), escape(frame));
                write!(f, "{topic} is joined with {all} in the frame `{frame}`: {}", sweep(sweeps))?;
                for (name, lacking, over) in others.iter().filter(|(_, lacking, over)| lacking + over > 0) {
                    let name = escape(name);
                    let clouds = if *over == 1 { "cloud" } else { "clouds" };
                    write!(f, "; {} without a cloud of {name}, {over} {clouds} of it in no sweep", sweep(lacking))?;
                }
                if left_out.is_empty() {
                    return Ok(());
                }
                write!(f, "; columns that not all have were left out: {}", listed(left_out))
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
