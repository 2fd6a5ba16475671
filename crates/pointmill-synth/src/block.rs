//! A way round a block: a rectangle with round corners, houses inside and outside of it.

use crate::hash::Dice;
use crate::material::Material;
use crate::props::{self, Place, Vehicle};
use crate::road::{self, HALF_ROAD, LANE, PARKING};
use crate::shape::{Body, Hit, Ray};
use core::f64::consts::FRAC_PI_2;

/// Radius of the corners of the road's middle, metres.
const RADIUS: f64 = 15.0;
/// Shortest and longest way round, metres.
const AROUND: [f64; 2] = [180.0, 600.0];
/// Length of the long sides by the short ones.
const LONG: f64 = 1.6;
/// Distance of the facades from the middle of the road, metres.
const FACADE: f64 = HALF_ROAD + 4.0;

#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Lengths of the straight parts: along x, along y.
    sides: [f64; 2],
    fixed: Vec<Body>,
    actors: Vec<Actor>,
}

/// Someone who goes round.
#[derive(Clone, Copy, Debug)]
struct Actor {
    is_person: bool,
    /// Place at time 0: along the road and to the left of its middle, metres.
    along: f64,
    across: f64,
    /// Metres per second along the road.
    speed: f64,
    seed: u64,
}

impl Block {
    /// The block of this seed, for a car that drives `length` metres.
    pub(crate) fn new(seed: u64, length: f64) -> Self {
        let around = length.clamp(AROUND[0], AROUND[1]);
        let straight = (around - 4.0 * FRAC_PI_2 * (RADIUS + LANE)) / 2.0;
        let short = straight / (1.0 + LONG);
        let mut block = Self { sides: [LONG * short, short], fixed: Vec::new(), actors: Vec::new() };
        block.houses(&mut Dice::new(seed, 30));
        block.kerbs(&mut Dice::new(seed, 31));
        block.people_and_cars(&mut Dice::new(seed, 32));
        block
    }

    /// Length of a line so many metres left of the road's middle.
    fn around(&self, across: f64) -> f64 {
        2.0 * (self.sides[0] + self.sides[1]) + 4.0 * FRAC_PI_2 * (RADIUS - across)
    }

    /// The place after `along` metres of a line `across` metres left of the road's middle. The way
    /// begins in the middle of a long side, towards x.
    fn place(&self, along: f64, across: f64) -> Place {
        let (radius, around) = (RADIUS - across, self.around(across));
        let corner = FRAC_PI_2 * radius;
        let mut rest = along + self.sides[0] / 2.0;
        rest -= road::floor(rest / around) * around;
        // The corner before this part of the way, and the way's direction there: quarter turns to
        // the left.
        let [mut x, mut y] = [-self.sides[0] / 2.0, 0.0];
        let mut heading = [1.0, 0.0];
        for part in 0..4 {
            let side = self.sides[part % 2];
            if rest < side || part == 3 && rest < side + 1e-9 {
                break;
            }
            (x, y, rest) = (x + side * heading[0], y + side * heading[1], rest - side);
            let [c, s] = heading;
            // The middle of the corner's circle lies to the left.
            let middle = [x - s * RADIUS, y + c * RADIUS];
            if rest < corner {
                let angle = rest / radius;
                let (sin, cos) = (libm::sin(angle), libm::cos(angle));
                let out = [s * cos + c * sin, -c * cos + s * sin];
                let at = [middle[0] + radius * out[0], middle[1] + radius * out[1], 0.0];
                return Place { at, heading: [-out[1], out[0]] };
            }
            rest -= corner;
            heading = [-s, c];
            (x, y) = (middle[0] + RADIUS * c, middle[1] + RADIUS * s);
        }
        let [c, s] = heading;
        Place { at: [x + c * rest - s * across, y + s * rest + c * across, 0.0], heading }
    }

    /// Where the car is after so many metres.
    pub(crate) fn lane(&self, along: f64) -> Place {
        self.place(along, -LANE)
    }

    /// Everything at a time since the start of the drive.
    pub(crate) fn bodies(&self, time: f64) -> Vec<Body> {
        let mut out = self.fixed.clone();
        for actor in &self.actors {
            let along = actor.along + actor.speed * time;
            let mut place = self.place(along, actor.across);
            let [c, s] = place.heading;
            if actor.speed < 0.0 {
                place.heading = [-c, -s];
            }
            let first = out.len();
            let dice = &mut Dice::new(actor.seed, 0);
            if actor.is_person {
                let phase = time * 1.8 + actor.along;
                props::person(&mut out, &place, 1.3 * ((phase - road::floor(phase)) - 0.5).abs(), dice);
            } else {
                let kind = Vehicle::parked(dice);
                props::vehicle(&mut out, &place, kind, dice);
            }
            let velocity = [c * actor.speed, s * actor.speed];
            out[first..].iter_mut().for_each(|body| body.velocity = velocity);
        }
        out
    }

