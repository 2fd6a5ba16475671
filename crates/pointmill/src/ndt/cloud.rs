//! The places of a cloud's points.

use crate::Rows;
use crate::rows::Values;
use pointmill_core::ndt::{NdtLattice, Place};

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
