//! One spelling for each variant of an enum.

#[cfg(feature = "alloc")]
use alloc::string::String;
#[cfg(feature = "alloc")]
use thiserror::Error;

/// A word that names no variant.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected {}, got {got:?}", Alternatives(.expected))]
pub struct UnknownName {
    /// The words that name a variant.
    pub expected: &'static [&'static str],
    /// The word.
    pub got: String,
}

/// Words as a sentence lists them: `a, b or c`.
#[cfg(feature = "alloc")]
struct Alternatives<'a>(&'a [&'a str]);

#[cfg(feature = "alloc")]
impl core::fmt::Display for Alternatives<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (i, name) in self.0.iter().enumerate() {
            let between = if i == 0 { "" } else { [", ", " or "][usize::from(i + 1 == self.0.len())] };
            write!(f, "{between}{name}")?;
        }
        Ok(())
    }
}

/// Gives each variant of an enum its one name: `ALL`, `NAMES`, `as_str`, `Display`, with the
/// feature `alloc` `FromStr` and `FieldType`, and with the feature `serde` both of serde's traits.
///
/// The command line, JSON, the configuration files and the Python package all take these names. The
/// field's standard is kebab-case.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq, Eq)]
/// enum Order {
///     FirstSeen,
///     Sorted,
/// }
/// pointmill_core::names!(Order { FirstSeen = "first-seen", Sorted = "sorted" });
///
/// assert_eq!(Order::FirstSeen.to_string(), "first-seen");
/// assert_eq!("sorted".parse(), Ok(Order::Sorted));
/// assert_eq!("any".parse::<Order>().unwrap_err().to_string(), r#"expected first-seen or sorted, got "any""#);
/// assert_eq!(Order::ALL.len(), Order::NAMES.len());
/// ```
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The name of every variant, in the order of [`ALL`](Self::ALL).
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name: the one spelling in the command line, JSON, configuration files and
            /// Python.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.as_str())
            }
        }

        $crate::with_alloc! {
            impl ::core::str::FromStr for $type {
                type Err = $crate::UnknownName;

                fn from_str(name: &str) -> ::core::result::Result<Self, Self::Err> {
                    match name {
                        $($name => Ok(Self::$variant),)+
                        _ => Err($crate::UnknownName { expected: Self::NAMES, got: name.into() }),
                    }
                }
            }

            impl $crate::record::FieldType for $type {
                const KIND: $crate::record::Kind = $crate::record::Kind::Name(Self::NAMES);

                fn value(&self) -> $crate::record::Value<'_> {
                    $crate::record::Value::Text(self.as_str())
                }
            }

            impl $crate::params::ParameterType for $type {
                fn of(value: &$crate::record::Value<'_>) -> ::core::option::Option<Self> {
                    if let $crate::record::Value::Text(name) = value { name.parse().ok() } else { None }
                }
            }
        }

        $crate::with_schema! {
            impl $crate::schemars::JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> $crate::schemars::_private::alloc::borrow::Cow<'static, str> {
                    ::core::stringify!($type).into()
                }

                fn json_schema(_: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                    $crate::schemars::json_schema!({ "type": "string", "enum": Self::NAMES })
                }
            }
        }

        $crate::with_serde! {
            impl $crate::serde::Serialize for $type {
                fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> ::core::result::Result<S::Ok, S::Error> {
                    to.serialize_str(self.as_str())
                }
            }

            impl<'de> $crate::serde::Deserialize<'de> for $type {
                fn deserialize<D: $crate::serde::Deserializer<'de>>(from: D) -> ::core::result::Result<Self, D::Error> {
                    from.deserialize_str($crate::serde_names::Word(::core::marker::PhantomData))
                }
            }
        }
    };
}

/// Keeps its items where the feature `alloc` is on.
#[cfg(feature = "alloc")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_alloc {
    ($($items:item)*) => { $($items)* };
}
/// Leaves its items out where the feature `alloc` is off.
#[cfg(not(feature = "alloc"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_alloc {
    ($($items:item)*) => {};
}

/// Keeps its items where the feature `serde` is on.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_serde {
    ($($items:item)*) => { $($items)* };
}
/// Leaves its items out where the feature `serde` is off.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_serde {
    ($($items:item)*) => {};
}

/// Keeps its items where the feature `schema` is on.
#[cfg(feature = "schema")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_schema {
    ($($items:item)*) => { $($items)* };
}
/// Leaves its items out where the feature `schema` is off.
#[cfg(not(feature = "schema"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_schema {
    ($($items:item)*) => {};
}

/// What [`names!`](crate::names) needs of serde.
#[cfg(feature = "serde")]
#[doc(hidden)]
pub mod serde_names {
    use super::UnknownName;
    use core::fmt;
    use core::marker::PhantomData;
    use core::str::FromStr;
    use serde::de::{Error, Visitor};

    /// Reads a name.
    #[derive(Debug)]
    pub struct Word<T>(pub PhantomData<T>);

    impl<T: FromStr<Err = UnknownName>> Visitor<'_> for Word<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
            name.parse().map_err(E::custom)
        }
    }
}
