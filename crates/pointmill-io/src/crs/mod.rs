//! Coordinate reference systems, as far as a user must know them: name, EPSG code and units.

mod keys;
mod wkt;

pub(crate) use keys::{keys_of, of_keys};
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

    /// Whether another is the same system, as far as both tell: codes decide, else names; units and
    /// heights do not differ.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let heights = match (&self.vertical, &other.vertical) {
            (Some(a), Some(b)) => a.is_named() == b.is_named() && (!a.is_named() || same_name(a.key(), b.key())),
            (Some(one), None) | (None, Some(one)) => !one.is_named(),
            (None, None) => true,
        };
        self.is_geographic == other.is_geographic
            && same_name((self.epsg, &self.name), (other.epsg, &other.name))
            && heights
            && same_unit(self.unit.as_ref(), other.unit.as_ref())
            && same_unit(self.height_unit(), other.height_unit())
    }

    /// Whether another has another code.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        self.epsg.is_some() && other.epsg.is_some() && self.epsg != other.epsg
    }

    /// The name, the code, the unit and the heights, for messages.
    pub(crate) fn told(&self) -> String {
        let code = |epsg: Option<u32>| epsg.map(|epsg| format!("EPSG:{epsg}"));
        let unit = |unit: &Option<Unit>| unit.as_ref().map(|unit| format!("in {}", unit.name));
        let heights = self.vertical.as_ref().and_then(|of| {
            let parts = [of.name.clone().or_else(|| code(of.epsg)), unit(&of.unit)];
            let parts: Vec<_> = parts.into_iter().flatten().collect();
            (!parts.is_empty()).then(|| format!("heights {}", parts.join(" ")))
        });
        let parts = [self.name.clone(), code(self.epsg), unit(&self.unit), heights];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl VerticalCrs {
    fn is_named(&self) -> bool {
        self.epsg.is_some() || self.name.is_some()
    }

    fn key(&self) -> (Option<u32>, &Option<String>) {
        (self.epsg, &self.name)
    }
}

/// Whether two are the same by their codes, where both have one, else by their names.
fn same_name(a: (Option<u32>, &Option<String>), b: (Option<u32>, &Option<String>)) -> bool {
    // Programs write blanks, underscores and capitals as they like.
    let plain =
        |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    match (a, b) {
        ((Some(a), _), (Some(b), _)) => a == b,
        ((_, Some(a)), (_, Some(b))) => plain(a) == plain(b),
        _ => false,
    }
}

/// Whether two units do not differ, where both are known.
fn same_unit(a: Option<&Unit>, b: Option<&Unit>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return true };
    match (a.metres, b.metres) {
        // The feet of surveys and of nations differ by 2 in a million.
        (Some(a), Some(b)) => (a - b).abs() <= 1e-7 * a,
        (None, None) => true,
        _ => false,
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
    fn systems_are_the_same_by_code_else_by_name_with_units_and_heights() {
        let of = |epsg, name: &str| Crs { epsg, name: Some(name.into()), ..Crs::default() };
        let feet = |crs: Crs, metres| Crs { unit: Some(Unit::length("foot", metres)), ..crs };
        let high = |crs: Crs, epsg, name: Option<&str>| Crs {
            vertical: Some(VerticalCrs { epsg, name: name.map(str::to_owned), unit: None }),
            ..crs
        };
        let oregon = of(Some(2992), "NAD83 / Oregon GIC Lambert (ft)");
        let (coded, named) = (of(Some(2992), "x"), of(None, "NAD83_Oregon_GIC_Lambert_ft"));
        for (a, b, is_same) in [
            (&oregon, &coded, true),
            (&oregon, &named, true),
            (&coded, &named, false),
            (&oregon, &of(Some(2993), "NAD83 / Oregon GIC Lambert (ft)"), false),
            (&oregon, &Crs::default(), false),
            (&Crs::default(), &Crs::default(), false),
            (&oregon, &feet(coded.clone(), 0.3048), true),
            (&feet(oregon.clone(), 0.3048), &feet(coded.clone(), 1200.0 / 3937.0), false),
            (&feet(oregon.clone(), 0.3048), &feet(coded.clone(), 0.304_800_000_1), true),
            (&high(oregon.clone(), Some(5703), None), &oregon, false),
            (&high(oregon.clone(), None, None), &oregon, true),
            (&high(oregon.clone(), Some(5703), None), &high(coded.clone(), Some(5703), Some("NAVD88")), true),
            (&high(oregon.clone(), Some(5703), Some("NAVD88")), &high(coded.clone(), None, Some("navd 88")), true),
            (&high(oregon.clone(), Some(5703), None), &high(coded.clone(), Some(6360), None), false),
        ] {
            assert_eq!((a.is_same(b), b.is_same(a)), (is_same, is_same), "{a:?} {b:?}");
        }
        assert_eq!(
            feet(high(oregon, Some(5703), None), 0.3048).told(),
            "NAD83 / Oregon GIC Lambert (ft), EPSG:2992, in foot, heights EPSG:5703"
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
