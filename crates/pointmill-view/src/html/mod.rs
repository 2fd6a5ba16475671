//! Scenes as one HTML file, to be turned and stepped through in a browser.

mod layer;
mod pack;
mod scenes;

pub use layer::Layer;
pub use scenes::{DrivePage, VoxelPage, icp_page, ndt_alignment_page, ndt_map_page, roi_page, trajectory_page};

use crate::quantiles::quantiles;
use crate::{BACKGROUND, turbo};
use miniz_oxide::deflate::compress_to_vec_zlib;
use serde::Serialize;

/// What surrounds the scene, and the script that draws it.
const PAGE: &str = include_str!("page.html");
const VIEWER: &str = include_str!("viewer.js");
/// The share of the points that may lie outside of the first view, and of heights outside of the colours, on each side.
const STRAYS: f64 = 0.02;
/// Where the colours begin: those below are as dark as the background.
const DARKEST: f32 = 0.08;
/// How well zlib packs: beyond this a tenth of the size takes three times as long.
const LEVEL: u8 = 6;

/// What colours stand for when the page opens. The reader can choose another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Paint {
    /// The colours of the layers.
    Own,
    /// Height, from blue to red.
    Height,
    /// The values of the points.
    Intensity,
    /// The frame of a layer, and the place along a line.
    Time,
}

/// A scene as one HTML file, which draws itself with WebGL 2 and needs neither a server nor a network.
///
/// **Shapes.** Any number of [layers](Layer), and of frames among which the reader steps with a slider, with the arrow keys, or by playing them. **Units and frames.** Metres, z up.
/// The left button turns the view, the right one or shift moves it, the wheel zooms.
/// **Order and determinism.** Layers are listed in the order of their first use; the same input gives the same bytes.
/// **Limits.** Chrome 80, Firefox 113, Safari 16.4 or later. A point takes 4 to 6 bytes of the file. Titles, names and labels may hold any text, which is shown as it is.
///
/// ```
/// use pointmill_view::{Layer, Page, Paint};
/// let mut page = Page::new("a </script> in a title", Paint::Height);
/// page.push(Layer::points("points", &[[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]]));
/// let html = String::from_utf8(page.encode())?;
/// assert!(html.contains("a &lt;/script&gt; in a title"));
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    about: [f64; 3],
    paint: Paint,
    frame_ms: u32,
    frames: Vec<String>,
    layers: Vec<Layer>,
}

/// The scene as the script takes it.
#[derive(Debug, Serialize)]
struct Scene<'a> {
    frames: &'a [String],
    frame_ms: u32,
    paint: Paint,
    background: [u8; 3],
    /// The colours from low to high, red, green and blue as two hexadecimal digits each.
    palette: String,
    /// The middle of the scene in global coordinates, which all else is about.
    origin: [f64; 3],
    radius: f64,
    heights: [f64; 2],
    intensities: [f64; 2],
    layers: Vec<layer::Record<'a>>,
}

impl Page {
    /// A page without layers.
    pub fn new(title: &str, paint: Paint) -> Self {
        Self { title: title.to_owned(), about: [0.0; 3], paint, frame_ms: 100, frames: Vec::new(), layers: Vec::new() }
    }

    /// Shows each frame for so many milliseconds when it plays; 100 by default.
    pub fn frame_ms(&mut self, ms: u32) {
        self.frame_ms = ms.max(1);
    }

    /// The coordinates of all layers are relative to this origin, in metres; zero by default. The page shows global heights.
    pub const fn about(&mut self, origin: [f64; 3]) {
        self.about = origin;
    }

    /// Adds a frame with a label beside the slider. Returns its number, from 0.
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

    /// The file.
    pub fn encode(&self) -> Vec<u8> {
        let (origin, radius, heights) = self.extent();
        let ranges = || self.layers.iter().filter_map(Layer::range);
        let low = ranges().map(|range| range[0]).fold(f64::NAN, f64::min);
        let high = ranges().map(|range| range[1]).fold(f64::NAN, f64::max);
        let intensities = if low < high { [low, high] } else { [0.0, 1.0] };
        let palette = (0..64)
            .flat_map(|i| turbo(DARKEST + (1.0 - DARKEST) * i as f32 / 63.0))
            .map(|c| format!("{c:02x}"))
            .collect();
        let scene = Scene {
            frames: &self.frames,
            frame_ms: self.frame_ms,
            paint: self.paint,
            background: BACKGROUND,
            palette,
            origin: [0, 1, 2].map(|axis| origin[axis] + self.about[axis]),
            radius,
            heights,
            intensities,
            layers: self.layers.iter().map(Layer::record).collect(),
        };
        let json = serde_json::to_string(&scene).expect("numbers and text are JSON");
        let mut arrays = Vec::new();
        self.layers.iter().for_each(|layer| layer.arrays(origin, &mut arrays));
        let arrays = pack::base64(&compress_to_vec_zlib(&arrays, LEVEL));
        let [r, g, b] = BACKGROUND;
        let fields = [
            ("{title}", escaped(&self.title)),
            ("{background}", format!("#{r:02x}{g:02x}{b:02x}")),
            // No text of the scene ends its element or begins a comment.
            ("{scene}", json.replace('<', "\\u003c")),
            ("{arrays}", arrays),
            ("{viewer}", VIEWER.to_owned()),
        ];
        filled(PAGE, &fields).into_bytes()
    }

    /// The middle of the scene, its radius, and the heights of the first and the last colour about the middle.
    fn extent(&self) -> ([f64; 3], f64, [f64; 2]) {
        let places: Vec<[f64; 3]> = self.layers.iter().flat_map(Layer::sample).collect();
        let axis = |k: usize| quantiles(places.iter().map(|p| p[k]).collect(), STRAYS).unwrap_or([0.0; 4]);
        let ends = [0, 1, 2].map(axis);
        let origin = ends.map(|q| 0.5 * q[1] + 0.5 * q[2]);
        let half = ends.map(|q| 0.5 * q[2] - 0.5 * q[1]);
        let radius = half.iter().map(|x| x * x).sum::<f64>().sqrt();
        // A scene of no height has a scale of its own, and so has one of no extent.
        let up = half[2].max(1e-6 * radius).max(1e-6);
        (origin, if radius > 0.0 { radius } else { 1.0 }, [-up, up])
    }
}

/// Text as HTML shows it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(c),
        }
    }
    out
}

/// The template with its fields, in one pass, so that no field is looked for in another.
fn filled(template: &str, fields: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match fields.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                out.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests;
