//! What can go wrong between a file and a cloud: the file, the field, what was wanted and what was
//! found.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Defines the error with a variant for each class, and what all classes have.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident,)*) => {
        /// Why a file could not be read or written.
        ///
        /// Every error names the file, the part of it, what was wanted there and what was found.
        /// Control characters that come from a file or a path are escaped in the message, so that
        /// an error cannot drive the terminal it is shown on.
        ///
        /// ```
        /// use pointmill_io::{ReadOptions, read_from};
        /// let error = read_from(&[0u8; 15][..], "sweep.bin", &ReadOptions::default()).unwrap_err();
        /// assert_eq!(error.class(), "SizeMismatch");
        /// assert_eq!(
        ///     error.to_string(),
        ///     "sweep.bin: length: expected a multiple of 16 bytes (4 columns of f32), \
        ///      got 15 bytes (remainder 15); no column count from 3 to 8 fits; --salvage reads the whole points before that"
        /// );
        /// ```
        #[derive(Debug, Error)]
        #[non_exhaustive]
        pub enum IoError {
            /// The operating system refused.
            #[error("{}: {}{}", escape(&path.to_string_lossy()), tried(action, source), answer(source))]
            Io {
                /// The file or folder.
                path: PathBuf,
                /// What was tried: `open`, `read`, `write`, ...
                action: &'static str,
                /// The system's answer.
                source: io::Error,
            },
            $($(#[$doc])* #[error("{0}")] $class(Box<Detail>),)*
        }

        impl IoError {
            /// The class of the error, for machines: the variant's name.
            pub fn class(&self) -> &'static str {
                match self {
                    Self::Io { .. } => "Io",
                    $(Self::$class(_) => stringify!($class),)*
                }
            }

            /// A copy of the error.
            #[must_use]
            pub fn again(&self) -> Self {
                match self {
                    Self::Io { path, action, source } => Self::io(path, action)(source.kind().into()),
                    $(Self::$class(detail) => Self::$class(detail.clone()),)*
                }
            }

            /// The parts of the message; `None` where the system refused.
            pub fn detail(&self) -> Option<&Detail> {
                match self {
                    Self::Io { .. } => None,
                    $(Self::$class(detail))|* => Some(detail),
                }
            }

            fn detail_mut(&mut self) -> Option<&mut Detail> {
                match self {
                    Self::Io { .. } => None,
                    $(Self::$class(detail))|* => Some(detail),
                }
            }
        }
    };
}

classes! {
    /// Not a format, or a part of a format, that is read.
    UnsupportedFormat,
    /// A header's text or field is not valid.
    BadHeader,
    /// A needed field or array is absent.
    MissingField,
    /// Fewer bytes or rows than declared.
    Truncated,
    /// Two sizes disagree.
    SizeMismatch,
    /// Above a stated limit.
    LimitExceeded,
    /// A compressed stream is not valid, or a checksum is wrong.
    Decompress,
    /// A value is not one of its type.
    BadValue,
    /// An array's shape.
    ShapeMismatch,
    /// An array's element type.
    DtypeMismatch,
    /// A parameter, not a file, is wrong.
    InvalidArgument,
    /// The memory for an array was refused.
    OutOfMemory,
}

impl IoError {
    /// The file, folder, pattern or name the error is about.
    pub fn path(&self) -> &Path {
        match (self, self.detail()) {
            (Self::Io { path, .. }, _) => path,
            (_, detail) => detail.map_or_else(|| Path::new(""), |d| &d.path),
        }
    }

    /// How many bytes of the file had been read when it was refused, for machines; at most so far
    /// into the file lies what is wrong. `None` where that is not known.
    pub fn offset(&self) -> Option<u64> {
        self.detail()?.offset
    }

    /// The error of a damaged file of which [`ReadOptions::salvage`](crate::ReadOptions::salvage)
    /// reads `what`.
    pub(crate) fn salvageable(mut self, what: &str) -> Self {
        if let Some(detail) = self.detail_mut() {
            detail.salvageable(what);
        }
        self
    }

    /// Whether a part of a file is not valid, and nothing was refused that a salvage could do
    /// without.
    pub(crate) fn is_damage(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::LimitExceeded(_) | Self::OutOfMemory(_))
    }

    /// The error with the number of bytes that had been read.
    pub(crate) fn at(mut self, offset: Option<u64>) -> Self {
        if let Some(detail) = self.detail_mut() {
            detail.offset = offset;
        }
        self
    }

    /// Wraps the system's answer to `action` on `path`; for use as
    /// `map_err(IoError::io(path, "open"))`.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| {
            if action != OPEN || source.kind() != io::ErrorKind::NotFound {
                return Self::Io { path, action, source };
            }
            let told = std::fs::read_link(&path).map_or_else(
                |_| "no such file".into(),
                |target| format!("link to {}, which does not exist", escape(&target.to_string_lossy())),
            );
            Self::Io { path, action, source: io::Error::new(io::ErrorKind::NotFound, told) }
        }
    }
}

