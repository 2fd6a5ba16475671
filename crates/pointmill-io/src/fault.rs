//! The builder of errors that name what was wanted and what was found.

use crate::error::Detail;
use std::path::Path;

/// Where a reader is: what adds the name of the file, and the position or the array in it, to an
/// error.
pub(crate) trait Context {
    /// The detail of an error here.
    fn detail(&self, field: &str, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail>;
}

impl Context for Path {
    fn detail(&self, field: &str, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        Detail::new(self, field, wanted, found)
    }
}

/// A part of what a context is about: errors name it before their fields.
pub(crate) struct Within<'c, C: ?Sized>(pub(crate) &'c C, pub(crate) &'c str);

impl<C: Context + ?Sized> Context for Within<'_, C> {
    fn detail(&self, field: &str, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        self.0.detail(&format!("{}: {field}", self.1), wanted, found)
    }
}

/// A place in a file, for errors of those who do not hold the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) path: &'a Path,
    pub(crate) offset: Option<u64>,
}

impl Context for At<'_> {
    fn detail(&self, field: &str, wanted: impl Into<String>, found: impl Into<String>) -> Box<Detail> {
        Detail::new(self.path, field, wanted, found).at(self.offset)
    }
}

/// Makes an [`IoError`](crate::IoError):
/// `fault!(window, Truncated, "data", "{size} bytes", ("{} bytes", bytes.len()))`.
///
/// The arguments are a [`Context`], the variant, and three texts: the field, what was wanted, what
/// was found. A text is a format string, a format string with its arguments in parentheses, the
/// name of a variable, or `(another value)`. The last needs no parentheses around a value.
macro_rules! fault {
    ($at:expr, $class:ident, $field:tt, $wanted:tt, $found:tt) => {{
        #[allow(unused_imports)] // Modules with a context of their own have it.
        use $crate::fault::Context as _;
        let [field, wanted, found] =
            [$crate::fault::text!($field), $crate::fault::text!($wanted), $crate::fault::text!($found)];
        $crate::error::IoError::$class($at.detail(&field, wanted, found))
    }};
    ($at:expr, $class:ident, $field:tt, $wanted:tt, $found:expr) => {
        $crate::fault::fault!($at, $class, $field, $wanted, ($found))
    };
}

/// Returns the error that [`fault!`] makes.
macro_rules! bail {
    ($($fault:tt)*) => {
        return Err($crate::fault::fault!($($fault)*))
    };
}

/// A text of [`fault!`].
macro_rules! text {
    ($format:literal) => {
        format!($format)
    };
    (($format:literal, $($value:expr),+)) => {
        format!($format, $($value),+)
    };
    ($value:expr) => {
        $value.to_string()
    };
}

pub(crate) use {bail, fault, text};
