//! Clouds and their voxels.

use crate::Camera;
use crate::framing::{ABOVE, at_an_angle, fitted, sweep_reach};
use crate::layout::{Panel, Sheet, areas};
use crate::scene::{Layer, Paint, Scene, kept};
use pointmill_core::{Aabb, Points};

type V3 = [f64; 3];

/// The most points and voxels that all inputs of a page have.
const MOST_POINTS: usize = 3_000_000;
const MOST_VOXELS: usize = 1_000_000;
/// The picture in pixels: points left and voxels right, from above and from an angle.
const SIZE: [u32; 2] = [1600, 1000];
const ROWS: [(u32, u32); 2] = [(44, 2), (56, 2)];
/// Circles around a sensor, metres.
const RINGS: [f64; 5] = [10.0, 20.0, 30.0, 40.0, 50.0];
const RING_COLOUR: [u8; 3] = [58, 68, 86];
/// The part of the points that may be outside of the picture on each side.
const STRAYS: f64 = 0.005;

/// Inputs and their voxels, a frame for each input.
///
/// **Shapes.** `inputs` is about how many there will be; all together keep about 3,000,000 points
/// and 1,000,000 voxels. **Units and frames.** Metres, x forward, y left, z up. Colour is height;
/// column 3 of both, if there is one, makes brighter (intensity). A picture shows the first input:
/// left the points, right a cube for every voxel. A sweep, with the sensor among its points, is
/// seen from above and from behind the sensor along the road, with circles every 10 m. Any other
/// cloud, such as a survey tile or an object, fills the picture. **Order and determinism, limits.**
/// As [`Scene`] and [`Layer`]. Points outside of the range are not drawn.
///
/// ```
/// use pointmill_core::{Aabb, Points};
/// use pointmill_view::VoxelScene;
/// let mut voxels = VoxelScene::new("voxels of 0.2 m", 1);
/// let points = Points::new(&[5.0, 1.0, -1.7, 0.5, 5.1, 1.1, -1.6, 0.3], 4)?;
/// let mean = Points::new(&[5.05, 1.05, -1.65, 0.4], 4)?;
/// let range = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
/// voxels.push("000000.bin", ["2 points", "1 voxel"], points, mean, [0.2; 3], range);
/// assert_eq!((voxels.scene().frames(), voxels.scene().picture().width()), (1, 1600));
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
#[derive(Clone, Debug)]
pub struct VoxelScene {
    scene: Scene,
    inputs: usize,
}

impl VoxelScene {
    /// A scene for about so many inputs.
    pub fn new(title: &str, inputs: usize) -> Self {
        Self { scene: Scene::new(title, Paint::Height), inputs: inputs.max(1) }
    }

    /// The coordinates of all inputs are relative to this origin, in metres; zero by default.
    pub const fn about(&mut self, origin: V3) {
        self.scene.about(origin);
    }

    /// Adds an input and the means of its voxels. `captions` stand over the points and over the
    /// voxels.
    pub fn push(
        &mut self,
        label: &str,
        captions: [&str; 2],
        input: Points,
        means: Points,
        voxel_size: [f32; 3],
        range: Aabb,
    ) {
        let frame = self.scene.frame(label);
        let inputs = self.inputs;
        let most = |all: usize| (all / inputs).max(1);
        let inside: Vec<f32> =
            (0..input.len()).filter(|&i| range.contains(input.xyz(i))).flat_map(|i| input.row(i)).copied().collect();
        let column = |points: Points| (points.columns() > 3).then_some(3);
        let inside = Points::new(&inside, input.columns()).unwrap_or(input);
        let points = Layer::of_rows("points", inside, [0.0; 3], column(inside), most(MOST_POINTS));
        if frame == 0 {
            self.scene.still = self.sheet(&points, captions, &range);
        }
        // A little smaller than the voxel, so that neighbours show as two.
        let middle = |p: f64, k: usize| {
            let (low, size) = (f64::from(range.min[k]), f64::from(voxel_size[k]));
            low + (libm::floor((p - low) / size) + 0.5) * size
        };
        let (rows, values) = kept(means, [0.0; 3], column(means), most(MOST_VOXELS));
        let centres: Vec<V3> = rows.iter().map(|p| [0, 1, 2].map(|k| middle(p[k], k))).collect();
        let voxels = Layer::voxels("voxels", &centres, voxel_size.map(|v| 0.88 * v)).at(frame);
        self.scene.push(values.iter().fold(voxels, |layer, values| layer.values(values)));
        self.scene.push(points.hidden().at(frame));
    }

    /// The panels, by the points of the first input, and the circles around its sensor.
    fn sheet(&mut self, points: &Layer, captions: [&str; 2], range: &Aabb) -> Sheet {
        let places: Vec<V3> = points.extent(0).collect();
        let areas = areas(SIZE, &ROWS);
        let (cameras, labels) = match sweep_reach(&places) {
            Some(reach) => {
                // In steps of 10 m, so that the frames of an animation agree.
                let half = 10.0 * libm::ceil(reach / 10.0).max(1.0) as f32;
                let up = half * areas[0][3] as f32 / areas[0][2] as f32;
                let bounds = Aabb::new([-half, -up, range.min[2]], [half, up, range.max[2]]);
                let ground = places.iter().map(|p| p[2]).fold(0.0, f64::min).max(-2.0);
                self.scene.layers.extend(RINGS.map(|radius| ring(radius, ground).hidden()));
                let behind = Camera::perspective([-15.0, 0.0, 8.5], [11.5, 0.0, -1.73], 54.0);
                (
                    [Camera::birds_eye_sideways(bounds), behind],
                    ["from above, x to the right, a ring every 10 m", "from behind"],
                )
            }
            None => {
                let cameras = [fitted(&places, ABOVE, STRAYS), at_an_angle(&[&places], STRAYS)];
                (cameras.map(Camera::in_steps), ["from above, x to the right", "at an angle"])
            }
        };
        let names: [&'static [&'static str]; 4] =
            [&["range rings", "points"], &["range rings", "voxels"], &["points"], &["voxels"]];
        let panel = |(k, area): (usize, [u32; 4])| Panel {
            label: labels[k / 2].into(),
            point: if k < 2 { 4 } else { 3 },
            ..Panel::new(area, cameras[k / 2], names[k])
        };
        let panels = areas.into_iter().enumerate().map(panel).collect();
        Sheet { size: SIZE, titles: captions.map(str::to_owned).into(), panels, ..Sheet::default() }
    }

    /// The scene so far.
    pub const fn scene(&self) -> &Scene {
        &self.scene
    }
}

/// A circle around the sensor.
pub(crate) fn ring(radius: f64, z: f64) -> Layer {
    let at = |k: u32| f64::from(k) * (core::f64::consts::TAU / 120.0);
    let points: Vec<V3> = (0..=120).map(at).map(|a| [radius * libm::cos(a), radius * libm::sin(a), z]).collect();
    Layer::line("range rings", &points).colour(RING_COLOUR)
}
