//! Solids and where a ray meets them.

use crate::hash::{mix, unit};
use crate::material::Material;

pub(crate) type V3 = [f64; 3];

/// A ray in the world; `dir` has length 1, so `t` is a range in metres.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ray {
    pub(crate) origin: V3,
    pub(crate) dir: V3,
}

impl Ray {
    pub(crate) fn at(&self, t: f64) -> V3 {
        [self.origin[0] + t * self.dir[0], self.origin[1] + t * self.dir[1], self.origin[2] + t * self.dir[2]]
    }
}

/// The first meeting of a ray with a surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Range in metres.
    pub(crate) t: f64,
    /// Cosine of the angle between ray and surface normal.
    pub(crate) facing: f64,
    pub(crate) material: Material,
}

/// The form of a solid in its own frame: centre at the origin, x forward, z up, metres.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A box with these half extents.
    Box { half: V3 },
    /// A box whose top is smaller than its bottom: a car's cabin, a bonnet, a van's nose.
    Taper { planes: [(V3, f64); 6] },
    /// A standing cylinder.
    Pillar { radius: f64, half: f64 },
    /// A lying cylinder with its axis along y.
    Wheel { radius: f64, half: f64 },
    /// An ellipsoid with these radii.
    Ellipsoid { radii: V3 },
    /// Leaves inside an ellipsoid: a ray gets in for a random while, and sometimes through.
    Crown { radii: V3, per_metre: f64 },
    /// Leaves inside a box.
    Hedge { half: V3, per_metre: f64 },
    /// A house with rows of recessed windows; `half[2]` is half its height, the street is at the bottom.
    House { half: V3 },
}

/// A solid in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub(crate) centre: V3,
    /// Cosine and sine of the yaw.
    pub(crate) heading: [f64; 2],
    /// Metres per second in the world's x, y.
    pub(crate) velocity: [f64; 2],
    /// Radius of the circle around the body seen from above.
    pub(crate) reach: f64,
    pub(crate) shape: Shape,
    pub(crate) material: Material,
}

impl Shape {
    /// A box of half extents `bottom` at `-half_height` that narrows to `top` at `+half_height`, the top moved forward by `shift`.
    pub(crate) fn taper(bottom: [f64; 2], top: [f64; 2], shift: f64, half_height: f64) -> Self {
        let (h, slope) = (half_height, |b: f64, t: f64| (t - b) / (2.0 * half_height));
        // A side wall is all p with side * p.x <= middle + k * p.z.
        let wall = |axis: usize, side: f64, bottom: f64, top: f64| {
            let k = slope(bottom, top);
            let length = (1.0 + k * k).sqrt();
            let mut n = [0.0, 0.0, -k / length];
            n[axis] = side / length;
            (n, (bottom + top) / 2.0 / length)
        };
        Self::Taper {
            planes: [
                wall(0, 1.0, bottom[0], top[0] + shift),
                wall(0, -1.0, bottom[0], top[0] - shift),
                wall(1, 1.0, bottom[1], top[1]),
                wall(1, -1.0, bottom[1], top[1]),
                ([0.0, 0.0, 1.0], h),
                ([0.0, 0.0, -1.0], h),
            ],
        }
    }

    /// Radius of the smallest circle around the shape seen from above, centred at its origin.
    fn reach(&self) -> f64 {
        let corner = |x: f64, y: f64| (x * x + y * y).sqrt();
        match self {
            Self::Box { half } | Self::Hedge { half, .. } | Self::House { half } => corner(half[0], half[1]),
            Self::Taper { planes } => {
                let h = planes[4].1;
                let width = |i: usize, axis: usize| {
                    let (n, m) = planes[i];
                    (m + n[2].abs() * h) / n[axis].abs()
                };
                corner(width(0, 0).max(width(1, 0)), width(2, 1))
            }
            Self::Pillar { radius, .. } => *radius,
            Self::Wheel { radius, half } => corner(*radius, *half),
            Self::Ellipsoid { radii } | Self::Crown { radii, .. } => radii[0].max(radii[1]),
        }
    }
}

impl Body {
    pub(crate) fn new(shape: Shape, centre: V3, heading: [f64; 2], material: Material) -> Self {
        Self { centre, heading, velocity: [0.0; 2], reach: shape.reach(), shape, material }
    }

