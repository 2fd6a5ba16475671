//! A cloud as it came from a file: the points, what the columns are, and what is odd about them.

use crate::dtype::Dtype;
use crate::format::Format;
use pointmill_core::PointCloud;
use std::fmt;

/// How to read a cloud.
///
/// ```
/// use pointmill_io::{Format, ReadOptions};
/// let options = ReadOptions { format: Some(Format::Bin), columns: Some(6), ..ReadOptions::default() };
/// assert_eq!(options.max_points, Some(1 << 30));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; by default found by name, then by content.
    pub format: Option<Format>,
    /// The number of columns. Raw rows are cut by it (default 4, nuScenes 5); arrays must have it if it is given.
    pub columns: Option<usize>,
    /// The most points read, default 2^30; `None` for no limit.
    pub max_points: Option<u64>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, columns: None, max_points: Some(1 << 30) }
    }
}

/// A cloud from a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scan {
    /// The points, in the file's order, none left out.
    pub cloud: PointCloud,
    /// The format it was read in.
    pub format: Format,
    /// The columns of the cloud, in order, with the types that the file has.
    pub fields: Vec<Field>,
    /// What a user may want to know; none of it kept the cloud from being read.
    pub warnings: Vec<Warning>,
}

/// A column of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name: `x`, `y`, `z`, then `intensity`, `time`, or `column3` where the file has no names.
    pub name: String,
    /// The type of its values in the file.
    pub dtype: Dtype,
}

/// Something odd that did not keep a cloud from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// There is more behind the data that the header declares.
    TrailingBytes {
        /// At least how many bytes.
        bytes: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the cloud is empty"),
            Self::NoFinitePoint { points } => write!(f, "none of the {points} points is finite"),
            Self::NonFinite { count, points } => write!(f, "{count} of {points} points are not finite"),
            Self::Cast { from } => write!(f, "values of {from} were cast to f32"),
            Self::TrailingBytes { bytes } => write!(f, "{bytes} or more bytes after the declared data were ignored"),
        }
    }
}

impl Scan {
    /// Puts a scan together and looks for what is odd about the points.
    pub(crate) fn new(cloud: PointCloud, format: Format, dtype: Dtype, mut warnings: Vec<Warning>) -> Self {
        if dtype != Dtype::F32 {
            warnings.push(Warning::Cast { from: dtype });
        }
        let (points, count) = (cloud.len(), cloud.points().nonfinite());
        if points == 0 {
            warnings.push(Warning::Empty);
        } else if count == points {
            warnings.push(Warning::NoFinitePoint { points });
        } else if count > 0 {
            warnings.push(Warning::NonFinite { count, points });
        }
        let fields = (0..cloud.columns()).map(|i| Field { name: column_name(format, i), dtype }).collect();
        Self { cloud, format, fields, warnings }
    }
}

/// The name of column `i`, as far as the format fixes it.
fn column_name(format: Format, i: usize) -> String {
    let known: &[&str] = match format {
        Format::Kitti => &["x", "y", "z", "intensity"],
        Format::Nuscenes => &["x", "y", "z", "intensity", "time"],
        _ => &["x", "y", "z"],
    };
    known.get(i).map_or_else(|| format!("column{i}"), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(data: Vec<f32>, dtype: Dtype) -> Scan {
        Scan::new(PointCloud::new(data, 5).unwrap(), Format::Kitti, dtype, vec![])
    }

    #[test]
    fn what_is_odd_is_told_once() {
        let (ok, nan) = ([0.0, 0.0, 0.0, f32::NAN, 0.0], [0.0, f32::NAN, 0.0, 0.0, 0.0]);
        assert_eq!(scan(vec![], Dtype::F32).warnings, [Warning::Empty]);
        assert_eq!(scan(ok.to_vec(), Dtype::F32).warnings, []);
        assert_eq!(scan(nan.to_vec(), Dtype::F32).warnings, [Warning::NoFinitePoint { points: 1 }]);
        assert_eq!(
            scan([ok, nan].concat(), Dtype::F64).warnings,
            [Warning::Cast { from: Dtype::F64 }, Warning::NonFinite { count: 1, points: 2 }]
        );
        assert_eq!(Warning::NonFinite { count: 1, points: 2 }.to_string(), "1 of 2 points are not finite");
    }

    #[test]
    fn columns_have_names() {
        let names = |f, n| (0..n).map(|i| column_name(f, i)).collect::<Vec<_>>().join(" ");
        assert_eq!(names(Format::Kitti, 5), "x y z intensity column4");
        assert_eq!(names(Format::Nuscenes, 5), "x y z intensity time");
        assert_eq!(names(Format::Npy, 4), "x y z column3");
    }
}
