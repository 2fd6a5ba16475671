//! Boxes that were found, missed and false, and the points around them.

use crate::Camera;
use crate::framing::{ABOVE, fitted};
use crate::layout::{Panel, STILL, Sheet, areas};
use crate::quantiles::quantiles;
use crate::scene::{GREY, Layer, Paint, Scene};

/// How long a frame is shown when it plays, in milliseconds.
const FRAME_MS: u32 = 500;
/// The part of the boxes that may be outside of a picture on each side.
const STRAYS: f64 = 0.002;
/// A picture with points, which is also seen from behind the sensor.
const WITH_POINTS: [u32; 2] = [1600, 1000];
const BEHIND: [[f32; 3]; 2] = [[-16.0, 0.0, 9.0], [12.0, 0.0, -1.7]];
const WIDE: f32 = 62.0;
/// The name of the points, and the greys of the lowest and the highest of them.
const POINTS: &str = "points";
const GREYS: [[f64; 3]; 2] = [[62.0, 72.0, 90.0], [176.0, 190.0, 208.0]];
/// The plate on which a missed box stands where there are points, which a solid box would hide; in metres.
const PLATE: f32 = 0.05;
/// The sensor from above, its front along x; in metres.
const SENSOR: [[f64; 3]; 5] = [[2.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-0.4, 0.0, 0.0], [-1.0, -1.0, 0.0], [2.0, 0.0, 0.0]];

/// What became of a box of the truth, or of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxFate {
    /// Of the truth, and not found.
    Missed,
    /// Of the detector, and no object.
    False,
    /// As [`False`](Self::False), and the detector was not sure.
    Doubtful,
    /// Of the detector, and an object.
    Hit,
    /// Of the truth, and found.
    Found,
    /// Does not count.
    Ignored,
}

impl BoxFate {
    /// All fates, as the legend lists them.
    pub const ALL: [Self; 6] = [Self::Missed, Self::False, Self::Hit, Self::Found, Self::Doubtful, Self::Ignored];

    /// The name in the legend, and a colour that people tell apart who do not see red and green.
    const fn shown_as(self) -> (&'static str, [u8; 3]) {
        match self {
            Self::Missed => ("missed", [255, 106, 19]),
            Self::False => ("false, sure", [240, 228, 66]),
            Self::Hit => ("hit", [70, 170, 245]),
            Self::Found => ("truth of hits", [226, 232, 240]),
            Self::Doubtful => ("false, less sure", [128, 122, 52]),
            Self::Ignored => ("not counted", [176, 128, 190]),
        }
    }
}

/// The boxes of a frame, for [`detection_scene`].
#[derive(Clone, Debug, Default)]
pub struct DetectionFrame {
    /// The name of the frame.
    pub label: String,
    /// Rows of (cx, cy, cz, dx, dy, dz, heading) in metres and radians, z up, about the sensor.
    pub boxes: Vec<([f32; 7], BoxFate)>,
    /// The cloud in which the boxes are, if it is shown.
    pub points: Vec<[f64; 3]>,
}

impl DetectionFrame {
    /// How many of its boxes have a fate.
    ///
    /// ```
    /// use pointmill_view::{BoxFate, DetectionFrame};
    /// let boxes = vec![([0.0; 7], BoxFate::Hit), ([0.0; 7], BoxFate::Found)];
    /// assert_eq!(DetectionFrame { boxes, ..DetectionFrame::default() }.count(BoxFate::Hit), 1);
    /// ```
    pub fn count(&self, fate: BoxFate) -> usize {
        self.boxes.iter().filter(|(_, of)| *of == fate).count()
    }
}

