//! The ground of a cloud whose upright direction is not known.

use super::surface::Surface;
use pointmill_core::eigen::{ENTRIES, eigen};
use pointmill_core::icp::neighbourhood::is_normal;
use pointmill_core::linear::Square;
use pointmill_core::rigid::{cross, dot, multiply, unit, wide};

/// Directions along the edge of each of three faces of a cube: 15 degrees apart, or less.
const SIDE: i32 = 7;
/// Cosines of the angles to a direction within which normals are counted, then averaged twice.
const WITHIN: [f64; 3] = [0.906, 0.906, 0.966];
/// Planes that are looked at: the ground, and walls along two directions.
const PLANES: usize = 3;
/// Least share of all normals that must be the ground's.
const LEAST_SHARE: f64 = 0.1;
/// Points up to so many voxels from the plane are on neither side.
const THICK: f64 = 5.0;

/// The rotation that turns a cloud upright by its ground; none where it has none.
///
/// The ground is a plane with all else on one side. Of the planes that most normals agree on, it is
/// the one with the most points, weighted by how much more of the rest is above than below.
pub(super) fn upright(surface: &Surface, voxel: f64) -> Option<Square<3>> {
    let mut normals: Vec<[f64; 3]> = surface.normals.iter().filter(|n| is_normal(**n)).map(|n| wide(*n)).collect();
    let fewest = LEAST_SHARE * normals.len() as f64;
    let mut best: Option<(f64, [f64; 3])> = None;
    for _ in 0..PLANES {
        let Some(axis) = axis_of(&normals) else { break };
        if let Some((score, up)) = one_sided(surface, axis, THICK * voxel, fewest)
            && best.is_none_or(|(most, _)| score > most)
        {
            best = Some((score, up));
        }
        normals.retain(|n| dot(*n, axis).abs() < WITHIN[0]);
    }
    best.map(|(_, up)| onto_z(up))
}

/// The direction that most normals agree on.
fn axis_of(normals: &[[f64; 3]]) -> Option<[f64; 3]> {
    let count = |axis: &[f64; 3]| normals.iter().filter(|n| dot(**n, *axis).abs() >= WITHIN[0]).count();
    let (most, mut axis) = directions().map(|d| (count(&d), d)).reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    if most == 0 {
        return None;
    }
    for least in WITHIN {
        let mut products = [0.0; 6];
        for n in normals.iter().filter(|n| dot(**n, axis).abs() >= least) {
            for (product, (i, j)) in products.iter_mut().zip(ENTRIES) {
                *product += n[i] * n[j];
            }
        }
        axis = eigen(products).vectors[2];
    }
    Some(axis)
}

/// Directions all around, one of each pair of opposite ones: a grid on three faces of a cube.
fn directions() -> impl Iterator<Item = [f64; 3]> {
    let at = |k: i32| f64::from(2 * k + 1 - SIDE) / f64::from(SIDE);
    let all = (0..3).flat_map(move |face| (0..SIDE * SIDE).map(move |k| (face, at(k % SIDE), at(k / SIDE))));
    all.map(|(face, a, b)| {
        let mut d = [1.0; 3];
        (d[(face + 1) % 3], d[(face + 2) % 3]) = (a, b);
        unit(d)
    })
}

/// How much the plane across an axis is a ground, and which way is up.
fn one_sided(surface: &Surface, axis: [f64; 3], thick: f64, fewest: f64) -> Option<(f64, [f64; 3])> {
    let height = |p: &[f32; 3]| dot(wide(*p), axis);
    let agree = |n: &[f32; 3]| is_normal(*n) && dot(wide(*n), axis).abs() >= WITHIN[2];
    let both = surface.points.iter().zip(&surface.normals);
    let mut heights: Vec<f64> = both.filter(|(_, n)| agree(n)).map(|(p, _)| height(p)).collect();
    if heights.is_empty() {
        return None;
    }
    let half = heights.len() / 2;
    let middle = *heights.select_nth_unstable_by(half, f64::total_cmp).1;
    let on = heights.iter().filter(|h| (**h - middle).abs() <= thick).count() as f64;
    let beside = |least: f64| surface.points.iter().filter(|p| (height(p) - middle) * least > thick).count() as f64;
    let [above, below] = [1.0, -1.0].map(beside);
    let sided = (above - below).abs() / (above + below);
    let up = if above > below { axis } else { axis.map(|x| -x) };
    (on >= fewest && sided > 0.0).then_some((on * sided, up))
}

/// The rotation that takes a unit vector to z by the shortest way; over x where it points down.
fn onto_z(up: [f64; 3]) -> Square<3> {
    if up[2] < 0.0 {
        let half = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]];
        return multiply(&onto_z([up[0], -up[1], -up[2]]), &half);
    }
    let [x, y, _] = cross(up, [0.0, 0.0, 1.0]);
    let across = [[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]];
    let square = multiply(&across, &across);
    let part = 1.0 / (1.0 + up[2]);
    let entry = |i: usize, j: usize| f64::from(u8::from(i == j)) + across[i][j] + part * square[i][j];
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::global::RegisterParams;
    use crate::{Argument, Device, Rows};
    use pointmill_core::rigid::{exponential, is_rotation, rotate};

    #[test]
    fn rotations_take_their_vector_to_z() {
        for d in directions() {
            for up in [d, d.map(|x| -x)] {
                let turn = onto_z(up);
                let z = rotate(&turn, up);
                assert!(is_rotation(&turn) && z[0].abs() + z[1].abs() < 1e-12 && (z[2] - 1.0).abs() < 1e-12, "{up:?}");
            }
        }
    }

    fn upright_of(points: &[[f64; 3]]) -> Option<Square<3>> {
        let stream = Device::cpu().stream().unwrap();
        let params = RegisterParams::default();
        let surface = Surface::new(&Rows::from(points), &params, &stream, Argument::Source).unwrap();
        upright(&surface, params.voxel_size)
    }

    /// A street: the ground, walls on both sides of other heights, and posts.
    #[test]
    fn the_ground_of_a_street_is_found_however_it_is_turned() {
        let mut street: Vec<[f64; 3]> = Vec::new();
        for i in 0..30_000 {
            let (a, b) = (f64::from(i % 200) * 0.2, f64::from(i / 200) * 0.1);
            street.push([a, b, 0.001 * a]);
            if b < 8.0 {
                street.push([a, 0.0, b]);
            }
            if b < 5.0 {
                street.push([a, 15.0, b]);
            }
        }
        for turn in [[0.0; 3], [0.6, 0.0, 0.0], [1.0, -1.5, 0.3], [3.1, 0.1, 0.0], [0.0, -2.0, 1.0]] {
            let by = exponential(turn);
            let turned: Vec<[f64; 3]> = street.iter().map(|p| rotate(&by, *p)).collect();
            let back = multiply(&upright_of(&turned).unwrap(), &by);
            assert!(back[2][2] > 0.999, "{turn:?}: {back:?}");
        }
    }

    #[test]
    fn a_ball_has_no_ground_nor_has_nothing() {
        let ball: Vec<[f64; 3]> = directions().flat_map(|d| [d, d.map(|x| -x)]).map(|d| d.map(|x| 3.0 * x)).collect();
        assert_eq!(upright_of(&ball), None);
        assert_eq!(upright_of(&[]), None);
    }
}
