//! Values of points.

use crate::hash::{Dice, Stream, normal};
use crate::road::wave;

/// Standard deviation of the noise on a wave of height 1.
const NOISE: f64 = 0.25;

/// A wave per channel: how many periods a metre along x, y and z, and where it starts.
pub(super) fn features(points: &[f32], channels: usize, seed: u64) -> Vec<f32> {
    let mut dice = Dice::new(seed, 207);
    let waves: Vec<[f64; 4]> = (0..channels)
        .map(|_| {
            let mut slope = |most: f64| dice.between(-most, most);
            [slope(0.12), slope(0.12), slope(0.2), slope(1.0)]
        })
        .collect();
    let mut out = Vec::with_capacity(points.len() / 3 * channels);
    let stream = Stream::new(seed, 208);
    for (i, p) in points.as_chunks::<3>().0.iter().enumerate() {
        let [x, y, z] = p.map(f64::from);
        let row = Stream::new(stream.bits(i as u64), 0);
        for (c, w) in waves.iter().enumerate() {
            let noise = NOISE * normal(row.bits(c as u64));
            out.push((wave(w[0] * x + w[1] * y + w[2] * z + w[3]) + noise) as f32);
        }
    }
    out
}
