//! A cloud that moves onto another, and what that took.

mod iteration;
mod plot;

pub use iteration::IcpIteration;
pub use plot::{IcpSeries, icp_plot};

use crate::Camera;
use crate::framing::{ABOVE, at_an_angle, fitted_to_each, spans, sweep_reach};
use crate::layout::{Panel, Sheet, areas};
use crate::ndt::across;
use crate::quantiles::quantiles;
use crate::scene::{Layer, Paint, Scene};
use pointmill_core::Pose;

type V3 = [f64; 3];

const TARGET: [u8; 3] = [240, 243, 247];
const SOURCE: [u8; 3] = [255, 150, 50];
/// The picture in pixels.
const SIZE: [u32; 2] = [1600, 1000];
/// An animation in pixels, and how long each of its frames is shown.
const MOVING: [u32; 2] = [640, 560];
const FRAME_MS: u32 = 200;
/// The part of the distances that have the last colour.
const FARTHEST: f64 = 0.1;
/// The part of the points that may be outside of the picture on each side.
const STRAYS: f64 = 0.005;
const RAYS: f64 = 0.01;
/// A start that makes the end so much smaller has a view of its own.
const APART: f64 = 2.5;
/// How much nearer to the camera the coloured source is than the target, by the extent of that.
const LIFT: f64 = 0.02;
/// Pixels of a point, in halves.
const POINT: u32 = 3;

/// A cloud on its way onto another: the target in white, and the source in orange at each pose, a
/// frame each, and in the last one also coloured by its distances to the target.
///
/// **Shapes.** `source` and `target` `[N]`, in the frames that poses are between; `iterations` in
/// order, the guess first; `distances` `[N]` of the source at the last pose, or none, which leaves
/// its colour. The farthest tenth, and what is not finite, have the colour of the end. **Units and
/// frames.** Metres, the frame of the target. A picture has the first and the last pose side by
/// side, or one above the other, with nearly all of both clouds, at one scale unless the first
/// pose is far away. The view is oblique, along the axis on which the target extends least, or on
/// sweeps from above across their longest extent, and the same in all frames; near points are
/// brighter. **Order and determinism, limits.** As [`Scene`].
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
        (scene.paint, scene.values) = (Paint::Intensity, "m from the target".into());
        let mut unit = 1.0;
        if farthest < 0.5 {
            (unit, scene.values) = (1e3, "mm from the target".into());
        }
        let values: Vec<f32> = distances.iter().map(|d| (unit * d.min(farthest)) as f32).collect();
        let aligned = Layer::points("aligned source", source).values(&values).moving(&poses[last..]).at(last);
        let extent = spans(target, ABOVE, STRAYS).into_iter().map(|[low, high]| high - low).fold(0.0, f64::max);
        // Before the others: of points at one place the first is seen.
        scene.push(aligned.lifted(LIFT * extent));
    }
    scene.push(Layer::points("target", target).colour(TARGET));
    scene.push(Layer::points("source", source).colour(SOURCE).moving(poses));
    scene.start = last;
    let [onto, first, end] =
        [(0, "target"), (0, "source"), (last, "source")].map(|(at, name)| scene.places(at, &[name]));
    let seen = |groups: &[&[V3]]| match sweep_reach(&onto) {
        Some(_) => fitted_to_each(groups, across(groups[0]), RAYS),
        None => at_an_angle(groups, STRAYS),
    };
    let camera = seen(&[&onto, &first, &end]);
    let ends = [seen(&[&onto, &first]), seen(&[&onto, &end])];
    let panel = |area, frame, camera| Panel { frame, point: POINT, ..Panel::new(area, camera, &[]) };
    // Side by side, or one above the other, whichever is larger.
    let layouts = [&[(1, 2)][..], &[(1, 1), (1, 1)]].map(|rows| areas(SIZE, rows));
    let scale = |camera: &Camera, area: [u32; 4]| camera.view(area[2], area[3]).pixels_per_metre(1.0);
    let is_stacked = scale(&camera, layouts[1][0]) > scale(&camera, layouts[0][0]);
    let areas_of = &layouts[usize::from(is_stacked)];
    let is_apart = scale(&ends[1], areas_of[1]) > APART * scale(&camera, areas_of[1]);
    let labelled = |(area, (frame, own)): (&[u32; 4], (usize, Camera))| Panel {
        label: scene.frames.get(frame).cloned().unwrap_or_default(),
        ..panel(*area, Some(frame), if is_apart { own } else { camera })
    };
    let panels = std::iter::zip(areas_of, std::iter::zip([0, last], ends)).map(labelled).collect();
    scene.still = Sheet { size: SIZE, titles: vec![scene.title.clone()], panels, ..Sheet::default() };
    let panels = vec![panel(areas(MOVING, &[(1, 1)])[0], None, camera)];
    scene.moving = Sheet { size: MOVING, panels, ..Sheet::default() };
    scene
}
