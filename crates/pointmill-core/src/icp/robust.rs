//! Weights of residuals.

/// The weight of a pair, by its residual; one where the residual is zero.
///
/// With `u` the residual divided by the width:
///
/// | weighting | weight |
/// |---|---|
/// | [`Robust::None`] | 1 |
/// | [`Robust::Huber`] | 1 up to `u = 1`, then `1 / u` |
/// | [`Robust::Cauchy`] | `1 / (1 + u^2)` |
/// | [`Robust::GemanMcClure`] | `1 / (1 + u^2)^2` |
/// | [`Robust::Tukey`] | `(1 - u^2)^2` up to `u = 1`, then 0 |
///
/// ```
/// use pointmill_core::icp::Robust;
/// assert_eq!(Robust::Huber(0.5).weight(4.0), 0.25); // a residual of 2 m, four widths
/// assert_eq!(Robust::Tukey(0.5).weight(0.0), 1.0);
/// assert_eq!(Robust::GemanMcClure(0.5).to_string(), "geman-mcclure:0.5");
/// assert_eq!("huber:0.5".parse(), Ok(Robust::Huber(0.5)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Robust {
    /// Every pair alike.
    #[default]
    None,
    /// Width in metres.
    Huber(f64),
    /// Width in metres.
    Cauchy(f64),
    /// Width in metres.
    GemanMcClure(f64),
    /// Width in metres.
    Tukey(f64),
}

impl Robust {
    /// The weight of a residual whose square is this.
    #[inline(always)]
    pub fn weight(&self, squared: f64) -> f64 {
        match *self {
            Self::None => 1.0,
            Self::Huber(width) => {
                if squared <= width * width {
                    1.0
                } else {
                    width / crate::float::sqrt(squared)
                }
            }
            Self::Cauchy(width) => 1.0 / (1.0 + squared / (width * width)),
            Self::GemanMcClure(width) => {
                let one = 1.0 / (1.0 + squared / (width * width));
                one * one
            }
            Self::Tukey(width) => {
                let rest = 1.0 - squared / (width * width);
                if rest > 0.0 { rest * rest } else { 0.0 }
            }
        }
    }

    /// The width, if there is one.
    pub const fn width(&self) -> Option<f64> {
        match *self {
            Self::None => None,
            Self::Huber(width) | Self::Cauchy(width) | Self::GemanMcClure(width) | Self::Tukey(width) => Some(width),
        }
    }
}

impl Robust {
    /// The name without the width.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Huber(_) => "huber",
            Self::Cauchy(_) => "cauchy",
            Self::GemanMcClure(_) => "geman-mcclure",
            Self::Tukey(_) => "tukey",
        }
    }
}

/// The name, and where there is a width a colon and the width: `huber:0.5`.
impl core::fmt::Display for Robust {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())?;
        self.width().map_or(Ok(()), |width| write!(f, ":{width}"))
    }
}

crate::with_alloc! {
    impl core::str::FromStr for Robust {
        type Err = crate::UnknownName;

        fn from_str(text: &str) -> Result<Self, Self::Err> {
            let unknown = || crate::UnknownName {
                expected: &["none", "huber:K", "cauchy:K", "geman-mcclure:K", "tukey:K"],
                got: text.into(),
            };
            if text == "none" {
                return Ok(Self::None);
            }
            let (name, width) = text.split_once(':').ok_or_else(unknown)?;
            let width = width.trim().parse().map_err(|_| unknown())?;
            let known = [Self::Huber(width), Self::Cauchy(width), Self::GemanMcClure(width), Self::Tukey(width)];
            known.into_iter().find(|one| one.name() == name).ok_or_else(unknown)
        }
    }
}

crate::with_serde! {
    /// The text of [`Display`](core::fmt::Display).
    impl serde::Serialize for Robust {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_str(self)
        }
    }

    /// The text of [`Display`](core::fmt::Display).
    impl<'de> serde::Deserialize<'de> for Robust {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let text = <alloc::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(from)?;
            text.parse().map_err(serde::de::Error::custom)
        }
    }
}

crate::with_schema! {
    impl schemars::JsonSchema for Robust {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> alloc::borrow::Cow<'static, str> {
            "Robust".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({ "type": "string" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_start_at_one_and_fall() {
        let width = 0.25;
        for kernel in [Robust::Huber(width), Robust::Cauchy(width), Robust::GemanMcClure(width), Robust::Tukey(width)] {
            assert_eq!((kernel.weight(0.0), kernel.width()), (1.0, Some(width)));
            let mut last = 1.0;
            for step in 0..200 {
                let r = 0.01 * f64::from(step);
                let weight = kernel.weight(r * r);
                assert!((0.0..=last).contains(&weight), "{kernel:?} {r}");
                last = weight;
            }
        }
        assert_eq!((Robust::None.weight(1e30), Robust::None.width()), (1.0, None));
    }

    #[test]
    fn weights_at_two_widths() {
        let at = |kernel: Robust| kernel.weight(1.0);
        let width = 0.5;
        assert_eq!(at(Robust::Huber(width)), 0.5);
        assert_eq!(at(Robust::Cauchy(width)), 0.2);
        assert!((at(Robust::GemanMcClure(width)) - 0.04).abs() < 1e-16);
        assert_eq!(at(Robust::Tukey(width)), 0.0);
        assert_eq!(Robust::Tukey(2.0).weight(1.0), 0.5625);
    }

    #[test]
    fn names_lead_back() {
        extern crate std;
        use std::string::ToString;
        for robust in
            [Robust::None, Robust::Huber(0.5), Robust::Cauchy(1e-3), Robust::GemanMcClure(2.0), Robust::Tukey(0.1)]
        {
            assert_eq!(robust.to_string().parse(), Ok(robust));
        }
        for bad in ["", "huber", "huber:", "huber:x", "Huber:1", "none:1", "welsch:1"] {
            let told = bad.parse::<Robust>().unwrap_err().to_string();
            assert!(told.starts_with("expected none, huber:K, cauchy:K, geman-mcclure:K or tukey:K, got"), "{told}");
        }
    }
}
