//! Layers as pixels, drawn by the CPU.

mod canvas;
mod dome;
mod ellipse;

use crate::boxes::Solid;
use crate::camera::{Projected, View, dot};
use crate::colour::{faded, scaled, turbo, value_tone};
use crate::line::{Pen, line};
use crate::scene::{Layer, Paint, Scene, Shape};
use crate::{BACKGROUND, Camera, Image};
pub(crate) use canvas::Canvas;
use ellipse::Ellipse;

type V3 = [f64; 3];

/// Images are drawn at so many times their size and made smaller: smooth edges.
const FINE: u32 = 2;
/// Solids of fewer pixels are dots: an outline or faces of them would be no more.
const SMALLEST: f64 = 4.0;
/// Outlines of more ellipses than this are thinner: they would hide what they are around.
const MANY: usize = 20_000;
/// Where the light comes from, and the share of the light that is everywhere.
const LIGHT: V3 = [0.36, 0.48, 0.8];
const AMBIENT: f64 = 0.3;

/// The colour of a share from 0 to 1: neither as dark as the background nor as dark as the last
/// red.
pub(crate) fn tone(share: f64) -> [u8; 3] {
    turbo(0.12 + 0.76 * share as f32)
}

/// What an image shows of a scene.
#[derive(Clone, Debug)]
pub(crate) struct Shot<'a> {
    pub(crate) camera: &'a Camera,
    pub(crate) frame: usize,
    /// Whether layers of earlier frames are drawn, too, and lines that grow end at the frame.
    pub(crate) keeps: bool,
    /// The layers; without names all that are shown.
    pub(crate) names: &'a [&'a str],
    /// Width and height.
    pub(crate) size: [u32; 2],
    /// Pixels of a point, in halves.
    pub(crate) point: u32,
    /// How much wider lines are than their layers say.
    pub(crate) pen: f64,
    /// Whether points and voxels that lie behind their neighbours are darker.
    pub(crate) is_shaded: bool,
}

/// What the colours of a scene stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tones {
    paint: Paint,
    pub(crate) heights: [f64; 2],
    pub(crate) intensities: [f64; 2],
    frames: usize,
}

impl Tones {
    pub(crate) fn new(scene: &Scene) -> Self {
        let ([.., middle], _, heights) = scene.extent();
        let [mut low, mut high] = heights.map(|z| middle + z);
        if high - low > 4.0 {
            // Coarse steps, so that the frames of an animation agree.
            (low, high) = (0.5 * libm::floor(2.0 * low), libm::ceil(high));
        }
        Self { paint: scene.paint, heights: [low, high], intensities: scene.intensities(), frames: scene.frames() }
    }

    /// The colour of a thing of a layer.
    fn colour(&self, layer: &Layer, k: usize, z: f64) -> [u8; 3] {
        let share = |v: f64, [low, high]: [f64; 2]| ((v - low) / (high - low)).clamp(0.0, 1.0);
        let is_line = layer.shape == Shape::Line;
        // Ellipsoids and points of one colour, which their legend names.
        let is_plain = matches!(layer.shape, Shape::Ball | Shape::Points) && layer.colour.is_some();
        match self.paint {
            Paint::Height if !is_line && layer.shape != Shape::Wire && !is_plain => {
                // The square root lifts dark surfaces, most of a street, off the background.
                scaled(tone(share(z, self.heights)), layer.value(k).map_or(1.0, |v| 0.5 + 0.5 * v.sqrt()))
            }
            Paint::Intensity if layer.range().is_some() => {
                let [low, high] = layer.range().unwrap_or([0.0, 1.0]);
                value_tone(share(low + layer.value(k).unwrap_or(0.0) * (high - low), self.intensities))
            }
            Paint::Time if is_line => tone(k as f64 / layer.len().saturating_sub(2).max(1) as f64),
            Paint::Time if layer.at.is_some() => {
                tone(layer.at.unwrap_or(0) as f64 / self.frames.saturating_sub(1).max(1) as f64)
            }
            _ => layer.own(k),
        }
    }
}

/// Draws the layers in their order. Points and voxels hide what is behind them; all else is drawn
/// over what is there.
pub(crate) fn draw(scene: &Scene, tones: &Tones, shot: &Shot) -> Image {
    let [width, height] = shot.size.map(|side| FINE * side);
    let mut image = Image::filled(width, height, BACKGROUND);
    let view = shot.camera.view(width, height);
    let mut canvas = Canvas::new(&mut image);
    let since = if shot.keeps { 0 } else { shot.frame };
    let is_drawn = |layer: &&Layer| (since..=shot.frame).any(|frame| layer.is_drawn(frame, shot.names));
    for layer in scene.layers.iter().filter(is_drawn) {
        let colour = |k: usize, p: V3| tones.colour(layer, k, p[2]);
        let ends = if shot.keeps && layer.grows { shot.frame + 1 } else { usize::MAX };
        let width = layer.width * shot.pen * f64::from(FINE);
        let mut painter =
            Painter { canvas: &mut canvas, view: &view, layer, frame: shot.frame, ends, width, colour: &colour };
        match layer.shape {
            Shape::Points => painter.points(f64::from(shot.point)),
            Shape::Line => painter.line(),
            Shape::Wire => painter.wires(),
            Shape::Cube => painter.cubes(),
            Shape::Ball => painter.balls(),
        }
    }
    if shot.is_shaded {
        canvas.shade(&view);
    }
    image.halved()
}

/// Draws one layer.
struct Painter<'a, 'b> {
    canvas: &'a mut Canvas<'b>,
    view: &'a View,
    layer: &'a Layer,
    frame: usize,
    /// The places of a line that are drawn.
    ends: usize,
    /// Pixels of a line on the canvas.
    width: f64,
    colour: &'a dyn Fn(usize, V3) -> [u8; 3],
}

