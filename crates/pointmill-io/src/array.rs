//! Arrays as files hold them: owned, with the file and the name that their errors say.

use crate::error::IoError;
use crate::fault::fault;
use pointmill_core::array::{ArrayView, Dtype, Values, num_values};
use pointmill_core::half::{f32_from_bf16_bits, f32_from_f16_bits};
use std::path::{Path, PathBuf};

/// An array as read from a file: values in C order (the last index runs fastest), with the shape
/// they have.
///
/// The accessors name the file and the array in their errors.
///
/// ```
/// use pointmill_io::{Array, ArrayData};
/// let boxes = Array::new(vec![1, 7], ArrayData::F64(vec![0.5; 7]))?;
/// boxes.expect_shape(&[None, Some(7)])?;
/// assert_eq!(boxes.to_f32()?, [0.5f32; 7]);
/// assert_eq!(
///     boxes.as_i32().unwrap_err().to_string(),
///     "array: element type: expected i32, got f64 [1, 7]"
/// );
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Array {
    shape: Vec<usize>,
    data: ArrayData,
    path: PathBuf,
    field: String,
}

/// Equal in shape, type and values; where they come from does not count.
impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.data == other.data
    }
}

/// Defines, for every element type, its variants and the methods that make and take it.
macro_rules! element_types {
    ($($(#[$doc:meta])* $variant:ident: $type:ty, $slice:ident, $vec:ident;)*) => {
        /// The values of an [`Array`].
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum ArrayData {
            $($(#[$doc])* $variant(Vec<$type>),)*
        }

        impl ArrayData {
            /// The number of values.
            pub fn len(&self) -> usize {
                self.values().len()
            }

            /// Whether there is no value.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The element type.
            pub fn dtype(&self) -> Dtype {
                self.values().dtype()
            }

            fn values(&self) -> Values<'_> {
                match self {
                    $(Self::$variant(v) => Values::$variant(v),)*
                }
            }
        }

        impl Array {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// [`IoError::DtypeMismatch`] if the array has another element type.
                pub fn $slice(&self) -> Result<&[$type], IoError> {
                    match &self.data {
                        ArrayData::$variant(v) => Ok(v),
                        _ => Err(self.not(Dtype::$variant.as_str())),
                    }
                }

                $(#[$doc])*
                ///
                /// # Errors
                /// [`IoError::DtypeMismatch`] if the array has another element type.
                pub fn $vec(self) -> Result<Vec<$type>, IoError> {
                    match self.data {
                        ArrayData::$variant(v) => Ok(v),
                        _ => Err(self.not(Dtype::$variant.as_str())),
                    }
                }
            )*
        }
    };
}

element_types! {
    /// Values of `f32`.
    F32: f32, as_f32, into_f32;
    /// Values of `f64`.
    F64: f64, as_f64, into_f64;
    /// Values of `f16`, as their bits.
    F16: u16, as_f16_bits, into_f16_bits;
    /// Values of `bf16`, as their bits.
    Bf16: u16, as_bf16_bits, into_bf16_bits;
    /// Values of `i8`.
    I8: i8, as_i8, into_i8;
    /// Values of `i16`.
    I16: i16, as_i16, into_i16;
    /// Values of `i32`.
    I32: i32, as_i32, into_i32;
    /// Values of `i64`.
    I64: i64, as_i64, into_i64;
    /// Values of `u8`.
    U8: u8, as_u8, into_u8;
    /// Values of `u16`.
    U16: u16, as_u16, into_u16;
    /// Values of `u32`.
    U32: u32, as_u32, into_u32;
    /// Values of `u64`.
    U64: u64, as_u64, into_u64;
    /// Values of `bool`.
    Bool: bool, as_bool, into_bool;
}

/// The values cast to a float type, each rounded once; `None` for booleans.
macro_rules! cast {
    ($data:expr, $to:ty) => {
        match $data {
            ArrayData::F32(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::F64(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::F16(v) => Some(v.iter().map(|&v| f32_from_f16_bits(v) as $to).collect()),
            ArrayData::Bf16(v) => Some(v.iter().map(|&v| f32_from_bf16_bits(v) as $to).collect()),
            ArrayData::I8(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::I16(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::I32(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::I64(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::U8(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::U16(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::U32(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::U64(v) => Some(v.iter().map(|&v| v as $to).collect()),
            ArrayData::Bool(_) => None,
        }
    };
}

impl Array {
    /// An array of `data` in C order.
    ///
    /// # Errors
    /// [`IoError::ShapeMismatch`] if the shape holds another number of values.
    pub fn new(shape: Vec<usize>, data: ArrayData) -> Result<Self, IoError> {
        check_shape("array".as_ref(), "", &shape, data.len())?;
        Ok(Self { shape, data, path: "array".into(), field: String::new() })
    }

    /// The array with the file and the name that its errors say.
    pub(crate) fn named(self, path: PathBuf, name: Option<&str>) -> Self {
        Self { path, field: name.map_or_else(String::new, |name| format!("array `{name}`: ")), ..self }
    }

    /// The number of values along each axis; empty for a single value.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.data.dtype()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The values, in C order.
    pub fn data(&self) -> &ArrayData {
        &self.data
    }

    /// Gives the shape and the values away.
    pub fn into_parts(self) -> (Vec<usize>, ArrayData) {
        (self.shape, self.data)
    }

    /// The array, borrowed, to be written.
    pub fn view(&self) -> ArrayView<'_> {
        ArrayView::new(&self.shape, self.data.values())
    }

    /// Checks the shape against a pattern in which `None` stands for any length.
    ///
    /// # Errors
    /// [`IoError::ShapeMismatch`] if the number of axes or a length differs.
    pub fn expect_shape(&self, pattern: &[Option<usize>]) -> Result<(), IoError> {
        let fits = self.shape.len() == pattern.len()
            && self.shape.iter().zip(pattern).all(|(&n, p)| p.is_none_or(|wanted| wanted == n));
        if fits {
            return Ok(());
        }
        let wanted: Vec<_> = pattern.iter().map(|p| p.map_or_else(|| "N".into(), |n| n.to_string())).collect();
        Err(fault!(self.path, ShapeMismatch, (self.field_name("shape")), ("[{}]", wanted.join(", ")), self.told()))
    }

    /// The values as `f32`: the half types are exact, wider ones are rounded once to the nearest.
    ///
    /// # Errors
    /// [`IoError::DtypeMismatch`] for booleans.
    pub fn to_f32(&self) -> Result<Vec<f32>, IoError> {
        cast!(&self.data, f32).ok_or_else(|| self.not("a number"))
    }

    /// The values as `f64`: all are exact but 64-bit integers past 2^53, which are rounded to the
    /// nearest.
    ///
    /// # Errors
    /// [`IoError::DtypeMismatch`] for booleans.
    pub fn to_f64(&self) -> Result<Vec<f64>, IoError> {
        cast!(&self.data, f64).ok_or_else(|| self.not("a number"))
    }

    fn not(&self, wanted: &str) -> IoError {
        fault!(self.path, DtypeMismatch, (self.field_name("element type")), wanted, self.told())
    }

    fn field_name(&self, field: &str) -> String {
        format!("{}{field}", self.field)
    }

    fn told(&self) -> String {
        format!("{} {:?}", self.dtype(), self.shape)
    }
}

impl<'a> From<&'a Array> for ArrayView<'a> {
    fn from(array: &'a Array) -> Self {
        array.view()
    }
}

/// Checks that a shape holds `len` values and does not overflow.
pub(crate) fn check_shape(path: &Path, prefix: &str, shape: &[usize], len: usize) -> Result<(), IoError> {
    if num_values(shape) == Some(len) {
        return Ok(());
    }
    Err(fault!(path, ShapeMismatch, "{prefix}shape", "one that holds {len} values", "{shape:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_checked() {
        let e = Array::new(vec![2, 3], ArrayData::U8(vec![0; 5])).unwrap_err();
        assert_eq!(e.to_string(), "array: shape: expected one that holds 5 values, got [2, 3]");
        let a = Array::new(vec![2, 3], ArrayData::U8(vec![0; 6])).unwrap();
        assert!(a.expect_shape(&[None, Some(3)]).is_ok());
        for pattern in [&[None, Some(4)][..], &[None]] {
            assert_eq!(a.expect_shape(pattern).unwrap_err().class(), "ShapeMismatch");
        }
    }

    #[test]
    fn accessors_give_the_type_or_name_it() {
        let a = Array::new(vec![2], ArrayData::F16(vec![0x3c00, 0x7bff])).unwrap();
        let a = a.named("g.npz".into(), Some("mean"));
        assert_eq!(a.as_f16_bits().unwrap(), [0x3c00, 0x7bff]);
        assert_eq!(a.to_f32().unwrap(), [1.0, 65504.0]);
        let e = a.into_u16().unwrap_err();
        assert_eq!(e.to_string(), "g.npz: array `mean`: element type: expected u16, got f16 [2]");
        let b = Array::new(vec![], ArrayData::Bool(vec![true])).unwrap();
        assert_eq!(b.to_f64().unwrap_err().class(), "DtypeMismatch");
        let i = Array::new(vec![1], ArrayData::I64(vec![(1 << 24) + 1])).unwrap();
        assert_eq!(i.to_f32().unwrap(), [16_777_216.0]);
        assert_eq!(i.into_i64().unwrap(), [16_777_217]);
    }
}
