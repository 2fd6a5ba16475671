//! A scene of named layers: made once, shown as a picture, an animation or a page.

mod layer;
mod pack;
mod rows;

pub use layer::Layer;
pub(crate) use layer::{GREY, Shape};
pub(crate) use rows::kept;

use crate::chart::Chart;
use crate::layout::Sheet;
use crate::quantiles::quantiles;
use serde::Serialize;
use std::borrow::Cow;

/// The share of the points that may lie outside of the first view, and of heights outside of the
/// colours, on each side.
const STRAYS: f64 = 0.02;

/// What colours stand for. The reader of a page can choose another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Paint {
    /// The colours of the layers.
    Own,
    /// Height, from blue to red. In pictures things with a higher value are brighter.
    Height,
    /// The values of the points.
    Intensity,
    /// The frame of a layer, and the place along a line.
    Time,
}

/// A scene of [layers](Layer), which draws itself as a [picture](Scene::picture), as an
/// [animation](Scene::animation) or as a [page](Scene::page) for a browser.
///
/// **Shapes.** Any number of layers, and of frames. **Units and frames.** Metres, z up. **Order and
/// determinism.** Layers are listed in the order of their first use, and drawn in the order in
/// which they were added; the same input gives the same bytes. **Limits.** In pictures points and
/// voxels hide what is behind them; lines, edges and ellipsoids are drawn over the layers before
/// them.
///
/// ```
/// use pointmill_view::{Layer, Paint, Scene};
/// let mut scene = Scene::new("a </script> in a title", Paint::Height);
/// scene.push(Layer::points("points", &[[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]]));
/// assert_eq!(scene.picture().width(), 1600);
/// let html = String::from_utf8(scene.page())?;
/// assert!(html.contains("a &lt;/script&gt; in a title"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scene {
    pub(crate) title: String,
    pub(crate) about: [f64; 3],
    pub(crate) paint: Paint,
    /// What the values of layers are.
    pub(crate) values: Cow<'static, str>,
    /// The units of lengths along x and y, and along z.
    pub(crate) units: [Cow<'static, str>; 2],
    /// The axis that is up in a page.
    pub(crate) up: usize,
    pub(crate) frame_ms: u32,
    /// The frame that a page shows first.
    pub(crate) start: usize,
    pub(crate) frames: Vec<String>,
    pub(crate) layers: Vec<Layer>,
    /// How a picture shows the scene, and each frame of an animation.
    pub(crate) still: Sheet,
    pub(crate) moving: Sheet,
    /// What a page plots beside the scene, over its frames.
    pub(crate) chart: Option<Chart>,
}

impl Scene {
    /// A scene without layers.
    pub fn new(title: &str, paint: Paint) -> Self {
        Self {
            title: title.to_owned(),
            about: [0.0; 3],
            paint,
            values: "intensity".into(),
            units: ["m".into(), "m".into()],
            up: 2,
            frame_ms: 100,
            start: 0,
            frames: Vec::new(),
            layers: Vec::new(),
            still: Sheet::default(),
            moving: Sheet::default(),
            chart: None,
        }
    }

    /// Shows each frame for so many milliseconds when it plays; 100 by default.
    pub fn frame_ms(&mut self, ms: u32) {
        self.frame_ms = ms.max(1);
    }

    /// The coordinates of all layers are relative to this origin, in metres; zero by default.
    /// Heights are shown as global ones.
    pub const fn about(&mut self, origin: [f64; 3]) {
        self.about = origin;
    }

    /// Adds a frame with a label. Returns its number, from 0.
    pub fn frame(&mut self, label: &str) -> usize {
        self.frames.push(label.to_owned());
        self.frames.len() - 1
    }

    /// Adds a layer.
    pub fn push(&mut self, layer: Layer) {
        self.layers.push(layer);
    }

    /// The number of frames.
    pub const fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Some of the places that layers of these names have at a frame; without names all that are
    /// shown.
    pub(crate) fn places(&self, frame: usize, names: &[&str]) -> Vec<[f64; 3]> {
        self.layers.iter().filter(|layer| layer.is_drawn(frame, names)).flat_map(|layer| layer.extent(frame)).collect()
    }

    /// The least and the largest value of all points.
    pub(crate) fn intensities(&self) -> [f64; 2] {
        let ranges = || self.layers.iter().filter_map(Layer::range);
        let low = ranges().map(|range| range[0]).fold(f64::NAN, f64::min);
        let high = ranges().map(|range| range[1]).fold(f64::NAN, f64::max);
        if low < high { [low, high] } else { [0.0, 1.0] }
    }

    /// The middle of the scene, its radius, and the heights of the first and the last colour about
    /// the middle.
    pub(crate) fn extent(&self) -> ([f64; 3], f64, [f64; 2]) {
        let places: Vec<[f64; 3]> = self.layers.iter().flat_map(Layer::sample).collect();
        let axis = |k: usize| quantiles(places.iter().map(|p| p[k]).collect(), STRAYS).unwrap_or([0.0; 4]);
        let ends = [0, 1, 2].map(axis);
        let origin = ends.map(|q| 0.5 * q[1] + 0.5 * q[2]);
        let half = ends.map(|q| 0.5 * q[2] - 0.5 * q[1]);
        let radius = half.iter().map(|x| x * x).sum::<f64>().sqrt();
        // A scene of no height has a scale of its own, and so has one of no extent.
        let up = half[self.up].max(1e-6 * radius).max(1e-6);
        (origin, if radius > 0.0 { radius } else { 1.0 }, [-up, up])
    }
}
