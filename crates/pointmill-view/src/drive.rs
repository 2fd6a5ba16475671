//! A drive: its sweeps, its map, and the trajectory of the sensor.

use crate::fixes::{DriveFix, DriveStatus, Rivals, cells, layers};
use crate::framing::{ABOVE, fitted, spans};
use crate::layout::{Panel, STILL, Sheet, areas};
use crate::scene::{Layer, Paint, Scene};
use crate::{Camera, NdtEllipsoids};
use pointmill_core::{PointCloud, Pose};

type V3 = [f64; 3];

/// The most points that all sweeps of a page have, and the most of one sweep.
const MOST_POINTS: usize = 3_000_000;
const MOST_OF_SWEEP: usize = 10_000;
/// The sensor from above, its front along x; in metres.
const SENSOR: [V3; 5] = [[2.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-0.4, 0.0, 0.0], [-1.0, -1.0, 0.0], [2.0, 0.0, 0.0]];
const SENSOR_COLOUR: [u8; 3] = [255, 110, 104];
/// A map that scans were localized in, which they stand out from.
const MAP: [u8; 3] = [104, 112, 124];
const WAY: [u8; 3] = [255, 255, 255];
/// An animation in pixels, pixels of its points, in halves, and how much wider its lines are.
const MOVING: [u32; 2] = [640, 400];
const MOVING_POINT: u32 = 4;
const MOVING_PEN: f64 = 1.75;
/// The camera of an animation: metres behind and above the sensor, metres ahead of it that the
/// camera looks at, degrees from left to right, and frames before and after that it turns in.
const BEHIND: f64 = 28.0;
const OVER: f64 = 22.0;
const AHEAD: f64 = 4.0;
const WIDE: f64 = 70.0;
const TURNS_IN: usize = 4;
/// Metres around fixes that a picture shows.
const AROUND: f64 = 40.0;
/// The part of the points that may be outside of the picture on each side.
const STRAYS: f64 = 0.01;

/// A drive: its sweeps, a frame each, the map, and the trajectory of the sensor.
///
/// **Shapes.** `sweeps` is about how many sweeps there will be; each keeps 10,000 points at most,
/// and all together keep about 3,000,000. **Units and frames.** Metres, z up; sweeps in the frame
/// of the sensor. A picture is seen from above and shows the map and the sweeps, coloured by height
/// (the map grey where sweeps have [fixes](Self::fixes)), with the sensor at the last sweep, or
/// without sweeps where the drive began; the longer side of the drive lies from left to right. An
/// animation follows the sensor and shows all sweeps so far. **Order and determinism, limits.** As
/// [`Scene`] and [`Layer`].
///
/// ```
/// use pointmill_core::{PointCloud, Pose};
/// use pointmill_view::DriveScene;
/// let mut drive = DriveScene::new(1);
/// drive.push("000000.bin", &PointCloud::new(vec![5.0, 1.0, -1.7, 0.5], 4)?, Some(3));
/// let scene = drive.finish("1 sweep", &[[5.0, 1.0, -1.7]], &[Pose::IDENTITY]);
/// assert_eq!((scene.frames(), scene.picture().width()), (1, 1600));
/// # Ok::<(), pointmill_core::CloudError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DriveScene {
    scene: Scene,
    sweeps: Vec<Layer>,
    fixes: Vec<DriveFix>,
    /// The cells of the map near the fixes.
    cells: Option<Layer>,
    rivals: Rivals,
    most: usize,
}

impl DriveScene {
    /// The most frames of an animation.
    pub const MOST_FRAMES: usize = crate::sheet::MOST_FRAMES;

    /// A scene for about so many sweeps.
    pub fn new(sweeps: usize) -> Self {
        let most = (MOST_POINTS / sweeps.max(1)).clamp(1, MOST_OF_SWEEP);
        Self {
            scene: Scene::new("", Paint::Height),
            sweeps: Vec::new(),
            fixes: Vec::new(),
            cells: None,
            rivals: Rivals::default(),
            most,
        }
    }

    /// Adds the next sweep, with a column of values such as the intensity. A sweep that could not
    /// be used has no points.
    pub fn push(&mut self, label: &str, cloud: &PointCloud, values: Option<usize>) {
        let frame = self.scene.frame(label);
        self.sweeps.push(Layer::of_rows("sweeps", cloud.points(), cloud.origin(), values, self.most).at(frame));
    }

