//! A rabbit from two sides, as a bench-top scanner sees it.

mod body;

use crate::hash::{Stream, normal};
use body::{HALF, MIDDLE, distance};
use pointmill_core::PointCloud;

use crate::V3;

/// Where the second view stands: turned about the upright axis, then lifted, in radians; and where
/// its zero lies, in metres.
const TURN: f64 = 0.56;
const LIFT: f64 = 0.1;
const SHIFT: V3 = [0.012, -0.004, 0.006];
/// Surfaces that are seen at less than this cosine send nothing back.
const GRAZING: f64 = 0.2;
/// Standard deviation of a range in metres.
const NOISE: f64 = 0.000_05;
/// A point is on the surface when it is this near to it, in metres.
const THERE: f64 = 1e-7;
/// Part of a distance that a ray may go: smooth unions and fur make distances longer than they are.
const CAREFUL: f64 = 0.5;

/// Two scans of one small figure, a rabbit of ellipsoids with a rough coat, from directions 32
/// degrees apart, and the pose between them: input of operators that align clouds.
///
/// **Shapes.** `source` and `target` `[N, 3]`, about 40,000 points each by [`RabbitScans::new`];
/// three quarters of each are seen by both. **Units and frames.** Metres; each in the frame of its
/// scanner, x right, y up, z towards the scanner. The rabbit is 0.16 m long and 0.18 m high.
/// **Order and determinism.** Row after row from below, as the scanner goes; the same bits on every
/// machine for a spacing and a seed. **Limits.** Ranges have a noise of 0.05 mm, and what is seen
/// at a flat angle is missing, as in scans of real things.
///
/// ```
/// use pointmill_synth::RabbitScans;
/// let scans = RabbitScans::with_spacing(0.002, 0);
/// assert!((2_000..4_000).contains(&scans.source.len()) && scans.source.columns() == 3);
/// // The pose takes points of the source to the target: a turn, mostly about the upright axis.
/// let [x, ..] = scans.target_from_source;
/// assert!((x[0] - 0.56f64.cos()).abs() < 0.01);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RabbitScans {
    /// The scan that is to be moved.
    pub source: PointCloud,
    /// The scan that it is to be moved onto.
    pub target: PointCloud,
    /// The true pose as a 4x4 matrix.
    pub target_from_source: [[f64; 4]; 4],
}

impl RabbitScans {
    /// The scans by beams 0.58 mm apart; `seed` decides the noise.
    pub fn new(seed: u64) -> Self {
        Self::with_spacing(0.000_58, seed)
    }

    /// The scans with beams that are so many metres apart, kept within 0.1 mm to 10 mm.
    pub fn with_spacing(spacing: f64, seed: u64) -> Self {
        let spacing = if spacing.is_finite() { spacing.clamp(1e-4, 1e-2) } else { 1e-2 };
        let (turn, lift) = ([libm::cos(TURN), libm::sin(TURN)], [libm::cos(LIFT), libm::sin(LIFT)]);
        // From the frame of the source: lifted, then turned.
        let rotation = [
            [turn[0], turn[1] * lift[1], turn[1] * lift[0]],
            [0.0, lift[0], -lift[1]],
            [-turn[1], turn[0] * lift[1], turn[0] * lift[0]],
        ];
        let pose = Pose { rotation, translation: SHIFT };
        let here = Pose { rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation: [0.0; 3] };
        let row = |i: usize| [rotation[i][0], rotation[i][1], rotation[i][2], SHIFT[i]];
        Self {
            source: scan(&pose, spacing, Stream::new(seed, 201)),
            target: scan(&here, spacing, Stream::new(seed, 202)),
            target_from_source: [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]],
        }
    }
}

/// Where a scanner is: from its frame to the rabbit's.
struct Pose {
    rotation: [V3; 3],
    translation: V3,
}

