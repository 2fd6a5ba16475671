//! Arrays as operators take them.

mod element;

pub use element::Element;
pub(crate) use element::Feature;
pub use half::{bf16, f16};

use crate::device::{Buffer, Device, Stream};
use crate::{Argument, Error, PointCloud, Points, Pose, Result, ensure, memory, par};
use pointmill_core::ElementType;
use pointmill_core::array::Dtype;
use pointmill_core::rigid::subtract;
use pointmill_kernels::cloud::{self, kind};
use rayon::prelude::*;
use std::borrow::Cow;

/// Rows of so many values are not copied to a GPU whole where x, y and z are used alone: to pack
/// these takes less time than to copy the other half.
const WIDE: usize = 6;
/// Points that a thread packs at least.
const PACKED_BY_A_THREAD: usize = 8192;

/// Borrowed rows of values, `[len, columns]` row-major: points, boxes or features, in host memory
/// or already on a device.
///
/// An operator that runs on a GPU copies host values there. A buffer is used in place.
///
/// **Types**: `f32`, `f64`, `f16` and `bf16`. `voxelize` takes `f32`, `roi_pool` takes `f32`, `f16`
/// and `bf16`, `ndt` and `icp` take `f32` and `f64`; another type is an error of the call.
///
/// **Large coordinates**: an `f32` has steps of 8 mm at 80 km. Points of maps belong in `f64`, or
/// in `f32` about an origin of `f64` ([`Rows::about`]), as those of a
/// [`PointCloud`] that has one are. `voxelize` and `roi_pool` work about the origin: their ranges, boxes and results are about it too.
///
/// ```
/// use pointmill::{Device, PointCloud, Rows};
/// let host = Rows::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], 3)?;
/// assert_eq!((host.len(), host.columns()), (2, 3));
/// let triples = Rows::from(&[[1.0f64, 2.0, 3.0]]);
/// assert_eq!(triples.dtype().as_str(), "f64");
/// let cloud = PointCloud::new(vec![1.0, 2.0, 3.0, 0.5], 4)?;
/// assert_eq!(Rows::from(&cloud).columns(), 4);
/// let buffer = Device::auto().stream()?.upload(&[1.0f32, 2.0, 3.0])?;
/// assert_eq!(Rows::on_device(&buffer, 1, 3)?.len(), 1);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: Values<'a>,
    /// The origin that the caller gave.
    origin: Option<[f64; 3]>,
    /// What is added to each point, in `f64`.
    shift: Option<[f64; 3]>,
    len: usize,
    columns: usize,
}

