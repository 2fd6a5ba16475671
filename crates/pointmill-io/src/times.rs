//! Times of points: which column holds them, and in which unit.

use crate::scan::Scan;
use pointmill_core::names;
use std::fmt;

/// Names that columns of times have, in any case.
const COLUMNS: [&str; 5] = ["t", "time", "timestamp", "time_stamp", "offset_time"];
/// Shortest and longest sweep in seconds. The longest is less than a thousand times the shortest, so that a span fits one unit at most.
const SWEEP: [f64; 2] = [0.005, 2.0];

/// The unit of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

names!(TimeUnit { Seconds = "s", Milliseconds = "ms", Microseconds = "us", Nanoseconds = "ns" });

impl TimeUnit {
    /// The unit in which the finite times of one sweep span 5 ms to 2 s; `None` if there is no such unit, as for times that are all equal.
    ///
    /// The span decides, so that times of an epoch and times from the start of the sweep are found alike.
    ///
    /// ```
    /// use pointmill_io::TimeUnit;
    /// assert_eq!(TimeUnit::of(&[0.0, 0.05, 0.0999]), Some(TimeUnit::Seconds));
    /// assert_eq!(TimeUnit::of(&[1.7e18, 1.7e18 + 99_900_000.0]), Some(TimeUnit::Nanoseconds));
    /// assert_eq!(TimeUnit::of(&[3.0, 3.0]), None);
    /// ```
    pub fn of(times: &[f64]) -> Option<Self> {
        let span = span(times);
        let fits = |unit: &&Self| (SWEEP[0]..=SWEEP[1]).contains(&(span / unit.per_second()));
        Self::ALL.iter().find(fits).copied()
    }

    /// So many make a second.
    pub const fn per_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e3,
            Self::Microseconds => 1e6,
            Self::Nanoseconds => 1e9,
        }
    }
}

/// From the least to the largest of the finite times; 0 without any.
fn span(times: &[f64]) -> f64 {
    let finite = || times.iter().copied().filter(|time| time.is_finite());
    (finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min)).max(0.0)
}

/// The times of the points of a scan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PointTimes {
    /// The name of the column.
    pub column: String,
    /// The unit that the file has them in.
    pub unit: TimeUnit,
    /// The time of each point in seconds, of the clock that the file has.
    pub seconds: Vec<f64>,
}

/// Why a scan has no times of points.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoTimes {
    /// No column has a name of times.
    NoColumn,
    /// More than one column has such a name.
    SeveralColumns(Vec<String>),
    /// The column spans a time that no sweep takes in any unit.
    NoUnit {
        /// The name of the column.
        column: String,
        /// The largest of the finite times less the least.
        span: f64,
    },
}

impl fmt::Display for NoTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColumn => write!(f, "times: expected a column named {}, got none", COLUMNS.join(", ")),
            Self::SeveralColumns(names) => write!(f, "times: expected one column, got {}", names.join(", ")),
            Self::NoUnit { column, span } => {
                let [least, most] = SWEEP;
                write!(f, "times: expected a span of {least} to {most} s in s, ms, us or ns, got {span} in {column}")
            }
        }
    }
}

impl std::error::Error for NoTimes {}

