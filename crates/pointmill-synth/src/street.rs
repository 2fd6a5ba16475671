//! The street: what stands where, and who moves.

use crate::hash::Dice;
use crate::props::{self, Place, Vehicle};
use crate::road::{self, HALF_ROAD, HALF_SIDE, KERB, LANE, PARKING};
use crate::shape::Body;

/// Where the facades begin at the latest: metres from the middle of the road.
const FACADE: f64 = HALF_ROAD + 4.6;

/// Someone who moves along the road.
#[derive(Clone, Copy, Debug)]
struct Actor {
    kind: Kind,
    /// Place at time 0: along the road and to the left of its middle, metres.
    along: f64,
    across: f64,
    /// Metres per second along the road and to the left.
    speed: [f64; 2],
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Vehicle(Vehicle),
    Person,
    Cyclist,
}

/// The street of a drive.
#[derive(Clone, Debug)]
pub(crate) struct Street {
    fixed: Vec<Body>,
    actors: Vec<Actor>,
}

impl Street {
    /// The street of this seed, for a car that drives from x = 0 to `length` in `seconds` and sees
    /// `view` metres far.
    pub(crate) fn new(seed: u64, length: f64, seconds: f64, view: f64) -> Self {
        let (from, to) = (-view - 20.0, length + view + 20.0);
        let mut fixed = Vec::new();
        for side in [-1.0, 1.0] {
            houses(&mut fixed, &mut Dice::new(seed, if side < 0.0 { 1 } else { 2 }), side, from, to);
            parked(&mut fixed, &mut Dice::new(seed, if side < 0.0 { 3 } else { 4 }), side, from, to);
            pavement(&mut fixed, &mut Dice::new(seed, if side < 0.0 { 5 } else { 6 }), side, from, to);
            side_streets(&mut fixed, &mut Dice::new(seed, if side < 0.0 { 7 } else { 8 }), side, from, to);
        }
        let actors = actors(&mut Dice::new(seed, 9), from, to, seconds);
        Self { fixed, actors }
    }

    /// All bodies whose circle from above comes within `view` metres of a point, at a time since
    /// the start of the drive.
    pub(crate) fn near(&self, [x, y]: [f64; 2], view: f64, time: f64) -> Vec<Body> {
        let mut out: Vec<Body> = self.fixed.iter().copied().filter(|body| body.is_within([x, y], view)).collect();
        for actor in &self.actors {
            // A vehicle is a compound of bodies a few metres from its middle.
            if (actor.along + actor.speed[0] * time - x).abs() < view + 20.0 {
                actor.put(&mut out, time);
            }
        }
        out
    }
}

/// The right lane after so many metres along x.
pub(crate) fn lane(x: f64) -> Place {
    let y = road::middle(x).0 - LANE;
    Place { at: [x, y, road::undulation(x, y)], heading: road::heading(x) }
}

/// What stands behind the traffic within `view` metres of x = 0: houses, lamps, trees.
pub(crate) fn backdrop(seed: u64, view: f64) -> Vec<Body> {
    let mut out = Vec::new();
    for side in [-1.0, 1.0] {
        houses(&mut out, &mut Dice::new(seed, if side < 0.0 { 1 } else { 2 }), side, -view, view);
        pavement(&mut out, &mut Dice::new(seed, if side < 0.0 { 5 } else { 6 }), side, -view, view);
    }
    out
}

impl Actor {
    fn put(&self, out: &mut Vec<Body>, time: f64) {
        let along = self.along + self.speed[0] * time;
        let across = self.across + self.speed[1] * time;
        let mut place = on_road(along, across);
        if self.speed[0] < 0.0 {
            place.heading = place.heading.map(|v| -v);
        }
        if self.speed[0] == 0.0 {
            place.heading = turned(place.heading, if self.speed[1] < 0.0 { -1.0 } else { 1.0 });
        }
        let first = out.len();
        let dice = &mut Dice::new(self.seed, 0);
        match self.kind {
            Kind::Vehicle(kind) => props::vehicle(out, &place, kind, dice),
            Kind::Person => {
                // A step of 0.7 m: legs swing together and apart.
                let phase = time * 1.8 + self.along;
                let stride = 1.3 * ((phase - road::floor(phase)) - 0.5).abs();
                props::person(out, &place, stride, dice);
            }
            Kind::Cyclist => props::cyclist(out, &place, dice),
        }
        let [c, s] = road::heading(along);
        let velocity = [c * self.speed[0] - s * self.speed[1], s * self.speed[0] + c * self.speed[1]];
        for body in &mut out[first..] {
            body.velocity = velocity;
        }
    }
}