/// The values, by type and place.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    F16(&'a [f16]),
    Bf16(&'a [bf16]),
    Device { address: u64, stream: &'a Stream, dtype: Dtype },
}

impl<'a> Rows<'a> {
    const fn of(values: Values<'a>, len: usize, columns: usize) -> Self {
        Self { values, origin: None, shift: None, len, columns }
    }

    /// Rows of `columns` values in host memory.
    ///
    /// # Errors
    /// No columns, or a length that is not a whole number of rows.
    pub fn new<E: Element>(values: &'a [E], columns: usize) -> Result<Self> {
        ensure(columns != 0, Argument::Columns, "at least 1", columns)?;
        let expected = format_args!("whole rows of {columns} values ([N, {columns}] row-major)");
        ensure(values.len().is_multiple_of(columns), Argument::Values, expected, values.len())?;
        Ok(Self::of(E::values(values), values.len() / columns, columns))
    }

    /// [`Rows::new`] of `f32`, for literals.
    ///
    /// # Errors
    /// As [`Rows::new`].
    pub fn f32(values: &'a [f32], columns: usize) -> Result<Self> {
        Self::new(values, columns)
    }

    /// [`Rows::new`] of `f64`, for literals.
    ///
    /// # Errors
    /// As [`Rows::new`].
    pub fn f64(values: &'a [f64], columns: usize) -> Result<Self> {
        Self::new(values, columns)
    }

    /// The first `len` rows of `columns` values of a buffer.
    ///
    /// # Errors
    /// No columns, or a buffer that has fewer values.
    pub fn on_device<E: Element>(buffer: &'a Buffer<E>, len: usize, columns: usize) -> Result<Self> {
        ensure(columns != 0, Argument::Columns, "at least 1", columns)?;
        let expected = format_args!("{len} x {columns} values");
        let got = buffer.len();
        ensure(len.checked_mul(columns).is_some_and(|values| values <= buffer.len()), Argument::Buffer, expected, got)?;
        let values = match buffer.as_slice() {
            Some(values) => E::values(&values[..len * columns]),
            None => Values::Device { address: buffer.device_pointer(), stream: buffer.stream(), dtype: E::DTYPE },
        };
        Ok(Self::of(values, len, columns))
    }

    /// The points about an origin. Of `f32` each stands for `origin + point`, rounded once to
    /// `f64`. Of `f64` each stands for itself, and what computes about the origin subtracts it in
    /// `f64`; on a GPU such points must be in host memory.
    ///
    /// ```
    /// use pointmill::Rows;
    /// let cloud = Rows::from(&[[1.0f32, 2.0, 3.0]]).about([80_000.0, 42_000.0, 0.0])?;
    /// assert_eq!(cloud.len(), 1);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// An origin that is not finite; values of another type than `f32` and `f64`.
    pub fn about(self, origin: [f64; 3]) -> Result<Self> {
        check_origin(origin)?;
        self.check_type(Argument::Points, &[Dtype::F32, Dtype::F64])?;
        let shift = (self.dtype() == Dtype::F32).then_some(origin);
        Ok(Self { origin: Some(origin), shift, ..self })
    }

    /// The points that stand for these less `origin`.
    #[doc(hidden)]
    pub fn relative_to(self, origin: [f64; 3]) -> Self {
        let shift = subtract(self.shift.unwrap_or_default(), origin);
        Self { shift: Some(shift).filter(|shift| *shift != [0.0; 3]), ..self }
    }

    /// x, y, z of each point in another frame, `[N, 3]` row-major.
    ///
    /// ```
    /// use pointmill::{Pose, Rows};
    /// let moved = Rows::from(&[[1.0f32, 2.0, 3.0]]).moved(&Pose::from_translation([10.0, 0.0, 0.5]))?;
    /// assert_eq!(moved, [11.0, 2.0, 3.5]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// Values on a GPU, or of another type than `f32` and `f64`; fewer than three columns; out of
    /// memory.
    pub fn moved(&self, pose: &Pose) -> Result<Vec<f64>> {
        self.check_points(Argument::Points, &Device::cpu().stream()?)?;
        let mut moved = Vec::new();
        memory::room(&mut moved, 3 * self.len)?;
        (0..self.len).for_each(|i| moved.extend(pose.apply(self.point(i))));
        Ok(moved)
    }

    /// The number of rows.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of values in a row.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The type of the values.
    pub const fn dtype(&self) -> Dtype {
        match self.values {
            Values::F32(_) => Dtype::F32,
            Values::F64(_) => Dtype::F64,
            Values::F16(_) => Dtype::F16,
            Values::Bf16(_) => Dtype::Bf16,
            Values::Device { dtype, .. } => dtype,
        }
    }

    /// The type of values that [`Rows::check`] found to be features.
    pub(crate) fn element(&self) -> ElementType {
        match self.dtype() {
            Dtype::F16 => ElementType::F16,
            Dtype::Bf16 => ElementType::Bf16,
            _ => ElementType::F32,
        }
    }

    pub(crate) const fn values(&self) -> Values<'a> {
        self.values
    }

    /// The origin that the points are about; zero unless [`Rows::about`] or a [`PointCloud`] gave
    /// another.
    pub fn origin(&self) -> [f64; 3] {
        self.origin.unwrap_or_default()
    }

    pub(crate) const fn shift(&self) -> Option<[f64; 3]> {
        self.shift
    }

    /// The stream of the buffer that holds the values; none for host memory.
    #[doc(hidden)]
    pub const fn stream(&self) -> Option<&'a Stream> {
        match self.values {
            Values::Device { stream, .. } => Some(stream),
            _ => None,
        }
    }

    /// The values, if they are in host memory and of this type.
    pub(crate) fn host<E: Element>(&self) -> Option<&'a [E]> {
        E::slice(self.values)
    }

    /// Values of `f32` on the host, copied from a GPU where they are there; of other types none.
    pub(crate) fn f32_on_host(&self) -> Result<Cow<'a, [f32]>> {
        match self.values {
            Values::F32(values) => Ok(values.into()),
            Values::Device { address, stream, dtype: Dtype::F32 } => {
                let len = self.len * self.columns;
                // SAFETY: [`Rows::on_device`] borrows a buffer of so many values at this address.
                let lent = unsafe { Buffer::<f32>::from_raw_cuda(stream, address, len) }?;
                Ok(lent.read(len)?.into())
            }
            _ => Ok(Cow::Borrowed(&[])),
        }
    }

    /// Gives checked points to `work` in host memory: those of a GPU are copied.
    #[doc(hidden)]
    pub fn on_host<R>(&self, work: impl FnOnce(&Rows<'_>) -> Result<R>) -> Result<R> {
        fn read<E: Element>(address: u64, stream: &Stream, len: usize) -> Result<Vec<E>> {
            // SAFETY: [`Rows::on_device`] borrows a buffer of so many values at this address.
            unsafe { Buffer::<E>::from_raw_cuda(stream, address, len) }?.read(len)
        }
        let len = self.len * self.columns;
        match self.values {
            Values::Device { address, stream, dtype: Dtype::F64 } => {
                work(&Rows { values: Values::F64(&read(address, stream, len)?), ..*self })
            }
            Values::Device { address, stream, .. } => {
                work(&Rows { values: Values::F32(&read(address, stream, len)?), ..*self })
            }
            _ => work(self),
        }
    }

    /// Checks for an operator that takes these types, about whatever origin, and works on `stream`.
    pub(crate) fn check(&self, argument: Argument, stream: &Stream, types: &[Dtype]) -> Result<()> {
        self.check_type(argument, types)?;
        self.check_device(argument, stream)
    }

    /// Checks for an operator that takes points of `f32` and `f64`, and works on `stream`.
    #[doc(hidden)]
    pub fn check_points(&self, argument: Argument, stream: &Stream) -> Result<()> {
        self.check_type(argument, &[Dtype::F32, Dtype::F64])?;
        ensure(self.columns >= 3, argument, "at least 3 columns: x, y, z first", self.columns)?;
        ensure(self.len < 1 << 31, argument, "fewer than 2^31 points", self.len)?;
        self.check_device(argument, stream)
    }

    fn check_type(&self, argument: Argument, types: &[Dtype]) -> Result<()> {
        if types.contains(&self.dtype()) {
            return Ok(());
        }
        let names: Vec<&str> = types.iter().map(|dtype| dtype.as_str()).collect();
        Err(Error::argument(argument, format!("values of type {}", names.join(" or ")), self.dtype()))
    }

    /// Checks that work on `stream` can reach the values, also when it is recorded in a graph.
    fn check_device(&self, argument: Argument, stream: &Stream) -> Result<()> {
        match self.values {
            Values::Device { stream: own, .. } => stream.check_memory(argument, "memory of", own),
            _ => stream.check_not_capturing(argument, "memory of the device", "a host slice"),
        }
    }

    /// The address of the values for kernels. Host values are first copied to `staging`.
    pub(crate) fn address<T>(&self, staging: &mut Buffer<u8>) -> Result<*const T> {
        let bytes: &[u8] = match self.values {
            Values::F32(values) => bytemuck::cast_slice(values),
            Values::F64(values) => bytemuck::cast_slice(values),
            Values::F16(values) => bytemuck::cast_slice(values),
            Values::Bf16(values) => bytemuck::cast_slice(values),
            Values::Device { address, .. } => return Ok(address as *const T),
        };
        staging.put(bytes)?;
        Ok(staging.pointer().cast_const().cast())
    }

    /// Checks that [`Rows::staged`] can shift the points where they are.
    pub(crate) fn check_shift(&self) -> Result<()> {
        let shifts = self.dtype() != Dtype::F64 || self.shift.is_none() || self.stream().is_none();
        let expected = "points of f64 in host memory, or points of f32, about an origin";
        ensure(shifts, Argument::Points, expected, "points of f64 on a device")
    }

    /// Checked points as kernels take them. Host points are first copied to `staging`, of wide rows
    /// x, y and z alone.
    #[doc(hidden)]
    pub fn staged(&self, staging: &mut Buffer<u8>) -> Result<cloud::Points> {
        self.check_shift()?;
        let kind = match (self.dtype(), self.shift) {
            (Dtype::F64, _) => kind::F64,
            (_, None) => kind::F32,
            (_, Some(_)) => kind::ABOUT,
        };
        let wide = self.columns >= WIDE;
        let (values, columns) = match self.values {
            Values::F32(v) if wide => (packed(self.len, staging, |i| [0, 1, 2].map(|k| v[i * self.columns + k]))?, 3),
            Values::F64(_) if wide || self.shift.is_some() => (packed(self.len, staging, |i| self.point(i))?, 3),
            _ => (self.address(staging)?, self.columns as u32),
        };
        Ok(cloud::Points { values, columns, n: self.len as u32, kind, origin: self.shift.unwrap_or_default() })
    }

    /// As [`Rows::staged`]; points of `f64` on a device that are shifted are copied to the host first.
    #[doc(hidden)]
    pub fn staged_through_host(&self, staging: &mut Buffer<u8>) -> Result<cloud::Points> {
        if self.check_shift().is_ok() {
            return self.staged(staging);
        }
        self.on_host(|host| host.staged(staging))
    }

    /// Some of the rows, which must be there.
    pub(crate) fn part(&self, first: usize, len: usize) -> Self {
        let some = first * self.columns..(first + len) * self.columns;
        let values = match self.values {
            Values::F32(values) => Values::F32(&values[some]),
            Values::F64(values) => Values::F64(&values[some]),
            Values::F16(values) => Values::F16(&values[some]),
            Values::Bf16(values) => Values::Bf16(&values[some]),
            Values::Device { address, stream, dtype } => {
                Values::Device { address: address + (some.start * dtype.bytes()) as u64, stream, dtype }
            }
        };
        Self { values, len, ..*self }
    }

    /// Checked point `i` of host memory in `f64`, exact but for the origin.
    #[inline]
    #[doc(hidden)]
    pub fn point(&self, i: usize) -> [f64; 3] {
        let at = i * self.columns;
        match (self.values, self.shift) {
            (Values::F32(v), None) => [0, 1, 2].map(|k| f64::from(v[at + k])),
            (Values::F32(v), Some(shift)) => [0, 1, 2].map(|k| shift[k] + f64::from(v[at + k])),
            (Values::F64(v), None) => [v[at], v[at + 1], v[at + 2]],
            (Values::F64(v), Some(shift)) => [0, 1, 2].map(|k| shift[k] + v[at + k]),
            _ => unreachable!("points of the CPU path are f32 or f64 in host memory"),
        }
    }
}