impl Pose {
    fn turn(&self, v: V3) -> V3 {
        self.rotation.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    fn apply(&self, p: V3) -> V3 {
        let turned = self.turn(p);
        [0, 1, 2].map(|k| turned[k] + self.translation[k])
    }

    fn back(&self, p: V3) -> V3 {
        let moved = [0, 1, 2].map(|k| p[k] - self.translation[k]);
        [0, 1, 2].map(|k| (0..3).map(|i| self.rotation[i][k] * moved[i]).sum())
    }
}

/// What parallel beams along -z meet, in the frame of the scanner.
fn scan(pose: &Pose, spacing: f64, noise: Stream) -> PointCloud {
    // A ball around the rabbit is seen from everywhere alike.
    let radius = (HALF[0] * HALF[0] + HALF[1] * HALF[1] + HALF[2] * HALF[2]).sqrt();
    let middle = pose.back(MIDDLE);
    let steps = (radius / spacing) as i64;
    let ahead = pose.turn([0.0, 0.0, -1.0]);
    let mut data = Vec::new();
    for j in -steps..=steps {
        for i in -steps..=steps {
            let (right, up) = (i as f64 * spacing, j as f64 * spacing);
            let deep = radius * radius - right * right - up * up;
            if deep <= 0.0 {
                continue;
            }
            let start = [middle[0] + right, middle[1] + up, middle[2] + deep.sqrt()];
            if let Some(range) = meet(pose.apply(start), ahead, 2.0 * deep.sqrt()) {
                let beam = ((j + steps) * (2 * steps + 1) + i + steps) as u64;
                let z = start[2] - range + NOISE * normal(noise.bits(beam));
                data.extend([start[0] as f32, start[1] as f32, z as f32]);
            }
        }
    }
    PointCloud::new(data, 3).expect("rows of three values")
}

/// How far along a ray of a length the surface is, if it faces the ray.
fn meet(origin: V3, dir: V3, length: f64) -> Option<f64> {
    let at = |t: f64| [0, 1, 2].map(|k| origin[k] + t * dir[k]);
    let mut t = 0.0;
    while t < length {
        let away = distance(at(t));
        if away < THERE {
            // The slope of the distance along the ray is the cosine between ray and normal.
            let step = 1e-6;
            let p = at(t);
            let gradient: V3 = [0, 1, 2].map(|k| {
                let mut q = p;
                q[k] += step;
                (distance(q) - away) / step
            });
            let size = (gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2]).sqrt();
            let facing = -(gradient[0] * dir[0] + gradient[1] * dir[1] + gradient[2] * dir[2]) / size;
            return (facing > GRAZING).then_some(t);
        }
        t += CAREFUL * away;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_on_the_rabbit_in_both_frames() {
        let scans = RabbitScans::with_spacing(0.002, 3);
        let pose = scans.target_from_source;
        let onto = |p: V3| [0, 1, 2].map(|i| pose[i][0] * p[0] + pose[i][1] * p[1] + pose[i][2] * p[2] + pose[i][3]);
        let farthest = |cloud: &PointCloud, place: &dyn Fn(V3) -> V3| {
            let off = cloud.points().iter_xyz().map(|p| distance(place(p.map(f64::from))).abs());
            off.fold(0.0, f64::max)
        };
        // Noise is at most 3.47 times its deviation, and along the beam.
        assert!(farthest(&scans.target, &|p| p) < 4.0 * NOISE);
        assert!(farthest(&scans.source, &onto) < 4.0 * NOISE);
        assert_eq!(scans, RabbitScans::with_spacing(0.002, 3));
        assert_ne!(scans.source, RabbitScans::with_spacing(0.002, 4).source);
        // A proper rotation.
        for i in 0..3 {
            for j in 0..3 {
                let dot: f64 = (0..3).map(|k| pose[i][k] * pose[j][k]).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-15);
            }
        }
        assert!(RabbitScans::with_spacing(f64::NAN, 0).target.len() > 50);
    }

    #[test]
    fn the_views_overlap_in_part() {
        let scans = RabbitScans::with_spacing(0.001, 0);
        let target: Vec<[f32; 3]> = scans.target.points().iter_xyz().collect();
        let pose = scans.target_from_source;
        let near = scans.source.points().iter_xyz().step_by(20).filter(|p| {
            let p = p.map(f64::from);
            let q = [0, 1, 2].map(|i| pose[i][0] * p[0] + pose[i][1] * p[1] + pose[i][2] * p[2] + pose[i][3]);
            let square = |t: &[f32; 3]| (0..3).map(|k| (f64::from(t[k]) - q[k]).powi(2)).sum::<f64>();
            target.iter().any(|t| square(t) < 0.001f64.powi(2))
        });
        let share = near.count() as f64 / scans.source.len().div_ceil(20) as f64;
        assert!((0.6..0.9).contains(&share), "{share}");
    }
}
