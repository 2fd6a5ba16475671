//! Fast point feature histograms whose bits do not depend on the signs of normals.
//!
//! **Source**: Rusu, Blodow and Beetz, Fast Point Feature Histograms (FPFH) for 3D Registration,
//! 2009. In place of angles, which depend on how normals are oriented, a pair counts three numbers
//! that do not. Counts and weights are whole numbers, so their sums do not depend on the order.

use crate::float::sqrt_f32;
use crate::icp::neighbourhood::is_normal;

/// Bins of one of the three numbers.
pub const BINS: usize = 11;
/// Values of a feature.
pub const VALUES: usize = 3 * BINS;
/// What the counts of one point are scaled to.
const WHOLE: u32 = 1 << 12;
/// The weight of the nearest neighbours. With [`WHOLE`], the sums of 16,000 neighbours fit 32 bits;
/// a ball of five voxels has at most 1,400 voxels.
const HEAVIEST: u32 = 64;

/// A feature.
pub type Feature = [f32; VALUES];

/// Where a pair is counted: the sine of the angle between the normals, the sine of the first
/// normal's angle to the plane across the pair, and the second's with its sense. None for points at
/// one place, and where the other has no normal.
#[inline(always)]
pub fn bins(normal: [f32; 3], other: [f32; 3], along: [f32; 3]) -> Option<[usize; 3]> {
    let length = sqrt_f32(dot(along, along));
    if length <= 0.0 || !is_normal(other) {
        return None;
    }
    let along = [along[0] / length, along[1] / length, along[2] / length];
    let cosine = dot(normal, other);
    let square = cosine * cosine;
    let sine = sqrt_f32(1.0 - if square < 1.0 { square } else { 1.0 });
    let (own, theirs) = (dot(normal, along), dot(other, along));
    let theirs = if (cosine < 0.0) == (own < 0.0) { theirs } else { -theirs };
    Some([bin(sine), BINS + bin(own.abs()), 2 * BINS + bin((theirs + 1.0) * 0.5)])
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The bin of a number from 0 to 1.
#[inline(always)]
fn bin(x: f32) -> usize {
    let at = (x * BINS as f32) as usize;
    if at < BINS { at } else { BINS - 1 }
}

/// A count of pairs as a part of a whole.
#[inline(always)]
pub fn scaled(count: u32, pairs: u32) -> u32 {
    count * WHOLE / if pairs > 0 { pairs } else { 1 }
}

/// The weight of a neighbour: the inverse of its distance, as a whole number.
#[inline(always)]
pub fn weight(distance_squared: f32, radius: f32) -> u32 {
    let distance = sqrt_f32(distance_squared);
    if distance * HEAVIEST as f32 <= 4.0 * radius { HEAVIEST } else { (4.0 * radius / distance) as u32 }
}

/// A value of a feature: the part of its block's sum, of 100.
#[inline(always)]
pub fn value(sum: u32, total: u32) -> f32 {
    if total == 0 { 0.0 } else { (sum as f64 * 100.0 / total as f64) as f32 }
}

/// The squared distance of two features, added up in the order of their values.
#[inline(always)]
pub fn squared_distance(a: impl Fn(usize) -> f32, b: impl Fn(usize) -> f32) -> f32 {
    let (mut sum, mut k) = (0.0, 0);
    while k < VALUES {
        let d = a(k) - b(k);
        sum += d * d;
        k += 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_do_not_depend_on_the_signs_of_normals() {
        let (n, m, along) = ([0.6, 0.0, 0.8], [0.0, -0.6, 0.8], [0.3, 0.9, -0.2]);
        let all = bins(n, m, along).unwrap();
        for (a, b) in [(1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
            assert_eq!(bins(n.map(|x| a * x), m.map(|x| b * x), along), Some(all));
        }
        assert!(all[0] < BINS && (BINS..2 * BINS).contains(&all[1]) && (2 * BINS..VALUES).contains(&all[2]));
        assert_eq!(bins(n, [0.0; 3], along), None);
        assert_eq!(bins(n, m, [0.0; 3]), None);
        assert_eq!(bins([0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]), Some([0, 2 * BINS - 1, VALUES - 1]));
    }

    #[test]
    fn weights_fall_with_the_distance() {
        assert_eq!([0.0, 1e-4, 0.25, 1.0].map(|square| weight(square, 1.0)), [64, 64, 8, 4]);
        assert_eq!([scaled(3, 4), scaled(0, 0)], [3072, 0]);
        assert_eq!([value(1, 4), value(0, 0)], [25.0, 0.0]);
    }
}
