//! Times of points: the column that has them, and the unit that its values are in.

use crate::field::Field;
use crate::format::Format;
use crate::threads::{SHARE, on_threads};
use crate::wide_column::WideColumn;
use std::borrow::Cow;
use std::sync::Arc;

/// The unit that a file counts times in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl TimeUnit {
    /// How many of the unit a second has.
    const fn per_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e3,
            Self::Microseconds => 1e6,
            Self::Nanoseconds => 1e9,
        }
    }
}

/// What decides the unit of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitSource {
    /// The name of the column: a unit at its end, or `gps_time`, which has seconds.
    Name,
    /// The format of the file: E57 has seconds.
    Format,
    /// The name and the type of the column: `offset_time` in whole numbers is Livox's, which has nanoseconds.
    Type,
    /// The range of the values: 18 and 19 digits are nanoseconds of decades, such as since 1970.
    Epoch,
    /// How long the points take: the unit in which that is 0.01 to 10 seconds.
    Span,
}

pointmill_core::names!(UnitSource { Name = "name", Format = "format", Type = "type", Epoch = "epoch", Span = "span" });

/// The time of every point of a [`Scan`](crate::Scan).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Times {
    /// The column, by its name in the file.
    pub name: String,
    /// The unit of the column's values.
    pub unit: TimeUnit,
    /// What decided the unit.
    pub unit_source: UnitSource,
    /// The earliest time, in seconds, as the file counts.
    pub start: f64,
    /// The time of each point after `start`, in seconds; NaN where the file has none.
    pub seconds: Vec<f64>,
}

impl Times {
    /// Times in seconds that are of no file: the earliest, and the time of each point after it.
    pub fn new(start: f64, seconds: Vec<f64>) -> Self {
        Self { name: "times".into(), unit: TimeUnit::Seconds, unit_source: UnitSource::Name, start, seconds }
    }

    /// Seconds from the earliest to the latest time.
    pub fn span(&self) -> f64 {
        self.seconds.iter().copied().filter(|after| after.is_finite()).fold(0.0, f64::max)
    }
}

/// Names of columns of times, without a unit behind them.
const NAMES: [&str; 9] =
    ["t", "time", "timestamp", "time_stamp", "timestamps", "offset_time", "time_offset", "offset", "gps_time"];

/// How long a cloud may take, in seconds: a sweep a tenth, merged ones some seconds. Units are a
/// factor of 1000 apart, so that at most one gives such a length.
const LENGTHS: std::ops::Range<f64> = 0.01..10.0;

/// Fewer steps than these are no times of a sweep: rings are counted like that.
const LEAST_STEPS: f64 = 1000.0;

/// From here on whole numbers are nanoseconds since 1970, or of another clock of decades: those of
/// 18 and 19 digits.
const NANOSECONDS: f64 = 1e17;

/// The unit that the format and the kind of values give to a column of this name.
fn of_format(format: Format, name: &str, are_whole: bool) -> Option<(TimeUnit, UnitSource)> {
    match &*name.to_ascii_lowercase() {
        // The standard has seconds.
        "time_stamp" if format == Format::E57 => Some((TimeUnit::Seconds, UnitSource::Format)),
        // The name is Livox's, whose drivers count nanoseconds from the start of a frame.
        "offset_time" if are_whole => Some((TimeUnit::Nanoseconds, UnitSource::Type)),
        _ => None,
    }
}

/// The unit that a column's name gives, `None` in it where the name gives none; `None` for a column
/// that has no times.
#[expect(clippy::option_option)]
fn named(name: &str) -> Option<Option<TimeUnit>> {
    let name = name.to_ascii_lowercase();
    let unit = TimeUnit::ALL.iter().copied().find(|unit| name.ends_with(&format!("_{unit}")));
    let stem = unit.map_or(&*name, |unit| &name[..name.len() - unit.as_str().len() - 1]);
    match stem {
        // Seconds of a week, or of the standard time less a constant.
        "gps_time" | "gpstime" => Some(unit.or(Some(TimeUnit::Seconds))),
        // Not a time by itself.
        "offset" => unit.map(Some),
        stem => NAMES.contains(&stem).then_some(unit),
    }
}

/// Whether a column has times of points, by its name.
pub(crate) fn is_named(name: &str) -> bool {
    named(name).is_some()
}

/// The unit that a column's name gives.
pub(crate) fn unit_of(name: &str) -> Option<TimeUnit> {
    named(name).flatten()
}

/// Times of a scan that are worked out when they are asked for: see
/// [`Scan::later_times`](crate::Scan::later_times).
#[derive(Clone, Debug)]
pub struct LaterTimes {
    format: Format,
    fields: Vec<Field>,
    wide: Arc<WideColumn>,
}

