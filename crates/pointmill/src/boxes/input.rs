//! Boxes and classes as callers give them.

use crate::device::{Buffer, Stream};
use crate::rows::Values;
use crate::{Argument, BoxOrigin, Dtype, Error, Result, Rows, ensure, memory, par};
use pointmill_core::boxes::{BoxFault, BoxShape, COLUMNS, MAX_EXTENT, MAX_YAW, fault};
use pointmill_kernels::boxes::BoxRows;
use rayon::prelude::*;

/// Boxes that a thread makes ready at least.
const READY_BY_A_THREAD: usize = 4096;

/// What a row must be.
fn expected() -> String {
    format!("extents of 0 to {MAX_EXTENT:e} m, coordinates within {MAX_EXTENT:e} m, a yaw within {MAX_YAW} rad")
}

/// Checked boxes of one argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boxes<'a> {
    rows: Rows<'a>,
    origin: BoxOrigin,
}

impl<'a> Boxes<'a> {
    /// Checks the boxes; those on the host row by row.
    pub(super) fn new(rows: Rows<'a>, argument: Argument, origin: BoxOrigin, stream: &Stream) -> Result<Self> {
        let columns = "7 columns (x, y, z, dx, dy, dz, yaw)";
        ensure(rows.columns() == COLUMNS, argument, columns, rows.columns())?;
        rows.check(argument, stream, &[Dtype::F32, Dtype::F64])?;
        ensure(rows.len() < 1 << 31, argument, "fewer than 2^31 boxes", rows.len())?;
        let boxes = Self { rows, origin };
        let refused = |row: [f64; COLUMNS]| matches!(fault(&row), Some(BoxFault::Negative | BoxFault::Beyond));
        let first = match rows.values() {
            Values::Device { .. } => None,
            _ => stream.device().install(|| {
                let all = (0..rows.len()).into_par_iter().with_min_len(par::grain(READY_BY_A_THREAD));
                all.find_first(|&i| refused(boxes.row(i)))
            }),
        };
        match first {
            None => Ok(boxes),
            Some(i) => Err(Error::argument(argument, expected(), format_args!("row {i}: {:?}", boxes.row(i)))),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) const fn stream(&self) -> Option<&'a Stream> {
        self.rows.stream()
    }

    /// The boxes about the origin of others.
    pub(super) fn about_that_of(self, other: &Self) -> Self {
        Self { rows: self.rows.relative_to(other.rows.origin()), ..self }
    }

    /// Row `i` of host memory, shifted.
    fn row(&self, i: usize) -> [f64; COLUMNS] {
        let at = i * COLUMNS;
        let mut row = [0.0; COLUMNS];
        match self.rows.values() {
            Values::F32(values) => (0..COLUMNS).for_each(|k| row[k] = f64::from(values[at + k])),
            Values::F64(values) => row.copy_from_slice(&values[at..at + COLUMNS]),
            _ => unreachable!("boxes are f32 or f64, and on the host where the CPU works"),
        }
        for (value, shift) in row.iter_mut().zip(self.rows.shift().unwrap_or_default()) {
            *value += shift;
        }
        row
    }

    /// The boxes of host memory, made ready.
    pub(super) fn shapes(&self) -> Result<Vec<BoxShape>> {
        let all = (0..self.len()).into_par_iter().with_min_len(par::grain(READY_BY_A_THREAD));
        memory::collect_parallel(all.map(|i| BoxShape::new(self.row(i), self.origin)))
    }

    /// The boxes as kernels take them. Host values are first copied to `staging`.
    pub(super) fn staged(&self, staging: &mut Buffer<u8>) -> Result<BoxRows> {
        Ok(BoxRows {
            values: self.rows.address(staging)?,
            n: self.len() as u32,
            wide: u32::from(self.rows.dtype() == Dtype::F64),
            shift: self.rows.shift().unwrap_or_default(),
            origin: self.origin,
        })
    }

    /// The error that a GPU found in row `row`.
    pub(super) fn refused(argument: Argument, row: u32) -> Error {
        Error::argument(argument, expected(), format_args!("row {row}"))
    }
}

/// The class of each box: whole numbers of 0 or more, on the host or on a device.
///
/// ```
/// use pointmill::boxes::ClassIds;
/// let ids = ClassIds::from(&[0, 2, 2]);
/// assert_eq!(ids.len(), 3);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ClassIds<'a>(Ids<'a>);

#[derive(Clone, Copy, Debug)]
enum Ids<'a> {
    Host(&'a [i32]),
    Device(&'a Buffer<i32>, usize),
}

impl<'a> ClassIds<'a> {
    /// The first `len` numbers of a buffer.
    ///
    /// # Errors
    /// A buffer that has fewer.
    pub fn on_device(buffer: &'a Buffer<i32>, len: usize) -> Result<Self> {
        ensure(len <= buffer.len(), Argument::Classes, format_args!("{len} numbers"), buffer.len())?;
        Ok(Self(match buffer.as_slice() {
            Some(ids) => Ids::Host(&ids[..len]),
            None => Ids::Device(buffer, len),
        }))
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        match self.0 {
            Ids::Host(ids) => ids.len(),
            Ids::Device(_, len) => len,
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) const fn stream(&self) -> Option<&'a Stream> {
        match self.0 {
            Ids::Host(_) => None,
            Ids::Device(buffer, _) => Some(buffer.stream()),
        }
    }

    pub(super) fn check(&self, boxes: usize, stream: &Stream) -> Result<()> {
        ensure(self.len() == boxes, Argument::Classes, format_args!("{boxes} numbers, as many as boxes"), self.len())?;
        match self.0 {
            Ids::Device(buffer, _) => stream.check_memory(Argument::Classes, "memory of", buffer.stream()),
            Ids::Host(ids) => {
                stream.check_not_capturing(Argument::Classes, "memory of the device", "a host slice")?;
                match ids.iter().position(|&id| id < 0) {
                    None => Ok(()),
                    Some(i) => Err(Self::refused(i, ids[i])),
                }
            }
        }
    }

    /// The error of a number below 0.
    pub(super) fn refused(row: usize, got: impl std::fmt::Display) -> Error {
        Error::argument(Argument::Classes, "whole numbers of 0 or more", format_args!("{got} in row {row}"))
    }

    pub(super) const fn host(&self) -> Option<&'a [i32]> {
        match self.0 {
            Ids::Host(ids) => Some(ids),
            Ids::Device(..) => None,
        }
    }

    pub(super) fn address(&self, staging: &mut Buffer<i32>) -> Result<*const i32> {
        match self.0 {
            Ids::Host(ids) => {
                staging.put(ids)?;
                Ok(staging.pointer())
            }
            Ids::Device(buffer, _) => Ok(buffer.pointer()),
        }
    }
}

impl<'a> From<&'a [i32]> for ClassIds<'a> {
    fn from(ids: &'a [i32]) -> Self {
        Self(Ids::Host(ids))
    }
}

impl<'a, const N: usize> From<&'a [i32; N]> for ClassIds<'a> {
    fn from(ids: &'a [i32; N]) -> Self {
        Self(Ids::Host(ids))
    }
}
