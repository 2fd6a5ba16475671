//! Normal distributions as ellipses of the image.

use crate::Image;
use crate::camera::{Projected, View};
use crate::raster::Canvas;

type V3 = [f64; 3];

/// Ellipses are drawn where a distribution ends for the eye, so many standard deviations from its mean: 86 percent of a flat one lie within.
pub(crate) const SIGMAS: f64 = 2.0;
/// Square pixels added to each variance: a plane seen from its edge is a line a pixel or two wide, not nothing.
const BLUR: f64 = 0.5;

/// How often ellipses may cover the whole image: those of a map seldom lie more than ten deep, but a thousand as large as the picture must end too.
pub(super) const COVERS: u64 = 40;

/// How an ellipse is drawn: how much of what is under its inside and under its outline is hidden, 0 to 1, and the outline's width in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ink {
    pub(super) colour: [u8; 3],
    pub(super) inside: f64,
    pub(super) outline: f64,
    pub(super) width: f64,
}

/// A normal distribution as it is seen: its mean in the image and its covariance there (xx, xy, yy), in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ellipse {
    pub(super) at: Projected,
    covariance: V3,
}

impl Ellipse {
    /// `None` for what is behind the eye, not finite, or no covariance.
    pub(super) fn new(view: &View, mean: V3, covariance: &[f64; 6]) -> Option<Self> {
        let at = view.project(mean)?;
        let [right, down] = view.gradients(mean)?;
        let covariance = [form(covariance, right, right), form(covariance, right, down), form(covariance, down, down)];
        let [a, b, c] = [covariance[0] + BLUR, covariance[1], covariance[2] + BLUR];
        let valid = a > 0.0 && c > 0.0 && a * c - b * b > 0.0 && (a * c).is_finite();
        valid.then_some(Self { at, covariance: [a, b, c] })
    }

    /// The longer diameter in pixels.
    pub(super) fn diameter(&self) -> f64 {
        let [a, b, c] = self.covariance;
        let half = 0.5 * (a - c);
        2.0 * SIGMAS * (0.5 * (a + c) + (half * half + b * b).sqrt()).sqrt()
    }

    /// Whether all of it is in an image of this many pixels.
    pub(super) fn fits(&self, width: u32, height: u32) -> bool {
        let [x, y] = self.reach();
        let within = |v: f64, reach: f64, side: u32| v - reach >= 0.0 && v + reach <= f64::from(side);
        within(self.at.x, x, width) && within(self.at.y, y, height)
    }

    /// The pixels of the rectangle around its part in an image of this many pixels.
    pub(super) fn pixels(&self, width: u32, height: u32) -> u64 {
        let [x, y] = self.reach();
        let side = |v: f64, reach: f64, side: u32| {
            let side = f64::from(side);
            (v + reach).clamp(0.0, side) - (v - reach).clamp(0.0, side)
        };
        (side(self.at.x, x, width) * side(self.at.y, y, height)) as u64
    }

    /// Half the sides of the rectangle around it.
    fn reach(&self) -> [f64; 2] {
        [SIGMAS * self.covariance[0].sqrt(), SIGMAS * self.covariance[2].sqrt()]
    }

    /// Draws it over what is there.
    pub(super) fn draw(&self, image: &mut Image, ink: Ink) {
        let [a, b, c] = self.covariance;
        let det = a * c - b * b;
        let [_, reach] = self.reach();
        for y in Canvas::span(self.at.y - reach, self.at.y + reach, image.height()) {
            let dy = f64::from(y) + 0.5 - self.at.y;
            // Where the row's line cuts the ellipse.
            let root = (det * (SIGMAS * SIGMAS * c - dy * dy)).max(0.0).sqrt();
            for x in Canvas::span(self.at.x + (b * dy - root) / c, self.at.x + (b * dy + root) / c, image.width()) {
                let dx = f64::from(x) + 0.5 - self.at.x;
                // The distance from the mean in standard deviations, and how fast it grows a pixel.
                let (u, v) = ((c * dx - b * dy) / det, (a * dy - b * dx) / det);
                let sigmas = (u * dx + v * dy).max(0.0).sqrt();
                let slope = (u * u + v * v).sqrt() / sigmas;
                let at_edge = sigmas > 0.0 && SIGMAS - sigmas < ink.width * slope;
                mix(image, x, y, ink.colour, if at_edge { ink.outline } else { ink.inside });
            }
        }
    }
}

