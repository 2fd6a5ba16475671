//! Fast point feature histograms whose bits do not depend on the signs of normals.
//!
//! **Source**: Rusu, Blodow and Beetz, Fast Point Feature Histograms (FPFH) for 3D Registration,
//! 2009. In place of angles, which depend on how normals are oriented, a pair counts three numbers
//! that do not.

/// Bins of one of the three numbers.
pub(super) const BINS: usize = 11;
/// Values of a feature.
pub(super) const VALUES: usize = 3 * BINS;
/// What the counts of one point are scaled to.
const WHOLE: u32 = 1 << 12;
/// The weight of the nearest neighbours.
const HEAVIEST: u32 = 64;

/// Where a pair is counted: the sine of the angle between the normals, the sine of the first
/// normal's angle to the plane across the pair, and the second's with its sense.
pub(super) fn bins(normal: [f32; 3], other: [f32; 3], along: [f32; 3]) -> Option<[usize; 3]> {
    let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let length = dot(along, along).sqrt();
    if length <= 0.0 || other == [0.0; 3] {
        return None;
    }
    let along = along.map(|x| x / length);
    let cosine = dot(normal, other);
    let sine = (1.0 - (cosine * cosine).min(1.0)).sqrt();
    let (own, theirs) = (dot(normal, along), dot(other, along));
    let theirs = if (cosine < 0.0) == (own < 0.0) { theirs } else { -theirs };
    let bin = |x: f32| ((x * BINS as f32) as usize).min(BINS - 1);
    Some([bin(sine), BINS + bin(own.abs()), 2 * BINS + bin((theirs + 1.0) * 0.5)])
}

/// Counts of pairs as parts of a whole.
pub(super) fn scaled(counts: &[u32; VALUES], pairs: u32) -> [u32; VALUES] {
    counts.map(|count| count * WHOLE / pairs.max(1))
}

/// The weight of a neighbour: the inverse of its distance, as a whole number.
pub(super) fn weight(distance_squared: f32, radius: f32) -> u32 {
    let distance = distance_squared.sqrt();
    if distance * HEAVIEST as f32 <= 4.0 * radius { HEAVIEST } else { (4.0 * radius / distance) as u32 }
}

/// A feature of the sums over neighbours: each block adds up to 100.
pub(super) fn feature(sums: &[u64; VALUES]) -> [f32; VALUES] {
    let mut out = [0.0; VALUES];
    for block in 0..3 {
        let at = block * BINS;
        let total: u64 = sums[at..at + BINS].iter().sum();
        for k in at..at + BINS {
            out[k] = if total == 0 { 0.0 } else { (sums[k] as f64 * 100.0 / total as f64) as f32 };
        }
    }
    out
}
