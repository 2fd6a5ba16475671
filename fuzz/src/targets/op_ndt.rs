//! Sums of cells against a map of cells, whole and in parts; what is made of them, searched and scored does not panic.
use crate::{Draw, cpu};
use pointmill::ndt::{NdtMoments, NdtParams, ndt_grid};
use pointmill::{Pose, Rows};
use pointmill_core::ndt::{Moments, NdtLattice};
use std::collections::BTreeMap;

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let resolution = f64::from([0.5, 1.0, 2.0, draw.value()][draw.below(4)]);
    let cut = draw.byte() as usize;
    let data = draw.rows(3, 400);
    let cloud = |data| Rows::f32(data, 3).expect("whole rows");
    let Ok(lattice) = NdtLattice::new(resolution) else {
        return assert!(NdtMoments::new(resolution).is_err());
    };
    let mut whole = NdtMoments::new(resolution).expect("a lattice");
    let added = whole.add(cloud(&data));

    let finite = |p: &&[f32]| p.iter().all(|v| v.is_finite());
    let mut cells: BTreeMap<[i32; 3], Moments> = BTreeMap::new();
    let mut outside = false;
    for p in data.chunks_exact(3).filter(finite) {
        match lattice.place([p[0], p[1], p[2]]) {
            // By z, then y, then x.
            Some(place) => {
                let [x, y, z] = place.cell;
                cells.entry([z, y, x]).or_default().add(place.offset);
            }
            None => outside = true,
        }
    }
    assert_eq!(added.is_err(), outside);
    if outside {
        return;
    }
    let wanted: Vec<_> = cells.into_iter().map(|([z, y, x], sums)| ([x, y, z], sums)).collect();
    let found: Vec<_> = whole.cells().map(|(cell, sums)| (cell, *sums)).collect();
    assert_eq!(found, wanted);

    let (front, back) = data.split_at(3 * (cut % (data.len() / 3 + 1)));
    let of = |part| {
        let mut moments = NdtMoments::new(resolution).expect("a lattice");
        moments.add(cloud(part)).expect("points of a cloud that was added");
        moments
    };
    let mut parts = of(back);
    parts.merge(&of(front)).expect("one lattice");
    assert_eq!(parts, whole);
    parts.subtract(&of(back)).expect("points that are among them");
    assert_eq!(parts, of(front));

    let params = NdtParams::default();
    let cells = whole.finish(&params).expect("sums of points");
    let grid = ndt_grid(cloud(&data), resolution, &params, cpu(data.len() % 2 == 1))
        .expect("points of a cloud that was added");
    assert_eq!(grid.read().expect("memory"), cells);
    if !data.is_empty() && data.iter().all(|v| v.abs() < 1e6) {
        let other = Pose::from_xyzrpy([0.5, -0.25, 0.0, 0.0, 0.0, 0.1]).expect("a pose");
        let poses = [Pose::IDENTITY, other];
        let both = grid.score(cloud(&data), &poses).expect("finite points");
        let one = grid.score(cloud(&data), &poses[1..]).expect("finite points");
        assert_eq!(both[1], one[0]);
    }
}
