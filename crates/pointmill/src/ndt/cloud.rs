//! The places of a cloud's points.

pub use crate::Coordinates as NdtCloud;
use crate::coordinates::Values;
use pointmill_core::ndt::{NdtLattice, Place};

/// What a point is.
pub(super) enum Found {
    At(Place),
    NotFinite,
    Outside([f64; 3]),
}

/// Calls `visit` with points `first` to `end`, in order.
pub(super) fn each(cloud: &NdtCloud<'_>, first: usize, end: usize, lattice: &NdtLattice, mut visit: impl FnMut(Found)) {
    let (values, columns) = cloud.values();
    let (from, to) = (first * columns, end * columns);
    let tell = |place: Option<Place>, p: [f64; 3]| match place {
        Some(place) => Found::At(place),
        None if p.iter().all(|x| x.is_finite()) => Found::Outside(p),
        None => Found::NotFinite,
    };
    match values {
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
