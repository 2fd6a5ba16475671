//! Eye-dome lighting: what lies behind its neighbours is darker, so that shapes show without
//! normals.
//!
//! Source: C. Boucheny, "Visualisation scientifique de grands volumes de donnees", thesis, 2009.

use super::Canvas;
use crate::camera::View;
use crate::colour::scaled;

/// How far the neighbours are, in pixels of the canvas.
const REACHES: [i64; 2] = [2, 5];
const AROUND: [[i64; 2]; 8] = [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]];
/// A neighbour that is nearer by so many times its distance in the picture takes all that it can.
const STEEP: f64 = 4.0;
/// How dark a pixel is whose neighbours are all nearer: `exp(-STRENGTH)`.
const STRENGTH: f64 = 1.6;

impl Canvas<'_> {
    /// Darkens what lies behind its neighbours.
    pub(crate) fn shade(&mut self, view: &View) {
        let [width, height] = [self.image.width(), self.image.height()].map(i64::from);
        for y in 0..height {
            for x in 0..width {
                let depth = f64::from(self.depth[(y * width + x) as usize]);
                if !depth.is_finite() {
                    continue;
                }
                let scale = view.pixels_per_metre(depth);
                let mut nearer = 0.0;
                for reach in REACHES {
                    for [dx, dy] in AROUND {
                        let [u, v] = [x + reach * dx, y + reach * dy];
                        if (0..width).contains(&u) && (0..height).contains(&v) {
                            let by = depth - f64::from(self.depth[(v * width + u) as usize]);
                            // What is not drawn is infinitely far behind.
                            nearer += (by * scale / (STEEP * reach as f64)).clamp(0.0, 1.0);
                        }
                    }
                }
                let light = libm::exp(-STRENGTH * nearer / (REACHES.len() * AROUND.len()) as f64);
                let (x, y) = (x as u32, y as u32);
                self.image.set(x, y, scaled(self.image.get(x, y), light));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::camera::Projected;
    use crate::raster::Canvas;
    use crate::{BACKGROUND, Camera, Image};
    use pointmill_core::Aabb;

    #[test]
    fn what_is_behind_an_edge_is_darker_and_flat_ground_is_not() {
        let mut image = Image::filled(60, 60, BACKGROUND);
        let view = Camera::birds_eye_sideways(Aabb::new([-30.0; 3], [30.0; 3])).view(60, 60);
        let mut canvas = Canvas::new(&mut image);
        let light = [200; 3];
        canvas.square(Projected { x: 30.0, y: 30.0, depth: 50.0 }, 40.0, light);
        canvas.square(Projected { x: 30.0, y: 30.0, depth: 20.0 }, 16.0, light);
        canvas.shade(&view);
        // The upper square, the ground beside it, the ground far from it, and the edge of the world.
        assert_eq!((image.get(30, 30), image.get(37, 30)), (light, light));
        assert!(image.get(40, 30)[0] < 150, "{:?}", image.get(40, 30));
        assert_eq!((image.get(48, 30), image.get(3, 3)), (light, BACKGROUND));
    }
}