impl LaterTimes {
    /// Of the only column of times, if it is kept in full; `None` where another column may have
    /// times.
    pub(crate) fn new(format: Format, fields: &[Field], wide: &[Arc<WideColumn>]) -> Option<Self> {
        let mut named = (0..fields.len()).filter(|&j| is_named(&fields[j].name));
        let (column, None) = (named.next()?, named.next()) else { return None };
        let wide = wide.iter().find(|wide| wide.column == column)?.clone();
        Some(Self { format, fields: fields.to_vec(), wide })
    }

    /// The times, as [`Scan::times`](crate::Scan::times) returns them.
    pub fn times(&self) -> Option<Times> {
        find(self.format, &self.fields, &[], std::slice::from_ref(&self.wide))
    }
}

/// The times of points, from the first column that is known to have some: by its name, and where
/// that gives no unit, by the format, then by the number of digits, then by how long the points
/// take.
pub(crate) fn find(format: Format, fields: &[Field], data: &[f32], wide: &[Arc<WideColumn>]) -> Option<Times> {
    fields.iter().enumerate().find_map(|(column, field)| {
        let by_name = named(&field.name)?;
        let (first, values) = match wide.iter().find(|wide| wide.column == column) {
            Some(wide) => (wide.first.unwrap_or_default() as f64, Cow::Borrowed(&wide.values[..])),
            None => (0.0, data.iter().skip(column).step_by(fields.len()).map(|&v| f64::from(v)).collect()),
        };
        let finite = || values.iter().copied().filter(|v| v.is_finite());
        let (start, end) = ends(&values)?;
        let (unit, unit_source) = by_name.map(|unit| (unit, UnitSource::Name)).or_else(|| {
            let whole = finite().all(|v| v.fract() == 0.0);
            let steps = !whole || end - start >= LEAST_STEPS;
            let told = of_format(format, &field.name, whole);
            let digits =
                || (first + start >= NANOSECONDS && end > start).then_some((TimeUnit::Nanoseconds, UnitSource::Epoch));
            if let Some(told) = told.or_else(digits) {
                return (steps || format == Format::E57).then_some(told);
            }
            let fits = |unit: &TimeUnit| LENGTHS.contains(&((end - start) / unit.per_second()));
            let unit = TimeUnit::ALL.iter().copied().find(fits).filter(|_| steps)?;
            Some((unit, UnitSource::Span))
        })?;
        let per_second = unit.per_second();
        let mut seconds = vec![0.0; values.len()];
        let second = |v: f64| if v.is_finite() { (v - start) / per_second } else { f64::NAN };
        let shares: Vec<(&mut [f64], &[f64])> = seconds.chunks_mut(SHARE).zip(values.chunks(SHARE)).collect();
        on_threads(shares, |(to, from)| to.iter_mut().zip(from).for_each(|(to, &v)| *to = second(v)));
        Some(Times { name: field.name.clone(), unit, unit_source, start: (first + start) / per_second, seconds })
    })
}