/// `u' C v`.
fn form(c: &[f64; 6], u: V3, v: V3) -> f64 {
    let [xx, xy, xz, yy, yz, zz] = *c;
    let w = [xx * v[0] + xy * v[1] + xz * v[2], xy * v[0] + yy * v[1] + yz * v[2], xz * v[0] + yz * v[1] + zz * v[2]];
    u[0] * w[0] + u[1] * w[1] + u[2] * w[2]
}

/// Covers a part of a pixel.
fn mix(image: &mut Image, x: u32, y: u32, colour: [u8; 3], cover: f64) {
    let under = image.get(x, y);
    let of = |k: usize| {
        let (old, new) = (f64::from(under[k]), f64::from(colour[k]));
        (old + (new - old) * cover + 0.5) as u8
    };
    image.set(x, y, [of(0), of(1), of(2)]);
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

    #[test]
    fn ellipses_have_their_area_and_outline() {
        // Standard deviations of 1 m and 0.5 m, the longer along (3, 4); z is not seen.
        let covariance = [0.52, 0.36, 0.0, 0.73, 0.0, 99.0];
        let ellipse = Ellipse::new(&view(), [0.5, -0.5, 3.0], &covariance).unwrap();
        assert!((ellipse.diameter() - 40.0).abs() < 0.2, "{}", ellipse.diameter());
        let mut image = Image::filled(100, 100, [0; 3]);
        ellipse.draw(&mut image, Ink { colour: [200; 3], inside: 0.25, outline: 1.0, width: 1.0 });
        let count = |v: u8| image.rgb().iter().filter(|&&c| c == v).count() as f64 / 3.0;
        let (inside, outline) = (count(50), count(200));
        let area = std::f64::consts::PI * 20.0 * 10.0;
        assert!((inside + outline - area).abs() < 0.06 * area, "{inside} {outline}");
        // Around the middle of 20 and 10 pixels: about 97.
        assert!((70.0..120.0).contains(&outline), "{outline}");
        // Its longer end is up and to the right, 12 and 16 pixels from (55, 55).
        assert!(image.get(65, 41) != [0; 3] && image.get(45, 41) == [0; 3]);
        assert!(ellipse.fits(100, 100) && !ellipse.fits(60, 100) && !ellipse.fits(100, 70));
    }

    #[test]
    fn thin_ones_are_lines_and_odd_ones_nothing() {
        let mut image = Image::filled(100, 100, [0; 3]);
        let ink = Ink { colour: [200; 3], inside: 1.0, outline: 1.0, width: 1.0 };
        let thin = Ellipse::new(&view(), [0.0; 3], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        thin.draw(&mut image, ink);
        assert!((30..41).contains(&(0..100).filter(|&x| image.get(x, 50) == [200; 3]).count()));
        let (nan, max) = (f64::NAN, f64::MAX);
        for covariance in [[nan; 6], [max; 6], [-1.0, 0.0, 0.0, 1.0, 0.0, 1.0], [1.0, 2.0, 0.0, 1.0, 0.0, 1.0]] {
            assert!(Ellipse::new(&view(), [0.0; 3], &covariance).is_none(), "{covariance:?}");
        }
        assert!(Ellipse::new(&view(), [nan, 0.0, 0.0], &[1.0; 6]).is_none());
        // Far larger than the image, and far outside of it: what is drawn ends at the image's sides.
        let wide = Ellipse::new(&view(), [0.0; 3], &[1e12, 0.0, 0.0, 1e12, 0.0, 0.0]).unwrap();
        wide.draw(&mut image, ink);
        assert_eq!((image.get(0, 99), wide.pixels(100, 100)), ([200; 3], 10_000));
        let away = Ellipse::new(&view(), [1e9, 0.0, 0.0], &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0]).unwrap();
        assert_eq!((away.pixels(100, 100), away.fits(100, 100)), (0, false));
    }
}
