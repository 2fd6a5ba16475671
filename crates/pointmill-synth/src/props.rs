//! What stands and moves in the street, each a compound of solids.

use crate::hash::Dice;
use crate::material::Material;
use crate::shape::{Body, Shape};

/// A place to put something: a point on the ground and a heading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) at: [f64; 3],
    pub(crate) heading: [f64; 2],
}

impl Place {
    /// A body with its centre `forward`, `left` and `up` of this place.
    fn put(&self, shape: Shape, [forward, left, up]: [f64; 3], material: Material) -> Body {
        let [c, s] = self.heading;
        let centre = [self.at[0] + c * forward - s * left, self.at[1] + s * forward + c * left, self.at[2] + up];
        Body::new(shape, centre, self.heading, material)
    }
}

/// Kinds of vehicles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Vehicle {
    Hatchback,
    Saloon,
    Estate,
    Van,
    Bus,
}

impl Vehicle {
    /// A car a street is full of.
    pub(crate) fn parked(dice: &mut Dice) -> Self {
        match dice.bits() % 10 {
            0..4 => Self::Hatchback,
            4..7 => Self::Saloon,
            7..9 => Self::Estate,
            _ => Self::Van,
        }
    }

    /// Length in metres.
    pub(crate) const fn length(self) -> f64 {
        match self {
            Self::Hatchback => 3.9,
            Self::Saloon => 4.6,
            Self::Estate => 4.7,
            Self::Van => 5.3,
            Self::Bus => 11.0,
        }
    }
}

/// A vehicle: lower body, cabin and wheels, the front towards `place`'s heading.
pub(crate) fn vehicle(out: &mut Vec<Body>, place: &Place, kind: Vehicle, dice: &mut Dice) {
    let paint = Material::paint(dice.between(0.15, 0.85));
    let half = kind.length() / 2.0;
    let wheel = |out: &mut Vec<Body>, forward: f64, left: f64, radius: f64| {
        for side in [-1.0, 1.0] {
            let shape = Shape::Wheel { radius, half: 0.11 };
            out.push(place.put(shape, [forward, side * left, radius], Material::RUBBER));
        }
    };
    if matches!(kind, Vehicle::Van | Vehicle::Bus) {
        let (width, height) = if kind == Vehicle::Bus { (1.26, 2.75) } else { (0.98, 1.85) };
        let nose = if kind == Vehicle::Bus { 0.1 } else { 0.9 };
        let middle = 0.35 + height / 2.0;
        let body = Shape::taper([half, width], [half - nose / 2.0, width - 0.08], -nose / 2.0, height / 2.0);
        out.push(place.put(body, [0.0, 0.0, middle], paint));
        wheel(out, half - 0.95, width - 0.12, 0.42);
        wheel(out, 1.1 - half, width - 0.12, 0.42);
        return;
    }
    let width = 0.89;
    // Lower body: the bonnet and the boot are its top.
    let lower = Shape::taper([half, width], [half - 0.1, width - 0.04], 0.0, 0.31);
    out.push(place.put(lower, [0.0, 0.0, 0.56], paint));
    // Cabin: where it sits and how far front and rear lean in makes the kind.
    let (bottom, top, at, shift) = match kind {
        Vehicle::Hatchback => (1.36, 0.86, -0.42, -0.12),
        Vehicle::Saloon => (1.45, 0.72, -0.22, -0.06),
        _ => (1.72, 1.2, -0.52, -0.22),
    };
    let cabin = Shape::taper([bottom, width - 0.06], [top, width - 0.26], shift, 0.3);
    out.push(place.put(cabin, [at, 0.0, 1.17], Material { loss: 0.25, ..paint }));
    wheel(out, half - 0.78, width - 0.1, 0.32);
    wheel(out, 0.85 - half, width - 0.1, 0.32);
}

/// A person: two legs apart by their stride, a torso, arms folded into it, and a head.
pub(crate) fn person(out: &mut Vec<Body>, place: &Place, stride: f64, dice: &mut Dice) {
    let tall = dice.between(0.9, 1.07);
    let clothes = Material { albedo: dice.between(0.2, 0.7), ..Material::CLOTH };
    let trousers = Material { albedo: dice.between(0.12, 0.45), ..Material::CLOTH };
    for side in [-1.0, 1.0] {
        let leg = Shape::Pillar { radius: 0.085, half: 0.42 * tall };
        out.push(place.put(leg, [side * stride / 2.0, side * 0.1, 0.42 * tall], trousers));
        let arm = Shape::Ellipsoid { radii: [0.07, 0.07, 0.32 * tall] };
        out.push(place.put(arm, [-side * stride / 3.0, side * 0.26, 1.13 * tall], clothes));
    }
    let torso = Shape::Ellipsoid { radii: [0.16, 0.24, 0.38 * tall] };
    out.push(place.put(torso, [0.0, 0.0, 1.14 * tall], clothes));
    let head = Shape::Ellipsoid { radii: [0.11, 0.09, 0.13] };
    out.push(place.put(head, [0.02, 0.0, 1.62 * tall], Material::SKIN));
}

