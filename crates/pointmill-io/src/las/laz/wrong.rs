//! Why chunks could not be read.

use crate::error::{Detail, IoError, WHOLE_CHUNKS};
use crate::window::Window;

/// What is wrong with chunks or their table, without the name of the file, as threads return it.
#[derive(Debug)]
pub(super) struct Wrong {
    class: fn(Box<Detail>) -> IoError,
    field: String,
    wanted: String,
    found: String,
}

impl Wrong {
    pub(super) fn new(
        class: fn(Box<Detail>) -> IoError,
        field: impl Into<String>,
        wanted: String,
        found: String,
    ) -> Self {
        Self { class, field: field.into(), wanted, found }
    }
}

/// Why chunks could not be read.
#[derive(Debug)]
pub(super) enum Failed {
    /// The file is damaged; another part of it may be whole.
    Damaged(Wrong),
    /// Anything else, such as a limit.
    Refused(IoError),
}

impl From<Wrong> for Failed {
    fn from(wrong: Wrong) -> Self {
        Self::Damaged(wrong)
    }
}

impl From<IoError> for Failed {
    fn from(e: IoError) -> Self {
        Self::Refused(e)
    }
}

impl Failed {
    /// The error; `salvageable` if some chunks are whole.
    pub(super) fn error(self, window: &Window<'_, '_>, salvageable: bool) -> IoError {
        match self {
            Self::Refused(e) => e,
            Self::Damaged(Wrong { class, field, wanted, found }) => {
                let detail = window.detail(&field, wanted, found);
                class(if salvageable { detail.salvageable(WHOLE_CHUNKS) } else { detail })
            }
        }
    }
}
