//! A cloud that moves onto another, and what that took.

mod iteration;
mod plot;

pub use iteration::IcpIteration;
pub use plot::{IcpSeries, icp_plot};

use crate::framing::{ABOVE, at_an_angle, fitted, spans, sweep_reach};
use crate::layout::{Panel, STILL, Sheet, areas};
use crate::ndt::across;
use crate::quantiles::quantiles;
use crate::scene::{Layer, Paint, Scene};
use pointmill_core::Pose;

type V3 = [f64; 3];

const TARGET: [u8; 3] = [240, 243, 247];
const SOURCE: [u8; 3] = [255, 150, 50];
/// An animation in pixels, and how long each of its frames is shown.
const MOVING: [u32; 2] = [640, 560];
const FRAME_MS: u32 = 200;
/// The part of the distances that have the last colour.
const FARTHEST: f64 = 0.1;
/// The part of the points that may be outside of the picture on each side.
const STRAYS: f64 = 0.005;
const RAYS: f64 = 0.03;
/// How much nearer to the camera the coloured source is than the target, by the extent of that.
const LIFT: f64 = 0.02;
/// Pixels of a point, in halves.
const POINT: u32 = 3;

/// A cloud on its way onto another: the target in white, and the source in orange at each pose, a
/// frame each, and in the last one also coloured by its distances to the target.
///
/// **Shapes.** `source` and `target` `[N]`, in the frames that poses are between; `iterations` in
/// order, the guess first; `distances` `[N]` of the source at the last pose, or none, which leaves
/// its colour. The farthest tenth, and what is not finite, have the colour of the end. **Units and frames.** Metres, the frame of the target. A picture has the
/// first and the last pose side by side, or one above the other. The view is oblique, along the axis
/// on which the target extends least, or on sweeps from above across their longest extent, and the
/// same in all frames; near points are brighter. **Order and determinism,
/// limits.** As [`Scene`].
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::{IcpIteration, icp_scene};
/// let (source, target) = ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.5, 0.0], [1.0, 0.5, 0.0]]);
/// let start = IcpIteration { target_from_source: Pose::IDENTITY, stage: 0, pairs: 2, rmse: 0.5 };
/// let mut end = IcpIteration { rmse: 0.0, ..start };
/// end.target_from_source = Pose::from_translation([0.0, 0.5, 0.0]);
/// let scene = icp_scene("icp", &source, &target, &[start, end], &[0.0, 0.0]);
/// assert_eq!(scene.animation().len(), 2);
/// ```
pub fn icp_scene(title: &str, source: &[V3], target: &[V3], iterations: &[IcpIteration], distances: &[f64]) -> Scene {
    let stages = iterations.last().map_or(0, |last| last.stage);
    let label = |(i, iteration): (usize, &IcpIteration)| format!("iteration {i}{}", iteration.label(stages));
    let labels: Vec<String> = iterations.iter().enumerate().map(label).collect();
    let poses: Vec<Pose> = iterations.iter().map(|iteration| iteration.target_from_source).collect();
    alignment(title, source, target, (&poses, &labels), distances)
}

/// A cloud before and after it was brought onto another without a guess; as [`icp_scene`] of two
/// poses. `end` is said of the second.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::register_scene;
/// let (source, target) = ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.5, 0.0], [1.0, 0.5, 0.0]]);
/// let pose = Pose::from_translation([0.0, 0.5, 0.0]);
/// let scene = register_scene("register", &source, &target, &pose, "found", &[0.0, 0.0]);
/// assert_eq!(scene.animation().len(), 2);
/// ```
pub fn register_scene(title: &str, source: &[V3], target: &[V3], pose: &Pose, end: &str, distances: &[f64]) -> Scene {
    let labels = ["before".to_owned(), format!("after: {end}")];
    alignment(title, source, target, (&[Pose::IDENTITY, *pose], &labels), distances)
}

fn alignment(
    title: &str,
    source: &[V3],
    target: &[V3],
    (poses, labels): (&[Pose], &[String]),
    distances: &[f64],
) -> Scene {
    let mut scene = Scene::new(title, Paint::Own);
    scene.frame_ms(FRAME_MS);
    for label in labels {
        scene.frame(label);
    }
    let last = poses.len().saturating_sub(1);
    if let Some([_, _, farthest, _]) = quantiles(distances.to_vec(), FARTHEST) {
        (scene.paint, scene.values) = (Paint::Intensity, "m to the target".into());
        let mut unit = 1.0;
        if farthest < 0.5 {
            (unit, scene.values) = (1e3, "mm to the target".into());
        }
        let values: Vec<f32> = distances.iter().map(|d| (unit * d.min(farthest)) as f32).collect();
        let aligned = Layer::points("aligned source", source).values(&values).moving(&poses[last..]).at(last);
        let extent = spans(target, ABOVE, STRAYS).into_iter().map(|[low, high]| high - low).fold(0.0, f64::max);
        // Before the others: of points at one place the first is seen.
        scene.push(aligned.lifted(LIFT * extent));
    }
    scene.push(Layer::points("target", target).colour(TARGET));
    scene.push(Layer::points("source", source).colour(SOURCE).moving(poses));
    let places = [scene.places(0, &[]), scene.places(last, &["source"])].concat();
    // Sweeps reach far beyond what there is to see.
    let camera = match sweep_reach(&scene.places(0, &["target"])) {
        Some(_) => fitted(&places, across(&places), RAYS),
        None => at_an_angle(&places, STRAYS),
    };
    let panel = |area, frame| Panel { frame, point: POINT, ..Panel::new(area, camera, &[]) };
    // Side by side, or one above the other, whichever is larger.
    let layouts = [&[(1, 2)][..], &[(1, 1), (1, 1)]].map(|rows| areas(STILL, rows));
    let scale = |areas: &[[u32; 4]]| camera.view(areas[0][2], areas[0][3]).pixels_per_metre(1.0);
    let is_stacked = scale(&layouts[1]) > scale(&layouts[0]);
    let mut panels: Vec<_> = std::iter::zip(&layouts[usize::from(is_stacked)], [0, last])
        .map(|(area, frame)| panel(*area, Some(frame)))
        .collect();
    let mut titles = Vec::new();
    if is_stacked {
        titles.push(scene.title.clone());
        for (panel, frame) in panels.iter_mut().zip([0, last]) {
            panel.label = scene.frames.get(frame).cloned().unwrap_or_default();
        }
    }
    scene.still = Sheet { size: STILL, titles, panels, ..Sheet::default() };
    let panels = vec![panel(areas(MOVING, &[(1, 1)])[0], None)];
    scene.moving = Sheet { size: MOVING, panels, ..Sheet::default() };
    scene
}