/// A person on a bicycle.
pub(crate) fn cyclist(out: &mut Vec<Body>, place: &Place, dice: &mut Dice) {
    for forward in [-0.52, 0.52] {
        let wheel = Shape::Wheel { radius: 0.34, half: 0.025 };
        out.push(place.put(wheel, [forward, 0.0, 0.34], Material::RUBBER));
    }
    let frame = Shape::Box { half: [0.42, 0.03, 0.06] };
    out.push(place.put(frame, [0.0, 0.0, 0.62], Material::STEEL));
    let bars = Shape::Box { half: [0.05, 0.28, 0.03] };
    out.push(place.put(bars, [0.42, 0.0, 1.02], Material::STEEL));
    let clothes = Material { albedo: dice.between(0.4, 0.8), ..Material::CLOTH };
    let torso = Shape::taper([0.16, 0.16], [0.18, 0.2], 0.3, 0.3);
    out.push(place.put(torso, [-0.1, 0.0, 1.16], clothes));
    let leg = Shape::Box { half: [0.13, 0.13, 0.32] };
    out.push(place.put(leg, [-0.02, 0.0, 0.6], Material { albedo: 0.2, ..Material::CLOTH }));
    let head = Shape::Ellipsoid { radii: [0.13, 0.11, 0.14] };
    out.push(place.put(head, [0.16, 0.0, 1.62], Material::SKIN));
}

/// A tree: a trunk and a few overlapping clumps of leaves.
pub(crate) fn tree(out: &mut Vec<Body>, place: &Place, dice: &mut Dice) {
    let radius = dice.between(1.3, 2.3);
    let base = dice.between(1.7, 2.3);
    let trunk = Shape::Pillar { radius: dice.between(0.1, 0.19), half: base * 0.7 };
    out.push(place.put(trunk, [0.0, 0.0, base * 0.7], Material::BARK));
    for _ in 0..4 {
        let r = radius * dice.between(0.55, 0.85);
        let at =
            [dice.between(-0.6, 0.6) * radius, dice.between(-0.6, 0.6) * radius, base + r + dice.between(0.0, 1.6)];
        let crown = Shape::Crown { radii: [r, r, r * dice.between(0.8, 1.1)], per_metre: dice.between(0.7, 1.4) };
        out.push(place.put(crown, at, Material::LEAVES));
    }
}

/// A bush of two or three clumps.
pub(crate) fn bush(out: &mut Vec<Body>, place: &Place, dice: &mut Dice) {
    for _ in 0..2 + dice.bits() % 2 {
        let r = dice.between(0.35, 0.75);
        let at = [dice.between(-0.6, 0.6), dice.between(-0.4, 0.4), r * 0.75];
        let shape = Shape::Crown { radii: [r, r, r * 0.9], per_metre: dice.between(3.0, 6.0) };
        out.push(place.put(shape, at, Material::LEAVES));
    }
}

/// A hedge along the heading.
pub(crate) fn hedge(out: &mut Vec<Body>, place: &Place, length: f64, dice: &mut Dice) {
    let half = [length / 2.0, 0.3, dice.between(0.45, 0.8)];
    let shape = Shape::Hedge { half, per_metre: 9.0 };
    out.push(place.put(shape, [0.0, 0.0, half[2]], Material::LEAVES));
}

/// A street lamp: a base, a mast and an arm to the right of the heading.
pub(crate) fn lamp(out: &mut Vec<Body>, place: &Place) {
    out.push(place.put(Shape::Pillar { radius: 0.13, half: 0.5 }, [0.0, 0.0, 0.5], Material::STEEL));
    out.push(place.put(Shape::Pillar { radius: 0.08, half: 3.2 }, [0.0, 0.0, 3.2], Material::STEEL));
    out.push(place.put(Shape::Box { half: [0.06, 0.9, 0.05] }, [0.0, -0.9, 6.35], Material::STEEL));
    out.push(place.put(Shape::Box { half: [0.14, 0.35, 0.06] }, [0.0, -1.8, 6.3], Material::STEEL));
}

/// A sign on a post: a plate that throws the light back to where it came from.
pub(crate) fn sign(out: &mut Vec<Body>, place: &Place) {
    out.push(place.put(Shape::Pillar { radius: 0.035, half: 1.35 }, [0.0, 0.0, 1.35], Material::STEEL));
    out.push(place.put(Shape::Box { half: [0.015, 0.31, 0.31] }, [-0.05, 0.0, 2.3], Material::REFLECTOR));
}

/// A bollard.
pub(crate) fn bollard(out: &mut Vec<Body>, place: &Place) {
    out.push(place.put(Shape::Pillar { radius: 0.07, half: 0.48 }, [0.0, 0.0, 0.48], Material::STEEL));
}

/// A litter bin.
pub(crate) fn bin(out: &mut Vec<Body>, place: &Place) {
    out.push(place.put(
        Shape::Pillar { radius: 0.27, half: 0.5 },
        [0.0, 0.0, 0.5],
        Material { albedo: 0.25, ..Material::STEEL },
    ));
}

/// A house of this half width (along the heading), half depth and height, standing half sunk in no
/// ground: its base is the place's.
pub(crate) fn house(out: &mut Vec<Body>, place: &Place, half: [f64; 2], height: f64, dice: &mut Dice) {
    let wall = Material::wall(dice.between(0.3, 0.75));
    let shape = Shape::House { half: [half[0], half[1], height / 2.0] };
    out.push(place.put(shape, [0.0, 0.0, height / 2.0], wall));
    // A plinth, and a band over the ground floor, both a hand's breadth out.
    let plinth = Shape::Box { half: [half[0] + 0.08, half[1] + 0.08, 0.3] };
    out.push(place.put(plinth, [0.0, 0.0, 0.3], Material::wall(0.3)));
}
