//! Parameters that are declared once: a struct with defaults and ranges that doors can list.

use crate::record::{FieldType, Kind, Value};
use alloc::string::String;
use core::fmt;

/// Parameters whose fields have names, documentation, types, defaults and ranges at run time.
/// [`params!`](crate::params!) implements it.
///
/// The Python package and the C library take arguments by it.
pub trait Params: Clone + Default + PartialEq {
    /// The fields, in the order of declaration.
    const PARAMETERS: &'static [Parameter];
    /// The value of a field, by its place in the list.
    fn get(&self, at: usize) -> Value<'_>;
    /// Sets a field, by its place in the list; whether the value is of its type.
    fn set(&mut self, at: usize, value: &Value<'_>) -> bool;
    /// Checks the range of each field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    fn check(&self) -> Result<(), OutOfRange>;
}

/// A field of [`Params`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The doc comment: lines that start with a space.
    pub doc: &'static str,
    /// The type.
    pub kind: Kind,
    /// Bytes of a number of it.
    pub bytes: usize,
}

/// A parameter that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// Its name.
    pub name: &'static str,
    /// What it should be.
    pub expected: &'static str,
    /// What it is.
    pub got: String,
}

/// A type that a field of [`Params`] can have.
pub trait ParameterType: FieldType + Sized {
    /// Bytes of a number of it; of a name 4.
    const BYTES: usize = 4;
    /// The value, if it is of this type.
    fn of(value: &Value<'_>) -> Option<Self>;
}

/// Implements [`ParameterType`] for types of one kind of value.
macro_rules! parameter_type {
    ($($type:ty, $bytes:expr, $pattern:pat => $made:expr;)+) => {$(
        impl ParameterType for $type {
            const BYTES: usize = $bytes;

            fn of(value: &Value<'_>) -> Option<Self> {
                if let $pattern = value { $made } else { None }
            }
        }
    )+};
}
parameter_type! {
    bool, 4, Value::Bool(value) => Some(*value);
    u32, 4, Value::Integer(value) => Self::try_from(*value).ok();
    u64, 8, Value::Integer(value) => Some(*value);
    f32, 4, Value::Float(value) => Some(*value as Self);
    f64, 8, Value::Float(value) => Some(*value);
    [f32; 3], 4, Value::Array(values) => <[f64; 3]>::try_from(&values[..]).ok().map(|all| all.map(|value| value as f32));
}

impl<T: ParameterType> ParameterType for Option<T> {
    const BYTES: usize = T::BYTES;

    fn of(value: &Value<'_>) -> Option<Self> {
        if *value == Value::None { Some(None) } else { T::of(value).map(Some) }
    }
}

/// As an error shows it.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::Text(text) => text.fmt(f),
            Self::Array(values) => write!(f, "{values:?}"),
            Self::List(values) | Self::Record(values) => f.debug_list().entries(values).finish(),
            Self::None => f.write_str("none"),
        }
    }
}

/// Declares parameters: a struct with `Default`, with the features `serde` and `schema` of the crate
/// their traits, and [`Params`]. `field: type = default` has no range of its own;
/// `if test => "what it should be"` is one, and `test` takes the value.
///
/// ```
/// use pointmill_core::params::{ParameterType, Params};
/// use pointmill_core::record::{Kind, Value};
/// pointmill_core::params! {
///     /// How to count.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub struct Counting {
///         /// The least score.
///         pub least: f32 = 0.25, if |least: f32| least.is_finite() => "a finite score";
///         /// Most rows; default all.
///         pub most: Option<u32> = None, if |most| most != Some(0) => "1 or more";
///     }
/// }
/// let mut params = Counting::default();
/// assert_eq!(Counting::PARAMETERS[1].name, "most");
/// assert_eq!(Counting::PARAMETERS[1].kind, Kind::Optional(&Kind::Integer));
/// assert_eq!(params.get(0), Value::Float(0.25));
/// assert!(params.check().is_ok() && params.set(1, &Value::Integer(0)));
/// assert_eq!(params.check().unwrap_err().expected, "1 or more");
/// assert!(!params.set(1, &Value::Bool(true)));
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                pub $field:ident: $type:ty = $default:expr $(, if $test:expr => $expected:literal)?;
            )+
        }
    ) => {
        $(#[$meta])*
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $crate::params::Params for $name {
            const PARAMETERS: &'static [$crate::params::Parameter] = &[$($crate::params::Parameter {
                name: ::core::stringify!($field),
                doc: ::core::concat!($($doc, "\n"),+),
                kind: <$type as $crate::record::FieldType>::KIND,
                bytes: <$type as $crate::params::ParameterType>::BYTES,
            }),+];

            fn get(&self, at: usize) -> $crate::record::Value<'_> {
                let mut left = at;
                $(if left == 0 {
                    return $crate::record::FieldType::value(&self.$field);
                }
                left = left.wrapping_sub(1);)+
                ::core::unreachable!("{left} parameters past the end")
            }

            fn set(&mut self, at: usize, value: &$crate::record::Value<'_>) -> bool {
                let mut left = at;
                $(if left == 0 {
                    let of = <$type as $crate::params::ParameterType>::of(value);
                    return of.map(|value| self.$field = value).is_some();
                }
                left = left.wrapping_sub(1);)+
                ::core::unreachable!("{left} parameters past the end")
            }

            fn check(&self) -> ::core::result::Result<(), $crate::params::OutOfRange> {
                $($(
                    let test: fn($type) -> bool = $test;
                    if !test(self.$field) {
                        let got = $crate::params::shown(&$crate::record::FieldType::value(&self.$field));
                        return Err($crate::params::OutOfRange {
                            name: ::core::stringify!($field), expected: $expected, got,
                        });
                    }
                )?)+
                Ok(())
            }
        }
    };
}

/// A value as an error shows it.
#[doc(hidden)]
pub fn shown(value: &Value<'_>) -> String {
    alloc::format!("{value}")
}
