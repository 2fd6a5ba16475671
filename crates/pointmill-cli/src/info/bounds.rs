//! The box around points.

use crate::text::tidy;
use pointmill_io::{Crs, Scan, Unit, escape};
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

/// The units of lengths for people: across, of x and y, and up, of z.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Units {
    across: String,
    up: String,
}

impl Default for Units {
    fn default() -> Self {
        Self { across: "m".into(), up: "m".into() }
    }
}

impl Units {
    /// Those of a system; metres where they are not known.
    pub(super) fn of(crs: Option<&Crs>) -> Self {
        let symbol = |unit: Option<&Unit>| unit.map_or_else(|| "m".into(), |unit| escape(unit.symbol()));
        let unit = |of: fn(&Crs) -> Option<&Unit>| symbol(crs.and_then(of));
        Self { across: unit(|crs| crs.unit.as_ref()), up: unit(Crs::height_unit) }
    }

    pub(super) fn across(&self) -> &str {
        &self.across
    }

    /// Behind three lengths: one unit, or each where they differ.
    fn behind(&self, texts: [String; 3], between: &str) -> String {
        let Self { across, up } = self;
        let [x, y, z] = texts;
        if across == up {
            return format!("{x}{between}{y}{between}{z} {across}");
        }
        format!("{x}{between}{y} {across}{between}{z} {up}")
    }

    /// A place, such as an origin.
    pub(super) fn place(&self, at: [f64; 3]) -> String {
        self.behind(at.map(|v| tidy(v).to_string()), ", ")
    }
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
    pub(super) fn lines(&self, Units { across, up }: &Units) -> [String; 3] {
        fn axes<T: std::fmt::Display>(Corners { min, max }: &Corners<T>, units: [&str; 3]) -> [String; 3] {
            let line = |i: usize| format!("{}          {} .. {} {}", ["x", "y", "z"][i], min[i], max[i], units[i]);
            std::array::from_fn(line)
        }
        let units = [across, across, up].map(String::as_str);
        match self {
            Self::F32(corners) => axes(corners, units),
            Self::F64(Corners { min, max }) => axes(&Corners { min: min.map(tidy), max: max.map(tidy) }, units),
        }
    }
}