/// The place `across` metres left of the road's middle at `along`, facing along the road.
pub(crate) fn on_road(along: f64, across: f64) -> Place {
    let y = road::middle(along).0 + across;
    let up = if across.abs() > HALF_ROAD && road::from_side_street(along).abs() > HALF_SIDE { KERB } else { 0.0 };
    Place { at: [along, y, road::undulation(along, y) + up], heading: road::heading(along) }
}

/// A heading turned by a quarter to the left (1) or right (-1).
pub(crate) fn turned([c, s]: [f64; 2], way: f64) -> [f64; 2] {
    [-s * way, c * way]
}

/// Rows of houses, some with a front garden, with gaps and side streets between them.
fn houses(out: &mut Vec<Body>, dice: &mut Dice, side: f64, from: f64, to: f64) {
    let mut x = from;
    while x < to {
        let mut width = dice.between(9.0, 17.0);
        let (height, depth) = (dice.between(7.0, 16.0), dice.between(9.0, 13.0));
        let garden = dice.chance(0.3);
        let setback = if garden { dice.between(2.5, 4.5) } else { dice.between(0.0, 0.5) };
        let gap = if dice.chance(0.35) { dice.between(1.5, 5.0) } else { 0.0 };
        // Distance from x to where the next side street's corner begins.
        // A millimetre more than the corner, so that rounding cannot leave x in it.
        let (corner, past) = (HALF_SIDE + 3.0, 0.001);
        let s = road::from_side_street(x);
        let ahead = if s < 0.0 { -s } else { 96.0 - s };
        if s.abs() < corner {
            x += corner + past - s;
            continue;
        }
        if ahead - corner < 6.0 {
            x += ahead + corner + past;
            continue;
        }
        width = width.min(ahead - corner);
        let front = on_road(x + width / 2.0, side * (FACADE + setback));
        let place = on_road(x + width / 2.0, side * (FACADE + setback + depth / 2.0));
        // Sunk a little, so that no gap shows over the undulating ground.
        let place = Place { at: [place.at[0], place.at[1], front.at[2] - 0.1], ..place };
        props::house(out, &place, [width / 2.0, depth / 2.0], height, dice);
        if garden {
            props::hedge(out, &on_road(x + width / 4.0 - 0.5, side * (FACADE + 0.3)), width / 2.0 - 1.6, dice);
            props::hedge(out, &on_road(x + width * 0.75 + 0.5, side * (FACADE + 0.3)), width / 2.0 - 1.6, dice);
            props::bush(out, &on_road(x + width / 3.0, side * (FACADE + 1.5)), dice);
            if dice.chance(0.6) {
                props::tree(out, &on_road(x + width * 0.7, side * (FACADE + 1.7)), dice);
            }
        }
        x += width + gap;
    }
}

/// Parked cars, bumper to bumper with gaps, none near a corner.
fn parked(out: &mut Vec<Body>, dice: &mut Dice, side: f64, from: f64, to: f64) {
    let mut x = from;
    while x < to {
        let kind = Vehicle::parked(dice);
        let here = x + kind.length() / 2.0;
        let corner = road::from_side_street(here).abs() < HALF_SIDE + 5.5 + kind.length() / 2.0;
        // The drive begins where nothing is parked close to the sensor: that would hide one side of
        // the street.
        let beginning = side < 0.0 && here > -5.0 && here < 12.0;
        if !corner && !beginning && dice.chance(0.55) {
            let mut place = on_road(here, side * (PARKING + dice.between(-0.12, 0.12)));
            if side > 0.0 {
                place.heading = place.heading.map(|v| -v);
            }
            props::vehicle(out, &place, kind, dice);
        }
        x += kind.length() + dice.between(0.7, 1.8);
    }
}