/// Boxes by what became of them, frame by frame. Missed ones are solid; where there are points they stand on a
/// plate, and all others have edges. A layer for each fate, named with its number in these frames and, where
/// `all` has more, in all frames; those that do not count or that the detector was not sure of are hidden at
/// first.
///
/// **Shapes.** A frame for each of `frames`; `all` has a number for each of [`BoxFate::ALL`]. **Units and
/// frames.** Metres, z up, each frame about its sensor. A picture shows the first frame, from above and, with
/// points, from behind the sensor. **Order and determinism, limits.** As [`Scene`] and [`Layer`].
///
/// ```
/// use pointmill_view::{BoxFate, DetectionFrame, detection_scene};
/// let car = [8.0, 2.0, 0.0, 4.0, 1.8, 1.5, 0.3];
/// let boxes = vec![(car, BoxFate::Missed)];
/// let frame = DetectionFrame { label: "000012".into(), boxes, points: vec![[7.0, 2.0, 0.1]] };
/// assert_eq!(detection_scene("1 frame of 40", &[frame], [12, 3, 80, 80, 0, 0]).frames(), 1);
/// ```
pub fn detection_scene(title: &str, frames: &[DetectionFrame], all: [usize; 6]) -> Scene {
    let mut scene = Scene::new(title, Paint::Own);
    scene.frame_ms(FRAME_MS);
    let has_points = frames.iter().any(|frame| !frame.points.is_empty());
    for frame in frames {
        let [missed, sure, doubtful, hit] =
            [BoxFate::Missed, BoxFate::False, BoxFate::Doubtful, BoxFate::Hit].map(|fate| frame.count(fate));
        let less = if doubtful > 0 { format!(" ({doubtful} less sure)") } else { String::new() };
        scene.frame(&format!("{}: {missed} missed, {} false{less}, {hit} hit", frame.label, sure + doubtful));
    }
    for (at, frame) in frames.iter().enumerate().filter(|(_, frame)| !frame.points.is_empty()) {
        let layer = Layer::points(POINTS, &frame.points).colour(GREY).colours(&greys(&frame.points));
        scene.push(layer.at(at));
    }
    let mut names = vec![];
    for (fate, all) in BoxFate::ALL.into_iter().zip(all) {
        let (name, colour) = fate.shown_as();
        let here: usize = frames.iter().map(|frame| frame.count(fate)).sum();
        let of = if all > here { format!(" shown of {all}") } else { String::new() };
        let name = format!("{name}: {here}{of}");
        let mut push = |layer: Layer, at: usize| {
            let layer = layer.colour(colour).width(2.0).at(at);
            let is_hidden = matches!(fate, BoxFate::Doubtful | BoxFate::Ignored);
            scene.push(if is_hidden { layer.hidden() } else { layer });
        };
        for (at, frame) in frames.iter().enumerate() {
            let rows: Vec<[f32; 7]> = frame.boxes.iter().filter(|(_, of)| *of == fate).map(|(row, _)| *row).collect();
            // The legend has a fate without boxes too.
            if !rows.is_empty() || (here == 0 && at == 0) {
                let is_solid = fate == BoxFate::Missed && !has_points;
                push(if is_solid { Layer::solid_boxes(&name, &rows) } else { Layer::boxes(&name, &rows) }, at);
                if fate == BoxFate::Missed && has_points {
                    let plate = |[x, y, z, dx, dy, dz, yaw]: [f32; 7]| [x, y, z - 0.5 * dz, dx, dy, PLATE, yaw];
                    push(Layer::solid_boxes(&name, &rows.into_iter().map(plate).collect::<Vec<_>>()), at);
                }
            }
        }
        names.push(name);
    }
    let sensor = Layer::line("sensor", &SENSOR).colour([0, 200, 150]).width(2.0);
    scene.push(sensor);
    let names: Vec<&str> = names.iter().map(String::as_str).chain(["sensor"]).collect();
    let camera = |frame: usize| fitted(&scene.places(frame, &names), ABOVE, STRAYS);
    let panel = |area, camera| Panel { frame: Some(0), is_shaded: has_points, ..Panel::new(area, camera, &[]) };
    let size = if has_points { WITH_POINTS } else { STILL };
    let panels = if has_points {
        let areas = areas(size, &[(55, 1), (45, 1)]);
        let behind = Camera::perspective(BEHIND[0], BEHIND[1], WIDE);
        vec![
            Panel { label: "from behind the sensor".into(), ..panel(areas[0], behind) },
            Panel { label: "from above, x to the right".into(), ..panel(areas[1], camera(0)) },
        ]
    } else {
        vec![panel(areas(size, &[(1, 1)])[0], camera(0))]
    };
    let cameras = (0..frames.len()).map(camera).collect();
    let moving = Panel { cameras, ..Panel::new(areas(STILL, &[(1, 1)])[0], camera(0), &[]) };
    let label = scene.frames.first().map_or_else(String::new, |label| format!("{label}; "));
    scene.still = Sheet { size, titles: vec![label + title], panels, ..Sheet::default() };
    scene.moving = Sheet { size: STILL, panels: vec![moving], ..Sheet::default() };
    scene
}