impl Painter<'_, '_> {
    fn points(&mut self, size: f64) {
        for (k, p) in self.layer.places(self.frame).enumerate() {
            if let Some(mut at) = self.view.project(p) {
                let colour = faded((self.colour)(k, p), self.view.haze(at.depth));
                at.depth -= self.layer.lift;
                self.dot(at, size, colour);
            }
        }
    }

    /// A square; when the budget for large ones is used up, a pixel.
    fn dot(&mut self, at: Projected, size: f64, colour: [u8; 3]) {
        let size = if self.canvas.afford((size * size) as u64) { size } else { 1.0 };
        self.canvas.square(at, size, colour);
    }

    fn line(&mut self) {
        let mut last = None;
        for (k, p) in self.layer.places(self.frame).take(self.ends).enumerate() {
            if let Some(from) = last.replace(p) {
                self.edge(from, p, (self.colour)(k - 1, p));
            }
        }
    }

    /// A line in space, over what is there; far ones fade. Each costs at least its set-up.
    fn edge(&mut self, a: V3, b: V3, colour: [u8; 3]) {
        if let Some([a, b]) = self.view.segment(a, b)
            && self.canvas.afford(1)
        {
            let colour = faded(colour, self.view.haze(0.5 * (a.depth + b.depth)));
            let pen = Pen { colour, width: self.width, cover: 1.0 };
            let pixels = line(self.canvas.image, [a.x, a.y], [b.x, b.y], pen);
            self.canvas.spend(pixels);
        }
    }

    /// The edges of boxes, each with a line from its centre to its front.
    fn wires(&mut self) {
        for (k, centre) in self.layer.places(self.frame).enumerate() {
            let (solid, colour) = (Solid { centre, axes: self.layer.axes(k) }, (self.colour)(k, centre));
            for axis in 0..3 {
                for (u, v) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                    let [a, b] = [-1.0, 1.0].map(|w| {
                        let mut at = [u; 3];
                        at[axis] = w;
                        at[(axis + 2) % 3] = v;
                        solid.at(at)
                    });
                    self.edge(a, b, colour);
                }
            }
            self.edge(centre, solid.at([1.0, 0.0, 0.0]), colour);
        }
    }

    fn cubes(&mut self) {
        for (k, centre) in self.layer.places(self.frame).enumerate() {
            let Some(at) = self.view.project(centre) else { continue };
            let solid = Solid { centre, axes: self.layer.axes(k) };
            let reach = (0..3).map(|axis| solid.length(axis)).fold(0.0, f64::max);
            let pixels = reach * self.view.pixels_per_metre(at.depth);
            let colour = faded((self.colour)(k, centre), self.view.haze(at.depth));
            if pixels < SMALLEST / 2.0 || self.faces(&solid, colour).is_none() {
                self.dot(at, pixels.clamp(2.0, 8.0), colour);
            }
        }
    }

    /// The faces of a box that are turned to the camera; none if a corner is behind the eye, or if
    /// they cannot be afforded.
    fn faces(&mut self, solid: &Solid, colour: [u8; 3]) -> Option<()> {
        let mut faces = Vec::with_capacity(3);
        for (axis, side) in [(0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0), (2, -1.0), (2, 1.0)] {
            let at = |u: f64, v: f64| {
                let mut at = [side; 3];
                (at[(axis + 1) % 3], at[(axis + 2) % 3]) = (u, v);
                solid.at(at)
            };
            let normal = solid.axes[axis].map(|v| side * v);
            if self.view.sees(at(0.0, 0.0), normal) {
                let mut quad = [Projected { x: 0.0, y: 0.0, depth: 0.0 }; 4];
                for (corner, (u, v)) in quad.iter_mut().zip([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]) {
                    *corner = self.view.project(at(u, v))?;
                }
                let light = dot(normal, LIGHT).abs() / dot(normal, normal).sqrt() / LIGHT[2];
                faces.push((quad, scaled(colour, (AMBIENT + (1.0 - AMBIENT) * light).min(1.0))));
            }
        }
        let pixels = faces.iter().map(|(quad, _)| self.canvas.pixels(quad)).sum();
        self.canvas.afford(pixels).then(|| faces.iter().for_each(|(quad, colour)| self.canvas.quad(*quad, *colour)))
    }

    /// Ellipsoids as they are seen, the farthest first: translucent, with an outline.
    fn balls(&mut self) {
        let all = self.layer.places(self.frame).enumerate();
        let seen = all.filter_map(|(k, p)| Some((Ellipse::new(self.view, p, &self.layer.axes(k))?, k, p)));
        let mut seen: Vec<_> = seen.collect();
        seen.sort_by(|a, b| b.0.at.depth.total_cmp(&a.0.at.depth));
        let outline = if seen.len() > MANY { 1.4 } else { 2.4 };
        for (ellipse, k, p) in seen {
            let colour = faded((self.colour)(k, p), self.view.haze(ellipse.at.depth));
            let pixels = ellipse.pixels(self.canvas.image.width(), self.canvas.image.height());
            let is_small = ellipse.diameter() < SMALLEST * f64::from(FINE);
            // Mixing takes five times as long as filling.
            if is_small || !self.canvas.afford(5 * pixels) {
                self.canvas.cover(ellipse.at, 2.0 * f64::from(FINE), colour);
            } else if ellipse.diameter() < f64::from(self.canvas.image.width()) {
                ellipse.draw(self.canvas.image, colour, outline);
            }
        }
    }
}