/// Lamps, street trees, signs, bollards and bins along the kerb.
fn pavement(out: &mut Vec<Body>, dice: &mut Dice, side: f64, from: f64, to: f64) {
    let kerb = side * (HALF_ROAD + 0.6);
    let mut x = from + if side < 0.0 { 0.0 } else { 4.0 };
    let mut slot = 0u64;
    while x < to {
        let s = road::from_side_street(x);
        let mut place = on_road(x, kerb);
        if s.abs() > HALF_SIDE + 2.5 {
            match slot % 4 {
                0 => {
                    if side < 0.0 {
                        place.heading = place.heading.map(|v| -v);
                    }
                    props::lamp(out, &place);
                }
                2 => props::tree(out, &place, dice),
                _ if dice.chance(0.25) => props::tree(out, &place, dice),
                _ if dice.chance(0.35) => props::sign(out, &place),
                _ if dice.chance(0.4) => props::bin(out, &place),
                _ => {}
            }
        } else if s.abs() > HALF_SIDE + 0.5 {
            props::bollard(out, &place);
        }
        slot += 1;
        x += 6.5;
    }
}

/// The houses and parked cars down the side streets.
fn side_streets(out: &mut Vec<Body>, dice: &mut Dice, side: f64, from: f64, to: f64) {
    let mut x = from - road::from_side_street(from);
    while x < to {
        for bank in [-1.0, 1.0] {
            let mut across = FACADE + 14.5;
            while across < 110.0 {
                let width = dice.between(9.0, 15.0);
                let (height, depth) = (dice.between(6.0, 12.0), 10.0);
                let setback = dice.between(0.0, 1.5);
                let out_of = bank * (HALF_SIDE + 3.0 + setback + depth / 2.0);
                let mut place = on_road(x + out_of, side * (across + width / 2.0));
                place.heading = [0.0, 1.0];
                place.at[2] -= 0.1;
                props::house(out, &place, [width / 2.0, depth / 2.0], height, dice);
                if dice.chance(0.6) {
                    let mut place = on_road(x + bank * (HALF_SIDE - 1.1), side * (across + width / 2.0));
                    place.heading = [0.0, -bank];
                    props::vehicle(out, &place, Vehicle::parked(dice), dice);
                }
                if dice.chance(0.5) {
                    let place = on_road(x + bank * (HALF_SIDE + 1.2), side * across);
                    props::tree(out, &place, dice);
                }
                across += width + dice.between(0.0, 3.0);
            }
        }
        x += 96.0;
    }
}

/// Traffic in both lanes, people on both pavements, and one who crosses.
fn actors(dice: &mut Dice, from: f64, to: f64, seconds: f64) -> Vec<Actor> {
    let mut actors = Vec::new();
    let mut add = |dice: &mut Dice, kind, along, across, speed| {
        actors.push(Actor { kind, along, across, speed, seed: dice.bits() });
    };
    // Oncoming, in the left lane, from as far away as can still come into view.
    let mut x = from + 7.0;
    while x < to + 8.5 * seconds {
        let kind = match dice.bits() % 8 {
            0 => Vehicle::Bus,
            _ => Vehicle::parked(dice),
        };
        add(dice, Kind::Vehicle(kind), x, LANE + 0.1, [-8.5, 0.0]);
        x += dice.between(18.0, 42.0);
    }
    // Ahead and behind in the sensor's own lane, at its speed: they stay in view.
    for along in [-24.0, 21.0, 47.0] {
        let kind = Vehicle::parked(dice);
        add(dice, Kind::Vehicle(kind), along, -LANE, [9.7, 0.0]);
    }
    let mut x = from;
    while x < to {
        let side = if dice.chance(0.5) { 1.0 } else { -1.0 };
        let way = if dice.chance(0.5) { 1.0 } else { -1.0 };
        let across = side * dice.between(HALF_ROAD + 1.4, FACADE - 0.7);
        let speed = way * dice.between(1.0, 1.6);
        add(dice, Kind::Person, x, across, [speed, 0.0]);
        if dice.chance(0.3) {
            add(dice, Kind::Person, x + 0.2, across - side * 0.7, [speed, 0.0]);
        }
        x += dice.between(3.0, 14.0);
    }
    // Someone crosses on the far side of the first junction, and a cyclist keeps to the right.
    add(dice, Kind::Person, 34.2, 3.4, [0.0, -1.3]);
    add(dice, Kind::Person, 33.6, -4.6, [0.0, 1.2]);
    add(dice, Kind::Cyclist, 11.5, -3.2, [5.0, 0.0]);
    actors
}