/// The action on a file that may not be there.
const OPEN: &str = "open";

/// What was tried, unless the answer says all.
fn tried(action: &str, answer: &io::Error) -> String {
    let is_clear = action == OPEN && answer.kind() == io::ErrorKind::NotFound;
    if is_clear { String::new() } else { format!("{action}: ") }
}

/// The system's answer without its number, and what to do about a full disk.
fn answer(answer: &io::Error) -> String {
    let text = answer.to_string();
    let text = text.rsplit_once(" (os error ").map_or(&*text, |(text, _)| text);
    let way_out = if answer.kind() == io::ErrorKind::StorageFull { "; free some space and run again" } else { "" };
    format!("{text}{way_out}")
}

/// What every error but [`IoError::Io`] carries; shown as `path: field: expected .., got ..`,
/// without the offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The file, folder, pattern or name as it was given.
    pub path: PathBuf,
    /// The part of the file or the parameter.
    pub field: String,
    /// What was wanted there.
    pub wanted: String,
    /// What was found there.
    pub found: String,
    /// How many bytes of the file had been read, where it has bytes of its own to count: a member
    /// of an archive has not.
    pub offset: Option<u64>,
}

/// What [`IoError::salvageable`] names for files of records, and for files of chunks.
pub(crate) const POINTS_BEFORE: &str = "the whole points before that";
pub(crate) const WHOLE_CHUNKS: &str = "the whole chunks";

impl Detail {
    /// A detail in a box, as the variants of [`IoError`] hold it.
    pub fn new(
        path: impl AsRef<Path>,
        field: impl Into<String>,
        wanted: impl Into<String>,
        found: impl Into<String>,
    ) -> Box<Self> {
        let path = path.as_ref().to_path_buf();
        Box::new(Self { path, field: field.into(), wanted: wanted.into(), found: found.into(), offset: None })
    }

    /// Adds that [`ReadOptions::salvage`](crate::ReadOptions::salvage) reads `what` of the damaged
    /// file.
    pub(crate) fn salvageable(&mut self, what: &str) {
        self.found.push_str(&format!("; --salvage reads {what}"));
    }

    /// The detail with the number of bytes that had been read.
    pub(crate) fn at(mut self: Box<Self>, offset: Option<u64>) -> Box<Self> {
        self.offset = offset;
        self
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.to_string_lossy();
        let [path, field, wanted, found] = [&path, &*self.field, &self.wanted, &self.found].map(escape);
        write!(f, "{path}: {field}: expected {wanted}, got {found}")
    }
}

/// The text with control characters escaped (`\n`, `\u{1b}`), as errors show paths and what files
/// say.
///
/// ```
/// assert_eq!(pointmill_io::escape("a\x1b[2Jb\n"), r"a\u{1b}[2Jb\n");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
    }
    out
}

/// Whether [`escape`] leaves a character as it is: all but control characters, the separators of
/// lines and paragraphs, and those that reverse the direction of the text after them.
///
/// ```
/// assert!(pointmill_io::is_plain('\u{e9}') && !pointmill_io::is_plain('\u{85}') && !pointmill_io::is_plain('\u{202e}'));
/// ```
pub fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first bytes of `bytes` as quoted text for a message.
pub fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 48;
    if bytes.is_empty() {
        return "nothing".into();
    }
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    if bytes.len() > SHOWN { format!("`{shown}`...") } else { format!("`{shown}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_all_and_escape_control_bytes() {
        let e = IoError::BadHeader(Detail::new("a\nb.npy", "descr", "text", "\x1b[31m\u{9b}red\0"));
        assert_eq!(e.to_string(), r"a\nb.npy: descr: expected text, got \u{1b}[31m\u{9b}red\u{0}");
        assert_eq!((e.class(), e.path()), ("BadHeader", Path::new("a\nb.npy")));
        let e = IoError::io(Path::new("x\r"), "open")(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!((e.to_string().as_str(), e.class()), (r"x\r: no such file", "Io"));
        let full = io::Error::from(io::ErrorKind::StorageFull).to_string();
        let e = IoError::io(Path::new("x"), "write")(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(e.to_string(), format!("x: write: {full}; free some space and run again"));
        let e = IoError::io(Path::new("x"), "write")(io::Error::from_raw_os_error(5));
        assert!(!e.to_string().contains("os error"), "{e}");
    }

    #[test]
    fn excerpts_are_short() {
        assert_eq!(excerpt(b""), "nothing");
        assert_eq!(excerpt(b"abc"), "`abc`");
        assert!(excerpt(&[b'a'; 1000]).len() < 60);
    }
}
