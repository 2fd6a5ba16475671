//! Boxes as a detector's first stage proposes them: near the objects, not on them.

use super::layout::Object;
use crate::drive::SensorPose;
use crate::hash::{Dice, Stream, normal};
use core::f64::consts::PI;

/// `count` rows of seven, shuffled; of `background` rows one is on nothing.
pub(super) fn boxes(objects: &[Object], sensor: &SensorPose, background: usize, count: usize, seed: u64) -> Vec<f32> {
    let order = Stream::new(seed, 203);
    let mut places: Vec<(u64, usize)> = (0..count).map(|k| (order.bits(k as u64), k)).collect();
    places.sort_unstable();
    let mut out = Vec::with_capacity(7 * count);
    for (bits, k) in places {
        let mut dice = Dice::new(bits, 204);
        // The first rounds are all on objects, so that each has proposals.
        let row = if (k + 1).is_multiple_of(background) && k >= objects.len() {
            nothing(&mut dice, sensor)
        } else {
            proposal(&objects[k % objects.len()], &mut dice, sensor)
        };
        out.extend(row.map(|v| v as f32));
    }
    out
}

/// The object's box, off by decimetres, a few degrees and some percent.
fn proposal(object: &Object, dice: &mut Dice, sensor: &SensorPose) -> [f64; 7] {
    let mut off = |deviation: f64| deviation * normal(dice.bits());
    // Small things are found to within less.
    let scale = if object.size[0] < 1.0 { 0.4 } else { 1.0 };
    let shift = [off(0.16 * scale), off(0.11 * scale), off(0.04)];
    let size = object.size.map(|v| v * (1.0 + off(0.035)));
    let turn = off(0.045);
    let [c, s] = object.heading;
    let at = [
        object.at[0] + c * shift[0] - s * shift[1],
        object.at[1] + s * shift[0] + c * shift[1],
        object.at[2] + shift[2],
    ];
    let [x, y, z] = sensor.local(at);
    let [sc, ss] = sensor.heading;
    let heading = libm::atan2(s * sc - c * ss, c * sc + s * ss) + turn;
    // Front and rear are sometimes mistaken for each other.
    let heading = if dice.chance(0.08) { heading + PI } else { heading };
    [x, y, z, size[0], size[1], size[2], heading]
}

/// A box where nothing was found: in the street, a car's size.
fn nothing(dice: &mut Dice, sensor: &SensorPose) -> [f64; 7] {
    let (x, y) = (dice.between(-65.0, 65.0), dice.between(-11.0, 14.0));
    let size = [3.9, 1.7, 1.55].map(|v| v * dice.between(0.85, 1.2));
    [x, y, -sensor.at[2] + dice.between(-0.2, 0.25), size[0], size[1], size[2], dice.between(-PI, PI)]
}
