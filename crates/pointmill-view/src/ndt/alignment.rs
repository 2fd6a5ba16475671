//! A scan over a map's cells, before and after it was aligned.

use super::colour::{Facing, OTHER, WALL};
use super::{NdtEllipsoids, closeup};
use crate::framing::{ABOVE, fitted};
use crate::layout::{Panel, STILL, Sheet, areas};
use crate::quantiles::quantiles;
use crate::scene::{Layer, Paint, Scene};

type V3 = [f64; 3];

/// Two colours that all readers tell apart.
const BEFORE: [u8; 3] = [255, 150, 50];
const AFTER: [u8; 3] = [90, 190, 255];
const CHOSEN: [u8; 3] = [255, 226, 160];
/// How long each side is shown.
const FRAME_MS: u32 = 800;
/// The part of a scan's points that may lie outside of the overview on each side.
const FAR: f64 = 0.03;

/// How well a scan fits at a pose.
///
/// ```
/// use pointmill_view::NdtFitNote;
/// let note = NdtFitNote { nvtl: 2.31, transform_probability: 4.1, error: Some([0.8, 0.035]) };
/// assert!(note.error.is_some_and(|[metres, _]| metres > 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdtFitNote {
    /// Nearest voxel transformation likelihood.
    pub nvtl: f64,
    /// The score by the number of points.
    pub transform_probability: f64,
    /// How far the pose is from the true one, in metres and radians, if that is known.
    pub error: Option<[f64; 2]>,
}

impl NdtFitNote {
    fn text(&self, name: &str) -> String {
        let pose = match self.error {
            Some([metres, radians]) => format!("off by {metres:.3} m, {:.2} deg", radians.to_degrees()),
            None => "true pose not known".into(),
        };
        format!("{name}: NVTL {:.3}, probability {:.3}, {pose}", self.nvtl, self.transform_probability)
    }
}

/// A scan over the cells of a map, a frame before and a frame after it was aligned.
///
/// **Shapes.** `before` and `after` `[N]` are the scan's points in the frame of `map`, at the first
/// guess and at the pose that was found; `notes` go with them. **Units and frames.** Metres, z up.
/// Pictures are seen from above, x to the right: an overview of the aligned scan, and a close-up of
/// where it meets walls that face many ways, so that a wrong pose shows whichever way it is wrong.
/// **Colours.** Before orange, after blue; upright cells brighter than others. **Order and
/// determinism, limits.** As [`Scene`]. A scan without points is shown over the middle of the map.
///
/// ```
/// use pointmill_view::{NdtEllipsoids, NdtFitNote, ndt_alignment_scene};
/// let (means, covariances) = ([[10.0, 5.0, 1.0]], [[0.33, 0.0, 0.0, 0.0033, 0.0, 0.33]]);
/// let map = NdtEllipsoids { means: &means, covariances: &covariances };
/// let (before, after) = ([[9.5, 5.6, 1.0], [10.5, 5.6, 0.5]], [[9.5, 5.0, 1.0], [10.5, 5.0, 0.5]]);
/// let note = |nvtl| NdtFitNote { nvtl, transform_probability: nvtl, error: None };
/// let scene = ndt_alignment_scene("a scan", map, &before, &after, [note(0.4), note(3.5)]);
/// assert_eq!((scene.picture().width(), scene.animation().len()), (1600, 2));
/// ```
pub fn ndt_alignment_scene(
    title: &str,
    map: NdtEllipsoids,
    before: &[V3],
    after: &[V3],
    notes: [NdtFitNote; 2],
) -> Scene {
    let mut scene = Scene::new(title, Paint::Own);
    scene.frame_ms(FRAME_MS);
    scene.push(Layer::ellipsoids_by("cells", map, Facing::brightness));
    let sides = [("before", before, BEFORE), ("after", after, AFTER)];
    for ((name, points, colour), note) in sides.into_iter().zip(notes) {
        let frame = scene.frame(&note.text(name));
        scene.push(Layer::points(name, points).colour(colour).at(frame));
    }
    // Around the aligned scan: the other may be anywhere.
    let scan = scene.places(1, &["after"]);
    let cells = scene.places(0, &["cells"]);
    let around = if scan.is_empty() { &cells } else { &scan };
    let bounds = [0, 1].map(|k| {
        let ends = quantiles(around.iter().map(|p| p[k]).collect(), FAR);
        ends.map_or([-50.0, 50.0], |[_, low, high, _]| [low - 0.5, high + 0.5])
    });
    // Grown along x or y to the shape of a panel.
    let [width, deep] = bounds.map(|[low, high]| high - low);
    let size = [width.max(deep * closeup::SHAPE), deep.max(width / closeup::SHAPE)];
    let bounds = [0, 1].map(|k| {
        let middle = 0.5 * (bounds[k][0] + bounds[k][1]);
        [middle - 0.5 * size[k], middle + 0.5 * size[k]]
    });
    let corners = |[x, y]: [[f64; 2]; 2]| [[x[0], y[0], 0.0], [x[1], y[0], 0.0], [x[1], y[1], 0.0], [x[0], y[1], 0.0]];
    let overview = fitted(&corners(bounds), ABOVE, 0.0);
    let closeup = closeup::choose(map, after, bounds);
    let mut cameras = vec![(overview, 3)];
    if let Some(bounds) = closeup {
        let corners = corners(bounds);
        scene.push(Layer::line("close-up", &[&corners[..], &corners[..1]].concat()).colour(CHOSEN).width(1.5).hidden());
        cameras.push((fitted(&corners, ABOVE, 0.0), 6));
    }
    let panel = |(k, area): (usize, [u32; 4]), frame, columns: usize| {
        let (camera, point) = cameras[k / columns];
        let names: &[&str] =
            if k < columns { &["cells", "before", "after", "close-up"] } else { &["cells", "before", "after"] };
        Panel { frame, point, ..Panel::new(area, camera, names) }
    };
    let keys = vec![(WALL, "cells of 2 sigma: upright"), (OTHER, "others")];
    let rows: &[(u32, u32)] = if closeup.is_some() { &[(47, 2), (53, 2)] } else { &[(1, 2)] };
    let still = areas(STILL, rows).into_iter().enumerate().map(|at| panel(at, Some(at.0 % 2), 2));
    scene.still = Sheet { size: STILL, panels: still.collect(), keys: keys.clone(), ..Sheet::default() };
    let moving = areas(STILL, &[(1, cameras.len() as u32)]).into_iter().enumerate().map(|at| panel(at, None, 1));
    scene.moving = Sheet { size: STILL, panels: moving.collect(), keys, ..Sheet::default() };
    scene
}
