//! What is known of a cloud.

use super::bounds::Bounds;
use super::las::Las;
use super::system::System;
use crate::batch::prelude::*;
use crate::text::tidy;
use crate::units::Units;
use pointmill_io::{Format, IoError, Scan, Survey, Warning, escape};
use serde::Serialize;

/// What is known of a cloud; absent where the file is a bag.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cloud {
    /// The number of points.
    pub(super) points: usize,
    /// The columns, in order.
    pub(super) columns: Vec<Column>,
    /// The smallest box around the finite points, in the unit of `crs`, else in metres; null if there
    /// are none.
    pub(super) bounds: Option<Bounds>,
    /// Points with a NaN or an infinity in x, y or z.
    nonfinite: usize,
    /// What coordinates are relative to in results, in the units of `bounds`, as `--local-origin` says.
    /// Bounds are global.
    origin: [f64; 3],
    /// The column with the times of points; null without one.
    times: Option<CloudTimes>,
    /// The data set of `--dataset`; null without.
    dataset: Option<&'static str>,
    /// The coordinate reference system, also of a `.prj` beside the file; null without one.
    crs: Option<System>,
    /// What a LAS file says of its points; only where the file is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    las: Option<Las>,
    #[serde(skip)]
    pub(super) units: Units,
}

/// The times of the points of a cloud.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CloudTimes {
    /// The name of the column.
    name: String,
    /// Its unit: `s`, `ms`, `us` or `ns`.
    unit: &'static str,
    /// What decides the unit: `name`, the name of the column; `format`, the format of the file; `type`, the
    /// name and the type of the column; `epoch`, values of 18 digits or more; or `span`, how long the points
    /// take.
    unit_source: &'static str,
    /// The earliest time in seconds, as the file counts.
    start: f64,
    /// Seconds from the earliest to the latest time.
    span: f64,
}

/// A column.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Column {
    /// The name of the column.
    name: String,
    /// The type of its values in the file.
    r#type: &'static str,
}

impl Cloud {
    /// Of a scan.
    ///
    /// # Errors
    /// Memory that is refused.
    pub(super) fn of(scan: &Scan, dataset: Option<&'static str>) -> Result<Self, IoError> {
        let times = scan.times().map(|times| CloudTimes {
            span: times.seconds.iter().copied().filter(|s| s.is_finite()).fold(0.0, f64::max),
            name: times.name,
            unit: times.unit.as_str(),
            unit_source: times.unit_source.as_str(),
            start: times.start,
        });
        let survey = scan.survey();
        let crs = survey.and_then(Survey::system);
        let las = survey.filter(|_| scan.format == Format::Las);
        Ok(Self {
            las: las.map(|survey| Las::of(scan, survey, crs.as_ref())).transpose()?,
            units: Units::of(crs.as_ref()),
            crs: crs.as_ref().map(System::of),
            points: scan.cloud.len(),
            columns: scan.fields.iter().map(|f| Column::of(&f.name, f.dtype.as_str())).collect(),
            bounds: Bounds::of(scan),
            nonfinite: scan.cloud.points().non_finite(),
            origin: scan.cloud.origin(),
            times,
            dataset,
        })
    }

    /// Seconds from the earliest to the latest time; nothing without times.
    pub(super) fn span(&self) -> String {
        self.times.as_ref().map_or_else(String::new, |times| format!("{:.3}", times.span))
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("points     {}", grouped(self.points)),
            format!("columns    {}: {}", self.columns.len(), listed(&self.columns)),
        ];
        lines.extend(self.bounds.iter().flat_map(|bounds| bounds.lines(&self.units)));
        lines.push(format!("nonfinite  {}", grouped(self.nonfinite)));
        lines.extend((self.origin != [0.0; 3]).then(|| format!("origin     {}", self.units.place(self.origin))));
        lines.extend(self.times.iter().map(|times| {
            format!(
                "times      {} in {} (by the {}): {:.6} s from {} s",
                escape(&times.name),
                times.unit,
                times.unit_source,
                times.span,
                tidy(times.start)
            )
        }));
        lines.extend(self.crs.iter().flat_map(System::lines));
        lines.extend(self.las.iter().flat_map(|las| las.lines(&self.units)));
        lines.extend(self.dataset.map(|dataset| format!("data set   {dataset}")));
        lines
    }
}

impl Column {
    pub(super) fn of(name: &str, r#type: &'static str) -> Self {
        Self { name: name.into(), r#type }
    }

    pub(super) fn name(&self) -> String {
        escape(&self.name)
    }
}

/// Names and types of columns.
pub(super) fn listed(columns: &[Column]) -> String {
    columns.iter().map(|c| format!("{} {}", c.name(), c.r#type)).collect::<Vec<_>>().join(", ")
}

/// What is odd about an input, but for what a cast to `f32` changes: nothing is made of the values.
pub(super) fn notes(warnings: &[Warning]) -> Notes {
    Notes::of(warnings.iter().filter(|w| !matches!(w, Warning::Cast { .. })))
}
