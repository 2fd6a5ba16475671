//! Memory of the host that is sized by input: where it is refused that is an error, and not the end
//! of the process.

mod available;

pub use available::available;

use crate::{Error, Result, par};
use rayon::prelude::*;

/// Makes room for `len` elements in all.
#[inline]
pub fn room<T>(all: &mut Vec<T>, len: usize) -> Result<()> {
    // The ordinary case, in loops over points, is that there is.
    if len <= all.capacity() {
        return Ok(());
    }
    grow(all, len)
}

#[cold]
fn grow<T>(all: &mut Vec<T>, len: usize) -> Result<()> {
    allow::<T>(len - all.capacity(), len)?;
    all.try_reserve(len - all.len()).map_err(|_| refused::<T>(len))
}

/// Makes room for `len` elements in all and no more, in a vector that is empty.
pub(crate) fn exactly<T>(all: &mut Vec<T>, len: usize) -> Result<()> {
    allow::<T>(len, len)?;
    all.try_reserve_exact(len).map_err(|_| refused::<T>(len))
}

/// Refuses `more` elements, of `len` in all, that the machine has no memory for: the system may
/// promise it and end the process later.
fn allow<T>(more: usize, len: usize) -> Result<()> {
    let bytes = more.saturating_mul(size_of::<T>()) as u64;
    if available::is_there(bytes) { Ok(()) } else { Err(refused::<T>(len)) }
}

/// What was refused.
pub(crate) fn refused<T>(len: usize) -> Error {
    Error::OutOfMemory { device: "cpu".into(), bytes: len.saturating_mul(size_of::<T>()) as u64 }
}

/// As [`Vec::resize`].
#[inline]
pub fn resize<T: Clone>(all: &mut Vec<T>, len: usize, value: T) -> Result<()> {
    room(all, len)?;
    all.resize(len, value);
    Ok(())
}

/// As `vec![value; len]`.
pub fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut all = Vec::new();
    resize(&mut all, len, value)?;
    Ok(all)
}

/// As [`Vec::resize_with`].
pub(crate) fn resize_with<T>(all: &mut Vec<T>, len: usize, value: impl FnMut() -> T) -> Result<()> {
    room(all, len)?;
    all.resize_with(len, value);
    Ok(())
}

/// As [`Vec::push`].
#[inline]
pub fn push<T>(all: &mut Vec<T>, value: T) -> Result<()> {
    room(all, all.len() + 1)?;
    all.push(value);
    Ok(())
}

/// As [`Vec::extend`], of so many elements as the iterator says.
#[inline]
pub fn extend<T>(all: &mut Vec<T>, more: impl ExactSizeIterator<Item = T>) -> Result<()> {
    room(all, all.len() + more.len())?;
    all.extend(more);
    Ok(())
}

/// Parts one after the other, copied on all threads.
pub(crate) fn joined<'p, T: Copy + Send + Sync + 'p>(
    parts: impl ExactSizeIterator<Item = &'p [T]> + Clone,
) -> Result<Vec<T>> {
    let len = parts.clone().map(<[T]>::len).sum();
    let mut all = Vec::new();
    exactly(&mut all, len)?;
    let mut left = &mut all.spare_capacity_mut()[..len];
    let mut copies = Vec::new();
    room(&mut copies, parts.len())?;
    for part in parts {
        let (to, rest) = left.split_at_mut(part.len());
        copies.push((to, part));
        left = rest;
    }
    copies.par_iter_mut().with_min_len(par::grain(1)).for_each(|(to, part)| {
        to.write_copy_of_slice(part);
    });
    // SAFETY: the parts have `len` elements in all, and each of these was written to its place.
    unsafe { all.set_len(len) };
    Ok(all)
}

/// As [`Iterator::collect`].
pub fn collect<T>(all: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut collected = Vec::new();
    exactly(&mut collected, all.len())?;
    collected.extend(all);
    Ok(collected)
}

/// As [`collect`], on all threads; the memory that rayon takes for its own work is small and does
/// not grow with the elements.
pub fn collect_parallel<T: Send>(all: impl IndexedParallelIterator<Item = T>) -> Result<Vec<T>> {
    let mut collected = Vec::new();
    exactly(&mut collected, all.len())?;
    // There is room for all, so this takes no memory.
    all.collect_into_vec(&mut collected);
    Ok(collected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_told_and_nothing_is_lost() {
        let mut all = vec![1u64, 2, 3];
        let told = room(&mut all, usize::MAX / 16).unwrap_err();
        assert_eq!(told, Error::OutOfMemory { device: "cpu".into(), bytes: (usize::MAX / 16 * 8) as u64 });
        assert!(resize(&mut all, usize::MAX / 8, 0).is_err() && collect(0..usize::MAX / 8).is_err());
        let many = rayon::iter::repeat_n(0u64, usize::MAX / 8);
        assert!(collect_parallel(many).is_err() && collect_parallel((0..3usize).into_par_iter()).unwrap() == [0, 1, 2]);
        push(&mut all, 4).unwrap();
        extend(&mut all, [5, 6].into_iter()).unwrap();
        resize(&mut all, 7, 7).unwrap();
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7]);
    }

    /// A system that promises every memory, but has 80 MiB.
    #[test]
    fn what_the_machine_does_not_have_is_refused_before_it_is_promised() {
        use crate::device::Device;
        let stream = Device::cpu().stream().unwrap();
        let much = 128 << 20;
        available::tests::with(80 << 20, || {
            assert_eq!(filled(much, 0u8).unwrap_err(), refused::<u8>(much));
            assert!(collect(0..much / 8).is_err() && joined([&[0u8; 1 << 20][..]; 100].into_iter()).is_err());
            assert!(collect_parallel((0..much / 8).into_par_iter()).is_err());
            let told = stream.alloc::<u64>(1 << 40).unwrap_err().to_string();
            assert_eq!(told, "device cpu: out of memory: 8796093022208 bytes asked for");
            // What is there already is not asked for again, and small memory is not looked at.
            let mut all = filled(70 << 20, 0u8).unwrap();
            room(&mut all, much).unwrap();
        });
        available::tests::with(0, || filled(1 << 20, 0u8).unwrap());
    }

    #[test]
    fn parts_are_joined_in_their_order() {
        let parts: Vec<Vec<u32>> = (0..300).map(|i| (0..i % 7).map(|k| i * 10 + k).collect()).collect();
        assert_eq!(joined(parts.iter().map(|part| &part[..])).unwrap(), parts.concat());
        assert!(joined::<u32>([].into_iter()).unwrap().is_empty());
    }
}
