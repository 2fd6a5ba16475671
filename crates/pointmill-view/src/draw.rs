//! Drawing clouds.

use crate::camera::{Camera, Projected, View};
use crate::colour::{Colour, faded, scaled};
use crate::raster::Canvas;
use crate::{BACKGROUND, Image};
use pointmill_core::Points;

/// Largest point in pixels.
const MAX_POINT: u32 = 64;

/// Draws every point as a square of `size` pixels, the nearest in front.
///
/// **Order and determinism.** Of two points at the same pixel and depth the first stays; the same input gives the same pixels.
/// **Limits.** Points that are not finite are not drawn; `size` is kept within 1 to 64, and is 1 for the points that come after the whole
/// image has been filled 200 times over.
///
/// Draw at twice the size and take [`Image::halved`] for smooth points.
pub fn draw_points(image: &mut Image, camera: &Camera, points: Points, colour: Colour, size: u32) {
    draw_coloured(image, camera, points, size, |i| Some(colour.of(&points, i)));
}

/// As [`draw_points`], with the colour that a function gives; points without one are not drawn.
pub(crate) fn draw_coloured(
    image: &mut Image,
    camera: &Camera,
    points: Points,
    size: u32,
    colour: impl Fn(usize) -> Option<[u8; 3]>,
) {
    let view = camera.view(image.width(), image.height());
    let mut canvas = Canvas::new(image);
    let size = f64::from(size.clamp(1, MAX_POINT));
    for i in 0..points.len() {
        if let Some(at) = view.project(points.xyz(i).map(f64::from))
            && let Some(colour) = colour(i)
        {
            dot(&mut canvas, &view, at, size, colour);
        }
    }
}

/// A point; when the budget for large ones is used up, a pixel.
fn dot(canvas: &mut Canvas, view: &View, at: Projected, size: f64, colour: [u8; 3]) {
    let size = if canvas.afford((size * size) as u64) { size } else { 1.0 };
    canvas.square(at, size, faded(colour, view.haze(at.depth)));
}

/// The faces of a box: outward normal, and its corners in order as signs of the half extents.
pub(crate) const FACES: [([f64; 3], [[f64; 3]; 4], f64); 6] = [
    ([0.0, 0.0, 1.0], [[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]], 1.0),
    ([0.0, 0.0, -1.0], [[-1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, -1.0]], 0.4),
    ([1.0, 0.0, 0.0], [[1.0, -1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 1.0], [1.0, -1.0, 1.0]], 0.55),
    ([-1.0, 0.0, 0.0], [[-1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]], 0.74),
    ([0.0, 1.0, 0.0], [[-1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]], 0.6),
    ([0.0, -1.0, 0.0], [[-1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]], 0.6),
];

/// Draws a shaded box with edges of `size` metres around every point, the nearest in front.
///
/// **Limits.** As [`draw_points`]. Boxes too small to have faces are drawn as squares, and so are those at the eye and those that come
/// after the whole image has been filled 200 times over.
pub fn draw_cubes(image: &mut Image, camera: &Camera, points: Points, colour: Colour, size: [f32; 3]) {
    let view = camera.view(image.width(), image.height());
    let mut canvas = Canvas::new(image);
    let half = size.map(|v| if v.is_finite() { f64::from(v).abs() / 2.0 } else { 0.0 });
    let widest = half[0].max(half[1]).max(half[2]);
    for i in 0..points.len() {
        let centre = points.xyz(i).map(f64::from);
        let Some(at) = view.project(centre) else { continue };
        let pixels = 2.0 * widest * view.pixels_per_metre(at.depth);
        let colour = colour.of(&points, i);
        if pixels < 2.0 || !boxed(&mut canvas, &view, at, centre, half, colour) {
            dot(&mut canvas, &view, at, pixels.clamp(2.0, 8.0), colour);
        }
    }
}

/// Draws one box; false if it cannot be: a corner behind the eye, or no budget.
fn boxed(canvas: &mut Canvas, view: &View, at: Projected, centre: [f64; 3], half: [f64; 3], colour: [u8; 3]) -> bool {
    let haze = view.haze(at.depth);
    let mut faces = [None; 6];
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for (face, (normal, corners, _)) in faces.iter_mut().zip(FACES) {
        let middle = [0, 1, 2].map(|k| centre[k] + normal[k] * half[k]);
        if !view.sees(middle, normal) {
            continue;
        }
        let mut quad = [at; 4];
        for (q, corner) in quad.iter_mut().zip(corners) {
            let Some(p) = view.project([0, 1, 2].map(|k| centre[k] + corner[k] * half[k])) else { return false };
            low = [low[0].min(p.x), low[1].min(p.y)];
            high = [high[0].max(p.x), high[1].max(p.y)];
            *q = p;
        }
        *face = Some(quad);
    }
    // What the triangles will try: six times the part of their rectangle that is in the image.
    let (width, height) = (f64::from(canvas.image.width()), f64::from(canvas.image.height()));
    let inside = |low: f64, high: f64, side: f64| (high.min(side) - low.max(0.0)).max(0.0);
    let area = inside(low[0], high[0], width) * inside(low[1], high[1], height);
    if !canvas.afford((6.0 * area) as u64) {
        return false;
    }
    for (quad, (_, _, light)) in faces.iter().zip(FACES) {
        if let Some(quad) = quad {
            canvas.quad(*quad, faded(scaled(colour, light), haze));
        }
    }
    true
}

/// Draws the sensor and circles of so many metres around it on the plane z, under whatever has been drawn.
pub(crate) fn draw_rings(image: &mut Image, camera: &Camera, radii: &[f64], z: f64) {
    let view = camera.view(image.width(), image.height());
    for radius in radii {
        for k in 0..2880 {
            let angle = f64::from(k) * (core::f64::consts::TAU / 2880.0);
            let p = [radius * libm::cos(angle), radius * libm::sin(angle), z];
            let Some(at) = view.project(p) else { continue };
            for (x, y) in [(at.x, at.y), (at.x + 1.0, at.y), (at.x, at.y + 1.0), (at.x + 1.0, at.y + 1.0)] {
                let inside = x >= 0.0 && y >= 0.0 && x < f64::from(image.width()) && y < f64::from(image.height());
                if inside && image.get(x as u32, y as u32) == BACKGROUND {
                    image.set(x as u32, y as u32, [44, 52, 66]);
                }
            }
        }
    }
}
