//! Units of lengths, as the coordinate reference system of a file has them.

use crate::text::tidy;
use pointmill_io::{Crs, Unit, escape};

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
    pub(crate) fn of(crs: Option<&Crs>) -> Self {
        let symbol = |unit: Option<&Unit>| unit.map_or_else(|| "m".into(), |unit| escape(unit.symbol()));
        let unit = |of: fn(&Crs) -> Option<&Unit>| symbol(crs.and_then(of));
        Self { across: unit(|crs| crs.unit.as_ref()), up: unit(Crs::height_unit) }
    }

    /// Across and up.
    pub(crate) fn symbols(&self) -> [&str; 2] {
        [&self.across, &self.up]
    }

    /// Behind three lengths: one unit, or each where they differ.
    pub(crate) fn behind(&self, texts: [String; 3], between: &str) -> String {
        let Self { across, up } = self;
        let [x, y, z] = texts;
        if across == up {
            return format!("{x}{between}{y}{between}{z} {across}");
        }
        format!("{x}{between}{y} {across}{between}{z} {up}")
    }

    /// A place, such as an origin.
    pub(crate) fn place(&self, at: [f64; 3]) -> String {
        self.behind(at.map(|v| tidy(v).to_string()), ", ")
    }
}
