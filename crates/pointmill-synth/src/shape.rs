//! Solids and where a ray meets them.

use crate::V3;
use crate::facade::facade;
use crate::material::Material;
use crate::solids::{among_leaves, into_cylinder, into_planes, leaf, through_box, through_ellipsoid};

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
    /// A house with rows of recessed windows; `half[2]` is half its height, the street is at the
    /// bottom.
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
    /// A box of half extents `bottom` at `-half_height` that narrows to `top` at `+half_height`,
    /// the top moved forward by `shift`.
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

    /// Whether the circle from above comes within `view` metres of a point.
    pub(crate) fn is_within(&self, [x, y]: [f64; 2], view: f64) -> bool {
        let (dx, dy, far) = (self.centre[0] - x, self.centre[1] - y, view + self.reach);
        dx * dx + dy * dy < far * far
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

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