    /// What became of the poses of all scans in a map of these cells: pictures and pages show the
    /// trajectory in the colours of the statuses, a ring around each pose without a fix, and some
    /// covariances as ellipsoids of two standard deviations, as many times as large as the legend
    /// says. Below are the cells within 40 m of the fixes, of more than 20,000 every so many.
    pub fn fixes(&mut self, fixes: Vec<DriveFix>, map: NdtEllipsoids<'_>) {
        let near = near(&fixes, &[]);
        self.cells = Some(cells(map, |p| near.is_none_or(|bounds| is_within(bounds, p))));
        self.fixes = fixes;
    }

    /// The places and scores that a search found beside the fix with its score, or without a fix.
    /// Each has a cross.
    pub fn rivals(&mut self, best: Option<f64>, places: Vec<(V3, f64)>) {
        self.rivals = Rivals { best, places };
    }

    /// The scene with the points of the map and the pose of each sweep.
    pub fn finish(self, title: &str, map: &[V3], world_from_sensor: &[Pose]) -> Scene {
        let mut scene = Scene { title: title.to_owned(), ..self.scene };
        let trajectory: Vec<V3> = world_from_sensor.iter().map(Pose::translation).collect();
        self.cells.into_iter().for_each(|cells| scene.push(cells));
        let map = Layer::points("map", map);
        scene.push(if self.fixes.is_empty() { map } else { map.colour(MAP) });
        for (sweep, pose) in self.sweeps.into_iter().zip(world_from_sensor) {
            scene.push(sweep.moving(&[*pose]));
        }
        let way = Layer::line("trajectory", &trajectory).colour(WAY).width(3.0).growing();
        if self.fixes.is_empty() {
            scene.push(way);
        } else {
            let around = scene.places(0, &["map"]);
            let marks = layers(&self.fixes, &around).into_iter().chain(self.rivals.layers(&around));
            marks.for_each(|layer| scene.push(layer));
            scene.push(way.hidden());
        }
        scene.push(Layer::line("sensor", &SENSOR).colour(SENSOR_COLOUR).width(2.0).moving(world_from_sensor));
        let mut places = scene.places(0, &["map", "trajectory"]);
        if let Some(bounds) = near(&self.fixes, &self.rivals.places) {
            places.retain(|p| is_within(bounds, p));
        }
        let [x, y, down] = ABOVE;
        let area = areas(STILL, &[(1, 1)])[0];
        let scale = |camera: &Camera| camera.view(area[2], area[3]).pixels_per_metre(1.0);
        let cameras = [[x, y, down], [y.map(|v| -v), x, down]].map(|axes| fitted(&places, axes, STRAYS));
        let camera = if scale(&cameras[0]) >= scale(&cameras[1]) { cameras[0] } else { cameras[1] };
        // Sweeps that were pushed are all there, up to the last pose.
        let frame = scene.frames().checked_sub(1);
        let panels = vec![Panel { frame, keeps: frame.is_some(), ..Panel::new(area, camera, &[]) }];
        scene.still = Sheet { size: STILL, titles: vec![scene.title.clone()], panels, ..Sheet::default() };
        let panel = Panel::new(areas(MOVING, &[(1, 1)])[0], camera, &["sweeps", "trajectory", "sensor"]);
        let cameras = following(world_from_sensor);
        let panels = vec![Panel { cameras, keeps: true, point: MOVING_POINT, pen: MOVING_PEN, ..panel }];
        scene.moving = Sheet { size: MOVING, panels, ..Sheet::default() };
        scene
    }
}

/// Around the fixes and their rivals: a map may be much larger, and its rays reach far. None without a fix.
fn near(fixes: &[DriveFix], rivals: &[(V3, f64)]) -> Option<[[f64; 2]; 3]> {
    let fixed = fixes.iter().filter(|fix| fix.status == DriveStatus::Fix);
    let mut places: Vec<V3> = fixed.map(|fix| fix.map_from_sensor.translation()).collect();
    if places.is_empty() {
        return None;
    }
    places.extend(rivals.iter().map(|(place, _)| *place));
    Some(spans(&places, ABOVE, 0.0).map(|[low, high]| [low - AROUND, high + AROUND]))
}

/// Whether a place is within bounds on the ground.
fn is_within(bounds: [[f64; 2]; 3], p: &V3) -> bool {
    (0..2).all(|k| bounds[k][0] <= p[k] && p[k] <= bounds[k][1])
}

