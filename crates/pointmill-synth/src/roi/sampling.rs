//! Points where rays of the sensor end.

use super::layout::Object;
use crate::drive::{SensorPose, first_body, in_the_way};
use crate::hash::{Dice, Stream, normal};
use crate::road;
use crate::shape::{Body, Ray};
use crate::street::backdrop;
use std::collections::HashSet;

/// Standard deviation of each coordinate, metres.
const NOISE: f64 = 0.035;
/// Range beyond which nothing comes back, metres.
const RANGE: f64 = 78.0;
/// Share of the rays that go through a car's panes to what is behind, and how far they go there,
/// metres.
const THROUGH_GLASS: f64 = 0.5;
const BEHIND_GLASS: [f64; 2] = [0.15, 2.0];
/// Rays that are tried for a point: some miss, and some are stopped by what stands before the
/// background.
const TRIES: usize = 24;

/// Edge of the cells that thinning looks at, metres, and how many points it draws at most to find a
/// cell without one.
const CELL: f64 = 0.17;
const DRAWS: usize = 4;

/// `count` rows of three. Point i depends on the objects, the seed and the points before it.
///
/// With `thinned`, a point where there is one already is drawn again a few times: clouds are
/// thinned before a second stage sees them.
pub(super) fn points(
    objects: &[Object],
    sensor: &SensorPose,
    share: f64,
    thinned: bool,
    count: usize,
    seed: u64,
) -> Vec<f32> {
    let mut sampler = Sampler {
        objects,
        sensor,
        backdrop: backdrop(seed, RANGE),
        limits: limits(objects, share),
        candidates: Vec::new(),
    };
    let stream = Stream::new(seed, 205);
    let mut taken = HashSet::new();
    let mut out = Vec::with_capacity(3 * count);
    for i in 0..count as u64 {
        let mut dice = Dice::new(stream.bits(i), 206);
        let at = dice.between(0.0, 1.0);
        let object = objects.get(sampler.limits.partition_point(|&end| end <= at));
        let draws = if thinned && object.is_some() { DRAWS } else { 1 };
        for draw in 1..=draws {
            let p = sensor.local(sampler.point(object, &mut dice)).map(|v| v + NOISE * normal(dice.bits()));
            let fresh = draws == 1 || taken.insert(p.map(|v| libm::floor(v / CELL) as i16));
            if fresh || draw == draws {
                out.extend(p.map(|v| v as f32));
                break;
            }
        }
    }
    out
}

/// Where in 0..1 the share of each object ends; what is above the last is background.
fn limits(objects: &[Object], share: f64) -> Vec<f64> {
    let total: f64 = objects.iter().map(|o| o.weight).sum();
    let mut sum = 0.0;
    let ends = objects.iter().map(|o| {
        sum += o.weight;
        share * (sum / total)
    });
    ends.collect()
}

struct Sampler<'a> {
    objects: &'a [Object],
    sensor: &'a SensorPose,
    backdrop: Vec<Body>,
    limits: Vec<f64>,
    candidates: Vec<(f64, u32)>,
}

impl Sampler<'_> {
    /// A point on an object or on the background, in the world.
    fn point(&mut self, object: Option<&Object>, dice: &mut Dice) -> [f64; 3] {
        if let Some(object) = object {
            for _ in 0..TRIES {
                if let Some(p) = self.on_object(object, dice) {
                    return p;
                }
            }
        }
        for _ in 0..TRIES {
            if let Some(p) = self.on_background(dice) {
                return p;
            }
        }
        // The pavement behind the sensor: something must be there.
        [self.sensor.at[0] - dice.between(3.0, 6.0), self.sensor.at[1] + dice.between(-1.0, 1.0), 0.0]
    }

    /// Where a ray into the outline of an object's box ends on the object.
    fn on_object(&self, object: &Object, dice: &mut Dice) -> Option<[f64; 3]> {
        let (x, y) = (object.at[0] - self.sensor.at[0], object.at[1] - self.sensor.at[1]);
        let distance = (x * x + y * y).sqrt();
        let (along, left) = ([x / distance, y / distance], [-y / distance, x / distance]);
        let [c, s] = object.heading;
        // Half the width of the box as the sensor sees it.
        let wide = 0.5
            * ((c * left[0] + s * left[1]).abs() * object.size[0] + (c * left[1] - s * left[0]).abs() * object.size[1]);
        let side = dice.between(-1.05, 1.05) * wide;
        let bottom = object.at[2] - self.sensor.at[2];
        // The near side is closer than the middle: through it rays are steeper by this factor.
        let lean = 1.0 / (1.0 - 0.8 * object.reach / distance).max(0.3);
        let (low, high) = (bottom * lean, bottom + object.size[2]);
        let high = if high > 0.0 { high * lean } else { high };
        let aim = [0, 1].map(|k| distance * along[k] + side * left[k]);
        let ray = ray(self.sensor, aim, dice.between(low, high));
        let noise = dice.bits();
        let hit = object.bodies.iter().filter_map(|b| b.hit(&ray, 0.0, noise)).min_by(|a, b| a.t.total_cmp(&b.t))?;
        // Only cabins lose that many rays.
        let deeper = if hit.material.loss >= 0.2 && dice.chance(THROUGH_GLASS) {
            dice.between(BEHIND_GLASS[0], BEHIND_GLASS[1])
        } else {
            0.0
        };
        Some(ray.at(hit.t + deeper))
    }

    /// Where a ray ends that no object stops.
    fn on_background(&mut self, dice: &mut Dice) -> Option<[f64; 3]> {
        let azimuth = dice.between(0.0, core::f64::consts::TAU);
        let level = [libm::cos(azimuth), libm::sin(azimuth)];
        // Down to the ground, as often between 4 and 8 m as between 8 and 16 m, or at walls.
        let slope = if dice.chance(0.62) {
            -self.sensor.at[2] / (4.0 * libm::exp(dice.between(0.0, 2.9)))
        } else {
            dice.between(-0.06, 0.2)
        };
        let ray = ray(self.sensor, level, slope);
        in_the_way(&mut self.candidates, &self.backdrop, self.sensor, level, 0.0, RANGE);
        let cosine = 1.0 / (1.0 + slope * slope).sqrt();
        let body = first_body(&ray, cosine, &self.candidates, &self.backdrop, 0.0, RANGE, dice.bits());
        let hit = road::hit(&ray, body.map_or(RANGE, |hit| hit.t)).or(body)?;
        let free = |o: &Object| {
            let (x, y) = (o.at[0] - self.sensor.at[0], o.at[1] - self.sensor.at[1]);
            let (ahead, beside) = (x * level[0] + y * level[1], x * level[1] - y * level[0]);
            beside.abs() >= o.reach
                || ahead <= 0.0
                || o.bodies.iter().all(|b| b.hit(&ray, 0.0, 0).is_none_or(|h| h.t >= hit.t))
        };
        self.objects.iter().all(free).then(|| ray.at(hit.t))
    }
}

/// The ray from the sensor through a point so far away along x, y and z.
fn ray(sensor: &SensorPose, [x, y]: [f64; 2], z: f64) -> Ray {
    let length = (x * x + y * y + z * z).sqrt();
    Ray { origin: sensor.at, dir: [x / length, y / length, z / length] }
}
