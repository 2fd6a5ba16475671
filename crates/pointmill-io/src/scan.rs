//! A cloud as it came from a file: the points, what the columns are, and what is odd about them.

use crate::format::Format;
use crate::limits::Limits;
use pointmill_core::PointCloud;
use pointmill_core::array::Dtype;
use std::fmt;

/// How to read a cloud.
///
/// ```
/// use pointmill_io::{Format, ReadOptions};
/// let options = ReadOptions { format: Some(Format::Bin), columns: Some(6), ..ReadOptions::default() };
/// assert_eq!(options.limits.max_points, Some(1 << 30));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; by default found by name, then by content.
    pub format: Option<Format>,
    /// The number of columns. Raw rows are cut by it (default 4, nuScenes 5); arrays must have it if it is given.
    pub columns: Option<usize>,
    /// How much a read may take.
    pub limits: Limits,
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
    /// x, y, z of every point as the file has them, `[N, 3]` row-major, where `f32` loses some of it; `None` where the cloud
    /// has every bit. Coordinates of maps (UTM) are hundreds of kilometres, of which an `f32` is at best good to 0.25 m.
    pub xyz_f64: Option<Vec<f64>>,
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
    /// Coordinates moved by [`Warning::WORTH_TELLING`] or more when they were cast to `f32`; [`Scan::xyz_f64`] has them in full.
    Rounded {
        /// The farthest that a coordinate moved, in metres.
        by: f64,
    },
    /// Some points lie outside the box that the header gives. It decides nothing; but compressed files have no checksum, and this
    /// may be the only sign of damage.
    OutsideBounds {
        /// How many.
        count: usize,
        /// The number of points.
        points: usize,
    },
    /// There is more behind the data that the header declares.
    TrailingBytes {
        /// At least how many bytes.
        bytes: u64,
    },
}

impl Warning {
    /// How far a coordinate must move for [`Warning::Rounded`], in metres: a millimetre, below the noise of any LiDAR.
    pub const WORTH_TELLING: f64 = 1e-3;
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
            Self::Rounded { by } => write!(f, "coordinates moved by up to {by:.3} m when they were cast to f32"),
            Self::OutsideBounds { count, points } => {
                write!(f, "{count} of {points} points lie outside the box that the header gives")
            }
            Self::TrailingBytes { bytes } => write!(f, "{bytes} or more bytes after the declared data were ignored"),
        }
    }
}

impl Scan {
    /// Puts a scan together and looks for what is odd about the points.
    pub(crate) fn new(
        cloud: PointCloud,
        format: Format,
        fields: Vec<Field>,
        xyz_f64: Option<Vec<f64>>,
        mut warnings: Vec<Warning>,
    ) -> Self {
        // Where types have names of their own, small integers among them are ordinary and lose nothing.
        let named = matches!(format, Format::Ply | Format::Pcd | Format::Las);
        for &Field { dtype: from, .. } in &fields {
            let kept = if named { from.fits_f32() } else { from == Dtype::F32 };
            if !kept && !warnings.contains(&Warning::Cast { from }) {
                warnings.push(Warning::Cast { from });
            }
        }
        let xyz_f64 = xyz_f64.filter(|exact| {
            let (lost, by) = loss(&cloud, exact);
            if by >= Warning::WORTH_TELLING {
                warnings.push(Warning::Rounded { by });
            }
            lost
        });
        let (points, count) = (cloud.len(), cloud.points().nonfinite());
        if points == 0 {
            warnings.push(Warning::Empty);
        } else if count == points {
            warnings.push(Warning::NoFinitePoint { points });
        } else if count > 0 {
            warnings.push(Warning::NonFinite { count, points });
        }
        Self { cloud, format, fields, xyz_f64, warnings }
    }

    /// The smallest and the largest x, y, z of the points that are finite as `f64`, from [`Scan::xyz_f64`]; `None` if there
    /// are none, or where `cloud` has every bit and its own bounds are exact.
    pub fn bounds_f64(&self) -> Option<([f64; 3], [f64; 3])> {
        let points = self.xyz_f64.as_ref()?.chunks_exact(3).map(|p| [p[0], p[1], p[2]]);
        points.filter(|p| p.iter().all(|v| v.is_finite())).fold(None, |bounds, p| {
            let (mut min, mut max) = bounds.unwrap_or((p, p));
            for axis in 0..3 {
                min[axis] = min[axis].min(p[axis]);
                max[axis] = max[axis].max(p[axis]);
            }
            Some((min, max))
        })
    }
}

/// Whether a coordinate of the cloud is not what it was, and the farthest one moved.
fn loss(cloud: &PointCloud, exact: &[f64]) -> (bool, f64) {
    let cast = cloud.points().iter_xyz().flatten().map(f64::from);
    cast.zip(exact).fold((false, 0.0), |(lost, by), (cast, &exact)| {
        let moved = (cast - exact).abs();
        // Of NaN no more is wanted than that it stays one; an infinity that was none did not move by metres.
        let same = cast == exact || (cast.is_nan() && exact.is_nan());
        (lost || !same, if moved.is_finite() { moved.max(by) } else { by })
    })
}

/// The columns of a format that does not name them, all of one type.
pub(crate) fn unnamed(format: Format, columns: usize, dtype: Dtype) -> Vec<Field> {
    (0..columns).map(|i| Field { name: column_name(format, i), dtype }).collect()
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
        Scan::new(PointCloud::new(data, 5).unwrap(), Format::Kitti, unnamed(Format::Kitti, 5, dtype), None, vec![])
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
    fn coordinates_are_kept_where_they_lose() {
        let scan = |xyz: [f64; 3]| {
            let cloud = PointCloud::from_f64(&xyz, 3).unwrap();
            Scan::new(cloud, Format::Ply, unnamed(Format::Ply, 3, Dtype::F64), Some(xyz.to_vec()), vec![])
        };
        let cast = Warning::Cast { from: Dtype::F64 };
        for (xyz, kept, by) in [
            ([0.5, f64::NAN, -0.0], false, None),
            ([0.1, 0.5, 0.0], true, None),
            ([691_764.6, 5_335_881.125, 500.0], true, Some(0.125)),
            ([1e300, 0.0, 0.0], true, None),
        ] {
            let scan = scan(xyz);
            assert_eq!(scan.xyz_f64.is_some(), kept, "{xyz:?}");
            let told =
                scan.warnings.iter().find_map(|w| if let Warning::Rounded { by } = w { Some(*by) } else { None });
            assert_eq!((told, &scan.warnings[0]), (by, &cast), "{xyz:?}");
            let wanted = (kept && xyz[0] < 1e300).then_some((xyz, xyz));
            assert!(wanted.is_none() || scan.bounds_f64() == wanted);
        }
        assert_eq!(
            Warning::Rounded { by: 0.25 }.to_string(),
            "coordinates moved by up to 0.250 m when they were cast to f32"
        );
    }

    #[test]
    fn columns_have_names() {
        let names = |f, n| (0..n).map(|i| column_name(f, i)).collect::<Vec<_>>().join(" ");
        assert_eq!(names(Format::Kitti, 5), "x y z intensity column4");
        assert_eq!(names(Format::Nuscenes, 5), "x y z intensity time");
        assert_eq!(names(Format::Npy, 4), "x y z column3");
    }
}