    /// Level ground; the road has a line in its middle.
    pub(crate) fn ground(&self, ray: &Ray, limit: f64) -> Option<Hit> {
        let [a, b] = self.sides.map(|side| side / 2.0);
        road::hit_level(ray, limit, |x, y| {
            // How far outside of the middle line: a rectangle with round corners about (0, RADIUS +
            // b).
            let (u, v) = ((x.abs() - a).max(0.0), ((y - RADIUS - b).abs() - b).max(0.0));
            match ((u * u + v * v).sqrt() - RADIUS).abs() {
                off if off < 0.1 => Material::MARKING,
                off if off < HALF_ROAD => Material::ASPHALT,
                _ => Material::PAVING,
            }
        })
    }

    fn houses(&mut self, dice: &mut Dice) {
        for side in [-1.0, 1.0] {
            let line = side * FACADE;
            let around = self.around(line);
            let mut along = 0.0;
            while along < around {
                let width = dice.between(9.0, 15.0).min(around - along);
                let (height, depth) = (dice.between(7.0, 15.0), dice.between(8.0, 10.0));
                let setback = dice.between(0.0, 2.0);
                let place = self.place(along + width / 2.0, line);
                let [c, s] = place.heading;
                let off = side * (setback + depth / 2.0);
                let at = [place.at[0] - s * off, place.at[1] + c * off, -0.1];
                if width > 5.0 {
                    props::house(&mut self.fixed, &Place { at, ..place }, [width / 2.0, depth / 2.0], height, dice);
                }
                along += width + if dice.chance(0.4) { dice.between(1.5, 6.0) } else { 0.0 };
            }
        }
    }

    /// Parked cars, lamps, trees and signs.
    fn kerbs(&mut self, dice: &mut Dice) {
        for side in [-1.0, 1.0] {
            let (parking, kerb) = (side * PARKING, side * (HALF_ROAD + 0.6));
            let mut along = 0.0;
            while along < self.around(parking) - 6.0 {
                let kind = Vehicle::parked(dice);
                if dice.chance(0.45) {
                    let mut place = self.place(along + kind.length() / 2.0, parking);
                    place.heading = place.heading.map(|x| -side * x);
                    props::vehicle(&mut self.fixed, &place, kind, dice);
                }
                along += kind.length() + dice.between(0.7, 3.0);
            }
            let mut along = 3.0;
            while along < self.around(kerb) - 3.0 {
                let place = self.place(along, kerb);
                match dice.bits() % 5 {
                    0 => props::lamp(&mut self.fixed, &place),
                    1 | 2 => props::tree(&mut self.fixed, &place, dice),
                    3 => props::sign(&mut self.fixed, &place),
                    _ => {}
                }
                along += dice.between(6.0, 10.0);
            }
        }
    }

    fn people_and_cars(&mut self, dice: &mut Dice) {
        for along in [-26.0, 24.0] {
            self.actors.push(Actor { is_person: false, along, across: -LANE, speed: 9.8, seed: dice.bits() });
        }
        let mut along = 15.0;
        while along < self.around(LANE) - 15.0 {
            self.actors.push(Actor { is_person: false, along, across: LANE, speed: -7.5, seed: dice.bits() });
            along += dice.between(35.0, 70.0);
        }
        for side in [-1.0, 1.0] {
            let mut along = 0.0;
            while along < self.around(side * HALF_ROAD) {
                let across = side * dice.between(HALF_ROAD + 1.2, FACADE - 0.5);
                let speed = if dice.chance(0.5) { 1.3 } else { -1.2 };
                self.actors.push(Actor { is_person: true, along, across, speed, seed: dice.bits() });
                along += dice.between(8.0, 25.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_closed_and_as_long_as_it_says() {
        let block = Block::new(3, 300.0);
        assert!((block.around(-LANE) - 300.0).abs() < 1e-9);
        for across in [-HALF_ROAD, -LANE, 0.0, LANE, FACADE] {
            let around = block.around(across);
            let n = 10_000;
            let mut last = block.place(0.0, across);
            for i in 1..=n {
                let here = block.place(around * f64::from(i) / f64::from(n), across);
                let [dx, dy] = [here.at[0] - last.at[0], here.at[1] - last.at[1]];
                let step = around / f64::from(n);
                assert!(((dx * dx + dy * dy).sqrt() - step).abs() < 1e-3 * step, "{across} {i}");
                let [c, s] = last.heading;
                assert!((c * c + s * s - 1.0).abs() < 1e-12 && dx * c + dy * s > 0.999 * step);
                last = here;
            }
            let first = block.place(0.0, across);
            assert!((0..2).all(|k| (first.at[k] - last.at[k]).abs() < 1e-9), "{first:?} {last:?}");
        }
    }
}
