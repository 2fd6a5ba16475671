//! Results that are declared once: a struct whose fields others can list.

use crate::Pose;
use alloc::string::String;
#[doc(hidden)]
pub use alloc::vec::Vec;

/// A result whose fields have names, documentation and types at run time.
/// [`record!`](crate::record!) implements it.
///
/// The Python package makes its classes, their documentation and their pickles from it.
pub trait Record {
    /// The fields, in the order of declaration.
    const FIELDS: &'static [Field];
    /// The value of each field.
    fn values(&self) -> Vec<Value<'_>>;
}

/// A field of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The doc comment: lines that start with a space.
    pub doc: &'static str,
    /// The type.
    pub kind: Kind,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number, not negative.
    Integer,
    /// A number.
    Float,
    /// True or false.
    Bool,
    /// Text.
    Text,
    /// One of these names.
    Name(&'static [&'static str]),
    /// Numbers of this shape; a [`Pose`] is its 4x4 matrix.
    Array(&'static [usize]),
    /// Any number of values.
    List(&'static Kind),
    /// A value, or none.
    Optional(&'static Kind),
    /// The fields of another record.
    Record(&'static [Field]),
}

/// The value of a field, of the [`Kind`] with the same name.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs)]
pub enum Value<'a> {
    Integer(u64),
    Float(f64),
    Bool(bool),
    Text(&'a str),
    Array(Vec<f64>),
    List(Vec<Self>),
    Record(Vec<Self>),
    None,
}

/// A type that a field of a [`Record`] can have.
pub trait FieldType {
    /// The type at run time.
    const KIND: Kind;
    /// The value.
    fn value(&self) -> Value<'_>;
}

/// A number of single precision as it is written: 0.1 and not 0.10000000149.
fn shown(number: f32) -> f64 {
    alloc::format!("{number}").parse().unwrap_or(f64::from(number))
}

/// Implements [`FieldType`] for a type whose values are made by an expression.
macro_rules! field_type {
    ([$($generics:tt)*] $type:ty, $kind:expr, |$value:ident| $made:expr) => {
        impl<$($generics)*> FieldType for $type {
            const KIND: Kind = $kind;
            fn value(&self) -> Value<'_> {
                let $value = self;
                $made
            }
        }
    };
}

field_type!([] usize, Kind::Integer, |n| Value::Integer(*n as u64));
field_type!([] u32, Kind::Integer, |n| Value::Integer(u64::from(*n)));
field_type!([] u64, Kind::Integer, |n| Value::Integer(*n));
field_type!([] f32, Kind::Float, |x| Value::Float(shown(*x)));
field_type!([] f64, Kind::Float, |x| Value::Float(*x));
field_type!([] bool, Kind::Bool, |b| Value::Bool(*b));
field_type!([] String, Kind::Text, |text| Value::Text(text));
field_type!([] Pose, Kind::Array(&[4, 4]), |pose| Value::Array(pose.matrix().as_flattened().to_vec()));
field_type!([const N: usize] [f32; N], Kind::Array(&[N]), |row| Value::Array(row.iter().map(|x| shown(*x)).collect()));
field_type!([const N: usize] [f64; N], Kind::Array(&[N]), |row| Value::Array(row.to_vec()));
field_type!([const N: usize, const M: usize] [[f64; M]; N], Kind::Array(&[N, M]), |rows| {
    Value::Array(rows.as_flattened().to_vec())
});
field_type!([const N: usize] [bool; N], Kind::List(&Kind::Bool), |all| Value::List(all.iter().map(FieldType::value).collect()));
field_type!([T: FieldType] Vec<T>, Kind::List(&T::KIND), |all| Value::List(all.iter().map(FieldType::value).collect()));
field_type!([T: FieldType] Option<T>, Kind::Optional(&T::KIND), |one| one.as_ref().map_or(Value::None, T::value));
field_type!([T: Record] T, Kind::Record(T::FIELDS), |record| Value::Record(record.values()));

/// Declares a result: a struct with named fields that is a [`Record`] too.
///
/// The struct is written as always, with docs for each field. With the features `serde` and
/// `schema` of the crate it derives `Serialize` and `JsonSchema`, so `serde` attributes of fields
/// say what JSON has.
///
/// ```
/// use pointmill_core::record::{Kind, Record, Value};
/// pointmill_core::record! {
///     /// What was counted.
///     #[derive(Debug)]
///     pub struct Report {
///         /// Points of the input.
///         pub points: usize,
///         /// Root mean square distance in metres; none without pairs.
///         pub rmse: Option<f64>,
///     }
/// }
///
/// let report = Report { points: 3, rmse: None };
/// assert_eq!(Report::FIELDS[0].name, "points");
/// assert_eq!(Report::FIELDS[0].doc.trim(), "Points of the input.");
/// assert_eq!(Report::FIELDS[1].kind, Kind::Optional(&Kind::Float));
/// assert_eq!(report.values(), [Value::Integer(3), Value::None]);
/// ```
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* pub struct $($rest:tt)*) => {
        $crate::record_without_serde! {
            $(#[$meta])*
            #[cfg_attr(feature = "serde", derive(serde::Serialize))]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub struct $($rest)*
        }
    };
}

/// [`record!`](crate::record!) for a struct that implements `Serialize` and `JsonSchema` by hand.
#[macro_export]
macro_rules! record_without_serde {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(<$parameter:ident>)? {
            $($(#[$($attribute:tt)*])* pub $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$meta])*
        pub struct $name $(<$parameter>)? {
            $($(#[$($attribute)*])* pub $field: $type,)+
        }

        impl $(<$parameter: $crate::record::FieldType>)? $crate::record::Record for $name $(<$parameter>)? {
            const FIELDS: &'static [$crate::record::Field] = &[$($crate::record::Field {
                name: ::core::stringify!($field),
                doc: $crate::doc_of!($(#[$($attribute)*])*),
                kind: <$type as $crate::record::FieldType>::KIND,
            }),+];

            fn values(&self) -> $crate::record::Vec<$crate::record::Value<'_>> {
                $crate::record::Vec::from([$($crate::record::FieldType::value(&self.$field)),+])
            }
        }
    };
}

/// The doc comment among attributes.
#[doc(hidden)]
#[macro_export]
macro_rules! doc_of {
    () => { "" };
    (#[doc = $line:literal] $($rest:tt)*) => { ::core::concat!($line, "\n", $crate::doc_of!($($rest)*)) };
    (#[$($other:tt)*] $($rest:tt)*) => { $crate::doc_of!($($rest)*) };
}
