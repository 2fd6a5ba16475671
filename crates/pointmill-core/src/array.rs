//! Borrowed arrays of any shape and element type: the form in which results go to files,
//! comparisons and bindings.

use crate::ElementType;
use alloc::vec::Vec;

/// The type of an array's elements.
///
/// ```
/// use pointmill_core::array::Dtype;
/// assert_eq!((Dtype::F16.bytes(), Dtype::F16.to_string()), (2, "f16".into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names say it.
pub enum Dtype {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Dtype {
    /// The size of an element in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The name that numpy and torch have for the type.
    ///
    /// ```
    /// use pointmill_core::array::Dtype;
    /// assert_eq!((Dtype::F32.as_str(), Dtype::F32.numpy()), ("f32", "float32"));
    /// ```
    pub const fn numpy(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::Bf16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// Whether an `f32` holds every value of the type.
    pub const fn fits_f32(self) -> bool {
        !matches!(self, Self::I32 | Self::I64 | Self::U32 | Self::U64 | Self::F64)
    }
}

crate::names!(Dtype {
    Bool = "bool",
    I8 = "i8",
    I16 = "i16",
    I32 = "i32",
    I64 = "i64",
    U8 = "u8",
    U16 = "u16",
    U32 = "u32",
    U64 = "u64",
    F16 = "f16",
    Bf16 = "bf16",
    F32 = "f32",
    F64 = "f64",
});

impl From<ElementType> for Dtype {
    fn from(element: ElementType) -> Self {
        match element {
            ElementType::F32 => Self::F32,
            ElementType::F16 => Self::F16,
            ElementType::Bf16 => Self::Bf16,
        }
    }
}

/// A borrowed array: a shape, and values in C order (the last index runs fastest).
///
/// The constructors take any shape. [`ArrayView::fits`] says whether it holds as many values as
/// there are; what writes an array checks it.
///
/// ```
/// use pointmill_core::array::{ArrayView, Dtype, Values};
/// let view = ArrayView::f32(&[2, 3], &[0.0; 6]);
/// assert_eq!((view.shape(), view.dtype(), view.fits()), (&[2, 3][..], Dtype::F32, true));
/// assert_eq!(view.values(), Values::F32(&[0.0; 6]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayView<'a> {
    shape: Vec<usize>,
    values: Values<'a>,
}

/// Defines, for every element type, the variant that holds it and the constructor of a view.
macro_rules! element_types {
    ($($(#[$doc:meta])* $variant:ident: $type:ty, $view:ident;)*) => {
        /// The values of an [`ArrayView`].
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Values<'a> {
            $($(#[$doc])* $variant(&'a [$type]),)*
        }

        impl Values<'_> {
            /// The number of values.
            pub const fn len(&self) -> usize {
                match self {
                    $(Self::$variant(v) => v.len(),)*
                }
            }

            /// The element type.
            pub const fn dtype(&self) -> Dtype {
                match self {
                    $(Self::$variant(_) => Dtype::$variant,)*
                }
            }
        }

        impl<'a> ArrayView<'a> {
            $(
                $(#[$doc])*
                pub fn $view(shape: &[usize], values: &'a [$type]) -> Self {
                    Self::new(shape, Values::$variant(values))
                }
            )*
        }
    };
}

element_types! {
    /// Values of `f32`.
    F32: f32, f32;
    /// Values of `f64`.
    F64: f64, f64;
    /// Values of `f16`, as their bits.
    F16: u16, f16_bits;
    /// Values of `bf16`, as their bits.
    Bf16: u16, bf16_bits;
    /// Values of `i8`.
    I8: i8, i8;
    /// Values of `i16`.
    I16: i16, i16;
    /// Values of `i32`.
    I32: i32, i32;
    /// Values of `i64`.
    I64: i64, i64;
    /// Values of `u8`.
    U8: u8, u8;
    /// Values of `u16`.
    U16: u16, u16;
    /// Values of `u32`.
    U32: u32, u32;
    /// Values of `u64`.
    U64: u64, u64;
    /// Values of `bool`.
    Bool: bool, bool;
}

impl Values<'_> {
    /// Whether there is no value.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> ArrayView<'a> {
    /// Views values in a shape.
    pub fn new(shape: &[usize], values: Values<'a>) -> Self {
        Self { shape: shape.to_vec(), values }
    }

    /// The number of values along each axis; empty for a single value.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    pub const fn dtype(&self) -> Dtype {
        self.values.dtype()
    }

    /// The values, in C order.
    pub const fn values(&self) -> Values<'a> {
        self.values
    }

    /// Whether the shape holds as many values as there are.
    pub fn fits(&self) -> bool {
        num_values(&self.shape) == Some(self.values.len())
    }
}

/// The number of values that a shape holds; `None` if it overflows. An axis of length 0 makes it 0,
/// whatever the others are.
///
/// ```
/// use pointmill_core::array::num_values;
/// assert_eq!([&[2, 3][..], &[], &[usize::MAX, 2, 0], &[usize::MAX, 2]].map(num_values), [Some(6), Some(1), Some(0), None]);
/// ```
pub fn num_values(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n))
}

/// A result in host memory that consists of named arrays.
///
/// Files, comparisons and hashes are made from this list, so that a new array of a result is named
/// once.
///
/// ```
/// use pointmill_core::array::{ArrayView, NamedArrays};
/// struct Counts(Vec<u32>);
/// impl NamedArrays for Counts {
///     fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
///         vec![("counts", ArrayView::u32(&[self.0.len()], &self.0))]
///     }
/// }
/// assert_eq!(Counts(vec![3, 4]).arrays()[0].1.shape(), [2]);
/// ```
pub trait NamedArrays {
    /// The name, shape, type and values of each array. Names differ, and their order is always the
    /// same.
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)>;
}

/// A result whose coordinates are about an origin: its arrays, then `origin`, `f64 [3]` in metres,
/// unless that is zero.
#[derive(Clone, Copy, Debug)]
pub struct About<'a, R> {
    /// The result.
    pub result: &'a R,
    /// The origin.
    pub origin: [f64; 3],
}

impl<R: NamedArrays> NamedArrays for About<'_, R> {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let mut arrays = self.result.arrays();
        arrays.extend((self.origin != [0.0; 3]).then(|| ("origin", ArrayView::f64(&[3], &self.origin))));
        arrays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_know_their_type_and_whether_they_fit() {
        let bits = [1u16; 2];
        for (view, dtype) in [
            (ArrayView::f16_bits(&[2], &bits), Dtype::F16),
            (ArrayView::bf16_bits(&[2, 1], &bits), Dtype::Bf16),
            (ArrayView::u16(&[1, 2], &bits), Dtype::U16),
        ] {
            assert!(view.fits());
            assert_eq!((view.dtype(), view.values().len()), (dtype, 2));
        }
        assert!(!ArrayView::bool(&[3], &[true; 2]).fits());
        assert!(ArrayView::i64(&[], &[7]).fits());
        assert!(ArrayView::u8(&[4, 0], &[]).fits() && ArrayView::u8(&[0], &[]).values().is_empty());
    }

    #[test]
    fn types_have_one_name_and_one_size() {
        for element in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
            let dtype = Dtype::from(element);
            assert_eq!((dtype.as_str(), dtype.bytes()), (element.as_str(), element.bytes()));
        }
    }
}
