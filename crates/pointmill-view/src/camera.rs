//! From metres to pixels.

use pointmill_core::Aabb;

type V3 = [f64; 3];

/// Where a picture is taken from: straight down on a box, or from an eye to a target.
///
/// Frame of the points: x forward, y left, z up, metres. A camera knows no image size: the view is fitted into whatever image is
/// drawn.
///
/// ```
/// use pointmill_view::Camera;
/// let behind_and_above = Camera::perspective([-14.0, 0.0, 9.0], [18.0, 0.0, -1.0], 60.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Middle of the view and metres across it, along the picture's right and up; and whether x points right.
    Above { middle: [f64; 2], size: [f64; 2], sideways: bool },
    /// Unit axes of the picture, and middle and metres across it along the first two.
    Parallel { right: V3, up: V3, ahead: V3, middle: [f64; 2], size: [f64; 2] },
    /// Unit axes of the picture, and its width over its distance.
    Eye { eye: V3, right: V3, up: V3, ahead: V3, spread: f64 },
}

impl Camera {
    /// Straight down on `bounds`, x (forward) up and y (left) left, one scale for both axes, everything in the picture.
    ///
    /// Bounds that are empty or not finite are replaced by the 100 m around the origin.
    pub fn birds_eye(bounds: Aabb) -> Self {
        Self::above(bounds, false)
    }

    /// As [`Camera::birds_eye`], with x (forward) to the right and y (left) up: for wide pictures of long roads.
    pub fn birds_eye_sideways(bounds: Aabb) -> Self {
        Self::above(bounds, true)
    }

    fn above(bounds: Aabb, sideways: bool) -> Self {
        let [x, y] = [0, 1].map(|k| {
            let (min, max) = (f64::from(bounds.min[k]), f64::from(bounds.max[k]));
            if min.is_finite() && max.is_finite() && min < max { ((min + max) / 2.0, max - min) } else { (0.0, 100.0) }
        });
        // The picture's right is x if sideways, else -y.
        let (right, up) = if sideways { (x, y) } else { ((-y.0, y.1), x) };
        Self { kind: Kind::Above { middle: [right.0, up.0], size: [right.1, up.1], sideways } }
    }

    /// From `eye` towards `target`, `fov_deg` degrees wide (kept within 1 to 170), z up in the picture.
    ///
    /// An eye that is not finite, on its target, or straight above or below it looks along x.
    pub fn perspective(eye: [f32; 3], target: [f32; 3], fov_deg: f32) -> Self {
        let finite = |p: [f32; 3]| p.map(|v| if v.is_finite() { f64::from(v) } else { 0.0 });
        let (eye, target) = (finite(eye), finite(target));
        let ahead = unit([target[0] - eye[0], target[1] - eye[1], target[2] - eye[2]]).unwrap_or([1.0, 0.0, 0.0]);
        let (ahead, right) = match unit([ahead[1], -ahead[0], 0.0]) {
            Some(right) => (ahead, right),
            None => ([1.0, 0.0, 0.0], [0.0, -1.0, 0.0]),
        };
        let up = [
            right[1] * ahead[2] - right[2] * ahead[1],
            right[2] * ahead[0] - right[0] * ahead[2],
            right[0] * ahead[1] - right[1] * ahead[0],
        ];
        let fov = if fov_deg.is_finite() { f64::from(fov_deg).clamp(1.0, 170.0) } else { 60.0 };
        let spread = 2.0 * libm::tan(fov.to_radians() / 2.0);
        Self { kind: Kind::Eye { eye, right, up, ahead, spread } }
    }

    /// From infinitely far away: along `ahead`, with unit axes of the picture, its middle and the metres across it. All are validated.
    pub(crate) const fn parallel([right, up, ahead]: [V3; 3], middle: [f64; 2], size: [f64; 2]) -> Self {
        Self { kind: Kind::Parallel { right, up, ahead, middle, size } }
    }

    /// The camera for an image of this many pixels.
    pub(crate) fn view(&self, width: u32, height: u32) -> View {
        let (w, h) = (f64::from(width), f64::from(height));
        let scale = match self.kind {
            Kind::Above { size, .. } | Kind::Parallel { size, .. } => (w / size[0]).min(h / size[1]),
            Kind::Eye { spread, .. } => w / spread,
        };
        View { kind: self.kind, scale, centre: [w / 2.0, h / 2.0] }
    }
}

/// Turns of an oblique view about the picture's up and right, in radians: an error along the view would not show.
const ASIDE: f64 = 0.5;
const LIFTED: f64 = 0.4;

/// Right, up and ahead: the view is along the axis of the least extent, where most of a surface faces the camera.
pub(crate) fn facing(extent: V3) -> [V3; 3] {
    let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let back = |v: V3| v.map(|e| -e);
    let least = (1..3).fold(0, |least, k| if extent[k] < extent[least] { k } else { least });
    match least {
        0 => [y, z, back(x)],
        1 => [x, z, y],
        _ => [x, y, back(z)],
    }
}