/// Copies points to `staging`. Returns their address for kernels.
fn packed<T: bytemuck::Pod + Send>(
    len: usize,
    staging: &mut Buffer<u8>,
    point: impl Fn(usize) -> [T; 3] + Send + Sync,
) -> Result<*const u8> {
    let points = (0..len).into_par_iter().with_min_len(par::grain(PACKED_BY_A_THREAD)).map(point);
    let points = memory::collect_parallel(points)?;
    let bytes = bytemuck::cast_slice(&points);
    staging.reserve(bytes.len())?;
    staging.write(bytes)?;
    Ok(staging.pointer().cast_const())
}

impl<'a> From<Points<'a>> for Rows<'a> {
    fn from(points: Points<'a>) -> Self {
        Self::of(Values::F32(points.data()), points.len(), points.columns())
    }
}

impl<'a> From<&'a PointCloud> for Rows<'a> {
    fn from(cloud: &'a PointCloud) -> Self {
        let (rows, origin) = (Rows::from(cloud.points()), cloud.origin());
        let about = (origin != [0.0; 3]).then_some(origin);
        Self { origin: about, shift: about, ..rows }
    }
}

impl<'a, E: Element, const C: usize> From<&'a [[E; C]]> for Rows<'a> {
    fn from(rows: &'a [[E; C]]) -> Self {
        const { assert!(C > 0, "a row has at least one value") };
        Self::of(E::values(rows.as_flattened()), rows.len(), C)
    }
}

