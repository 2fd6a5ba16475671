//! Which column holds the times of points, and in which unit.

use pointmill_core::names;

/// Names that columns of times have, in any case.
const COLUMNS: [&str; 5] = ["t", "time", "timestamp", "time_stamp", "offset_time"];
/// Shortest and longest sweep in seconds. The longest is less than a thousand times the shortest, so that one unit fits a span at most.
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
    /// The span decides, so that times of an epoch and times from the start of the sweep are found alike. Epochs need `f64`: an `f32` has steps of 128 s there.
    ///
    /// ```
    /// use pointmill::pipelines::odometry::TimeUnit;
    /// assert_eq!(TimeUnit::of(&[0.0, 0.05, 0.0999]), Some(TimeUnit::Seconds));
    /// assert_eq!(TimeUnit::of(&[1.7e18, 1.7e18 + 99_900_000.0]), Some(TimeUnit::Nanoseconds));
    /// assert_eq!(TimeUnit::of(&[3.0, 3.0]), None);
    /// ```
    pub fn of(times: &[f64]) -> Option<Self> {
        let finite = || times.iter().copied().filter(|time| time.is_finite());
        let span = finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min);
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

/// The index of the one column whose name says that it holds times: `t`, `time`, `timestamp`, `time_stamp` or `offset_time`. `None` if there is none or more than one.
///
/// ```
/// use pointmill::pipelines::odometry::time_column;
/// assert_eq!(time_column(["x", "y", "z", "intensity", "ring", "Time"]), Some(5));
/// assert_eq!(time_column(["x", "y", "z", "t", "timestamp"]), None);
/// ```
pub fn time_column<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<usize> {
    let is_time = |name: &str| COLUMNS.iter().any(|known| known.eq_ignore_ascii_case(name));
    let mut found = names.into_iter().enumerate().filter(|(_, name)| is_time(name)).map(|(i, _)| i);
    found.next().filter(|_| found.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
