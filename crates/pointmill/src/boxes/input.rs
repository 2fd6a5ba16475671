//! Boxes and classes as callers give them.

use crate::device::{Buffer, Stream};
use crate::rows::Values;
use crate::{Argument, BoxOrigin, Dtype, Error, Ints, Result, Rows, ensure, memory, par};
use pointmill_core::boxes::{BoxLayout, BoxShape, COLUMNS};
use pointmill_kernels::boxes::BoxRows;
use rayon::prelude::*;

/// Boxes that a thread makes ready at least.
const READY_BY_A_THREAD: usize = 4096;

/// Checked boxes of one argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Boxes<'a> {
    rows: Rows<'a>,
    layout: BoxLayout,
    origin: BoxOrigin,
}

impl<'a> Boxes<'a> {
    /// Checks type and shape: no row is refused.
    pub(super) fn new(
        rows: Rows<'a>,
        argument: Argument,
        (layout, origin): (BoxLayout, BoxOrigin),
        stream: &Stream,
    ) -> Result<Self> {
        ensure(layout.fits(rows.columns()), argument, layout.expected(), rows.columns())?;
        rows.check(argument, stream, &[Dtype::F32, Dtype::F64])?;
        ensure(rows.len() < 1 << 31, argument, "fewer than 2^31 boxes", rows.len())?;
        Ok(Self { rows, layout, origin })
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
        let columns = self.rows.columns();
        let mut row = match self.rows.values() {
            Values::F32(values) => {
                let row = &values[i * columns..][..columns];
                self.layout.row(|k| f64::from(row[k]))
            }
            Values::F64(values) => {
                let row = &values[i * columns..][..columns];
                self.layout.row(|k| row[k])
            }
            _ => unreachable!("boxes are f32 or f64, and on the host where the CPU works"),
        };
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
            columns: self.rows.columns() as u32,
            layout: self.layout,
            wide: u32::from(self.rows.dtype() == Dtype::F64),
            shift: self.rows.shift().unwrap_or_default(),
            origin: self.origin,
        })
    }
}

/// Checks the class of each box; those on the host number by number.
pub(super) fn check_classes(classes: &Ints<'_>, boxes: usize, stream: &Stream) -> Result<()> {
    let expected = format_args!("{boxes} numbers, as many as boxes");
    ensure(classes.len() == boxes, Argument::Classes, expected, classes.len())?;
    classes.check(Argument::Classes, stream)?;
    let ids = classes.host().unwrap_or_default();
    match ids.iter().position(|&id| id < 0) {
        None => Ok(()),
        Some(i) => Err(refused_class(i, ids[i])),
    }
}

/// The error of a class below 0.
pub(super) fn refused_class(row: usize, got: impl std::fmt::Display) -> Error {
    Error::argument(Argument::Classes, "whole numbers of 0 or more", format_args!("{got} in row {row}"))
}
