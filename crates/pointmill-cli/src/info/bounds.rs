//! The box around points.

use crate::text::tidy;
use crate::units::Units;
use pointmill_io::Scan;
use serde::Serialize;

/// A box, in the precision of the file.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Bounds {
    F32(Corners<f32>),
    F64(Corners<f64>),
}

/// The corners of a box.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Corners<T> {
    /// Smallest x, y, z.
    min: [T; 3],
    /// Largest x, y, z.
    max: [T; 3],
}

impl Bounds {
    pub(super) fn of(scan: &Scan) -> Option<Self> {
        match scan.bounds_f64() {
            Some((min, max)) => Some(Self::F64(Corners { min, max })),
            None => scan.cloud.bounds().map(|b| Self::F32(Corners { min: b.min, max: b.max })),
        }
    }

    /// Around places; `None` without one.
    pub(super) fn around(places: &[[f64; 3]]) -> Option<Self> {
        let (&first, rest) = places.split_first()?;
        let corners = rest.iter().fold(Corners { min: first, max: first }, |Corners { min, max }, p| Corners {
            min: std::array::from_fn(|k| min[k].min(p[k])),
            max: std::array::from_fn(|k| max[k].max(p[k])),
        });
        Some(Self::F64(corners))
    }

    /// Around both.
    pub(super) fn and(self, other: Self) -> Self {
        if let (Self::F32(a), Self::F32(b)) = (&self, &other) {
            let min = std::array::from_fn(|k| a.min[k].min(b.min[k]));
            return Self::F32(Corners { min, max: std::array::from_fn(|k| a.max[k].max(b.max[k])) });
        }
        let corners = |of: Self| match of {
            Self::F32(Corners { min, max }) => [min, max].map(|corner| corner.map(f64::from)),
            Self::F64(Corners { min, max }) => [min, max],
        };
        Self::around(&[corners(self), corners(other)].concat()).expect("four corners")
    }

    /// How long the box is along x, y and z.
    pub(super) fn extent(&self, units: &Units) -> String {
        let lengths: [f64; 3] = match self {
            Self::F32(Corners { min, max }) => std::array::from_fn(|k| f64::from(max[k]) - f64::from(min[k])),
            Self::F64(Corners { min, max }) => std::array::from_fn(|k| max[k] - min[k]),
        };
        let digits = if lengths.iter().any(|length| *length >= 10.0) { 1 } else { 3 };
        units.behind(lengths.map(|length| format!("{length:.digits$}")), " x ")
    }

    /// A line for each axis.
    pub(super) fn lines(&self, units: &Units) -> [String; 3] {
        fn axes<T: std::fmt::Display>(Corners { min, max }: &Corners<T>, units: [&str; 3]) -> [String; 3] {
            let line = |i: usize| format!("{}          {} .. {} {}", ["x", "y", "z"][i], min[i], max[i], units[i]);
            std::array::from_fn(line)
        }
        let [across, up] = units.symbols();
        let units = [across, across, up];
        match self {
            Self::F32(corners) => axes(corners, units),
            Self::F64(Corners { min, max }) => axes(&Corners { min: min.map(tidy), max: max.map(tidy) }, units),
        }
    }
}