    /// Where the ray meets the body `time` seconds after the moment its centre is given for.
    ///
    /// `noise` are random bits of this ray and body; only leaves use them.
    pub(crate) fn hit(&self, ray: &Ray, time: f64, noise: u64) -> Option<Hit> {
        let [c, s] = self.heading;
        let o = [
            ray.origin[0] - self.centre[0] - self.velocity[0] * time,
            ray.origin[1] - self.centre[1] - self.velocity[1] * time,
            ray.origin[2] - self.centre[2],
        ];
        let o = [c * o[0] + s * o[1], c * o[1] - s * o[0], o[2]];
        let d = [c * ray.dir[0] + s * ray.dir[1], c * ray.dir[1] - s * ray.dir[0], ray.dir[2]];
        let (t, facing, material) = match &self.shape {
            Shape::Box { half } => {
                let (enter, axis, _) = through_box(o, d, *half)?;
                (enter, d[axis].abs(), self.material)
            }
            Shape::Taper { planes } => {
                let (t, facing) = into_planes(o, d, planes)?;
                (t, facing, self.material)
            }
            Shape::Pillar { radius, half } => {
                let (t, facing) = into_cylinder(o, d, *radius, *half)?;
                (t, facing, self.material)
            }
            Shape::Wheel { radius, half } => {
                let (t, facing) = into_cylinder([o[0], o[2], o[1]], [d[0], d[2], d[1]], *radius, *half)?;
                (t, facing, self.material)
            }
            Shape::Ellipsoid { radii } => {
                let (t, _) = through_ellipsoid(o, d, *radii)?;
                let n: V3 = core::array::from_fn(|k| (o[k] + t * d[k]) / (radii[k] * radii[k]));
                let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                (t, (n[0] * d[0] + n[1] * d[1] + n[2] * d[2]).abs() / length, self.material)
            }
            Shape::Crown { radii, per_metre } => {
                let (enter, exit) = through_ellipsoid(o, d, *radii)?;
                (among_leaves(enter, exit, *per_metre, noise)?, leaf(noise), self.material)
            }
            Shape::Hedge { half, per_metre } => {
                let (enter, _, exit) = through_box(o, d, *half)?;
                (among_leaves(enter, exit, *per_metre, noise)?, leaf(noise), self.material)
            }
            Shape::House { half } => {
                let (enter, axis, _) = through_box(o, d, *half)?;
                facade(o, d, *half, enter, axis, self.material)
            }
        };
        (t > 0.0).then_some(Hit { t, facing, material })
    }
}

/// Entry, the axis of the face entered, and exit of a ray that starts outside the box.
fn through_box(o: V3, d: V3, half: V3) -> Option<(f64, usize, f64)> {
    let (mut enter, mut axis, mut exit) = (0.0, 3, f64::INFINITY);
    for k in 0..3 {
        if d[k] == 0.0 {
            if o[k].abs() > half[k] {
                return None;
            }
            continue;
        }
        let inverse = 1.0 / d[k];
        let (a, b) = ((-half[k] - o[k]) * inverse, (half[k] - o[k]) * inverse);
        let (near, far) = if a < b { (a, b) } else { (b, a) };
        if near > enter {
            (enter, axis) = (near, k);
        }
        if far < exit {
            exit = far;
        }
    }
    (axis < 3 && enter < exit).then_some((enter, axis, exit))
}

/// Entry into a convex solid of planes `n . p <= m` with unit normals, and the cosine of incidence there.
fn into_planes(o: V3, d: V3, planes: &[(V3, f64)]) -> Option<(f64, f64)> {
    let (mut enter, mut facing, mut exit) = (0.0, 0.0, f64::INFINITY);
    for (n, m) in planes {
        let along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2];
        let room = m - (n[0] * o[0] + n[1] * o[1] + n[2] * o[2]);
        if along == 0.0 {
            if room < 0.0 {
                return None;
            }
            continue;
        }
        let t = room / along;
        if along < 0.0 && t > enter {
            (enter, facing) = (t, -along);
        } else if along > 0.0 && t < exit {
            exit = t;
        }
    }
    (facing > 0.0 && enter < exit).then_some((enter, facing))
}

