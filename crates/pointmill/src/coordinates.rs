//! Clouds of which only x, y and z matter, in the precision that they have.

use crate::device::{Buffer, Stream};
use crate::{Argument, Error, Result};
use bytemuck::Pod;
use pointmill_kernels::points::{Points, kind};

/// Points of `f32` or `f64`, on the host or on a GPU: rows of which the first three values are x, y, z.
///
/// Coordinates that are large beside what is looked for, as those of maps, belong into `f64`, or into `f32` about an origin of `f64`: an `f32` has steps of 8 mm at 80 km.
///
/// ```
/// use pointmill::Coordinates;
/// let cloud = Coordinates::f32(&[1.0, 2.0, 3.0, 0.5], 4)?.about([80_000.0, 42_000.0, 0.0])?;
/// assert_eq!(cloud.len(), 1);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    values: Values<'a>,
    /// What is added to each point of `f32`.
    origin: Option<[f64; 3]>,
    len: usize,
    columns: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    Device { address: u64, stream: &'a Stream, double: bool },
}

impl<'a> Values<'a> {
    fn host<T: Coordinate>(values: &'a [T]) -> Self {
        if T::DOUBLE { Self::F64(bytemuck::cast_slice(values)) } else { Self::F32(bytemuck::cast_slice(values)) }
    }
}

/// `f32` or `f64`.
pub trait Coordinate: Pod + sealed::Coordinate {}
impl Coordinate for f32 {}
impl Coordinate for f64 {}

mod sealed {
    pub trait Coordinate {
        const DOUBLE: bool;
    }
    impl Coordinate for f32 {
        const DOUBLE: bool = false;
    }
    impl Coordinate for f64 {
        const DOUBLE: bool = true;
    }
}

impl<'a> Coordinates<'a> {
    /// `[N, columns]` of `f32`.
    ///
    /// # Errors
    /// Fewer than three columns, values that make no whole rows, or 2^31 points and more.
    pub fn f32(points: &'a [f32], columns: usize) -> Result<Self> {
        Self::new(points, columns)
    }

    /// `[N, columns]` of `f64`.
    ///
    /// # Errors
    /// As [`Coordinates::f32`].
    pub fn f64(points: &'a [f64], columns: usize) -> Result<Self> {
        Self::new(points, columns)
    }

    fn new<T: Coordinate>(points: &'a [T], columns: usize) -> Result<Self> {
        if columns >= 3 && !points.len().is_multiple_of(columns) {
            let got = format!("{} values", points.len());
            return Err(Error::argument(Argument::Points, format!("whole rows of {columns} values"), got));
        }
        Self { values: Values::host(points), origin: None, len: points.len() / columns.max(1), columns }.checked()
    }

    /// The first `len` rows of `columns` values of a buffer.
    ///
    /// # Errors
    /// Fewer than three columns, a buffer that has fewer values, or 2^31 points and more.
    pub fn on_device<T: Coordinate>(buffer: &'a Buffer<T>, len: usize, columns: usize) -> Result<Self> {
        if len.checked_mul(columns).is_none_or(|values| values > buffer.len()) {
            return Err(Error::argument(Argument::Buffer, format!("{len} x {columns} values"), buffer.len()));
        }
        let values = match buffer.as_slice() {
            Some(values) => Values::host(&values[..len * columns]),
            None => Values::Device { address: buffer.device_pointer(), stream: buffer.stream(), double: T::DOUBLE },
        };
        Self { values, origin: None, len, columns }.checked()
    }

    fn checked(self) -> Result<Self> {
        if self.columns < 3 {
            return Err(Error::argument(Argument::Columns, "at least 3: x, y, z first", self.columns));
        }
        if self.len >= 1 << 31 {
            return Err(Error::argument(Argument::Points, "fewer than 2^31 points", self.len));
        }
        Ok(self)
    }

    /// The points moved by an origin: each stands for `origin + point`, rounded once to `f64`.
    ///
    /// # Errors
    /// An origin that is not finite; points that are `f64` already.
    pub fn about(self, origin: [f64; 3]) -> Result<Self> {
        if !origin.iter().all(|o| o.is_finite()) {
            return Err(Error::argument(Argument::Origin, "three finite numbers", format!("{origin:?}")));
        }
        if matches!(self.values, Values::F64(_) | Values::Device { double: true, .. }) {
            return Err(Error::argument(Argument::Points, "values of type f32 about an origin", "f64"));
        }
        Ok(Self { origin: Some(origin), ..self })
    }

    /// The number of points.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no points.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) const fn values(&self) -> Values<'a> {
        self.values
    }

    pub(crate) const fn origin(&self) -> Option<[f64; 3]> {
        self.origin
    }

    /// The stream of the buffer that holds the values; none for those of the host.
    pub(crate) const fn stream(&self) -> Option<&'a Stream> {
        match self.values {
            Values::Device { stream, .. } => Some(stream),
            _ => None,
        }
    }

    /// Checks that work on `stream` can reach the values.
    pub(crate) fn check_device(&self, argument: Argument, stream: &Stream) -> Result<()> {
        match self.values {
            Values::Device { stream: own, .. } if !own.device().same_memory(&stream.device()) => {
                Err(Error::argument(argument, format!("memory of {}", stream.device()), own.device()))
            }
            _ => Ok(()),
        }
    }

    /// The cloud as kernels take it; one of the host is first copied to `staging`.
    pub(crate) fn staged(&self, staging: &mut Buffer<u8>) -> Result<Points> {
        let mut stage = |bytes: &[u8]| -> Result<*const u8> {
            staging.reserve(bytes.len())?;
            staging.write(bytes)?;
            Ok(staging.pointer().cast_const())
        };
        let (values, double) = match self.values {
            Values::F32(values) => (stage(bytemuck::cast_slice(values))?, false),
            Values::F64(values) => (stage(bytemuck::cast_slice(values))?, true),
            Values::Device { address, double, .. } => (address as *const u8, double),
        };
        let kind = match (double, self.origin) {
            (true, _) => kind::F64,
            (false, None) => kind::F32,
            (false, Some(_)) => kind::ABOUT,
        };
        let origin = self.origin.unwrap_or_default();
        Ok(Points { values, columns: self.columns as u32, n: self.len as u32, kind, origin })
    }

    /// Point `i` of the host's, in `f64`, exact but for the origin.
    #[inline]
    pub(crate) fn point(&self, i: usize) -> [f64; 3] {
        let at = i * self.columns;
        match (self.values, self.origin) {
            (Values::F32(v), None) => [0, 1, 2].map(|k| f64::from(v[at + k])),
            (Values::F32(v), Some(origin)) => [0, 1, 2].map(|k| origin[k] + f64::from(v[at + k])),
            (Values::F64(v), _) => [v[at], v[at + 1], v[at + 2]],
            (Values::Device { .. }, _) => unreachable!("a cloud of a GPU on the CPU path"),
        }
    }
}
