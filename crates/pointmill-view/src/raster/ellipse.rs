//! Ellipsoids as ellipses of the image.

use crate::Image;
use crate::camera::{Projected, View, dot};
use crate::line::span;

type V3 = [f64; 3];

/// Square pixels added to each squared half axis: a plane seen from its edge is a line a pixel or
/// two wide, not nothing.
const BLUR: f64 = 2.0;
/// How much of what is under its inside and under its outline an ellipse hides.
const INSIDE: f64 = 0.24;
const OUTLINE: f64 = 0.85;

/// An ellipsoid as it is seen: its centre in the image, and the matrix (xx, xy, yy) of the ellipse,
/// whose inverse has the value 1 on the outline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ellipse {
    pub(super) at: Projected,
    matrix: V3,
}

impl Ellipse {
    /// `None` for what is behind the eye or not finite.
    pub(super) fn new(view: &View, centre: V3, axes: &[V3; 3]) -> Option<Self> {
        let at = view.project(centre)?;
        let [right, down] = view.gradients(centre)?;
        let mut matrix = [BLUR, 0.0, BLUR];
        for axis in axes {
            let (u, v) = (dot(right, *axis), dot(down, *axis));
            matrix = [matrix[0] + u * u, matrix[1] + u * v, matrix[2] + v * v];
        }
        let [a, b, c] = matrix;
        (a * c - b * b > 0.0 && (a * c).is_finite()).then_some(Self { at, matrix })
    }

    /// The longer diameter in pixels.
    pub(super) fn diameter(&self) -> f64 {
        let [a, b, c] = self.matrix;
        let half = 0.5 * (a - c);
        2.0 * (0.5 * (a + c) + (half * half + b * b).sqrt()).sqrt()
    }

    /// The pixels of the rectangle around its part in an image of this many pixels.
    pub(super) fn pixels(&self, width: u32, height: u32) -> u64 {
        let side = |v: f64, reach: f64, side: u32| {
            let side = f64::from(side);
            (v + reach).clamp(0.0, side) - (v - reach).clamp(0.0, side)
        };
        let [a, _, c] = self.matrix.map(f64::sqrt);
        (side(self.at.x, a, width) * side(self.at.y, c, height)) as u64
    }

    /// Draws it over what is there, with an outline of so many pixels.
    pub(super) fn draw(&self, image: &mut Image, colour: [u8; 3], outline: f64) {
        let [a, b, c] = self.matrix;
        let det = a * c - b * b;
        for y in span(self.at.y - c.sqrt(), self.at.y + c.sqrt(), image.height()) {
            let dy = f64::from(y) + 0.5 - self.at.y;
            // Where the row's line cuts the ellipse.
            let root = (det * (c - dy * dy)).max(0.0).sqrt();
            for x in span(self.at.x + (b * dy - root) / c, self.at.x + (b * dy + root) / c, image.width()) {
                let dx = f64::from(x) + 0.5 - self.at.x;
                // The distance from the centre, 1 on the outline, and how fast it grows a pixel.
                let (u, v) = ((c * dx - b * dy) / det, (a * dy - b * dx) / det);
                let distance = (u * dx + v * dy).max(0.0).sqrt();
                let slope = (u * u + v * v).sqrt() / distance;
                let is_edge = distance > 0.0 && 1.0 - distance < outline * slope;
                image.mix(x, y, colour, if is_edge { OUTLINE } else { INSIDE });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Camera;
    use pointmill_core::Aabb;

    /// Ten pixels a metre, x right, y up.
    fn view() -> View {
        Camera::birds_eye_sideways(Aabb::new([-5.0; 3], [5.0; 3])).view(100, 100)
    }

    fn along(x: f64, y: f64, z: f64) -> [V3; 3] {
        [[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]]
    }

    #[test]
    fn ellipses_have_their_area_and_outline() {
        // Half axes of 2 m and 1 m, the longer along (3, 4); z is not seen.
        let axes = [[1.2, 1.6, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 20.0]];
        let ellipse = Ellipse::new(&view(), [0.5, -0.5, 3.0], &axes).unwrap();
        assert!((ellipse.diameter() - 40.0).abs() < 0.2, "{}", ellipse.diameter());
        let mut image = Image::filled(100, 100, [0; 3]);
        ellipse.draw(&mut image, [200; 3], 1.0);
        let count = |v: u8| image.rgb().iter().filter(|&&c| c == v).count() as f64 / 3.0;
        let (inside, outline) = (count(48), count(170));
        let area = std::f64::consts::PI * 20.0 * 10.0;
        assert!((inside + outline - area).abs() < 0.06 * area, "{inside} {outline}");
        // Around the middle of 20 and 10 pixels: about 97.
        assert!((70.0..120.0).contains(&outline), "{outline}");
        // Its longer end is up and to the right, 12 and 16 pixels from (55, 55).
        assert!(image.get(65, 41) != [0; 3] && image.get(45, 41) == [0; 3]);
    }

    #[test]
    fn thin_ones_are_lines_and_odd_ones_nothing() {
        let mut image = Image::filled(100, 100, [0; 3]);
        let thin = Ellipse::new(&view(), [0.0; 3], &along(2.0, 0.0, 0.0)).unwrap();
        thin.draw(&mut image, [200; 3], 2.0);
        assert!((30..42).contains(&(0..100).filter(|&x| image.get(x, 50) != [0; 3]).count()));
        let (nan, max) = (f64::NAN, f64::MAX);
        for odd in [along(nan, 1.0, 1.0), along(max, max, max), [[max; 3]; 3]] {
            assert!(Ellipse::new(&view(), [0.0; 3], &odd).is_none(), "{odd:?}");
        }
        assert!(Ellipse::new(&view(), [nan, 0.0, 0.0], &along(1.0, 1.0, 1.0)).is_none());
        // Far larger than the image, and far outside of it: what is drawn ends at the image's
        // sides.
        let wide = Ellipse::new(&view(), [0.0; 3], &along(1e6, 1e6, 0.0)).unwrap();
        wide.draw(&mut image, [200; 3], 2.0);
        assert!(image.get(0, 99) != [0; 3] && wide.pixels(100, 100) == 10_000);
        let away = Ellipse::new(&view(), [1e9, 0.0, 0.0], &along(1.0, 1.0, 0.0)).unwrap();
        assert_eq!(away.pixels(100, 100), 0);
    }
}
