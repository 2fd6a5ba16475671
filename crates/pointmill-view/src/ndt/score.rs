//! A scan over a map's cells, coloured by how well it fits.

use super::colour::{Facing, OTHER, WALL};
use super::{NdtEllipsoids, across};
use crate::framing::fitted;
use crate::layout::{Panel, STILL, Sheet, areas};
use crate::scene::{Layer, Paint, Scene};

type V3 = [f64; 3];

/// The part of the points that may be outside of the picture on each side.
const STRAYS: f64 = 0.02;

/// A scan at a pose over the cells of a map, its points coloured by their likelihood.
///
/// **Shapes.** `points` `[N]` in the frame of `map`; `likelihoods` `[N]`. **Units and frames.**
/// Metres, z up. A picture is seen obliquely from above, around the scan, with its longest extent
/// from left to right. **Colours.** Points from blue to yellow, cells grey, upright ones brighter.
/// **Order and determinism, limits.** As [`Scene`].
///
/// ```
/// use pointmill_view::{NdtEllipsoids, ndt_score_scene};
/// let (means, covariances) = ([[10.0, 5.0, 1.0]], [[0.33, 0.0, 0.0, 0.0033, 0.0, 0.33]]);
/// let map = NdtEllipsoids { means: &means, covariances: &covariances };
/// let scene = ndt_score_scene("a scan", &[[9.5, 5.0, 1.0], [10.5, 5.6, 0.5]], &[3.9, 0.4], map);
/// assert_eq!(scene.picture().width(), 1600);
/// ```
pub fn ndt_score_scene(title: &str, points: &[V3], likelihoods: &[f32], map: NdtEllipsoids) -> Scene {
    let mut scene = Scene { values: "likelihood of a point".into(), ..Scene::new(title, Paint::Intensity) };
    scene.push(Layer::ellipsoids_by("cells", map, Facing::brightness));
    scene.push(Layer::points("scan", points).values(likelihoods));
    let mut places = scene.places(0, &["scan"]);
    if places.is_empty() {
        places = scene.places(0, &["cells"]);
    }
    let camera = fitted(&places, across(if points.is_empty() { map.means } else { points }), STRAYS);
    let panel = Panel { point: 5, ..Panel::new(areas(STILL, &[(1, 1)])[0], camera, &[]) };
    let keys = vec![(WALL, "cells of 2 sigma: upright"), (OTHER, "others")];
    scene.still = Sheet { size: STILL, panels: vec![panel], keys, ..Sheet::default() };
    scene
}
