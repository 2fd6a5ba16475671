//! The lattice of cells that is anchored at the world's zero.

use thiserror::Error;

/// Steps of an offset along the edge of a cell.
pub const STEPS: f64 = 1_048_576.0;
/// Cells along each axis on either side of zero: coordinates of cells are -2^20 and above, and
/// below 2^20.
pub const MAX_CELL: i32 = 1 << 20;

/// A resolution that makes no lattice.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("resolution: expected a size in metres, 3e-39 to 8.5e37, got {0}")]
pub struct LatticeError(pub f64);

/// Cubes of `resolution` metres that fill space, one corner of them at the origin: the same cells
/// in every call, tile and device.
///
/// The origin is the world's zero unless [`NdtLattice::about`] sets another. Points, centres and
/// means are about it.
///
/// **Arithmetic**: `inv = f32(1 / resolution)`; the edge of a cell is exactly `1 / inv`. For `f32`
/// points the cell is `floor(p * inv)`, one correctly rounded `f32` product; for `f64` points the
/// product is `f64`. The offset from the cell's centre is `rint((u - (cell + 1/2)) * 2^20)`, to
/// even, with `u` the product in `f64`, which is exact for `f32` points, so that the offset is
/// rounded once. A point that the rounding of the product lifts over a wall lies on that wall.
///
/// ```
/// use pointmill_core::ndt::NdtLattice;
/// let lattice = NdtLattice::new(2.0)?;
/// let place = lattice.place([5.0f32, -0.5, 0.0]).unwrap();
/// assert_eq!(place.cell, [2, -1, 0]);
/// assert_eq!(place.offset, [0, 262_144, -524_288]); // the centre, a quarter of an edge above it, the lower wall
/// assert_eq!(lattice.center([2, -1, 0]), [5.0, -1.0, 1.0]);
/// # Ok::<(), pointmill_core::ndt::LatticeError>(())
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtLattice {
    inv: f32,
    origin: [f64; 3],
}

/// Where a point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The cell, along x, y, z.
    pub cell: [i32; 3],
    /// The offset from its centre in [`STEPS`] of an edge, -2^19 to 2^19.
    pub offset: [i32; 3],
}

/// Coordinates of a type that a lattice takes.
pub trait Coordinate: Copy {
    /// The product that decides about the cell, rounded as the type is.
    fn product(self, inv: f32) -> f64;
    /// The product that decides about the offset.
    fn exact(self, inv: f32) -> f64;
}

impl Coordinate for f32 {
    #[inline(always)]
    fn product(self, inv: f32) -> f64 {
        (self * inv) as f64
    }

    #[inline(always)]
    fn exact(self, inv: f32) -> f64 {
        self as f64 * inv as f64
    }
}

impl Coordinate for f64 {
    #[inline(always)]
    fn product(self, inv: f32) -> f64 {
        self * inv as f64
    }

    #[inline(always)]
    fn exact(self, inv: f32) -> f64 {
        self * inv as f64
    }
}

impl NdtLattice {
    /// The lattice of cells of `resolution` metres.
    ///
    /// # Errors
    /// A resolution that is not finite and positive, or whose reciprocal no normal `f32` is near.
    pub fn new(resolution: f64) -> Result<Self, LatticeError> {
        let inv = (1.0 / resolution) as f32;
        if resolution.is_finite() && inv.is_normal() && inv > 0.0 {
            Ok(Self { inv, origin: [0.0; 3] })
        } else {
            Err(LatticeError(resolution))
        }
    }

    /// The same cells about another origin, in metres.
    ///
    /// ```
    /// use pointmill_core::ndt::NdtLattice;
    /// let lattice = NdtLattice::new(2.0)?.about([515_000.0, 4_918_000.0, 0.0]);
    /// assert_eq!(lattice.origin(), [515_000.0, 4_918_000.0, 0.0]);
    /// # Ok::<(), pointmill_core::ndt::LatticeError>(())
    /// ```
    #[must_use]
    pub const fn about(self, origin: [f64; 3]) -> Self {
        Self { origin, ..self }
    }

    /// The point that all coordinates are about, in metres.
    pub const fn origin(&self) -> [f64; 3] {
        self.origin
    }

    /// The reciprocal of the edge, as products use it.
    #[inline(always)]
    pub const fn inv(&self) -> f32 {
        self.inv
    }

    /// The edge of a cell in metres.
    #[inline(always)]
    pub const fn unit(&self) -> f64 {
        1.0 / self.inv as f64
    }

