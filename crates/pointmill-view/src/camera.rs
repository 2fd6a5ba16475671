//! From metres to pixels.

use pointmill_core::Aabb;

type V3 = [f64; 3];

/// Where a picture is taken from: straight down on a box, or from an eye to a target.
///
/// Frame of the points: x forward, y left, z up, metres. A camera knows no image size: the view is
/// fitted into whatever image is drawn.
///
/// ```
/// use pointmill_view::Camera;
/// let behind_and_above = Camera::perspective([-14.0, 0.0, 9.0], [18.0, 0.0, -1.0], 60.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Unit vectors: the picture's right and up, and ahead.
    axes: [V3; 3],
    lens: Lens,
    /// Depths between which things fade, of a parallel view.
    fade: Option<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lens {
    /// From infinitely far away: middle and metres across, along the picture's right and up.
    Parallel { middle: [f64; 2], size: [f64; 2] },
    /// From a place; the width of the picture over its distance.
    Eye { eye: V3, spread: f64 },
}

/// What is left of the light of the farthest points where things fade.
const DARKEST: f64 = 0.3;

impl Camera {
    /// Straight down on `bounds`, x (forward) up and y (left) left, one scale for both axes,
    /// everything in the picture.
    ///
    /// Bounds that are empty or not finite are replaced by the 100 m around the origin.
    pub fn birds_eye(bounds: Aabb) -> Self {
        Self::above(bounds, [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
    }

    /// As [`Camera::birds_eye`], with x (forward) to the right and y (left) up: for wide pictures
    /// of long roads.
    pub fn birds_eye_sideways(bounds: Aabb) -> Self {
        Self::above(bounds, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    }

    fn above(bounds: Aabb, [right, up]: [V3; 2]) -> Self {
        let mut middle = [0.0; 3];
        let mut size = [100.0; 3];
        for k in 0..2 {
            let (min, max) = (f64::from(bounds.min[k]), f64::from(bounds.max[k]));
            if min.is_finite() && max.is_finite() && min < max {
                (middle[k], size[k]) = ((min + max) / 2.0, max - min);
            }
        }
        let across = |axis: V3| dot(axis.map(f64::abs), [size[0], size[1], 0.0]);
        let middle = [dot(right, middle), dot(up, middle)];
        Self::parallel([right, up, [0.0, 0.0, -1.0]], middle, [across(right), across(up)])
    }

    /// From `eye` towards `target`, `fov_deg` degrees wide (kept within 1 to 170), z up in the
    /// picture.
    ///
    /// An eye that is not finite, on its target, or straight above or below it looks along x.
    pub fn perspective(eye: [f32; 3], target: [f32; 3], fov_deg: f32) -> Self {
        let finite = |p: [f32; 3]| p.map(|v| if v.is_finite() { f64::from(v) } else { 0.0 });
        let fov = if fov_deg.is_finite() { f64::from(fov_deg).clamp(1.0, 170.0) } else { 60.0 };
        Self::looking(finite(eye), finite(target), fov)
    }

    /// As [`Camera::perspective`], of places and degrees that are validated.
    pub(crate) fn looking(eye: V3, target: V3, fov_deg: f64) -> Self {
        let ahead = unit([0, 1, 2].map(|k| target[k] - eye[k])).unwrap_or([1.0, 0.0, 0.0]);
        let (ahead, right) = match unit([ahead[1], -ahead[0], 0.0]) {
            Some(right) => (ahead, right),
            None => ([1.0, 0.0, 0.0], [0.0, -1.0, 0.0]),
        };
        let up = [
            right[1] * ahead[2] - right[2] * ahead[1],
            right[2] * ahead[0] - right[0] * ahead[2],
            right[0] * ahead[1] - right[1] * ahead[0],
        ];
        let spread = 2.0 * libm::tan(fov_deg.to_radians() / 2.0);
        Self { axes: [right, up, ahead], lens: Lens::Eye { eye, spread }, fade: None }
    }

    /// From infinitely far away: unit axes of the picture, its middle and the metres across it. All
    /// are validated.
    pub(crate) const fn parallel(axes: [V3; 3], middle: [f64; 2], size: [f64; 2]) -> Self {
        Self { axes, lens: Lens::Parallel { middle, size }, fade: None }
    }

    /// The same view, in which things fade from the first depth to the second.
    pub(crate) const fn fading(self, depths: [f64; 2]) -> Self {
        Self { fade: Some(depths), ..self }
    }

    /// A parallel view grown to round bounds, so that the frames of an animation agree.
    pub(crate) fn in_steps(mut self) -> Self {
        if let Lens::Parallel { middle, size } = &mut self.lens {
            let step = libm::exp2(libm::floor(libm::log2(size[0].max(size[1]) / 32.0)));
            for (middle, size) in middle.iter_mut().zip(size) {
                let low = libm::floor((*middle - 0.5 * *size) / step) * step;
                let high = libm::ceil((*middle + 0.5 * *size) / step) * step;
                (*middle, *size) = (0.5 * (low + high), high - low);
            }
        }
        self
    }

    /// Whether a metre has as many pixels everywhere.
    pub(crate) const fn is_parallel(&self) -> bool {
        matches!(self.lens, Lens::Parallel { .. })
    }

    /// The camera for an image of this many pixels.
    pub(crate) fn view(&self, width: u32, height: u32) -> View {
        let (w, h) = (f64::from(width), f64::from(height));
        let scale = match self.lens {
            Lens::Parallel { size, .. } => (w / size[0]).min(h / size[1]),
            Lens::Eye { spread, .. } => w / spread,
        };
        View { camera: *self, scale, centre: [w / 2.0, h / 2.0] }
    }
}

pub(crate) fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(v: V3) -> Option<V3> {
    let length = dot(v, v).sqrt();
    (length > 1e-9 && length.is_finite()).then(|| v.map(|x| x / length))
}

/// Nothing nearer to the eye than this is drawn, metres.
const NEAR: f64 = 0.5;

/// A camera fitted to an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    camera: Camera,
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
    /// Where a point is in the image, which may be far outside; `None` behind the eye and for what
    /// is not finite.
    pub(crate) fn project(&self, p: V3) -> Option<Projected> {
        let [right, up, ahead] = self.camera.axes;
        let (x, y, depth) = match self.camera.lens {
            Lens::Parallel { middle, .. } => (dot(right, p) - middle[0], dot(up, p) - middle[1], dot(ahead, p)),
            Lens::Eye { eye, .. } => {
                let v = [p[0] - eye[0], p[1] - eye[1], p[2] - eye[2]];
                let depth = dot(ahead, v);
                if depth < NEAR {
                    return None;
                }
                (dot(right, v) / depth, dot(up, v) / depth, depth)
            }
        };
        let (x, y) = (self.centre[0] + x * self.scale, self.centre[1] - y * self.scale);
        (x.is_finite() && y.is_finite() && depth.is_finite()).then_some(Projected { x, y, depth })
    }

    /// How many pixels to the right and how many down a point at `p` moves with each metre along x,
    /// y and z; `None` as [`View::project`].
    pub(crate) fn gradients(&self, p: V3) -> Option<[V3; 2]> {
        let at = self.project(p)?;
        let [right, up, ahead] = self.camera.axes;
        let per_metre = self.pixels_per_metre(at.depth);
        let (x, y) = match self.camera.lens {
            Lens::Parallel { .. } => (0.0, 0.0),
            // What is not in the middle moves with its distance too.
            Lens::Eye { .. } => ((at.x - self.centre[0]) / self.scale, (self.centre[1] - at.y) / self.scale),
        };
        let leaning = |axis: V3, t: f64| [0, 1, 2].map(|k| (axis[k] - t * ahead[k]) * per_metre);
        Some([leaning(right, x), leaning(up, y).map(|v| -v)])
    }

    /// The part of a line that is in front of the eye; `None` if there is none, or an end is not
    /// finite.
    pub(crate) fn segment(&self, a: V3, b: V3) -> Option<[Projected; 2]> {
        let Lens::Eye { eye, .. } = self.camera.lens else {
            return Some([self.project(a)?, self.project(b)?]);
        };
        let depth = |p: V3| dot(self.camera.axes[2], [p[0] - eye[0], p[1] - eye[1], p[2] - eye[2]]);
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
        if self.camera.is_parallel() { self.scale } else { self.scale / depth }
    }

    /// Share of its light that a point at this depth keeps: far things fade into the background.
    pub(crate) fn haze(&self, depth: f64) -> f64 {
        match (self.camera.lens, self.camera.fade) {
            (Lens::Eye { .. }, _) => 1.0 / (1.0 + depth * depth / (110.0 * 110.0)),
            (_, Some([near, far])) => 1.0 - ((depth - near) / (far - near)).clamp(0.0, 1.0) * (1.0 - DARKEST),
            (_, None) => 1.0,
        }
    }

    /// Whether the face with this outward normal at `p` is turned to the camera.
    pub(crate) fn sees(&self, p: V3, normal: V3) -> bool {
        match self.camera.lens {
            Lens::Parallel { .. } => dot(self.camera.axes[2], normal) < 0.0,
            Lens::Eye { eye, .. } => dot([eye[0] - p[0], eye[1] - p[1], eye[2] - p[2]], normal) > 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn views_of_nearly_the_same_places_agree_in_steps() {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
        let of = |x: f64| Camera::parallel(axes, [x, 7.0], [60.3, 41.0]).in_steps();
        assert_eq!(of(3.2), of(3.3));
        let Lens::Parallel { middle, size } = of(3.2).lens else { panic!("a parallel view") };
        assert!((0..2).all(|k| size[k] >= [60.3, 41.0][k] && size[k] < [63.0, 43.1][k]), "{middle:?} {size:?}");
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
