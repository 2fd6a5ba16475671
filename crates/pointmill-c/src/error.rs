//! What a call says of how it went.

use pointmill::Error;
use pointmill_io::{Detail, IoError, escape};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a call went.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum pointmill_status {
    /// Success.
    POINTMILL_OK = 0,
    /// Invalid argument. Nothing was done.
    POINTMILL_ARGUMENT = 1,
    /// The host or the device is out of memory.
    POINTMILL_OUT_OF_MEMORY = 2,
    /// There is no such device.
    POINTMILL_NO_DEVICE = 3,
    /// Another error of the driver or of the system.
    POINTMILL_DEVICE = 4,
    /// The device no longer answers. The process must start its work again.
    POINTMILL_DEVICE_LOST = 5,
    /// A defect of the library; please report it. The handle may only be destroyed.
    POINTMILL_INTERNAL = 6,
}

impl pointmill_status {
    /// The status that a function of the caller has returned, which may be any number.
    pub(crate) fn of_caller(number: u32) -> Result<Self> {
        let all = [
            Self::POINTMILL_OK,
            Self::POINTMILL_ARGUMENT,
            Self::POINTMILL_OUT_OF_MEMORY,
            Self::POINTMILL_NO_DEVICE,
            Self::POINTMILL_DEVICE,
            Self::POINTMILL_DEVICE_LOST,
            Self::POINTMILL_INTERNAL,
        ];
        let status = all.get(number as usize).copied();
        status.ok_or_else(|| Fault::new("work", "a pointmill_status, 0 to 6", number))
    }
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Fault {
    status: pointmill_status,
    argument: String,
    expected: String,
    got: String,
    message: String,
}

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

impl Fault {
    /// An argument that is not as expected.
    pub(crate) fn new(argument: impl Display, expected: impl Display, got: impl Display) -> Self {
        let (argument, expected, got) = (argument.to_string(), expected.to_string(), got.to_string());
        let message = format!("{argument}: expected {expected}, got {got}");
        Self { status: pointmill_status::POINTMILL_ARGUMENT, argument, expected, got, message }
    }

    /// A failure that is not about an argument.
    const fn plain(status: pointmill_status, message: String) -> Self {
        Self { status, argument: String::new(), expected: String::new(), got: String::new(), message }
    }

    /// The failure of a function of the caller with this status: what its last call told of, if a call
    /// has failed like this since there were `before` failures.
    pub(crate) fn again(status: pointmill_status, before: u64) -> Self {
        LAST.with_borrow(|last| {
            if last.failures == before || last.status != Some(status) {
                return Self { status, ..Self::new("work", "POINTMILL_OK", format_args!("{status:?}")) };
            }
            let texts = last.texts.each_ref().map(|text| text.to_string_lossy().into_owned());
            let [message, argument, expected, got] = texts;
            Self { status, argument, expected, got, message }
        })
    }

    /// How many calls of this thread have failed.
    pub(crate) fn failures() -> u64 {
        LAST.with_borrow(|last| last.failures)
    }

    /// The same about an argument with a name of the door's.
    pub(crate) fn about(self, argument: &str) -> Self {
        if self.argument.is_empty() {
            self
        } else {
            Self { status: self.status, ..Self::new(argument, self.expected, self.got) }
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        let of = |status| Self::plain(status, message.clone());
        match error {
            Error::Argument { argument, expected, got } => Self::new(argument, expected, got),
            Error::OutOfMemory { .. } => of(pointmill_status::POINTMILL_OUT_OF_MEMORY),
            Error::DeviceUnavailable { .. } => of(pointmill_status::POINTMILL_NO_DEVICE),
            Error::DeviceLost { .. } => of(pointmill_status::POINTMILL_DEVICE_LOST),
            Error::Device { .. } => of(pointmill_status::POINTMILL_DEVICE),
            // An error about an argument is an `Error::Argument`.
            _ => of(pointmill_status::POINTMILL_INTERNAL),
        }
    }
}

impl From<IoError> for Fault {
    fn from(error: IoError) -> Self {
        use std::io::ErrorKind::{NotFound, PermissionDenied};
        match &error {
            IoError::OutOfMemory(_) => Self::plain(pointmill_status::POINTMILL_OUT_OF_MEMORY, error.to_string()),
            IoError::Io { source, path, .. } if matches!(source.kind(), NotFound | PermissionDenied) => Self::new(
                "path",
                "a file that may be used",
                format_args!("{}: {source}", escape(&path.to_string_lossy())),
            ),
            IoError::Io { .. } => Self::plain(pointmill_status::POINTMILL_DEVICE, error.to_string()),
            _ => error.detail().map_or_else(
                || Self::plain(pointmill_status::POINTMILL_INTERNAL, error.to_string()),
                |Detail { path, field, wanted, found, .. }| {
                    let argument = format!("{}: {field}", path.display());
                    Self::new(escape(&argument), escape(wanted), escape(found))
                },
            ),
        }
    }
}

/// The last call of a thread that failed.
#[derive(Default)]
struct Last {
    status: Option<pointmill_status>,
    /// Message, argument, expected and got.
    texts: [CString; 4],
    /// How many calls have failed so far.
    failures: u64,
}

thread_local! {
    static LAST: RefCell<Last> = RefCell::default();
}

/// Text for C, which ends at the first zero.
fn text(text: String) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Runs a call. Neither an error nor a panic leaves it.
pub(crate) fn guard(call: impl FnOnce() -> Result<()>) -> pointmill_status {
    let fault = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return pointmill_status::POINTMILL_OK,
        Ok(Err(fault)) => fault,
        Err(panic) => {
            let what = panic.downcast_ref::<String>().map(String::as_str);
            let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned();
            // What was thrown may panic when it is dropped.
            std::mem::forget(panic);
            Error::Internal { what }.into()
        }
    };
    let Fault { status, argument, expected, got, message } = fault;
    let texts = [message, argument, expected, got].map(text);
    // A thread that ends has nobody left to ask.
    let _ = LAST.try_with(|last| {
        let failures = last.borrow().failures + 1;
        last.replace(Last { status: Some(status), texts, failures })
    });
    status
}

fn last(part: usize) -> *const c_char {
    const NOTHING: *const c_char = c"".as_ptr();
    LAST.try_with(|last| last.borrow().texts[part].as_ptr()).unwrap_or(NOTHING)
}

/// What the last call of this thread that failed says: "argument: expected .., got ..". The text is
/// there until another call of the thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_last_message() -> *const c_char {
    last(0)
}

/// The invalid argument, or "".
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_last_argument() -> *const c_char {
    last(1)
}

/// What the argument should be, or "".
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_last_expected() -> *const c_char {
    last(2)
}

/// What it is, or "".
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_last_got() -> *const c_char {
    last(3)
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_status() {
        extern "C" fn call() -> pointmill_status {
            guard(|| panic!("injected {}", 1))
        }
        assert_eq!(call(), pointmill_status::POINTMILL_INTERNAL);
        // SAFETY: the text of this thread.
        let said = unsafe { std::ffi::CStr::from_ptr(pointmill_last_message()) };
        assert_eq!(said.to_str(), Ok("internal error: injected 1; please report it"));
    }

    #[test]
    fn text_with_a_zero_ends_nowhere_else() {
        assert_eq!(text("a\0b".to_owned()).to_bytes(), b"a b");
    }
}
