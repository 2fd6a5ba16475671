//! The times of the points of a run's sweeps.

use crate::poses::{Deskew, PUBLISHED};
use crate::{DataError, Observer};
use pointmill_io::{Scan, TimeUnit, Times};
use serde::Serialize;

/// Why the points of a sweep have no times.
const NO_TIMES: &str =
    "times: expected a column named t, time, timestamp or the like with times of a sweep in s, ms, us or ns, got none";

/// The column of times of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimesColumn {
    /// The name of the column.
    pub column: String,
    /// The unit of its values.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub unit: TimeUnit,
}

impl From<&Times> for TimesColumn {
    fn from(times: &Times) -> Self {
        Self { column: times.name.clone(), unit: times.unit }
    }
}

/// The times of sweeps so far. They go together only in one column and one unit.
#[derive(Debug)]
pub(super) struct SweepTimes {
    deskew: Deskew,
    /// Whether the odometry deskews sweeps with times.
    deskewed: bool,
    /// The column of the first sweep that has one.
    column: Option<TimesColumn>,
    /// Whether a sweep was read.
    begun: bool,
}

impl SweepTimes {
    pub(super) const fn new(deskew: Deskew, deskewed: bool) -> Self {
        Self { deskew, deskewed, column: None, begun: false }
    }

    /// The column of the first sweep that has one.
    pub(super) const fn column(&self) -> Option<&TimesColumn> {
        self.column.as_ref()
    }

    /// Notes once which times were found and whether they are used to deskew, or why there are
    /// none.
    pub(super) fn note(&mut self, found: Option<&Times>, observer: &dyn Observer) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let Some(times) = found else {
            return observer.note("no per-point timestamps found: motion compensation (deskew) is off");
        };
        let used = match (self.deskewed, self.deskew) {
            (true, _) => "sweeps are deskewed",
            (false, Deskew::Off) => "deskew is off",
            (false, _) => PUBLISHED,
        };
        observer.note(&format!("times of points: column {} in {}; {used}", times.name, times.unit));
    }

    /// The times of a sweep in seconds as its file counts them. Those that do not go with the
    /// sweeps before are left out with a warning.
    ///
    /// # Errors
    /// A sweep without times, if all sweeps must be deskewed.
    pub(super) fn of(
        &mut self,
        (input, scan): (&str, &Scan),
        times: Option<Times>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Vec<f64>>, DataError> {
        let Some(times) = times else {
            if self.deskew == Deskew::On {
                return Err(DataError::MissingField { input: input.into(), reason: NO_TIMES });
            }
            if self.column.is_some() && !scan.cloud.is_empty() {
                warnings.push(format!("{NO_TIMES}; the sweep is taken as it is"));
            }
            return Ok(None);
        };
        let first = self.column.get_or_insert_with(|| (&times).into());
        if *first != (&times).into() {
            let TimesColumn { column, unit } = first;
            let wanted = format!("{column} in {unit}, as in the first sweep");
            warnings.push(format!("times: expected {wanted}, got {} in {}; not used", times.name, times.unit));
            return Ok(None);
        }
        Ok(Some(times.seconds.iter().map(|after| times.start + after).collect()))
    }
}
