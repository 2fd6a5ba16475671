//! Handles, structs and lists of callers.

use crate::error::{Fault, Result, pointmill_status};
use pointmill::Argument;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A struct of the header.
///
/// # Safety
/// It is `repr(C)`, any bits are a value of it, and it begins with its size, a `usize`.
pub(crate) unsafe trait Struct: Copy {
    /// The name in C.
    const NAME: &'static str;
}

/// Declares structs of the header.
macro_rules! structs {
    ($($type:ident),+) => {
        $(
            // SAFETY: its first field is `struct_size`, and the others are numbers, arrays of such and
            // pointers.
            unsafe impl crate::handle::Struct for $type {
                const NAME: &'static str = stringify!($type);
            }
        )+
    };
}
pub(crate) use structs;

/// Checks where a struct is, and its size.
fn check<T: Struct>(pointer: *const T) -> Result<()> {
    if pointer.is_null() {
        return Err(Fault::new(T::NAME, "a struct", "null"));
    }
    if !pointer.is_aligned() {
        return Err(Fault::new(T::NAME, "an address that is aligned for the struct", format_args!("{pointer:?}")));
    }
    // SAFETY: a struct that is there and aligned begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    let expected = format_args!("struct_size of {}, sizeof({})", size_of::<T>(), T::NAME);
    if size == size_of::<T>() { Ok(()) } else { Err(Fault::new(T::NAME, expected, size)) }
}

/// A copy of a struct.
pub(crate) fn given<T: Struct>(pointer: *const T) -> Result<T> {
    check(pointer)?;
    // SAFETY: it is there, aligned, and has as many bytes.
    Ok(unsafe { pointer.read() })
}

/// A copy of a struct of parameters; null stands for the defaults.
pub(crate) fn given_or<T: Struct>(pointer: *const T, default: impl FnOnce() -> T) -> Result<T> {
    if pointer.is_null() { Ok(default()) } else { given(pointer) }
}

/// Fills a struct of the caller's.
pub(crate) fn fill<T: Struct>(pointer: *mut T, value: T) -> Result<()> {
    check(pointer)?;
    // SAFETY: it is there, aligned, and has as many bytes.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Writes a struct with the defaults, whatever was there.
pub(crate) fn init<T: Struct>(pointer: *mut T, value: T) {
    if !pointer.is_null() && pointer.is_aligned() {
        // SAFETY: the caller declared a struct of this type there.
        unsafe { pointer.write(value) };
    }
}

/// Fills a list of structs, each with its size.
pub(crate) fn fill_all<T: Struct>(to: *mut T, room: u64, values: &[T]) -> Result<()> {
    let few = values.len() as u64 <= room;
    let expected = format_args!("room for {} structs", values.len());
    if !few {
        return Err(Fault::new(T::NAME, expected, room));
    }
    let place = |i: usize| to.wrapping_add(i);
    (0..values.len()).try_for_each(|i| check(place(i)))?;
    values.iter().enumerate().try_for_each(|(i, value)| fill(place(i), *value))
}

/// Values of a list; null is a list of none.
pub(crate) fn list<'a, T: Copy>(pointer: *const T, count: u64, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    let fits =
        usize::try_from(count).ok().filter(|count| isize::try_from(count.saturating_mul(size_of::<T>())).is_ok());
    let Some(count) = fits else { return Err(Fault::new(name, "a list that fits in memory", count)) };
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Fault::new(name, "an address that is aligned, of values", format_args!("{pointer:?}")));
    }
    // SAFETY: the caller's promise of so many values, for the time of the call.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Where the items of a batch start; none without a batch.
pub(crate) fn splits(pointer: *const u64, count: u64) -> Result<Option<Vec<usize>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    list(pointer, count, "splits").map(|splits| Some(splits.iter().map(|&split| split as usize).collect()))
}

/// Text of C.
pub(crate) fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Fault::new(name, "text", "null"));
    }
    // SAFETY: the caller's text, which ends with a zero.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| Fault::new(name, "UTF-8", "other bytes"))
}

/// A handle that must be there.
pub(crate) fn some<T>(handle: Option<T>, name: &str) -> Result<T> {
    handle.ok_or_else(|| Fault::new(name, "a handle", "null"))
}

/// Makes a handle.
pub(crate) fn create<T>(out: Option<&mut *mut T>, make: impl FnOnce() -> Result<T>) -> Result<()> {
    let out = out.ok_or_else(|| Fault::new(Argument::Out, "where the handle goes", "null"))?;
    *out = std::ptr::null_mut();
    *out = Box::into_raw(Box::new(make()?));
    Ok(())
}

/// Ends a handle; null is none.
pub(crate) fn destroy<T>(handle: Option<Box<T>>) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(handle))) {
        // Nobody is left to hear it, and it may panic when it is dropped.
        std::mem::forget(panic);
    }
}

/// The variant of an enumerator: enumerators count the variants from 0.
pub(crate) fn choice<T: Copy>(all: &[T], value: u32, argument: impl std::fmt::Display) -> Result<T> {
    let expected = format_args!("0 to {}", all.len() - 1);
    all.get(value as usize).copied().ok_or_else(|| Fault::new(argument, expected, value))
}

/// The enumerator of a variant.
pub(crate) fn number<T: PartialEq>(all: &[T], value: &T) -> u32 {
    all.iter().position(|one| one == value).unwrap_or(all.len()) as u32
}

/// A status that says whether a value is one.
pub(crate) const fn flag(value: bool) -> u32 {
    value as u32
}

/// Defaults into a struct of the caller's.
pub(crate) fn defaults<T: Struct>(pointer: *mut T, value: impl FnOnce() -> T) -> pointmill_status {
    crate::error::guard(|| {
        if pointer.is_null() || !pointer.is_aligned() {
            return Err(Fault::new(T::NAME, "an address that is aligned for the struct", format_args!("{pointer:?}")));
        }
        init(pointer, value());
        Ok(())
    })
}
