//! What a LAS file says of its points, and what its points tell of a survey.

use crate::batch::prelude::*;
use crate::units::Units;
use pointmill_io::{Crs, Detail, IoError, Scan, Survey, Unit, class_name};
use serde::Serialize;

/// What is known of a LAS file beside its points.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Las {
    /// The version, such as `1.4`.
    version: Option<String>,
    /// The point format.
    point_format: Option<u8>,
    /// The steps of x, y and z.
    scale: Option<[f64; 3]>,
    /// What is added to x, y and z.
    offset: Option<[f64; 3]>,
    /// The classes of the points, in order.
    classes: Vec<Class>,
    /// The returns of the points, in order.
    returns: Vec<Return>,
    /// How dense the points lie; null without finite points, and where x and y are angles.
    density: Option<Density>,
}

/// The points of a class.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Class {
    /// The number of the class.
    class: u8,
    /// Its name by ASPRS, for the point format.
    name: &'static str,
    /// Its points.
    points: usize,
}

/// The points of a return.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Return {
    /// The number of the return in its pulse.
    number: u8,
    /// Its points.
    points: usize,
}

/// Points on an area.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Density {
    /// Finite points for each square of one unit: their number, divided by the area of the squares
    /// that have a point.
    points: f64,
    /// The edge of these squares in the unit of x and y.
    edge: f64,
    /// The number of these squares.
    squares: usize,
}

impl Las {
    /// Of a scan that has a survey.
    ///
    /// # Errors
    /// Memory that is refused.
    pub(super) fn of(scan: &Scan, survey: &Survey, crs: Option<&Crs>) -> Result<Self, IoError> {
        let (scale, offset) =
            survey.scale_and_offset().map_or((None, None), |[scale, shift]| (Some(scale), Some(shift)));
        let format = survey.point_format();
        let class = |(class, points)| Class { class, name: class_name(format.unwrap_or_default(), class), points };
        let is_flat = crs.is_none_or(|crs| !crs.is_geographic);
        Ok(Self {
            version: survey.version(),
            point_format: format,
            scale,
            offset,
            density: if is_flat { Density::of(scan, crs)? } else { None },
            classes: counts(scan, "classification").map(class).collect(),
            returns: counts(scan, "return_number").map(|(number, points)| Return { number, points }).collect(),
        })
    }

    /// For people.
    pub(super) fn lines(&self, units: &Units) -> Vec<String> {
        let three = |of: &[f64; 3]| of.map(|v| v.to_string()).join(", ");
        let version = self.version.iter().map(|version| format!("version {version}"));
        let format = self.point_format.iter().map(|format| format!("point format {format}"));
        let mut lines = vec![format!("las        {}", version.chain(format).collect::<Vec<_>>().join(", "))];
        lines.extend(self.scale.iter().map(|scale| format!("scale      {}", three(scale))));
        lines.extend(self.offset.iter().map(|offset| format!("offset     {}", three(offset))));
        let classes = self.classes.iter().map(|of| format!("{} {} {}", of.class, of.name, grouped(of.points)));
        let returns = self.returns.iter().map(|of| format!("{}: {}", of.number, grouped(of.points)));
        lines.extend(line("classes    ", classes));
        lines.extend(line("returns    ", returns));
        lines.extend(self.density.iter().map(|Density { points, edge, squares }| {
            let (unit, squares) = (units.symbols()[0], grouped(*squares));
            format!(
                "density    {points:.3} points per square {unit}, on {squares} squares of {edge} {unit} with points"
            )
        }));
        lines
    }
}

fn line(title: &str, parts: impl Iterator<Item = String>) -> Option<String> {
    let parts = parts.collect::<Vec<_>>().join(", ");
    (!parts.is_empty()).then(|| format!("{title}{parts}"))
}

/// The points of each value of a column of small whole numbers, in order.
fn counts(scan: &Scan, name: &str) -> impl Iterator<Item = (u8, usize)> {
    let mut counts = [0; 256];
    if let Some(column) = scan.fields.iter().position(|field| field.name == name) {
        let rows = scan.cloud.data().chunks_exact(scan.cloud.columns());
        rows.for_each(|row| counts[usize::from(row[column] as u8)] += 1);
    }
    (0..=u8::MAX).zip(counts).filter(|(_, points)| *points > 0)
}

impl Density {
    /// The edges of squares: in metres and unknown units, and in feet.
    const EDGES: [f64; 2] = [2.0, 10.0];

    fn of(scan: &Scan, crs: Option<&Crs>) -> Result<Option<Self>, IoError> {
        let is_foot = crs.and_then(|crs| crs.unit.as_ref()).is_some_and(Unit::is_foot);
        let edge = Self::EDGES[usize::from(is_foot)];
        let mut squares: Vec<[i64; 2]> = Vec::new();
        let bytes = size_of::<[i64; 2]>() * scan.cloud.len();
        squares.try_reserve_exact(scan.cloud.len()).map_err(|_| {
            IoError::OutOfMemory(Detail::new(scan.format.as_str(), "memory", format!("{bytes} bytes"), "a refusal"))
        })?;
        let finite = scan.iter_xyz().filter(|p| p.iter().all(|v| v.is_finite()));
        squares.extend(finite.map(|[x, y, _]| [x, y].map(|v| (v / edge).floor() as i64)));
        let points = squares.len();
        squares.sort_unstable();
        squares.dedup();
        let area = squares.len() as f64 * edge * edge;
        Ok((points > 0).then(|| Self { points: points as f64 / area, edge, squares: squares.len() }))
    }
}