impl<'a, E: Element, const N: usize, const C: usize> From<&'a [[E; C]; N]> for Rows<'a> {
    fn from(rows: &'a [[E; C]; N]) -> Self {
        rows.as_slice().into()
    }
}

/// Refuses an origin that is not finite.
pub(crate) fn check_origin(origin: [f64; 3]) -> Result<()> {
    let expected = "three finite numbers";
    ensure(origin.iter().all(|o| o.is_finite()), Argument::Origin, expected, format_args!("{origin:?}"))
}

/// Checks where the samples of a batch of `rows` rows start.
pub(crate) fn check_splits(argument: Argument, splits: &[usize], rows: usize) -> Result<()> {
    if splits.is_sorted() && splits.first() == Some(&0) && splits.last() == Some(&rows) {
        return Ok(());
    }
    let got = match splits {
        [] => "nothing".to_owned(),
        [first, .., last] if splits.len() > 8 => format!("{} values from {first} to {last}", splits.len()),
        _ => format!("{splits:?}"),
    };
    Err(Error::argument(argument, format!("ascending values from 0 to {rows}"), got))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn rows_say_what_they_are() {
        let said = |error: Error| error.to_string();
        assert_eq!(
            said(Rows::new(&[0.0f32; 4], 3).unwrap_err()),
            "values: expected whole rows of 3 values ([N, 3] row-major), got 4"
        );
        assert_eq!(said(Rows::new(&[0.0f64; 4], 0).unwrap_err()), "columns: expected at least 1, got 0");
        let stream = Device::cpu().stream().unwrap();
        let buffer = stream.upload(&[f16::ONE; 6]).unwrap();
        assert_eq!(said(Rows::on_device(&buffer, 3, 3).unwrap_err()), "buffer: expected 3 x 3 values, got 6");
        assert_eq!(said(Rows::on_device(&buffer, 0, 0).unwrap_err()), "columns: expected at least 1, got 0");
        assert!(Rows::on_device(&buffer, usize::MAX, 3).is_err());
        let halves = Rows::on_device(&buffer, 1, 3).unwrap();
        assert_eq!(
            (halves.dtype(), halves.host::<f16>(), halves.host::<f32>()),
            (Dtype::F16, Some(&[f16::ONE; 3][..]), None)
        );
        assert_eq!(
            said(halves.check_points(Argument::Scan, &stream).unwrap_err()),
            "scan: expected values of type f32 or f64, got f16"
        );
        let pairs = Rows::from(&[[1.0f64, 2.0]]);
        assert_eq!(
            said(pairs.check_points(Argument::Points, &stream).unwrap_err()),
            "points: expected at least 3 columns: x, y, z first, got 2"
        );
        let about = Rows::from(&[[1.0f32, 2.0, 3.0]]).about([10.0, 0.0, 0.0]).unwrap();
        assert_eq!(about.point(0), [11.0, 2.0, 3.0]);
        assert_eq!((about.relative_to([10.0, 0.0, 0.0]).shift(), about.origin()), (None, [10.0, 0.0, 0.0]));
        assert_eq!(about.relative_to([9.0, 0.0, 0.0]).point(0), [2.0, 2.0, 3.0]);
        let global = Rows::from(&[[80_001.5f64, 2.0, 3.0]]).about([80_000.0, 0.0, 0.0]).unwrap();
        assert_eq!(global.point(0), [80_001.5, 2.0, 3.0]);
        assert_eq!(global.relative_to(global.origin()).point(0), [1.5, 2.0, 3.0]);
        let cloud = PointCloud::new(vec![1.0, 2.0, 3.0], 3).unwrap().with_origin([10.0, 0.0, 0.0]);
        assert_eq!((Rows::from(&cloud).point(0), Rows::from(&cloud).dtype()), ([11.0, 2.0, 3.0], Dtype::F32));
        assert!(halves.about([0.0; 3]).is_err() && about.about([f64::NAN; 3]).is_err());
    }
}
