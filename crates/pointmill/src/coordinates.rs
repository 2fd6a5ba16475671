//! Clouds of which only x, y and z matter, in the precision that they have.

use crate::{Error, Result};

/// Points of `f32` or `f64`: rows of which the first three values are x, y, z.
///
/// Coordinates that are large beside what is looked for, as those of maps, belong into `f64`, or into `f32` about an origin of `f64`: an `f32` has steps of 8 mm at 80 km.
///
/// ```
/// use pointmill::Coordinates;
/// let rows = [1.0f32, 2.0, 3.0, 0.5, /**/ 4.0, 5.0, 6.0, 0.7];
/// assert_eq!(Coordinates::f32_about(&rows, 4, [80_000.0, 42_000.0, 0.0])?.len(), 2);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    values: Values<'a>,
    columns: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// Each point is the origin plus the row, rounded once.
    About(&'a [f32], [f64; 3]),
}

impl<'a> Coordinates<'a> {
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
    /// As [`Coordinates::f32`].
    pub fn f64(points: &'a [f64], columns: usize) -> Result<Self> {
        check(points.len(), columns).map(|()| Self { values: Values::F64(points), columns })
    }

    /// `[N, columns]` of `f32` that stand for `origin + point`.
    ///
    /// # Errors
    /// As [`Coordinates::f32`], and an origin that is not finite.
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

    /// The values and how many a row has.
    pub(crate) const fn values(&self) -> (Values<'a>, usize) {
        (self.values, self.columns)
    }

    /// The place of a point. Panics if there is no such point.
    #[inline]
    pub(crate) fn point(&self, i: usize) -> [f64; 3] {
        let at = i * self.columns;
        match self.values {
            Values::F32(values) => [0, 1, 2].map(|k| f64::from(values[at + k])),
            Values::F64(values) => [0, 1, 2].map(|k| values[at + k]),
            Values::About(values, origin) => [0, 1, 2].map(|k| origin[k] + f64::from(values[at + k])),
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
