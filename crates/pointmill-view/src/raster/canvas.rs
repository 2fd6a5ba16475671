//! Filling pixels, the nearest wins.

use crate::Image;
use crate::camera::Projected;
use crate::line::span;

/// An image with the depth of what is drawn at each pixel.
#[derive(Debug)]
pub(crate) struct Canvas<'a> {
    pub(crate) image: &'a mut Image,
    pub(super) depth: Vec<f32>,
    /// Pixels that may still be tried before large things are drawn as dots.
    budget: u64,
}

/// How often the whole image may be filled: a cloud of boxes each as large as the picture must not
/// take hours.
const FILLS: u64 = 200;

impl<'a> Canvas<'a> {
    pub(crate) fn new(image: &'a mut Image) -> Self {
        let pixels = image.width() as usize * image.height() as usize;
        Self { image, depth: vec![f32::INFINITY; pixels], budget: pixels as u64 * FILLS }
    }

    /// Whether a thing of this many pixels can still be afforded; if so they are taken off the
    /// budget.
    pub(crate) const fn afford(&mut self, pixels: u64) -> bool {
        if pixels > self.budget {
            return false;
        }
        self.budget -= pixels;
        true
    }

    /// Takes pixels off the budget that were drawn.
    pub(crate) const fn spend(&mut self, pixels: u64) {
        self.budget = self.budget.saturating_sub(pixels);
    }

    /// What the triangles of a polygon will try: twice the part of its rectangle that is in the
    /// image.
    pub(crate) fn pixels(&self, corners: &[Projected; 4]) -> u64 {
        let span = |of: fn(&Projected) -> f64, side: u32| {
            let (low, high) = corners.iter().map(of).fold((f64::INFINITY, 0.0), |(l, h), v| (v.min(l), v.max(h)));
            (high.min(side.into()) - low.max(0.0)).max(0.0)
        };
        (2.0 * span(|p| p.x, self.image.width()) * span(|p| p.y, self.image.height())) as u64
    }

    fn plot(&mut self, x: u32, y: u32, depth: f32, colour: [u8; 3]) {
        let i = y as usize * self.image.width() as usize + x as usize;
        // Strictly nearer: of two at one depth the first drawn stays.
        if depth < self.depth[i] {
            self.depth[i] = depth;
            self.image.set(x, y, colour);
        }
    }

    /// A square of `size` pixels around a point.
    pub(crate) fn square(&mut self, at: Projected, size: f64, colour: [u8; 3]) {
        let half = size / 2.0;
        for y in span(at.y - half, at.y + half, self.image.height()) {
            for x in span(at.x - half, at.x + half, self.image.width()) {
                self.plot(x, y, at.depth as f32, colour);
            }
        }
    }

    /// A square of `size` pixels around a point, over what is there.
    pub(crate) fn cover(&mut self, at: Projected, size: f64, colour: [u8; 3]) {
        for y in span(at.y - size / 2.0, at.y + size / 2.0, self.image.height()) {
            for x in span(at.x - size / 2.0, at.x + size / 2.0, self.image.width()) {
                self.image.set(x, y, colour);
            }
        }
    }

    /// A flat convex polygon of four corners in order; its depth runs linearly over the picture.
    pub(crate) fn quad(&mut self, corners: [Projected; 4], colour: [u8; 3]) {
        let [a, b, c, d] = corners;
        self.triangle([a, b, c], colour);
        self.triangle([a, c, d], colour);
    }

    fn triangle(&mut self, [a, b, c]: [Projected; 3], colour: [u8; 3]) {
        let cross = |p: Projected, q: Projected, x: f64, y: f64| (q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x);
        let area = cross(a, b, c.x, c.y);
        if !area.is_finite() || area.abs() < 1e-12 {
            return;
        }
        let rows = span(a.y.min(b.y).min(c.y), a.y.max(b.y).max(c.y), self.image.height());
        let columns = span(a.x.min(b.x).min(c.x), a.x.max(b.x).max(c.x), self.image.width());
        for y in rows {
            for x in columns.clone() {
                let (px, py) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
                let (u, v, w) = (cross(b, c, px, py) / area, cross(c, a, px, py) / area, cross(a, b, px, py) / area);
                if u >= 0.0 && v >= 0.0 && w >= 0.0 {
                    self.plot(x, y, (u * a.depth + v * b.depth + w * c.depth) as f32, colour);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, y: f64, depth: f64) -> Projected {
        Projected { x, y, depth }
    }

    #[test]
    fn squares_have_their_size_and_the_nearest_wins() {
        let mut image = Image::filled(10, 10, [0; 3]);
        let mut canvas = Canvas::new(&mut image);
        canvas.square(at(5.0, 5.0, 2.0), 4.0, [1; 3]);
        canvas.square(at(5.0, 5.0, 1.0), 2.0, [2; 3]);
        canvas.square(at(5.0, 5.0, 3.0), 9.0, [3; 3]);
        canvas.square(at(1e300, -1e300, 0.0), 1e300, [9; 3]);
        let count = |c: u8| image.rgb().iter().filter(|&&v| v == c).count() / 3;
        assert_eq!((count(2), count(1)), (4, 12));
        assert!(count(3) > 60);
    }

    #[test]
    fn quads_cover_each_pixel_once() {
        let mut image = Image::filled(20, 20, [0; 3]);
        let corners = [at(2.0, 2.0, 1.0), at(12.0, 2.0, 1.0), at(12.0, 8.0, 1.0), at(2.0, 8.0, 1.0)];
        Canvas::new(&mut image).quad(corners, [7; 3]);
        assert_eq!(image.rgb().iter().filter(|&&v| v == 7).count(), 3 * 60);
    }
}
