//! Where a wrong pose shows best.

use super::{Facing, NdtEllipsoids, SIGMAS};
use std::collections::BTreeMap;

type V3 = [f64; 3];

/// Width of a close-up in diameters of the cells, and over its height: that of its panel.
const CELLS_ACROSS: f64 = 13.0;
pub(super) const SHAPE: f64 = 1.9;
/// Parts of a close-up's height that scan and walls are gathered in, and the points that make one
/// full.
const PARTS: f64 = 6.0;
const FULL: f64 = 8.0;

/// The bounds in x and y of a rectangle with scanned walls of different directions: there any shift
/// to any side is a gap.
///
/// `scan` are points in the frame of the map, `within` is what the overview shows. `None` if no
/// point is in it.
pub(super) fn choose(map: NdtEllipsoids, scan: &[V3], within: [[f64; 2]; 2]) -> Option<[[f64; 2]; 2]> {
    let [width, deep] = within.map(|[low, high]| high - low);
    // Not larger than a third of the overview, or it would show nothing new.
    let height = (CELLS_ACROSS * diameter(map) / SHAPE).min(width / 3.0 / SHAPE).min(deep / 2.0);
    let part = height / PARTS;
    if !(part > 0.0 && part.is_finite()) {
        return None;
    }
    let place = |p: &V3| ((p[0] / part).floor() as i64, (p[1] / part).floor() as i64);
    let is_seen = |p: &&V3| (0..2).all(|k| within[k][0] <= p[k] && p[k] <= within[k][1]);
    let mut parts: BTreeMap<(i64, i64), (f64, V3)> = BTreeMap::new();
    for p in scan.iter().filter(is_seen) {
        parts.entry(place(p)).or_default().0 += 1.0;
    }
    for (mean, covariance) in map.means.iter().zip(map.covariances) {
        if let Some((points, walls)) = parts.get_mut(&place(mean))
            && let Some(facing) = Facing::new(covariance)
        {
            let [x, y, _] = facing.normal;
            let weight = facing.upright() * (*points / FULL).min(1.0);
            [x * x, x * y, y * y].into_iter().zip(walls).for_each(|(v, sum)| *sum += weight * v);
        }
    }
    // Of walls that face many ways as corners of pictures are found: by the smaller eigenvalue.
    let (across, down) = ((PARTS * SHAPE) as i64 / 2 - 1, PARTS as i64 / 2 - 1);
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
    let half = [0.5 * height * SHAPE, 0.5 * height];
    // Not over the overview's edge.
    Some([0, 1].map(|k| {
        let middle = ([i, j][k] as f64 + 0.5) * part;
        let middle = middle.max(within[k][0] + half[k]).min(within[k][1] - half[k]);
        [middle - half[k], middle + half[k]]
    }))
}

/// The diameter that half of the cells reach: a little more than the edge of the lattice.
fn diameter(map: NdtEllipsoids) -> f64 {
    let of = |covariance: &[f64; 6]| [0, 3, 5].map(|k| covariance[k]).into_iter().fold(0.0, f64::max);
    let mut longest: Vec<f64> = map.covariances.iter().map(of).filter(|v| v.is_finite()).collect();
    let middle = longest.len() / 2;
    let variance = if longest.is_empty() { 0.25 } else { *longest.select_nth_unstable_by(middle, f64::total_cmp).1 };
    2.0 * SIGMAS * variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corner_is_better_than_a_wall() {
        let along = [0.33, 0.0, 0.0, 0.0033, 0.0, 0.33];
        let across = [0.0033, 0.0, 0.0, 0.33, 0.0, 0.33];
        // A wall along x from 0 to 80, and one along y that starts at its end.
        let mut means: Vec<[f64; 3]> = (0..40).map(|i| [2.0 * f64::from(i) + 1.0, 10.0, 1.0]).collect();
        let mut covariances = vec![along; 40];
        means.extend((0..6).map(|i| [81.0, 10.0 + 2.0 * f64::from(i), 1.0]));
        covariances.extend([across; 6]);
        let map = NdtEllipsoids { means: &means, covariances: &covariances };
        let scan: Vec<[f64; 3]> = means.iter().flat_map(|m| [[m[0], m[1], 1.0]; 20]).collect();
        let within = [[-50.0, 130.0], [-35.0, 55.0]];
        let [x, y] = choose(map, &scan, within).unwrap();
        assert!(x[0] < 81.0 && 81.0 < x[1] && y[0] < 10.0 && 10.0 < y[1], "{x:?} {y:?}");
        assert!((x[1] - x[0] - 30.0).abs() < 1.5, "{x:?}");
        assert!(choose(map, &[], within).is_none());
    }
}
