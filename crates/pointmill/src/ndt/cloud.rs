//! Clouds as grids take them.

use crate::{Error, Result};
use pointmill_core::ndt::{NdtLattice, Place};

/// Points of `f32` or `f64`: rows of which the first three values are x, y, z.
///
/// Coordinates that are large beside a cell, as those of maps, belong into `f64`, or into `f32` about an origin of `f64`: an `f32` has steps of 8 mm at 80 km.
#[derive(Clone, Copy, Debug)]
pub struct NdtCloud<'a> {
    values: Values<'a>,
    columns: usize,
}

#[derive(Clone, Copy, Debug)]
enum Values<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// Each point is the origin plus the row, rounded once.
    About(&'a [f32], [f64; 3]),
}

/// What a point is.
pub(super) enum Found {
    At(Place),
    NotFinite,
    Outside([f64; 3]),
}

impl<'a> NdtCloud<'a> {
    /// `[N, columns]` of `f32`.
    ///
    /// # Errors
    /// Fewer than three columns, or values that make no whole rows.
    pub fn f32(points: &'a [f32], columns: usize) -> Result<Self> {
        check(points.len(), columns).map(|()| Self { values: Values::F32(points), columns })
    }

    /// `[N, columns]` of `f64`.
    ///
    /// # Errors
    /// As [`NdtCloud::f32`].
    pub fn f64(points: &'a [f64], columns: usize) -> Result<Self> {
        check(points.len(), columns).map(|()| Self { values: Values::F64(points), columns })
    }

    /// `[N, columns]` of `f32` that stand for `origin + point`.
    ///
    /// # Errors
    /// As [`NdtCloud::f32`], and an origin that is not finite.
    pub fn f32_about(points: &'a [f32], columns: usize, origin: [f64; 3]) -> Result<Self> {
        if !origin.iter().all(|o| o.is_finite()) {
            return Err(Error::argument("origin", "three finite numbers", format!("{origin:?}")));
        }
        check(points.len(), columns).map(|()| Self { values: Values::About(points, origin), columns })
    }

    /// The number of points.
    pub const fn len(&self) -> usize {
        match self.values {
            Values::F32(values) | Values::About(values, _) => values.len() / self.columns,
            Values::F64(values) => values.len() / self.columns,
        }
    }

    /// Whether there are no points.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with points `first` to `end`, in order.
    pub(super) fn each(&self, first: usize, end: usize, lattice: &NdtLattice, mut visit: impl FnMut(Found)) {
        let (from, to, columns) = (first * self.columns, end * self.columns, self.columns);
        let tell = |place: Option<Place>, p: [f64; 3]| match place {
            Some(place) => Found::At(place),
            None if p.iter().all(|x| x.is_finite()) => Found::Outside(p),
            None => Found::NotFinite,
        };
        match self.values {
            Values::F32(values) => {
                for row in values[from..to].chunks_exact(columns) {
                    let p = [row[0], row[1], row[2]];
                    visit(tell(lattice.place(p), p.map(f64::from)));
                }
            }
            Values::F64(values) => {
                for row in values[from..to].chunks_exact(columns) {
                    let p = [row[0], row[1], row[2]];
                    visit(tell(lattice.place(p), p));
                }
            }
            Values::About(values, origin) => {
                for row in values[from..to].chunks_exact(columns) {
                    let p: [f64; 3] = std::array::from_fn(|i| origin[i] + f64::from(row[i]));
                    visit(tell(lattice.place(p), p));
                }
            }
        }
    }
}

fn check(len: usize, columns: usize) -> Result<()> {
    if columns < 3 {
        return Err(Error::argument("columns", "at least 3: x, y, z first", columns));
    }
    if !len.is_multiple_of(columns) {
        return Err(Error::argument("points", format!("whole rows of {columns} values"), format!("{len} values")));
    }
    Ok(())
}
