//! Coordinate reference systems, as far as a user must know them: name, EPSG code and units.

mod keys;
mod wkt;

pub(crate) use keys::of_keys;
pub(crate) use wkt::of_wkt;

/// A coordinate reference system.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Crs {
    /// Its name.
    pub name: Option<String>,
    /// Its EPSG code.
    pub epsg: Option<u32>,
    /// Whether x and y are longitude and latitude.
    pub is_geographic: bool,
    /// The unit of x and y.
    pub unit: Option<Unit>,
    /// The system of the heights, where the file names one.
    pub vertical: Option<VerticalCrs>,
}

/// The system of heights.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct VerticalCrs {
    /// Its name.
    pub name: Option<String>,
    /// Its EPSG code.
    pub epsg: Option<u32>,
    /// Its unit.
    pub unit: Option<Unit>,
}

/// A unit of lengths or of angles.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unit {
    /// Its name, such as `US survey foot`.
    pub name: String,
    /// Its metres; `None` of an angle.
    pub metres: Option<f64>,
}

impl Crs {
    /// The unit of heights: that of their system, else that of x and y if these are lengths.
    pub fn height_unit(&self) -> Option<&Unit> {
        let own = self.vertical.as_ref().and_then(|vertical| vertical.unit.as_ref());
        own.or_else(|| self.unit.as_ref().filter(|unit| unit.metres.is_some()))
    }
}

impl Unit {
    /// The metres of the international foot and of the foot of US surveys.
    const FEET: [f64; 2] = [0.3048, 1200.0 / 3937.0];

    pub(crate) fn length(name: impl Into<String>, metres: f64) -> Self {
        Self { name: name.into(), metres: Some(metres) }
    }

    pub(crate) fn angle(name: impl Into<String>) -> Self {
        Self { name: name.into(), metres: None }
    }

    /// Whether it is a foot, of whatever country.
    pub fn is_foot(&self) -> bool {
        self.metres.is_some_and(|metres| Self::FEET.iter().any(|foot| (metres - foot).abs() < 1e-5))
    }

    /// What stands behind a number: `m`, `ft` for every foot, `°`, else the name.
    pub fn symbol(&self) -> &str {
        match self.metres {
            Some(1.0) => "m",
            Some(_) if self.is_foot() => "ft",
            None if self.name.to_ascii_lowercase().starts_with("degree") => "°",
            _ => &self.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_lengths_and_angles() {
        let of = |name: &str, metres| Unit { name: name.into(), metres }.symbol().to_owned();
        assert_eq!(of("metre", Some(1.0)), "m");
        assert_eq!((of("foot", Some(0.3048)), of("US survey foot", Some(0.304_800_609_6))), ("ft".into(), "ft".into()));
        assert_eq!(
            (of("Degree", None), of("grad", None), of("link", Some(0.2))),
            ("°".into(), "grad".into(), "link".into())
        );
    }

    #[test]
    fn heights_without_a_system_have_the_unit_of_lengths() {
        let feet = Some(Unit::length("foot", 0.3048));
        let of = |unit, vertical| Crs { unit, vertical, ..Crs::default() }.height_unit().map(|unit| unit.name.clone());
        assert_eq!(of(feet.clone(), None).as_deref(), Some("foot"));
        assert_eq!(of(Some(Unit::angle("degree")), None), None);
        let vertical = Some(VerticalCrs { unit: Some(Unit::length("metre", 1.0)), ..VerticalCrs::default() });
        assert_eq!(of(feet, vertical).as_deref(), Some("metre"));
    }
}
