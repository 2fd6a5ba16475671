//! Whole numbers as callers give them: classes, cells, items of a batch.

use crate::device::{Buffer, Stream};
use crate::{Argument, Result, ensure};

/// Whole numbers on the host or on a device.
///
/// ```
/// use pointmill::Ints;
/// assert_eq!(Ints::from(&[[1, 2, 3], [4, 5, 6]]).len(), 6);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ints<'a>(Values<'a>);

#[derive(Clone, Copy, Debug)]
enum Values<'a> {
    Host(&'a [i32]),
    Device(&'a Buffer<i32>, usize),
}

impl<'a> Ints<'a> {
    /// The first `len` numbers of a buffer.
    ///
    /// # Errors
    /// A buffer that has fewer.
    pub fn on_device(buffer: &'a Buffer<i32>, len: usize) -> Result<Self> {
        ensure(len <= buffer.len(), Argument::Buffer, format_args!("{len} numbers"), buffer.len())?;
        Ok(Self::first(buffer, len))
    }

    /// The first numbers of a buffer that has as many.
    pub(crate) fn first(buffer: &'a Buffer<i32>, len: usize) -> Self {
        Self(match buffer.as_slice() {
            Some(values) => Values::Host(&values[..len]),
            None => Values::Device(buffer, len),
        })
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        match self.0 {
            Values::Host(values) => values.len(),
            Values::Device(_, len) => len,
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) const fn stream(&self) -> Option<&'a Stream> {
        match self.0 {
            Values::Host(_) => None,
            Values::Device(buffer, _) => Some(buffer.stream()),
        }
    }

    /// Checks that work on `stream` can reach the numbers.
    pub(crate) fn check(&self, argument: Argument, stream: &Stream) -> Result<()> {
        match self.0 {
            Values::Device(buffer, _) => stream.check_memory(argument, "memory of", buffer.stream()),
            Values::Host(_) => stream.check_not_capturing(argument, "memory of the device", "a host slice"),
        }
    }

    /// The numbers, if they are in host memory.
    pub(crate) const fn host(&self) -> Option<&'a [i32]> {
        match self.0 {
            Values::Host(values) => Some(values),
            Values::Device(..) => None,
        }
    }

    /// Where kernels read them. Host values are first copied to `staging`.
    pub(crate) fn address(&self, staging: &mut Buffer<i32>) -> Result<*const i32> {
        match self.0 {
            Values::Host(values) => {
                staging.put(values)?;
                Ok(staging.pointer())
            }
            Values::Device(buffer, _) => Ok(buffer.pointer()),
        }
    }
}

impl<'a> From<&'a [i32]> for Ints<'a> {
    fn from(values: &'a [i32]) -> Self {
        Self(Values::Host(values))
    }
}

impl<'a, const N: usize> From<&'a [i32; N]> for Ints<'a> {
    fn from(values: &'a [i32; N]) -> Self {
        Self(Values::Host(values))
    }
}

impl<'a, const C: usize> From<&'a [[i32; C]]> for Ints<'a> {
    fn from(rows: &'a [[i32; C]]) -> Self {
        Self(Values::Host(rows.as_flattened()))
    }
}

impl<'a, const C: usize, const N: usize> From<&'a [[i32; C]; N]> for Ints<'a> {
    fn from(rows: &'a [[i32; C]; N]) -> Self {
        rows.as_slice().into()
    }
}
