//! A cloud that moves onto another, and what that took.

mod iteration;
mod plot;
#[cfg(feature = "rerun")]
mod recording;

pub use iteration::IcpIteration;
pub use plot::{IcpSeries, icp_plot};
#[cfg(feature = "rerun")]
pub use recording::write_icp_recording;

use crate::framing::at_an_angle;
use crate::scene::{Layer, Paint, Scene};
use crate::sheet::{Panel, STILL, Sheet, areas};
use pointmill_core::Pose;

type V3 = [f64; 3];

const TARGET: [u8; 3] = [240, 243, 247];
const SOURCE: [u8; 3] = [255, 74, 66];
/// An animation in pixels, and how long each of its frames is shown.
const MOVING: [u32; 2] = [640, 560];
const FRAME_MS: u32 = 200;
/// The part of the points that may be outside of the picture on each side.
const STRAYS: f64 = 0.005;
/// Pixels of a point, in halves.
const POINT: u32 = 3;

/// A cloud on its way onto another: the target in white, and the source in red at each pose, a
/// frame each.
///
/// **Shapes.** `source` and `target` `[N]`, in the frames that poses are between; `iterations` in
/// order, the guess first. **Units and frames.** Metres, the frame of the target. A picture has the
/// first and the last pose side by side. The view is oblique, along the axis on which the target
/// extends least, and the same in all frames; near points are brighter. **Order and determinism,
/// limits.** As [`Scene`].
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_view::{IcpIteration, icp_scene};
/// let (source, target) = ([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.5, 0.0], [1.0, 0.5, 0.0]]);
/// let start = IcpIteration { target_from_source: Pose::IDENTITY, stage: 0, pairs: 2, rmse: 0.5 };
/// let mut end = IcpIteration { rmse: 0.0, ..start };
/// end.target_from_source = Pose::from_translation([0.0, 0.5, 0.0]);
/// assert_eq!(icp_scene("icp", &source, &target, &[start, end]).animation().len(), 2);
/// ```
pub fn icp_scene(title: &str, source: &[V3], target: &[V3], iterations: &[IcpIteration]) -> Scene {
    let mut scene = Scene::new(title, Paint::Own);
    scene.frame_ms(FRAME_MS);
    let stages = iterations.last().map_or(0, |last| last.stage);
    for (i, iteration) in iterations.iter().enumerate() {
        scene.frame(&format!("iteration {i}{}", iteration.label(stages)));
    }
    let poses: Vec<Pose> = iterations.iter().map(|iteration| iteration.target_from_source).collect();
    scene.push(Layer::points("target", target).colour(TARGET));
    scene.push(Layer::points("source", source).colour(SOURCE).moving(&poses));
    let last = iterations.len().saturating_sub(1);
    let camera = at_an_angle(&[scene.places(0, &[]), scene.places(last, &["source"])].concat(), STRAYS);
    let panel = |area, frame| Panel { frame, point: POINT, ..Panel::new(area, camera, &[]) };
    let [left, right] = [0, 1].map(|k| areas(STILL, &[(1, 2)])[k]);
    let panels = vec![panel(left, Some(0)), panel(right, Some(last))];
    scene.still = Sheet { size: STILL, panels, ..Sheet::default() };
    let panels = vec![panel(areas(MOVING, &[(1, 1)])[0], None)];
    scene.moving = Sheet { size: MOVING, panels, ..Sheet::default() };
    scene
}
