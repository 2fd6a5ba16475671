//! A map's cells over its points.

use super::NdtEllipsoids;
use crate::framing::{ABOVE, fitted, spans};
use crate::layout::{Panel, STILL, Sheet, areas};
use crate::scene::{Layer, Paint, Scene};
use pointmill_core::eigen::eigen;

type V3 = [f64; 3];

/// How steeply the camera looks down, and how far it is turned from across the map: straight lines
/// of houses would hide behind each other.
const DOWN_DEG: f64 = 42.0;
const TURN_DEG: f64 = 26.0;
const POINT: [u8; 3] = [104, 112, 126];
/// The part of the cells that may be outside of the picture on each side.
const STRAYS: f64 = 0.02;

/// A map: its points in grey, and over them an ellipsoid of two standard deviations for each cell.
///
/// **Shapes.** `points` `[N]` in the frame of `map`; there may be none. **Units and frames.**
/// Metres, z up. A picture is seen obliquely from above, with the longest extent of the cells from
/// left to right. **Colours.** Level cells are blue, upright ones warm by the direction that they
/// face, cells that are no plane green; the legend has a half ball of all directions, x to its
/// right and y up. **Order and determinism, limits.** As [`Scene`]. In a picture far cells are
/// drawn first; ellipses shorter than 4 pixels are dots, and cells far away from nearly all others
/// may be outside.
///
/// ```
/// use pointmill_view::{NdtEllipsoids, ndt_map_scene};
/// let points = [[80_000.2, 42_000.1, 0.1], [80_001.9, 42_001.8, 0.1]];
/// let (means, covariances) = ([[80_001.0, 42_001.0, 0.1]], [[0.33, 0.0, 0.0, 0.33, 0.0, 0.0033]]);
/// let map = NdtEllipsoids { means: &means, covariances: &covariances };
/// let picture = ndt_map_scene("1 cell of 2 m", &points, map).picture();
/// assert_eq!((picture.width(), picture.height()), (1600, 900));
/// ```
pub fn ndt_map_scene(title: &str, points: &[V3], map: NdtEllipsoids) -> Scene {
    let mut scene = Scene::new(title, Paint::Own);
    scene.push(Layer::points("points", points).colour(POINT));
    scene.push(Layer::ellipsoids("cells", map));
    let mut places = scene.places(0, &["cells"]);
    if places.is_empty() {
        places = scene.places(0, &["points"]);
    }
    let camera = fitted(&places, across(if map.means.is_empty() { points } else { map.means }), STRAYS);
    let panel = Panel { point: 3, ..Panel::new(areas(STILL, &[(1, 1)])[0], camera, &[]) };
    scene.still = Sheet { size: STILL, panels: vec![panel], has_facings: true, ..Sheet::default() };
    scene
}

/// Right, up and ahead of a view from above across the longest extent of the places.
pub(crate) fn across(places: &[V3]) -> [V3; 3] {
    let (x, y) = longest(places);
    let (s, c) = (libm::sin(TURN_DEG.to_radians()), libm::cos(TURN_DEG.to_radians()));
    let right = [x * c - y * s, x * s + y * c, 0.0];
    let (s, c) = (libm::sin(DOWN_DEG.to_radians()), libm::cos(DOWN_DEG.to_radians()));
    [right, [-right[1] * s, right[0] * s, c], [-right[1] * c, right[0] * c, -s]]
}

/// The level direction along which the places vary most; x is not negative.
fn longest(places: &[V3]) -> (f64, f64) {
    let bounds = spans(places, ABOVE, STRAYS);
    // Strays would turn it.
    let is_inside = |p: &&V3| (0..2).all(|k| bounds[k][0] <= p[k] && p[k] <= bounds[k][1]);
    let inside: Vec<V3> = places.iter().filter(is_inside).copied().collect();
    let n = inside.len().max(1) as f64;
    let middle = [0, 1].map(|k| inside.iter().map(|p| p[k]).sum::<f64>() / n);
    let moment = |i: usize, j: usize| inside.iter().map(|p| (p[i] - middle[i]) * (p[j] - middle[j])).sum::<f64>() / n;
    let [x, y, _] = eigen([moment(0, 0), moment(0, 1), 0.0, moment(1, 1), 0.0, -1.0]).vectors[2];
    let length = (x * x + y * y).sqrt();
    if !(length > 0.5 && length.is_finite()) {
        return (1.0, 0.0);
    }
    let sign = if x < 0.0 || (x == 0.0 && y < 0.0) { -1.0 } else { 1.0 };
    (sign * x / length, sign * y / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Level cells 2 m apart, `n` along a direction and `n / 4` across.
    fn field(n: u32, [x, y]: [f64; 2]) -> (Vec<V3>, Scene) {
        let at = |u: u32, v: u32| (2.0 * f64::from(u), 2.0 * f64::from(v));
        let all = (0..n).flat_map(|u| (0..n / 4).map(move |v| at(u, v)));
        let mut means: Vec<V3> = all.map(|(u, v)| [u * x - v * y, u * y + v * x, 0.0]).collect();
        if n > 100 {
            means[5] = [-1e5, 3e4, 0.0];
        }
        let covariances = vec![[0.33, 0.0, 0.0, 0.33, 0.0, 0.0033]; means.len()];
        let scene = ndt_map_scene("", &[], NdtEllipsoids { means: &means, covariances: &covariances });
        (means, scene)
    }

    #[test]
    fn all_cells_are_in_the_picture_and_strays_do_not_count() {
        for n in [4, 16, 60, 448] {
            let (means, scene) = field(n, [0.6, 0.8]);
            let places = scene.places(0, &[]);
            let (x, y) = longest(&means);
            assert!((x - 0.6).abs() < 0.01 && (y - 0.8).abs() < 0.01, "{x} {y}");
            let Panel { camera, area: [_, _, width, height], .. } = &scene.still.panels[0];
            let view = camera.view(*width, *height);
            let at: Vec<_> = places.iter().filter_map(|p| view.project(*p)).collect();
            let is_inside =
                |x: f64, y: f64| (0.0..=f64::from(*width)).contains(&x) && (0.0..=f64::from(*height)).contains(&y);
            let inside = at.iter().filter(|p| is_inside(p.x, p.y)).count();
            assert!(inside >= places.len() - if n > 100 { 6 } else { 0 }, "{n}: {inside} of {}", places.len());
            let [low, high] =
                [f64::min, f64::max].map(|of| at.iter().map(|p| p.x.clamp(0.0, f64::from(*width))).fold(800.0, of));
            assert!(high - low > 0.6 * f64::from(*width), "{n}: {low} {high}");
        }
    }
}
