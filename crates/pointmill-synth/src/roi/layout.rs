//! What stands in the street.

use crate::SENSOR_HEIGHT;
use crate::drive::SensorPose;
use crate::hash::{Dice, normal};
use crate::props::{self, Place, Vehicle};
use crate::road::{self, LANE, PARKING};
use crate::shape::Body;
use crate::street::{on_road, turned};

/// Something that a detector looks for, in the world.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) bodies: Vec<Body>,
    /// The middle of its bottom face.
    pub(super) at: [f64; 3],
    pub(super) heading: [f64; 2],
    /// Length, width and height.
    pub(super) size: [f64; 3],
    /// How many points it has, in proportion to others.
    pub(super) weight: f64,
    /// Radius of the circle around it, seen from above.
    pub(super) reach: f64,
}

/// How far along the road objects stand, and how near to the sensor at the least, metres.
const FAR: f64 = 69.0;
const NEAR: f64 = 5.5;
/// Range at which an object has half the points it would have beside the sensor: clouds are thinned
/// near the sensor before a second stage sees them, so that the fall is slower than that of a
/// sweep.
const HALF_RANGE: f64 = 55.0;

/// The sensor, on a car in the right lane.
pub(super) fn sensor() -> SensorPose {
    let y = road::middle(0.0).0 - LANE;
    SensorPose { at: [0.0, y, SENSOR_HEIGHT + road::undulation(0.0, y)], heading: road::heading(0.0) }
}

/// `count` objects, none in another.
pub(super) fn objects(seed: u64, count: usize) -> Vec<Object> {
    let mut dice = Dice::new(seed, 201);
    let mut out: Vec<Object> = Vec::with_capacity(count);
    let sensor = sensor();
    for k in 0..count {
        let mut object = object(k, &mut dice);
        // Room runs out only where there are more objects than a street has: then they stand in
        // each other.
        for _ in 0..40 {
            let free = |other: &Object| apart(object.at, other.at) > 0.85 * (object.reach + other.reach);
            if out.iter().all(free) && apart(object.at, sensor.at) > NEAR + object.reach {
                break;
            }
            object = self::object(k, &mut dice);
        }
        let range = apart(object.at, sensor.at) / HALF_RANGE;
        object.weight /= 1.0 + range * range;
        out.push(object);
    }
    out
}

/// Distance seen from above.
fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt()
}

/// One object somewhere. Of eight, five are cars, one is a van or a bus and two are people.
fn object(k: usize, dice: &mut Dice) -> Object {
    let along = dice.between(-FAR, FAR);
    let mut bodies = Vec::new();
    if matches!(k % 8, 5 | 7) {
        let side = if dice.chance(0.5) { 1.0 } else { -1.0 };
        let mut place = on_road(along, side * dice.between(road::HALF_ROAD + 0.8, road::HALF_ROAD + 3.9));
        place.heading = turned_by(place.heading, dice.between(0.0, core::f64::consts::TAU));
        props::person(&mut bodies, &place, dice.between(0.1, 0.5), dice);
        return finished(bodies, &place, [0.65, 0.65, 1.8], 0.45);
    }
    let kind = match k % 16 {
        11 => Vehicle::Bus,
        3 => Vehicle::Van,
        _ => [Vehicle::Hatchback, Vehicle::Saloon, Vehicle::Estate][(dice.bits() % 3) as usize],
    };
    // Parked on both sides, or in a lane; a few stand across, as cars that pull out or turn do.
    let (across, way) = match dice.bits() % 6 {
        0 | 1 => (PARKING, -1.0),
        2 | 3 => (-PARKING, 1.0),
        4 => (LANE, -1.0),
        _ => (-LANE, 1.0),
    };
    let mut place = on_road(along, across + dice.between(-0.2, 0.2));
    place.heading = place.heading.map(|v| way * v);
    if dice.chance(0.25) {
        place.heading = turned(place.heading, if dice.chance(0.5) { 1.0 } else { -1.0 });
    }
    place.heading = turned_by(place.heading, 0.08 * normal(dice.bits()));
    props::vehicle(&mut bodies, &place, kind, dice);
    let (size, weight) = match kind {
        Vehicle::Bus => ([kind.length() + 0.05, 2.6, 3.12], 1.5),
        Vehicle::Van => ([kind.length() + 0.05, 2.0, 2.23], 1.2),
        _ => ([kind.length() + 0.05, 1.85, 1.5], 1.0),
    };
    finished(bodies, &place, size, weight)
}

fn finished(bodies: Vec<Body>, place: &Place, size: [f64; 3], weight: f64) -> Object {
    let reach = 0.5 * (size[0] * size[0] + size[1] * size[1]).sqrt();
    Object { bodies, at: place.at, heading: place.heading, size, weight, reach }
}

fn turned_by([c, s]: [f64; 2], angle: f64) -> [f64; 2] {
    let (dc, ds) = (libm::cos(angle), libm::sin(angle));
    [c * dc - s * ds, s * dc + c * ds]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_stand_apart_and_in_their_size() {
        for seed in 0..20 {
            let objects = objects(seed, 32);
            for (i, a) in objects.iter().enumerate() {
                assert!(objects[..i].iter().all(|b| apart(a.at, b.at) > 0.5 * (a.reach + b.reach)), "seed {seed}");
                assert!((a.heading[0].hypot(a.heading[1]) - 1.0).abs() < 1e-12 && a.weight > 0.0);
                assert!(a.at[0].abs() <= FAR && a.bodies.len() >= 5);
            }
        }
    }
}
