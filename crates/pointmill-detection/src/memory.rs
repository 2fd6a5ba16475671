//! Memory whose refusal is an error, and the look whether work is still wanted.

use pointmill_io::{Detail, IoError};

pub(crate) type Result<T> = std::result::Result<T, IoError>;

/// What is called between parts of work that take some milliseconds at most.
pub(crate) type Watch<'w> = &'w (dyn Fn() + Sync);

/// The error of memory that the system refuses.
fn refused(bytes: usize) -> IoError {
    IoError::OutOfMemory(Detail::new("detections", "memory", format!("{bytes} bytes"), "a refusal"))
}

/// An empty list with room for so many values.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| refused(count.saturating_mul(size_of::<T>())))?;
    Ok(room)
}

/// A list of so many equal values.
pub(crate) fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut list = room(count)?;
    list.resize(count, value);
    Ok(list)
}

pub(crate) fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    list.try_reserve(1).map_err(|_| refused((list.len() + 1).saturating_mul(size_of::<T>())))?;
    list.push(value);
    Ok(())
}

pub(crate) fn collect<T>(values: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut list = room(values.size_hint().0)?;
    for value in values {
        push(&mut list, value)?;
    }
    Ok(list)
}
