//! Arrays as operators take them.

use crate::device::{Buffer, Stream};
use crate::{Argument, Error, PointCloud, Points, Result};
use bytemuck::Pod;
pub use half::{bf16, f16};
use pointmill_core::ElementType;

/// Rows of values, `[len, columns]` row-major: on the host, from where a GPU gets a copy, or already on the device.
///
/// ```
/// use pointmill::{Device, Input};
/// let host = Input::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], 3)?;
/// assert_eq!((host.len(), host.columns()), (2, 3));
/// let buffer = Device::auto().stream()?.upload(&[1.0f32, 2.0, 3.0])?;
/// assert_eq!(Input::on_device(&buffer, 1, 3)?.len(), 1);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    element: ElementType,
    place: Place<'a>,
    len: usize,
    columns: usize,
}

#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    /// The bytes of the values, which are aligned for their type.
    Host(&'a [u8]),
    Device {
        address: u64,
        stream: &'a Stream,
    },
}

/// A type that arrays can have: `f32`, `f16` or `bf16`.
pub trait Element: Pod + Send + Sync + sealed::Bits {
    /// The type's name as a value.
    const TYPE: ElementType;

    /// The value, exact.
    #[inline(always)]
    fn widen(self) -> f32 {
        Self::TYPE.widen(self.bits())
    }

    /// The nearest value, ties to even; every NaN becomes the type's one quiet NaN.
    #[inline(always)]
    fn narrow(value: f32) -> Self {
        Self::from_bits(Self::TYPE.narrow(value))
    }
}

mod sealed {
    pub trait Bits {
        fn bits(self) -> u32;
        fn from_bits(bits: u32) -> Self;
    }
}

macro_rules! element {
    ($type:ty, $name:expr, $bits:ty) => {
        impl sealed::Bits for $type {
            #[inline(always)]
            fn bits(self) -> u32 {
                u32::from(self.to_bits())
            }
            #[inline(always)]
            fn from_bits(bits: u32) -> Self {
                Self::from_bits(bits as $bits)
            }
        }
        impl Element for $type {
            const TYPE: ElementType = $name;
        }
    };
}
element!(f32, ElementType::F32, u32);
element!(f16, ElementType::F16, u16);
element!(bf16, ElementType::Bf16, u16);

impl<'a> Input<'a> {
    /// Rows of `columns` values on the host.
    ///
    /// # Errors
    /// No columns, or a length that is not a whole number of rows.
    pub fn new<E: Element>(values: &'a [E], columns: usize) -> Result<Self> {
        if columns == 0 || !values.len().is_multiple_of(columns) {
            let expected = format!("a multiple of {columns} values ([N, {columns}] row-major)");
            return Err(Error::argument(Argument::Values, expected, values.len()));
        }
        let len = values.len() / columns;
        Ok(Self { element: E::TYPE, place: Place::Host(bytemuck::cast_slice(values)), len, columns })
    }

    /// The first `len` rows of `columns` values of a buffer.
    ///
    /// # Errors
    /// No columns, or a buffer that has fewer values.
    pub fn on_device<E: Element>(buffer: &'a Buffer<E>, len: usize, columns: usize) -> Result<Self> {
        if columns == 0 || len.checked_mul(columns).is_none_or(|values| values > buffer.len()) {
            return Err(Error::argument(Argument::Buffer, format!("{len} x {columns} values"), buffer.len()));
        }
        let place = match buffer.as_slice() {
            Some(values) => Place::Host(bytemuck::cast_slice(&values[..len * columns])),
            None => Place::Device { address: buffer.device_pointer(), stream: buffer.stream() },
        };
        Ok(Self { element: E::TYPE, place, len, columns })
    }

    /// The number of rows.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Values a row has.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The type of the values.
    pub const fn element(&self) -> ElementType {
        self.element
    }

    /// The stream of the buffer that holds the values; none for those of the host.
    pub(crate) const fn stream(&self) -> Option<&'a Stream> {
        match self.place {
            Place::Host(_) => None,
            Place::Device { stream, .. } => Some(stream),
        }
    }

    /// The bytes of the values, if they are on the host.
    fn bytes(&self) -> Option<&'a [u8]> {
        match self.place {
            Place::Host(bytes) => Some(bytes),
            Place::Device { .. } => None,
        }
    }

    /// The values, if they are on the host and of this type.
    pub(crate) fn host<E: Element>(&self) -> Option<&'a [E]> {
        let bytes = self.bytes().filter(|_| E::TYPE == self.element)?;
        Some(bytemuck::cast_slice(bytes))
    }

    /// Checks that work on `stream` can reach the values, when a graph is launched too.
    pub(crate) fn check_device(&self, argument: Argument, stream: &Stream) -> Result<()> {
        match self.place {
            Place::Device { stream: own, .. } if !own.device().same_memory(&stream.device()) => {
                Err(Error::argument(argument, format!("memory of {}", stream.device()), own.device()))
            }
            Place::Device { .. } => Ok(()),
            Place::Host(_) => stream.check_not_capturing(argument, "memory of the device", "a host slice"),
        }
    }

    /// The address of the values for kernels; those of the host are first copied to `staging`.
    pub(crate) fn address<T>(&self, staging: &mut Buffer<u8>) -> Result<*const T> {
        match self.place {
            Place::Device { address, .. } => Ok(address as *const T),
            Place::Host(bytes) => {
                staging.reserve(bytes.len())?;
                staging.write(bytes)?;
                Ok(staging.pointer().cast())
            }
        }
    }
}

impl<'a> From<Points<'a>> for Input<'a> {
    fn from(points: Points<'a>) -> Self {
        let place = Place::Host(bytemuck::cast_slice(points.data()));
        Self { element: ElementType::F32, place, len: points.len(), columns: points.columns() }
    }
}

impl<'a> From<&'a PointCloud> for Input<'a> {
    fn from(cloud: &'a PointCloud) -> Self {
        cloud.points().into()
    }
}
