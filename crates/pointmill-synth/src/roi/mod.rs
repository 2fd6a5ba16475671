//! Boxes and points, as the second stage of a detector sees them.

mod features;
mod layout;
mod proposals;
mod sampling;

/// Oriented boxes and the points in and around them: input of operators that pool in boxes, test
/// points against boxes or crop.
///
/// **Shapes.** `boxes` `[B, 7]` rows of (cx, cy, cz, dx, dy, dz, heading), `points` `[N, 3]` rows
/// of x, y, z; both flat, exactly as many as asked for. **Units and frames.** Metres and radians in
/// the frame of a sensor 1.73 m above the road: x along the road, y left, z up. `cz` is that of the
/// bottom face; the heading is about +z, 0 along +x, counter-clockwise, between -3.4 and 6.5.
/// **Order and determinism.** Boxes and points stand in random order, as sampled clouds do. A scene
/// is a function of its counts and seed, the same bits on every machine; with as many boxes and the
/// same seed, more points begin with the fewer. **Limits.** All values are finite and all sizes
/// positive. Objects do not hide each other, so that each has its points.
///
/// ```
/// use pointmill_synth::RoiScene;
/// let scene = RoiScene::street(128, 16_000, 7);
/// assert_eq!((scene.boxes.len(), scene.points.len()), (128 * 7, 16_000 * 3));
/// assert_eq!(scene.features(16).len(), 16_000 * 16);
/// assert_eq!(scene, RoiScene::street(128, 16_000, 7));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RoiScene {
    /// `[B, 7]`: cx, cy, cz of the bottom face, dx, dy, dz, heading.
    pub boxes: Vec<f32>,
    /// `[N, 3]`: x, y, z.
    pub points: Vec<f32>,
    seed: u64,
}

/// What kind of scene it is.
struct Kind {
    /// Most objects, whatever the number of boxes: more boxes are more proposals for each.
    objects: usize,
    /// Share of the points that are drawn on objects.
    share: f64,
    /// Whether far objects have fewer points.
    fading: bool,
    /// Whether points are thinned.
    thinned: bool,
    /// Of so many boxes one is on nothing.
    background: usize,
}

const STREET: Kind = Kind { objects: 32, share: 0.55, fading: true, thinned: true, background: 16 };
const CROWDED: Kind = Kind { objects: 3, share: 0.985, fading: false, thinned: false, background: usize::MAX };

impl RoiScene {
    /// A street: cars, vans and people within about 70 m, with several proposals for each and some
    /// on nothing.
    ///
    /// Points are where rays of the sensor end, with 3.5 cm of noise: half of them on objects,
    /// fewer on far ones, the rest on the ground, facades, trees and poles. There are up to 32
    /// objects, one for every four boxes. The points of objects are thinned, as samplers thin them.
    /// With 128 boxes and 16,000 points a box holds about 200, with 512 and 200,000 about 2,500.
    pub fn street(boxes: usize, points: usize, seed: u64) -> Self {
        Self::made(&STREET, boxes, points, seed)
    }

    /// The same kind of boxes around three objects, which have nearly all points, the same number
    /// each and not thinned: a point is in most boxes of its object, and a voxel that has points
    /// has many.
    ///
    /// With 128 boxes and 16,000 points a box holds about 3,900.
    pub fn crowded(boxes: usize, points: usize, seed: u64) -> Self {
        Self::made(&CROWDED, boxes, points, seed)
    }

    fn made(kind: &Kind, boxes: usize, points: usize, seed: u64) -> Self {
        // One object for four boxes; none without a box.
        let mut objects = layout::objects(seed, (boxes / 4).clamp(boxes.min(1), kind.objects));
        if !kind.fading {
            for object in &mut objects {
                object.weight = 1.0;
            }
        }
        let sensor = layout::sensor();
        Self {
            boxes: proposals::boxes(&objects, &sensor, kind.background, boxes, seed),
            points: sampling::points(&objects, &sensor, kind.share, kind.thinned, points, seed),
            seed,
        }
    }

    /// Values of the points: `[N, channels]`, flat, between -1.9 and 1.9.
    ///
    /// Each channel is a wave through space, 4 to 30 m long, with noise on it: neighbours are alike
    /// but no two equal, and half are negative. Channel c of a scene is the same whatever the
    /// number of channels.
    pub fn features(&self, channels: usize) -> Vec<f32> {
        features::features(&self.points, channels, self.seed)
    }
}