/// The axes of a camera that was turned aside and lifted.
pub(crate) fn oblique([right, up, ahead]: [V3; 3]) -> [V3; 3] {
    let mix = |a: V3, b: V3, angle: f64| {
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        ([0, 1, 2].map(|k| cos * a[k] + sin * b[k]), [0, 1, 2].map(|k| cos * b[k] - sin * a[k]))
    };
    let (right, ahead) = mix(right, ahead, ASIDE);
    let (up, ahead) = mix(up, ahead, LIFTED);
    [right, up, ahead]
}

fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(v: V3) -> Option<V3> {
    let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    (length > 1e-9 && length.is_finite()).then(|| v.map(|x| x / length))
}

/// Nothing nearer to the eye than this is drawn, metres.
const NEAR: f64 = 0.5;

/// A camera fitted to an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    kind: Kind,
    scale: f64,
    centre: [f64; 2],
}

/// A point in the image: pixels from the upper left corner, and depth, smaller in front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projected {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) depth: f64,
}

impl View {
    /// Where a point is in the image, which may be far outside; `None` behind the eye and for what is not finite.
    pub(crate) fn project(&self, p: V3) -> Option<Projected> {
        let (x, y, depth) = match self.kind {
            Kind::Above { middle, sideways, .. } => {
                let (right, up) = if sideways { (p[0], p[1]) } else { (-p[1], p[0]) };
                ((right - middle[0]) * self.scale, (up - middle[1]) * self.scale, -p[2])
            }
            Kind::Parallel { right, up, ahead, middle, .. } => {
                let (x, y) = (dot(right, p) - middle[0], dot(up, p) - middle[1]);
                (x * self.scale, y * self.scale, dot(ahead, p))
            }
            Kind::Eye { eye, right, up, ahead, .. } => {
                let v = [p[0] - eye[0], p[1] - eye[1], p[2] - eye[2]];
                let along = |a: V3| v[0] * a[0] + v[1] * a[1] + v[2] * a[2];
                let depth = along(ahead);
                if depth < NEAR {
                    return None;
                }
                (along(right) / depth * self.scale, along(up) / depth * self.scale, depth)
            }
        };
        let (x, y) = (self.centre[0] + x, self.centre[1] - y);
        (x.is_finite() && y.is_finite() && depth.is_finite()).then_some(Projected { x, y, depth })
    }