    /// The place of a point; `None` if a coordinate is not finite or its cell is outside of the
    /// lattice.
    #[inline(always)]
    pub fn place<T: Coordinate>(&self, p: [T; 3]) -> Option<Place> {
        let mut place = Place { cell: [0; 3], offset: [0; 3] };
        let mut inside = true;
        let mut axis = 0;
        while axis < 3 {
            let product = p[axis].product(self.inv);
            // Asked of the float: NaN and infinities are not inside, and a cast has a value to
            // cast.
            inside &= (product >= -(MAX_CELL as f64)) & (product < MAX_CELL as f64);
            let cell = floor(product);
            place.cell[axis] = cell;
            let offset = round((p[axis].exact(self.inv) - (cell as f64 + 0.5)) * STEPS);
            let half = STEPS as i32 / 2;
            place.offset[axis] = if offset < -half {
                -half
            } else if offset > half {
                half
            } else {
                offset
            };
            axis += 1;
        }
        if inside { Some(place) } else { None }
    }

    /// The centre of a cell in metres.
    #[inline(always)]
    pub const fn center(&self, cell: [i32; 3]) -> [f64; 3] {
        let unit = self.unit();
        [(cell[0] as f64 + 0.5) * unit, (cell[1] as f64 + 0.5) * unit, (cell[2] as f64 + 0.5) * unit]
    }
}

/// The largest whole number that is not greater; of numbers past `i32` the nearest `i32`.
#[inline(always)]
fn floor(x: f64) -> i32 {
    let whole = x as i32;
    if (whole as f64) > x { whole.wrapping_sub(1) } else { whole }
}

/// The nearest whole number, of two the even one, for numbers below 2^51.
#[inline(always)]
fn round(x: f64) -> i32 {
    // Added and taken off again, this leaves a whole number, the nearest.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    ((x + ROUND) - ROUND) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn walls_belong_to_the_upper_cell() {
        let lattice = NdtLattice::new(0.5).unwrap();
        let half = STEPS as i32 / 2;
        let at = |x: f32| {
            let place = lattice.place([x, 0.0, 0.0]).unwrap();
            (place.cell[0], place.offset[0])
        };
        assert_eq!(at(0.0), (0, -half));
        assert_eq!(at(-0.0), (0, -half));
        assert_eq!(at(0.5), (1, -half));
        assert_eq!(at(-0.5), (-1, -half));
        assert_eq!(at(-0.25), (-1, 0));
        // Of the smallest numbers below zero the offset is that of the wall.
        assert_eq!(at(-f32::MIN_POSITIVE), (-1, half));
        assert_eq!(at(-f32::from_bits(1)), (-1, half));
    }

    #[test]
    fn what_is_outside_has_no_place() {
        let lattice = NdtLattice::new(1.0).unwrap();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1_048_576.0, -1_048_577.0, f32::MAX] {
            for axis in 0..3 {
                let mut p = [0.5; 3];
                p[axis] = bad;
                assert_eq!(lattice.place(p), None, "{p:?}");
                assert_eq!(lattice.place(p.map(f64::from)), None, "{p:?}");
            }
        }
        assert_eq!(lattice.place([1_048_575.9f32, -1_048_576.0, 0.0]).unwrap().cell, [1_048_575, -1_048_576, 0]);
    }

    #[test]
    fn resolutions_that_make_no_lattice() {
        for bad in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300, 1e300] {
            assert!(NdtLattice::new(bad).is_err(), "{bad}");
        }
        assert_eq!(NdtLattice::new(0.1).unwrap().inv(), 10.0);
    }

    proptest! {
        #[test]
        fn the_place_is_where_the_point_is(p in -1e5f64..1e5, resolution in 0.2f64..20.0) {
            let lattice = NdtLattice::new(resolution).unwrap();
            let place = lattice.place([p, 0.0, 0.0]).unwrap();
            let back = lattice.center(place.cell)[0] + f64::from(place.offset[0]) / STEPS * lattice.unit();
            // Half a step, and the roundings of numbers of this size.
            prop_assert!((back - p).abs() <= lattice.unit() / STEPS * 0.5001 + p.abs() * 1e-15, "{p} {back}");
        }

        #[test]
        fn points_of_either_type_have_one_place(p in -1e4f32..1e4, e in -3i32..4) {
            // At powers of two both products are exact.
            let lattice = NdtLattice::new(2f64.powi(e)).unwrap();
            prop_assert_eq!(lattice.place([p; 3]), lattice.place([f64::from(p); 3]));
        }
    }
}
