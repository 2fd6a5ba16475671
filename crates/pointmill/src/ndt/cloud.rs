//! The places of a cloud's points.

use crate::rows::Values;
use crate::{Argument, Error, Rows};
use pointmill_core::ndt::{MAX_CELL, NdtLattice, Place};

/// What a point is.
pub(super) enum Found {
    At(Place),
    NotFinite,
    Outside([f64; 3]),
}

/// Calls `visit` with points `first` to `end` of a cloud of the host, in order.
pub(super) fn each(cloud: &Rows<'_>, first: usize, end: usize, lattice: &NdtLattice, mut visit: impl FnMut(Found)) {
    let mut tell = |place: Option<Place>, p: [f64; 3]| {
        visit(match place {
            Some(place) => Found::At(place),
            None if p.iter().all(|x| x.is_finite()) => Found::Outside(p),
            None => Found::NotFinite,
        });
    };
    match (cloud.values(), cloud.shift()) {
        (Values::F32(values), None) => {
            for row in values[first * cloud.columns()..end * cloud.columns()].chunks_exact(cloud.columns()) {
                let p = [row[0], row[1], row[2]];
                tell(lattice.place(p), p.map(f64::from));
            }
        }
        _ => {
            for i in first..end {
                let p = cloud.point(i);
                tell(lattice.place(p), p);
            }
        }
    }
}

/// A point that has no cell.
pub(super) fn outside(lattice: &NdtLattice, index: usize, p: [f64; 3]) -> Error {
    let most = f64::from(MAX_CELL) * lattice.unit();
    let got = format!("({}, {}, {}) at point {index}", p[0], p[1], p[2]);
    Error::argument(
        Argument::Points,
        format!("coordinates from -{most} to below {most} m, or an origin near them"),
        got,
    )
}