/// The grey of each point by its height: boxes have the colours.
fn greys(points: &[[f64; 3]]) -> Vec<[u8; 3]> {
    let [_, low, high, _] = quantiles(points.iter().map(|p| p[2]).collect(), 0.05).unwrap_or([0.0; 4]);
    let share = |p: &[f64; 3]| ((p[2] - low) / (high - low).max(1e-6)).clamp(0.0, 1.0);
    let grey = |t: f64| [0, 1, 2].map(|k| (GREYS[0][k] + t * (GREYS[1][k] - GREYS[0][k])) as u8);
    points.iter().map(share).map(grey).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Image;

    const fn row(x: f32) -> [f32; 7] {
        [x, 0.0, 0.0, 4.0, 2.0, 1.5, 0.3]
    }

    fn lit(picture: &Image, colour: [u8; 3]) -> usize {
        picture.rgb().as_chunks::<3>().0.iter().filter(|c| **c == colour).count()
    }

    #[test]
    fn missed_boxes_are_solid_and_all_fates_are_named() {
        let boxes = vec![(row(0.0), BoxFate::Hit), (row(0.1), BoxFate::Found), (row(9.0), BoxFate::Missed)];
        let clear = DetectionFrame { label: "a".into(), boxes: boxes[..2].to_vec(), ..DetectionFrame::default() };
        let frames = [DetectionFrame { label: "b".into(), boxes, ..DetectionFrame::default() }, clear];
        let scene = detection_scene("", &frames, [1, 0, 7, 7, 4, 0]);
        assert_eq!(scene.frames, ["b: 1 missed, 0 false, 1 hit", "a: 0 missed, 0 false, 1 hit"]);
        let names = ["missed: 1", "false, sure: 0", "hit: 2 shown of 7", "truth of hits: 2 shown of 7"];
        let hidden = ["false, less sure: 0 shown of 4", "not counted: 0"];
        let is_there = |name: &&str| scene.layers.iter().any(|layer| layer.name == *name);
        assert!(names.iter().chain(&hidden).all(is_there));
        // The picture is that of the first frame, whose missed box is filled.
        let filled = lit(&scene.picture(), BoxFate::Missed.shown_as().1);
        assert!(filled > 10_000, "{filled}");
        assert_eq!(detection_scene("", &[], [0; 6]).frames(), 0);
        detection_scene("", &[DetectionFrame::default()], [0; 6]).picture();
    }

    #[test]
    fn points_are_grey_and_seen_in_missed_boxes() {
        let points: Vec<[f64; 3]> =
            (0..4000).map(|i| [7.0 + f64::from(i % 80) / 20.0, f64::from(i / 80) / 25.0 - 1.0, 0.7]).collect();
        let boxes = vec![(row(9.0), BoxFate::Missed), (row(3.0), BoxFate::Doubtful)];
        let frame = DetectionFrame { label: "a".into(), boxes, points };
        let scene = detection_scene("", std::slice::from_ref(&frame), [1, 0, 0, 0, 1, 0]);
        assert_eq!(scene.frames, ["a: 1 missed, 1 false (1 less sure), 0 hit"]);
        let picture = scene.picture();
        let without = detection_scene("", &[DetectionFrame { points: vec![], ..frame }], [1, 0, 0, 0, 1, 0]).picture();
        assert_eq!([&picture, &without].map(Image::height), [1000, 900]);
        let is_grey = |c: &&[u8; 3]| c[0] < c[1] && c[1] < c[2] && c[0] > 55 && c[2] - c[0] < 40;
        let greys = |of: &Image| of.rgb().as_chunks::<3>().0.iter().filter(is_grey).count();
        assert!(greys(&picture) > greys(&without) + 3000, "{} {}", greys(&picture), greys(&without));
        let colour = BoxFate::Missed.shown_as().1;
        assert!(lit(&picture, colour) > 300, "{}", lit(&picture, colour));
        let heights = super::greys(&[[0.0, 0.0, f64::NAN], [0.0, 0.0, 1.0], [0.0; 3]]);
        assert!(heights[1][0] > heights[2][0]);
    }
}
