//! A tunnel: two walls, a ceiling, a flat road, and traffic.

use crate::hash::Dice;
use crate::material::Material;
use crate::props::{self, Place, Vehicle};
use crate::road::{self, LANE};
use crate::shape::{Body, Hit, Ray, Shape};

/// Half the width and the height of the tunnel, and half the thickness of its walls, in metres.
const HALF_WIDTH: f64 = 5.2;
const HEIGHT: f64 = 5.4;
const HALF_WALL: f64 = 0.5;
/// Speed of the oncoming traffic and of the cars in the own lane in m/s.
const ONCOMING: f64 = -12.0;
const AHEAD: f64 = 10.6;

#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    fixed: Vec<Body>,
    /// Place along the tunnel at time 0, speed, seed.
    cars: Vec<(f64, f64, u64)>,
}

/// Where the car is after so many metres.
pub(crate) const fn lane(along: f64) -> Place {
    Place { at: [along, -LANE, 0.0], heading: [1.0, 0.0] }
}

/// The road, with a line in its middle.
pub(crate) fn ground(ray: &Ray, limit: f64) -> Option<Hit> {
    road::hit_level(ray, limit, |_, y| if y.abs() < 0.1 { Material::MARKING } else { Material::ASPHALT })
}

impl Tunnel {
    /// Its ends are out of view.
    pub(crate) fn new(seed: u64, length: f64, seconds: f64, view: f64) -> Self {
        let dice = &mut Dice::new(seed, 20);
        let (middle, half) = (length / 2.0, length / 2.0 + 2.0 * view);
        let solid = |at: [f64; 3], half: [f64; 3], albedo: f64| {
            Body::new(Shape::Box { half }, at, [1.0, 0.0], Material::wall(albedo))
        };
        let wall = HALF_WIDTH + HALF_WALL;
        let fixed = vec![
            solid([middle, wall, HEIGHT / 2.0], [half, HALF_WALL, HEIGHT], dice.between(0.4, 0.6)),
            solid([middle, -wall, HEIGHT / 2.0], [half, HALF_WALL, HEIGHT], dice.between(0.4, 0.6)),
            solid([middle, 0.0, HEIGHT + HALF_WALL], [half, HALF_WIDTH + 1.0, HALF_WALL], dice.between(0.3, 0.5)),
        ];
        let mut cars = vec![(dice.between(25.0, 40.0), AHEAD, dice.bits())];
        let mut x = dice.between(30.0, 80.0);
        while x < length + view - ONCOMING * seconds {
            cars.push((x, ONCOMING, dice.bits()));
            x += dice.between(60.0, 120.0);
        }
        Self { fixed, cars }
    }

    /// Everything at a time since the start of the drive.
    pub(crate) fn bodies(&self, time: f64) -> Vec<Body> {
        let mut out = self.fixed.clone();
        for &(along, speed, seed) in &self.cars {
            let side = if speed < 0.0 { 1.0 } else { -1.0 };
            let place = Place { at: [along + speed * time, side * LANE, 0.0], heading: [-side, 0.0] };
            let first = out.len();
            let dice = &mut Dice::new(seed, 0);
            let kind = Vehicle::parked(dice);
            props::vehicle(&mut out, &place, kind, dice);
            out[first..].iter_mut().for_each(|body| body.velocity = [speed, 0.0]);
        }
        out
    }
}