/// Behind and above the sensor at each pose, turned as the sensor is around that time.
fn following(world_from_sensor: &[Pose]) -> Vec<Camera> {
    let camera = |i: usize| {
        let around = i.saturating_sub(TURNS_IN)..(i + TURNS_IN + 1).min(world_from_sensor.len());
        let turns = || world_from_sensor[around.clone()].iter().map(Pose::rotation);
        let [x, y] = [0, 1].map(|k| turns().map(|rotation| rotation[k][0]).sum::<f64>());
        let length = libm::hypot(x, y).max(f64::MIN_POSITIVE);
        let at = world_from_sensor[i].translation();
        let along = |metres: f64, up: f64| [at[0] + metres * x / length, at[1] + metres * y / length, at[2] + up];
        Camera::looking(along(-BEHIND, OVER), along(AHEAD, 0.0), WIDE)
    };
    (0..world_from_sensor.len()).map(camera).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Image;

    #[test]
    fn the_trajectory_is_over_the_points() {
        let points: Vec<V3> = (0..4000).map(|i| [500_000.0 + f64::from(i % 100), f64::from(i / 100), 0.0]).collect();
        let poses: Vec<Pose> =
            (0..100).map(|i| Pose::from_translation([500_000.0 + f64::from(i), 20.0, 1.0])).collect();
        let draw = |points: &[V3], poses: &[Pose]| DriveScene::new(1).finish("a", points, poses).picture();
        let lit = |picture: &Image, colour: [u8; 3]| {
            picture.rgb().as_chunks::<3>().0.iter().filter(|c| **c == colour).count()
        };
        let (with, without) = (draw(&points, &poses), draw(&points, &[]));
        assert!(lit(&with, WAY) > 2000 && lit(&without, WAY) < 500, "{} {}", lit(&with, WAY), lit(&without, WAY));
        assert_eq!(with.rgb(), draw(&points, &poses).rgb());
        // The longer side lies from left to right, whichever it is.
        let turned: Vec<V3> = points.iter().map(|p| [p[1], p[0], p[2]]).collect();
        let width = |picture: &Image| {
            let is_lit = |x: &u32| (60..760).any(|y| picture.get(*x, y) != crate::BACKGROUND);
            (20..1580).rev().find(is_lit).unwrap() - (20..1580).find(is_lit).unwrap()
        };
        assert!(width(&without) > 1200 && width(&draw(&turned, &[])) > 1200);
        // Nothing, and what is not finite.
        assert!(lit(&draw(&[], &[]), crate::BACKGROUND) > 1_000_000);
        let odd = [[f64::NAN, 0.0, 1.0], [f64::INFINITY, 2.0, 1e300], [1e300, -1e300, 0.0]];
        draw(&odd, &odd.map(Pose::from_translation));
        DriveScene::new(1).finish("odd", &odd, &odd.map(Pose::from_translation)).animation();
    }

    #[test]
    fn an_animation_follows_the_sensor_and_keeps_what_it_saw() {
        let mut drive = DriveScene::new(4);
        let sweep = (0..400u16).flat_map(|i| [f32::from(i % 20) - 10.0, f32::from(i / 20) - 10.0, -1.7]).collect();
        let sweep = PointCloud::new(sweep, 3).unwrap();
        (0..4).for_each(|k| drive.push(&k.to_string(), &sweep, None));
        // Far away, where `f32` has steps of half a metre.
        let pose = |k: i32| Pose::from_translation([5_000_000.0 + 3.0 * f64::from(k), 0.0, 1.7]);
        let bytes = drive.finish("", &[], &[0, 1, 2, 3].map(pose)).animation().encode().unwrap();
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).unwrap();
        let mut lit = Vec::new();
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            // Below the title and above the legend.
            let view = &frame.buffer.as_chunks::<4>().0[640 * 50..640 * 350];
            let count = |is: fn(&&[u8; 4]) -> bool| view.iter().filter(is).count();
            lit.push([count(|c| c[2] > 100), count(|c| c[..3].iter().all(|v| *v > 200))]);
        }
        assert_eq!(lit.len(), 4);
        for pair in lit.windows(2) {
            assert!(pair[1][0] > pair[0][0] + 100 && pair[1][1] > pair[0][1] + 50, "{lit:?}");
        }
    }
}
