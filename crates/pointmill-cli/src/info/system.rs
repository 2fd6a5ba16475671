//! The coordinate reference system of a cloud.

use pointmill_io::{Crs, escape};
use serde::Serialize;

/// A coordinate reference system.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct System {
    /// Its name in WKT, or by the `GeoTIFF` keys; null without one.
    name: Option<String>,
    /// Its EPSG code; null without one.
    epsg: Option<u32>,
    /// Whether x and y are longitude and latitude.
    geographic: bool,
    /// The unit of x and y, such as `US survey foot`; null if it is not known.
    unit: Option<String>,
    /// The metres of that unit; null if it is none of length.
    unit_m: Option<f64>,
    /// The name of the system of heights; null without one.
    vertical_name: Option<String>,
    /// The EPSG code of the system of heights; null without one.
    vertical_epsg: Option<u32>,
    /// The unit of heights, by their own system; null if it is not known.
    vertical_unit: Option<String>,
}

impl System {
    pub(super) fn of(crs: &Crs) -> Self {
        let (unit, vertical) = (crs.unit.as_ref(), crs.vertical.clone().unwrap_or_default());
        Self {
            name: crs.name.clone(),
            epsg: crs.epsg,
            geographic: crs.is_geographic,
            unit: unit.map(|unit| unit.name.clone()),
            unit_m: unit.and_then(|unit| unit.metres),
            vertical_name: vertical.name,
            vertical_epsg: vertical.epsg,
            vertical_unit: vertical.unit.map(|unit| unit.name),
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let parts = |name: &Option<String>, epsg: Option<u32>, unit: &Option<String>| {
            let code = epsg.map(|code| format!("EPSG:{code}"));
            let unit = unit.as_ref().map(|unit| format!("in {}", escape(unit)));
            let parts: Vec<_> = name.iter().map(|name| escape(name)).chain(code).chain(unit).collect();
            parts.join(", ")
        };
        let vertical = parts(&self.vertical_name, self.vertical_epsg, &self.vertical_unit);
        let mut lines = vec![format!("crs        {}", parts(&self.name, self.epsg, &self.unit))];
        lines.extend((!vertical.is_empty()).then(|| format!("heights    {vertical}")));
        lines
    }
}
