//! Which field of a cloud has the times of its points, and in which unit.

use pointmill_core::array::Dtype;

/// The unit of times of points.
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

pointmill_core::names!(TimeUnit { Seconds = "s", Milliseconds = "ms", Microseconds = "us", Nanoseconds = "ns" });

/// What times of points are counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeOrigin {
    /// The stamp of the cloud.
    Stamp,
    /// The start of 1970.
    Epoch,
}

pointmill_core::names!(TimeOrigin { Stamp = "stamp", Epoch = "epoch" });

/// The field that has the times of points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeField {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: TimeUnit,
    /// What it counts from.
    pub origin: TimeOrigin,
}

/// Whether drivers give times this name.
pub(super) fn is_time(name: &str) -> bool {
    ["t", "time", "timestamp", "time_stamp", "offset_time", "offset_ns"].contains(&name)
}

/// The unit and the origin of times from `low` to `high`; `None` where they cannot be told.
///
/// Times from the epoch lie between the years 2001 and 2096, and only an `f64` holds them to the microsecond. Other times lie within 1 s
/// of the stamp, and the farthest of them is 1 ms or more away from it. So each range has one unit.
pub(super) fn judge(dtype: Dtype, low: f64, high: f64) -> Option<(TimeUnit, TimeOrigin)> {
    const UNITS: [(TimeUnit, f64); 4] = [
        (TimeUnit::Seconds, 1.0),
        (TimeUnit::Milliseconds, 1e3),
        (TimeUnit::Microseconds, 1e6),
        (TimeUnit::Nanoseconds, 1e9),
    ];
    let unit = |fits: &dyn Fn(f64) -> bool| UNITS.iter().find(|(_, second)| fits(*second)).map(|(unit, _)| *unit);
    let epoch = |second: f64| low >= 1e9 * second && high < 4e9 * second;
    if let Some(unit) = unit(&epoch).filter(|_| dtype == Dtype::F64) {
        return Some((unit, TimeOrigin::Epoch));
    }
    let farthest = low.abs().max(high.abs());
    let near = |second: f64| farthest > 1e-3 * second && farthest <= second;
    Some((unit(&near)?, TimeOrigin::Stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_has_one_unit() {
        use TimeOrigin::{Epoch, Stamp};
        use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        for (dtype, low, high, wanted) in [
            (Dtype::F32, -0.1, 0.0, Some((Seconds, Stamp))),
            (Dtype::F32, 0.0, 0.0999, Some((Seconds, Stamp))),
            (Dtype::F32, 0.0, 99.9, Some((Milliseconds, Stamp))),
            (Dtype::U32, 0.0, 99_900.0, Some((Microseconds, Stamp))),
            (Dtype::U32, 0.0, 99_900_000.0, Some((Nanoseconds, Stamp))),
            (Dtype::U16, 0.0, 100.0, Some((Milliseconds, Stamp))),
            (Dtype::F64, 1.7e9, 1.7e9 + 0.1, Some((Seconds, Epoch))),
            (Dtype::F64, 1.7e12, 1.7e12 + 100.0, Some((Milliseconds, Epoch))),
            (Dtype::F64, 1.7e15, 1.7e15, Some((Microseconds, Epoch))),
            (Dtype::F64, 1.7e18, 1.7e18 + 1e8, Some((Nanoseconds, Epoch))),
            // An f32 of seconds since 1970 has steps of 128 s; a u32 would be 1.7 s, more than a sweep.
            (Dtype::F32, 1.7e9, 1.7e9, None),
            (Dtype::U32, 1.7e9, 1.7e9, None),
            (Dtype::F32, 0.0, 0.0, None),
            (Dtype::F64, f64::INFINITY, f64::NEG_INFINITY, None),
            (Dtype::F64, -5.0, 1.7e9, None),
        ] {
            assert_eq!(judge(dtype, low, high), wanted, "{dtype} {low} {high}");
        }
    }
}