/// Whether a name is one of a column of times.
fn is_time(name: &str) -> bool {
    COLUMNS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The index of the one column whose name says that it holds times, if there is one.
pub(crate) fn time_column<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<usize> {
    let mut found = names.into_iter().enumerate().filter(|(_, name)| is_time(name)).map(|(i, _)| i);
    found.next().filter(|_| found.next().is_none())
}

impl Scan {
    /// The times of the points in seconds, from the one column named `t`, `time`, `timestamp`, `time_stamp` or `offset_time` in any case.
    ///
    /// The unit is the one in which the scan spans 5 ms to 2 s. Times of an epoch and times from the start of the sweep are both found. They keep every bit
    /// that an `f64` has.
    ///
    /// # Errors
    /// No such column, more than one, or a span that fits no unit.
    ///
    /// ```
    /// use pointmill_core::Points;
    /// use pointmill_io::{NamedPoints, ReadOptions, TimeUnit, read, write_ply};
    /// let path = std::env::temp_dir().join(format!("pointmill-doc-{}-times.ply", std::process::id()));
    /// let points = Points::new(&[1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 100.0], 4)?;
    /// write_ply(&path, &NamedPoints::new(points, &["x", "y", "z", "Time"]))?;
    /// let times = read(&path, &ReadOptions::default())?.times()?;
    /// assert_eq!((times.unit, times.seconds), (TimeUnit::Milliseconds, vec![0.0, 0.1]));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn times(&self) -> Result<PointTimes, NoTimes> {
        let names = || self.fields.iter().map(|field| field.name.as_str());
        let Some(index) = time_column(names()) else {
            let several: Vec<String> = names().filter(|name| is_time(name)).map(str::to_owned).collect();
            return Err(if several.is_empty() { NoTimes::NoColumn } else { NoTimes::SeveralColumns(several) });
        };
        let column = self.fields[index].name.clone();
        let mut times = match &self.times_f64 {
            Some(times) => times.clone(),
            None => (0..self.cloud.len()).map(|i| f64::from(self.cloud.points().row(i)[index])).collect(),
        };
        let Some(unit) = TimeUnit::of(&times) else {
            return Err(NoTimes::NoUnit { column, span: span(&times) });
        };
        times.iter_mut().for_each(|time| *time /= unit.per_second());
        Ok(PointTimes { column, unit, seconds: times })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read};

    #[test]
    fn a_span_has_one_unit_or_none() {
        for unit in TimeUnit::ALL {
            for (seconds, start) in [(0.005, 0.0), (0.1, 0.0), (0.1, 1e9), (2.0, -50.0)] {
                let times = [start, start + seconds].map(|t: f64| t * unit.per_second());
                assert_eq!(TimeUnit::of(&times), Some(*unit), "{unit} {seconds} {start}");
            }
            let gap = [0.0, 3.0 * unit.per_second()];
            assert_eq!(TimeUnit::of(&gap), None, "{unit}");
        }
        assert_eq!(TimeUnit::of(&[]), None);
        assert_eq!(TimeUnit::of(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(TimeUnit::of(&[0.0, f64::NAN, 0.1]), Some(TimeUnit::Seconds));
    }

    /// A PCD of two points with times of a type, read.
    fn scan(fields: &str, types: &str, rows: [&str; 2]) -> Scan {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcd");
        let sizes: Vec<_> = types.split(' ').map(|t| if t.ends_with('8') { "8" } else { "4" }).collect();
        let kinds: Vec<_> = types.split(' ').map(|t| &t[..1]).collect();
        let ones = vec!["1"; sizes.len()].join(" ");
        let header = format!(
            "VERSION .7\nFIELDS {fields}\nSIZE {}\nTYPE {}\nCOUNT {ones}\nWIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n\
             POINTS 2\nDATA ascii\n{}\n{}\n",
            sizes.join(" "),
            kinds.join(" "),
            rows[0],
            rows[1]
        );
        std::fs::write(&path, header).unwrap();
        read(&path, &ReadOptions::default()).unwrap()
    }

    #[test]
    fn times_keep_every_bit_in_files_of_any_type() {
        for (types, rows, unit, wanted) in [
            ("F4 F4 F4 F4", ["1 2 3 0", "1 2 3 0.125"], TimeUnit::Seconds, [0.0, 0.125]),
            ("F4 F4 F4 U4", ["1 2 3 0", "1 2 3 99999999"], TimeUnit::Nanoseconds, [0.0, 0.099_999_999]),
            (
                "F4 F4 F4 F8",
                ["1 2 3 1763830800.0625", "1 2 3 1763830800.125"],
                TimeUnit::Seconds,
                [1_763_830_800.062_5, 1_763_830_800.125],
            ),
            (
                "F4 F4 F4 U8",
                ["1 2 3 1763830800062500", "1 2 3 1763830800125000"],
                TimeUnit::Microseconds,
                [1_763_830_800.062_5, 1_763_830_800.125],
            ),
        ] {
            let scan = scan("x y z timestamp", types, rows);
            let found = scan.times().unwrap();
            assert_eq!(
                (found.column.as_str(), found.unit, found.seconds),
                ("timestamp", unit, wanted.to_vec()),
                "{types}"
            );
            let moved = scan.transformed(&pointmill_core::Pose::IDENTITY, false);
            assert_eq!(moved.times().unwrap().seconds, wanted, "{types}");
        }
    }

    #[test]
    fn what_is_not_clear_is_named() {
        let told = |fields: &str, rows| scan(fields, "F4 F4 F4 F4 F4", rows).times().unwrap_err().to_string();
        let rows = ["1 2 3 0 0", "1 2 3 3 0"];
        assert_eq!(
            told("x y z a b", rows),
            "times: expected a column named t, time, timestamp, time_stamp, offset_time, got none"
        );
        assert_eq!(told("x y z t Offset_Time", rows), "times: expected one column, got t, Offset_Time");
        assert_eq!(told("x y z t b", rows), "times: expected a span of 0.005 to 2 s in s, ms, us or ns, got 3 in t");
    }
}