    /// How many pixels to the right and how many down a point at `p` moves with each metre along x, y and z; `None` as [`View::project`].
    pub(crate) fn gradients(&self, p: V3) -> Option<[V3; 2]> {
        let at = self.project(p)?;
        let (right, up, per_metre) = match self.kind {
            Kind::Above { sideways: true, .. } => ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], self.scale),
            Kind::Above { sideways: false, .. } => ([0.0, -1.0, 0.0], [1.0, 0.0, 0.0], self.scale),
            Kind::Parallel { right, up, .. } => (right, up, self.scale),
            Kind::Eye { right, up, ahead, .. } => {
                // What is not in the middle moves with its distance too.
                let (x, y) = ((at.x - self.centre[0]) / self.scale, (self.centre[1] - at.y) / self.scale);
                let leaning = |axis: V3, t: f64| [0, 1, 2].map(|k| axis[k] - t * ahead[k]);
                (leaning(right, x), leaning(up, y), self.scale / at.depth)
            }
        };
        Some([right.map(|v| v * per_metre), up.map(|v| -v * per_metre)])
    }

    /// The part of a line that is in front of the eye; `None` if there is none, or an end is not finite.
    pub(crate) fn segment(&self, a: V3, b: V3) -> Option<[Projected; 2]> {
        let Kind::Eye { eye, ahead, .. } = self.kind else {
            return Some([self.project(a)?, self.project(b)?]);
        };
        let depth = |p: V3| (p[0] - eye[0]) * ahead[0] + (p[1] - eye[1]) * ahead[1] + (p[2] - eye[2]) * ahead[2];
        let (da, db) = (depth(a), depth(b));
        // A little in front, so that rounding does not put the cut behind.
        let near = 1.001 * NEAR;
        let cut = |behind: V3, before: V3, t: f64| [0, 1, 2].map(|k| behind[k] + t * (before[k] - behind[k]));
        let (a, b) = match (da < near, db < near) {
            (true, true) => return None,
            (true, false) => (cut(a, b, (near - da) / (db - da)), b),
            (false, true) => (a, cut(b, a, (near - db) / (da - db))),
            (false, false) => (a, b),
        };
        Some([self.project(a)?, self.project(b)?])
    }

    /// Pixels that a metre at this depth covers.
    pub(crate) fn pixels_per_metre(&self, depth: f64) -> f64 {
        match self.kind {
            Kind::Above { .. } | Kind::Parallel { .. } => self.scale,
            Kind::Eye { .. } => self.scale / depth,
        }
    }

    /// Share of its light that a point at this depth keeps: far things fade into the background.
    pub(crate) fn haze(&self, depth: f64) -> f64 {
        match self.kind {
            Kind::Above { .. } | Kind::Parallel { .. } => 1.0,
            Kind::Eye { .. } => 1.0 / (1.0 + depth * depth / (110.0 * 110.0)),
        }
    }

    /// Whether the face with this outward normal at `p` is turned to the camera.
    pub(crate) fn sees(&self, p: V3, normal: V3) -> bool {
        match self.kind {
            Kind::Above { .. } => normal[2] > 0.0,
            Kind::Parallel { ahead, .. } => dot(ahead, normal) < 0.0,
            Kind::Eye { eye, .. } => (0..3).map(|k| (eye[k] - p[k]) * normal[k]).sum::<f64>() > 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_unit_and_look_at_the_surface() {
        let dot = |a: V3, b: V3| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
        for least in 0..3 {
            let mut extent = [1.0; 3];
            extent[least] = 0.1;
            let axes = oblique(facing(extent));
            for i in 0..3 {
                for j in 0..3 {
                    assert!((dot(axes[i], axes[j]) - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
            // The view is more along the short axis than across it, and what is up stays up.
            assert!(axes[2][least].abs() > 0.7 && axes[1][if least == 2 { 1 } else { 2 }] > 0.8, "{axes:?}");
        }
    }

    #[test]
    fn forward_is_up_from_above() {
        let view = Camera::birds_eye(Aabb::new([-10.0; 3], [10.0; 3])).view(200, 100);
        let p = view.project([5.0, 10.0, 1.0]).unwrap();
        assert_eq!((p.x, p.y, p.depth), (50.0, 25.0, -1.0));
        let view = Camera::birds_eye_sideways(Aabb::new([-10.0; 3], [10.0; 3])).view(200, 100);
        let p = view.project([5.0, 10.0, 1.0]).unwrap();
        assert_eq!((p.x, p.y), (125.0, 0.0));
    }

    #[test]
    fn left_is_left_and_up_is_up_from_behind() {
        let view = Camera::perspective([-10.0, 0.0, 5.0], [10.0, 0.0, 0.0], 60.0).view(200, 100);
        let middle = view.project([10.0, 0.0, 0.0]).unwrap();
        assert!((middle.x - 100.0).abs() < 1e-9 && (middle.y - 50.0).abs() < 1e-9);
        assert!(view.project([10.0, 3.0, 0.0]).unwrap().x < 100.0);
        assert!(view.project([10.0, 0.0, 2.0]).unwrap().y < 50.0);
        assert!(view.project([-20.0, 0.0, 0.0]).is_none());
        assert!(view.project([f64::NAN, 0.0, 0.0]).is_none());
    }

    #[test]
    fn gradients_are_differences() {
        let bounds = Aabb::new([-10.0; 3], [10.0; 3]);
        let axes = [[0.8, -0.6, 0.0], [0.36, 0.48, 0.8], [0.48, 0.64, -0.6]];
        for camera in [
            Camera::birds_eye(bounds),
            Camera::birds_eye_sideways(bounds),
            Camera::parallel(axes, [1.0, -2.0], [30.0, 20.0]),
            Camera::perspective([-10.0, 3.0, 5.0], [10.0, 0.0, 0.0], 60.0),
        ] {
            let (view, p, step) = (camera.view(200, 100), [4.0, 1.5, -1.0], 1e-5);
            let gradients = view.gradients(p).unwrap();
            for k in 0..3 {
                let [low, high] = [-step, step].map(|step| {
                    let mut q = p;
                    q[k] += step;
                    view.project(q).unwrap()
                });
                let found = [(high.x - low.x) / (2.0 * step), (high.y - low.y) / (2.0 * step)];
                assert!((0..2).all(|i| (found[i] - gradients[i][k]).abs() < 1e-5), "{camera:?}: {found:?}");
            }
        }
    }

    #[test]
    fn lines_are_cut_at_the_eye() {
        let view = Camera::perspective([0.0; 3], [10.0, 0.0, 0.0], 60.0).view(200, 100);
        let [a, b] = view.segment([-10.0, 2.0, 0.0], [10.0, 2.0, 0.0]).unwrap();
        assert!((a.depth - NEAR).abs() < 0.01 && b.depth == 10.0 && a.x < b.x);
        let [c, d] = view.segment([10.0, 2.0, 0.0], [-10.0, 2.0, 0.0]).unwrap();
        assert_eq!((c.x, d.x), (b.x, a.x));
        assert!(view.segment([-10.0, 2.0, 0.0], [-1.0, 2.0, 0.0]).is_none());
        assert!(view.segment([f64::NAN; 3], [10.0, 2.0, 0.0]).is_none());
    }

    #[test]
    fn nonsense_still_gives_a_view() {
        let nan = f32::NAN;
        for camera in [
            Camera::perspective([nan; 3], [nan; 3], nan),
            Camera::perspective([0.0, 0.0, 9.0], [0.0; 3], 1e9),
            Camera::birds_eye(Aabb::new([nan; 3], [f32::INFINITY; 3])),
            Camera::birds_eye(Aabb::new([f32::MIN; 3], [f32::MAX; 3])),
        ] {
            assert!(camera.view(10, 10).project([5.0, 1.0, 0.0]).is_some(), "{camera:?}");
        }
    }
}
