//! Element types as files store them.

use std::fmt;

/// The type of an element as a file stores it.
///
/// ```
/// use pointmill_io::Dtype;
/// assert_eq!((Dtype::F16.bytes(), Dtype::F16.to_string()), (2, "f16".into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    F32,
    F64,
}

impl Dtype {
    const ALL: [Self; 12] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// The size of an element in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The short name, as in Rust: `f32`, `i64`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Whether an `f32` holds every value of the type.
    pub(crate) const fn fits_f32(self) -> bool {
        !matches!(self, Self::I32 | Self::I64 | Self::U32 | Self::U64 | Self::F64)
    }

    /// Numpy's code without the byte order: `f4`, `i8`, `b1`.
    const fn code(self) -> &'static str {
        match self {
            Self::Bool => "b1",
            Self::I8 => "i1",
            Self::I16 => "i2",
            Self::I32 => "i4",
            Self::I64 => "i8",
            Self::U8 => "u1",
            Self::U16 => "u2",
            Self::U32 => "u4",
            Self::U64 => "u8",
            Self::F16 => "f2",
            Self::F32 => "f4",
            Self::F64 => "f8",
        }
    }

    /// Numpy's `descr` of the type in little-endian order: `<f4`, `|b1`.
    pub(crate) fn descr(self) -> String {
        format!("{}{}", if self.bytes() == 1 { '|' } else { '<' }, self.code())
    }

    /// The type that a `descr` names, and whether its bytes are big-endian; `None` for one that is not read.
    pub(crate) fn from_descr(descr: &str) -> Option<(Self, bool)> {
        let order = descr.chars().next()?;
        let dtype = Self::ALL.into_iter().find(|d| d.code() == &descr[order.len_utf8()..])?;
        match order {
            '<' => Some((dtype, false)),
            '>' => Some((dtype, true)),
            '=' => Some((dtype, cfg!(target_endian = "big"))),
            '|' if dtype.bytes() == 1 => Some((dtype, false)),
            _ => None,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descr_round_trips_and_refuses() {
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::from_descr(&dtype.descr()), Some((dtype, false)));
        }
        assert_eq!(Dtype::from_descr(">f8"), Some((Dtype::F64, true)));
        for bad in ["", "f4", "<f3", "|f4", "|O", "<U3", "<c8", "<M8[ns]", "é4", "<f4 "] {
            assert_eq!(Dtype::from_descr(bad), None, "{bad}");
        }
    }
}