/// Entry into a cylinder along z, through its side or its ends.
fn into_cylinder(o: V3, d: V3, radius: f64, half: f64) -> Option<(f64, f64)> {
    let a = d[0] * d[0] + d[1] * d[1];
    let b = o[0] * d[0] + o[1] * d[1];
    let c = o[0] * o[0] + o[1] * o[1] - radius * radius;
    let disc = b * b - a * c;
    // A ray along the axis (a = 0) can only meet an end.
    if a > 0.0 {
        if disc <= 0.0 {
            return None;
        }
        let t = (-b - disc.sqrt()) / a;
        if (o[2] + t * d[2]).abs() <= half {
            let n = [(o[0] + t * d[0]) / radius, (o[1] + t * d[1]) / radius];
            return Some((t, (n[0] * d[0] + n[1] * d[1]).abs()));
        }
    }
    if d[2] == 0.0 {
        return None;
    }
    let end = if d[2] < 0.0 { half } else { -half };
    let t = (end - o[2]) / d[2];
    let (x, y) = (o[0] + t * d[0], o[1] + t * d[1]);
    (x * x + y * y <= radius * radius).then_some((t, d[2].abs()))
}

fn through_ellipsoid(o: V3, d: V3, radii: V3) -> Option<(f64, f64)> {
    let o: V3 = core::array::from_fn(|k| o[k] / radii[k]);
    let d: V3 = core::array::from_fn(|k| d[k] / radii[k]);
    let a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    let b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2];
    let c = o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - 1.0;
    let disc = b * b - a * c;
    if disc <= 0.0 {
        return None;
    }
    let root = disc.sqrt();
    Some(((-b - root) / a, (-b + root) / a))
}

/// The range of the first leaf: free flight through leaves is exponentially distributed.
fn among_leaves(enter: f64, exit: f64, per_metre: f64, noise: u64) -> Option<f64> {
    let t = enter - libm::log(1.0 - unit(noise)) / per_metre;
    (t < exit).then_some(t)
}

/// Leaves hang at all angles.
fn leaf(noise: u64) -> f64 {
    unit(mix(noise)) * 0.8 + 0.2
}

/// Width of a bay of the facade, of its window, and the depth of the recess, metres.
const BAY: f64 = 2.7;
const WINDOW: f64 = 1.35;
const RECESS: f64 = 0.24;
/// Storey height, window sill and lintel above the floor; every fourth bay of the ground floor is a door, metres.
const STOREY: f64 = 3.2;
const SILL: f64 = 0.95;
const LINTEL: f64 = 2.45;

