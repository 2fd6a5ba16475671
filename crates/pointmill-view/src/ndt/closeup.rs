//! Where a wrong pose shows best.

use super::scene::{Cell, Scene};
use pointmill_core::Aabb;
use std::collections::BTreeMap;

/// Width of a close-up in diameters of the cells.
const CELLS_ACROSS: f64 = 13.0;
/// Parts of a close-up's height that scan and walls are gathered in, and the points that make one full.
const PARTS: f64 = 6.0;
const FULL: f64 = 8.0;

/// A rectangle of the given shape (width by height) with scanned walls of different directions: there any shift to any side is a gap.
///
/// `scan` are rows of x, y, z; `within` is what the overview shows. `None` if no point of the scan is in it.
pub(super) fn choose(scene: &Scene, scan: &[f32], within: Aabb, shape: f64) -> Option<Aabb> {
    let (width, deep) = (within.max[0] - within.min[0], within.max[1] - within.min[1]);
    // Not larger than a third of the overview, or it would show nothing new.
    let height =
        (CELLS_ACROSS * diameter(scene) / shape).min(f64::from(width) / 3.0 / shape).min(f64::from(deep) / 2.0);
    let part = height / PARTS;
    if !(part > 0.0 && part.is_finite()) {
        return None;
    }
    let place = |x: f64, y: f64| ((x / part).floor() as i64, (y / part).floor() as i64);
    let seen = |p: &[f32; 3]| (0..2).all(|k| within.min[k] <= p[k] && p[k] <= within.max[k]);
    let mut parts: BTreeMap<(i64, i64), (f64, [f64; 3])> = BTreeMap::new();
    for p in scan.as_chunks().0.iter().filter(|p| seen(p)) {
        parts.entry(place(f64::from(p[0]), f64::from(p[1]))).or_default().0 += 1.0;
    }
    for Cell { mean, facing, .. } in &scene.cells {
        if let Some((points, walls)) = parts.get_mut(&place(mean[0], mean[1])) {
            let [x, y, _] = facing.normal;
            let weight = facing.upright() * (*points / FULL).min(1.0);
            [x * x, x * y, y * y].into_iter().zip(walls).for_each(|(v, sum)| *sum += weight * v);
        }
    }
    // Of walls that face many ways as corners of pictures are found: by the smaller eigenvalue.
    let (across, down) = ((PARTS * shape) as i64 / 2 - 1, PARTS as i64 / 2 - 1);
    let worth = |&(i, j): &(i64, i64)| {
        let (mut points, mut walls) = (0.0, [0.0; 3]);
        for (_, (n, w)) in (-across..=across).flat_map(|di| parts.range((i + di, j - down)..=(i + di, j + down))) {
            points += f64::min(*n, FULL);
            (0..3).for_each(|k| walls[k] += w[k]);
        }
        let [a, b, c] = walls;
        let half = 0.5 * (a - c);
        // Without any walls: where most of the scan is.
        0.5 * (a + c) - (half * half + b * b).sqrt() + 1e-6 * points
    };
    let worths = parts.keys().map(|key| (worth(key), *key));
    let (_, (i, j)) = worths.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let half = [0.5 * height * shape, 0.5 * height];
    // Not over the overview's edge.
    let middle = [0, 1].map(|k| {
        let middle = ([i, j][k] as f64 + 0.5) * part;
        middle.max(f64::from(within.min[k]) + half[k]).min(f64::from(within.max[k]) - half[k])
    });
    let corner = |sign: f64| [0, 1].map(|k| (middle[k] + sign * half[k]) as f32);
    let ([x0, y0], [x1, y1]) = (corner(-1.0), corner(1.0));
    Some(Aabb::new([x0, y0, within.min[2]], [x1, y1, within.max[2]]))
}

/// The diameter that half of the cells reach: a little more than the edge of the lattice.
fn diameter(scene: &Scene) -> f64 {
    let mut longest: Vec<f64> =
        scene.cells.iter().map(|cell| [0, 3, 5].map(|k| cell.covariance[k]).into_iter().fold(0.0, f64::max)).collect();
    let middle = longest.len() / 2;
    let variance = if longest.is_empty() { 0.25 } else { *longest.select_nth_unstable_by(middle, f64::total_cmp).1 };
    2.0 * super::ellipse::SIGMAS * variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndt::NdtEllipsoids;

    #[test]
    fn a_corner_is_better_than_a_wall() {
        let along = [0.33, 0.0, 0.0, 0.0033, 0.0, 0.33];
        let across = [0.0033, 0.0, 0.0, 0.33, 0.0, 0.33];
        // A wall along x from 0 to 80, and one along y that starts at its end.
        let mut means: Vec<[f64; 3]> = (0..40).map(|i| [2.0 * f64::from(i) + 1.0, 10.0, 1.0]).collect();
        let mut covariances = vec![along; 40];
        means.extend((0..6).map(|i| [81.0, 10.0 + 2.0 * f64::from(i), 1.0]));
        covariances.extend([across; 6]);
        let scene = Scene::new(NdtEllipsoids { means: &means, covariances: &covariances }, &[]);
        let scan: Vec<[f64; 3]> = means.iter().flat_map(|m| [[m[0], m[1], 1.0]; 20]).collect();
        let within = Aabb::new([-90.0, -45.0, -5.0], [90.0, 45.0, 5.0]);
        let found = choose(&scene, &scene.local(&scan), within, 2.0).unwrap();
        let corner = scene.local(&[[81.0, 10.0, 1.0]]);
        assert!((0..2).all(|k| found.min[k] < corner[k] && corner[k] < found.max[k]), "{found:?} {corner:?}");
        assert!((found.max[0] - found.min[0] - 30.0).abs() < 1.5, "{found:?}");
        assert!(choose(&scene, &[], within, 2.0).is_none());
    }
}