/// The smallest and the largest finite value.
fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let ends = on_threads(values.chunks(SHARE).collect(), |values: &[f64]| {
        values.iter().filter(|v| v.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(start, end), &v| {
            (if v < start { v } else { start }, if v > end { v } else { end })
        })
    });
    let (start, end) = ends.into_iter().reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))?;
    (start <= end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill_core::array::Dtype;

    fn times(name: &str, dtype: Dtype, values: &[f32]) -> Option<Times> {
        find(Format::Ply, &[Field { name: name.into(), dtype }], values, &[])
    }

    #[test]
    fn units_come_from_the_name_or_from_the_length() {
        use TimeUnit::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        let unit = |name: &str, end: f32| times(name, Dtype::F32, &[0.0, end / 3.0, end]).map(|t| t.unit);
        assert_eq!(unit("offset_ns", 2.0), Some(Nanoseconds));
        assert_eq!(unit("Timestamp_us", 2.0), Some(Microseconds));
        assert_eq!(unit("gps_time", 1e6), Some(Seconds));
        assert_eq!(unit("time", 0.1), Some(Seconds));
        assert_eq!(unit("t", 100.0), Some(Milliseconds));
        assert_eq!(unit("offset_time", 1e5), Some(Microseconds));
        assert_eq!(unit("time_stamp", 1e8), Some(Nanoseconds));
        // Too short, too long, no times, and whole numbers of which there are few.
        assert_eq!([unit("t", 1e-3), unit("t", 1e11), unit("intensity", 0.1), unit("offset", 0.1)], [None; 4]);
        assert_eq!(times("time", Dtype::F32, &[0.0, 31.0, 12.0]), None);
        assert_eq!(times("time", Dtype::F32, &[f32::NAN]), None);
    }

    #[test]
    fn formats_and_digits_decide_before_spans() {
        let unit = |format, name: &str, values: &[f64]| {
            let wide = Arc::new(WideColumn::new(0, values.to_vec()));
            let fields = [Field { name: name.into(), dtype: Dtype::F64 }];
            find(format, &fields, &vec![0.0; values.len()], &[wide]).map(|times| times.unit)
        };
        // Seconds of E57, of a scan of minutes too; nanoseconds of Livox, of a part of a frame too.
        assert_eq!(unit(Format::E57, "time_stamp", &[0.0, 1.5, 300.0]), Some(TimeUnit::Seconds));
        assert_eq!(unit(Format::E57, "time_stamp", &[0.0, 600.0, 1200.0]), Some(TimeUnit::Seconds));
        assert_eq!(unit(Format::Ply, "time_stamp", &[0.0, 1.5, 300.0]), Some(TimeUnit::Milliseconds));
        assert_eq!(unit(Format::Pcd, "offset_time", &[0.0, 2500.0, 100_000.0]), Some(TimeUnit::Nanoseconds));
        assert_eq!(unit(Format::Pcd, "offset_time", &[0.0, 2.0, 31.0]), None);
        // 19 digits, of a part of a sweep and of merged sweeps.
        for span in [100_352.0, 1e7, 6e10] {
            let found = unit(Format::Csv, "timestamp", &[1.7e18, 1.7e18 + span / 2.0, 1.7e18 + span]);
            assert_eq!(found, Some(TimeUnit::Nanoseconds), "{span}");
        }
    }

    #[test]
    fn what_decides_the_unit_is_known() {
        let source = |format, name: &str, values: &[f64]| {
            let wide = Arc::new(WideColumn::new(0, values.to_vec()));
            let fields = [Field { name: name.into(), dtype: Dtype::F64 }];
            find(format, &fields, &vec![0.0; values.len()], &[wide]).map(|times| times.unit_source)
        };
        assert_eq!(source(Format::Ply, "t_us", &[0.0, 5.0]), Some(UnitSource::Name));
        assert_eq!(source(Format::Ply, "gps_time", &[0.0, 0.1]), Some(UnitSource::Name));
        assert_eq!(source(Format::E57, "time_stamp", &[0.0, 0.1]), Some(UnitSource::Format));
        assert_eq!(source(Format::Ply, "time_stamp", &[0.0, 0.1]), Some(UnitSource::Span));
        assert_eq!(source(Format::Mcap, "offset_time", &[0.0, 1e8]), Some(UnitSource::Type));
        assert_eq!(source(Format::Mcap, "offset_time", &[0.0, 0.1]), Some(UnitSource::Span));
        assert_eq!(source(Format::Mcap, "timestamp", &[1.7e18, 1.7e18 + 1e8]), Some(UnitSource::Epoch));
        assert_eq!(source(Format::Mcap, "t", &[0.0, 1e8]), Some(UnitSource::Span));
    }

    #[test]
    fn times_are_seconds_after_the_earliest() {
        let found = times("time", Dtype::F32, &[0.75, 0.5, f32::NAN, 1.0]).unwrap();
        assert_eq!((found.start, found.unit, &*found.name), (0.5, TimeUnit::Seconds, "time"));
        assert_eq!(found.seconds[..2], [0.25, 0.0]);
        assert!(found.seconds[2].is_nan());
        // Nanoseconds since 1970 keep every one of them.
        let mut exact = WideColumn::of(1);
        [1_700_000_000_000_000_007_u64, 1_700_000_000_000_000_001, 1_700_000_000_100_000_001]
            .iter()
            .for_each(|&t| exact.push_number(Some(t.into()), t as f32, t as f64));
        let fields = ["x", "t"].map(|name| Field { name: name.into(), dtype: Dtype::U64 });
        let found = find(Format::Ply, &fields, &[0.0; 6], &[exact.into()]).unwrap();
        assert_eq!((found.unit, found.seconds), (TimeUnit::Nanoseconds, vec![6e-9, 0.0, 0.1]));
        assert_eq!(found.start, 1.7e9);
    }

    fn bits(times: &Times) -> Vec<u64> {
        times.seconds.iter().map(|v| v.to_bits()).collect()
    }

    #[test]
    fn times_are_worked_out_later_where_no_other_column_has_any() {
        let field = |name: &str| Field { name: name.into(), dtype: Dtype::F64 };
        let wide = [Arc::new(WideColumn::new(1, vec![5.25, f64::NAN, 5.5]))];
        for (name, later) in [("x", true), ("intensity", true), ("offset_ns", false), ("t", false)] {
            let fields = [field(name), field("gps_time")];
            let wanted = find(Format::Ply, &fields, &[f32::NAN; 6], &wide).unwrap();
            let found = LaterTimes::new(Format::Ply, &fields, &wide);
            assert_eq!(found.is_some(), later, "{name}");
            let Some(found) = found.and_then(|found| found.times()) else { continue };
            assert_eq!((found.start, found.unit, &*found.name), (wanted.start, wanted.unit, &*wanted.name));
            assert_eq!(bits(&found), bits(&wanted));
        }
        assert!(LaterTimes::new(Format::Ply, &[field("gps_time")], &[]).is_none());
    }
}