/// A ray that enters a house's box through the face across `axis`: the wall, or on into a window.
fn facade(o: V3, d: V3, half: V3, enter: f64, axis: usize, wall: Material) -> (f64, f64, Material) {
    let outside = (enter, d[axis].abs(), wall);
    if axis == 2 {
        return outside;
    }
    let side = 1 - axis;
    let (u, v) = (o[side] + enter * d[side] + half[side], o[2] + enter * d[2] + half[2]);
    let bays = (2.0 * half[side] / BAY) as i64;
    let margin = half[side] - bays as f64 * BAY / 2.0;
    let bay = ((u - margin) / BAY) as i64;
    let floor = (v / STOREY) as i64;
    if u < margin || bay >= bays || v > 2.0 * half[2] - 0.5 {
        return outside;
    }
    let door = floor == 0 && bay % 4 == 2;
    let middle = margin + (bay as f64 + 0.5) * BAY - half[side];
    let base = floor as f64 * STOREY - half[2];
    let (low, high) = if door { (base, base + 2.2) } else { (base + SILL, base + LINTEL) };
    let (left, right) = (middle - WINDOW / 2.0, middle + WINDOW / 2.0);
    let (u, v) = (u - half[side], v - half[2]);
    if u < left || u > right || v < low || v > high {
        return outside;
    }
    // Inside the recess: the pane at its back, unless a side of it comes first.
    let pane = enter + RECESS / d[axis].abs();
    let leave = |p: f64, d: f64, low: f64, high: f64| match d {
        d if d > 0.0 => enter + (high - p) / d,
        d if d < 0.0 => enter + (low - p) / d,
        _ => f64::INFINITY,
    };
    let (jamb, soffit) = (leave(u, d[side], left, right), leave(v, d[2], low, high));
    if jamb < pane && jamb < soffit {
        (jamb, d[side].abs(), wall)
    } else if soffit < pane {
        (soffit, d[2].abs(), wall)
    } else {
        (pane, d[axis].abs(), if door { wall } else { Material::GLASS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: Material = Material::wall(0.5);

    fn range(shape: Shape, origin: V3, dir: V3) -> Option<f64> {
        Body::new(shape, [10.0, 0.0, 0.0], [0.0, 1.0], WALL).hit(&Ray { origin, dir }, 0.0, 1).map(|h| h.t)
    }

    #[test]
    fn solids_are_met_at_their_faces() {
        // Turned by a quarter: the body's y lies along the world's -x.
        let half = [1.0, 2.0, 3.0];
        assert_eq!(range(Shape::Box { half }, [0.0; 3], [1.0, 0.0, 0.0]), Some(8.0));
        assert_eq!(range(Shape::Box { half }, [0.0, 1.5, 0.0], [1.0, 0.0, 0.0]), None);
        assert_eq!(range(Shape::Box { half }, [20.0, 0.0, 0.0], [1.0, 0.0, 0.0]), None);
        let pillar = Shape::Pillar { radius: 0.5, half: 1.0 };
        assert_eq!(range(pillar, [0.0; 3], [1.0, 0.0, 0.0]), Some(9.5));
        assert_eq!(range(pillar, [10.0, 0.0, 5.0], [0.0, 0.0, -1.0]), Some(4.0));
        assert_eq!(range(Shape::Wheel { radius: 0.5, half: 0.1 }, [0.0; 3], [1.0, 0.0, 0.0]), Some(9.9));
        assert_eq!(range(Shape::Ellipsoid { radii: [1.0, 2.0, 3.0] }, [0.0; 3], [1.0, 0.0, 0.0]), Some(8.0));
    }

    #[test]
    fn a_taper_without_slope_is_a_box() {
        let taper = Shape::taper([1.0, 2.0], [1.0, 2.0], 0.0, 3.0);
        let half = [1.0, 2.0, 3.0];
        for (y, z) in [(0.3, 0.1), (-0.9, 2.5), (1.1, 0.0), (0.0, 3.2)] {
            let (origin, dir) = ([0.0, y, z], [1.0, 0.0, 0.0]);
            assert_eq!(range(taper, origin, dir), range(Shape::Box { half }, origin, dir));
        }
        let leaning = Shape::taper([1.0, 2.0], [0.5, 1.0], 0.0, 1.0);
        assert_eq!(range(leaning, [0.0; 3], [1.0, 0.0, 0.0]), Some(8.5));
        assert!(Body::new(leaning, [0.0; 3], [1.0, 0.0], WALL).reach >= 5.0f64.sqrt());
    }

    #[test]
    fn windows_are_recessed() {
        // Six bays along y with a margin of 0.1; the third is a door, so aim at the middle of the second.
        let house = Body::new(Shape::House { half: [5.0, 8.2, 6.4] }, [10.0, 0.0, 6.4], [1.0, 0.0], WALL);
        let at = |y: f64, z: f64| house.hit(&Ray { origin: [0.0, y, z], dir: [1.0, 0.0, 0.0] }, 0.0, 1).unwrap();
        assert_eq!(at(-8.0, 1.7).t, 5.0);
        assert_eq!(at(-8.1 + 1.5 * BAY, 0.5).t, 5.0);
        let pane = at(-8.1 + 1.5 * BAY, 1.7);
        assert!((pane.t - 5.0 - RECESS).abs() < 1e-12);
        assert_eq!(pane.material, Material::GLASS);
    }

    #[test]
    fn leaves_stop_most_rays() {
        let crown =
            Body::new(Shape::Crown { radii: [2.0; 3], per_metre: 0.7 }, [10.0, 0.0, 0.0], [1.0, 0.0], Material::LEAVES);
        let ray = Ray { origin: [0.0; 3], dir: [1.0, 0.0, 0.0] };
        let hits: Vec<f64> = (0..1000).filter_map(|n| crown.hit(&ray, 0.0, mix(n)).map(|h| h.t)).collect();
        // exp(-0.7 * 4) = 6 % get through.
        assert!((900..980).contains(&hits.len()), "{}", hits.len());
        assert!(hits.iter().all(|t| (8.0..12.0).contains(t)));
    }
}
