//! Boxes that were found, missed and false.

use crate::framing::{ABOVE, fitted};
use crate::layout::{Panel, STILL, Sheet, areas};
use crate::scene::{Layer, Paint, Scene};

/// How long a frame is shown when it plays, in milliseconds.
const FRAME_MS: u32 = 500;
/// The part of the boxes that may be outside of a picture on each side.
const STRAYS: f64 = 0.002;
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
    const ALL: [Self; 6] = [Self::Missed, Self::False, Self::Hit, Self::Found, Self::Doubtful, Self::Ignored];

    /// The name in the legend, and a colour that people tell apart who do not see red and green.
    const fn shown_as(self) -> (&'static str, [u8; 3]) {
        match self {
            Self::Missed => ("missed", [255, 106, 19]),
            Self::False => ("false", [240, 228, 66]),
            Self::Hit => ("hit", [70, 170, 245]),
            Self::Found => ("truth of hits", [226, 232, 240]),
            Self::Doubtful => ("false, less sure", [128, 122, 52]),
            Self::Ignored => ("not counted", [105, 115, 132]),
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
}

/// Boxes by what became of them, frame by frame: missed ones are solid, all others have edges. A layer for each fate,
/// named with its number; those that do not count or that the detector was not sure of are hidden at
/// first.
///
/// **Shapes.** A frame for each of `frames`. **Units and frames.** Metres, z up, each frame about its
/// sensor. A picture shows the first frame of the most missed boxes, from above. **Order and
/// determinism, limits.** As [`Scene`] and [`Layer`].
///
/// ```
/// use pointmill_view::{BoxFate, DetectionFrame, detection_scene};
/// let car = [8.0, 2.0, 0.0, 4.0, 1.8, 1.5, 0.3];
/// let frame = DetectionFrame { label: "000012".into(), boxes: vec![(car, BoxFate::Missed)] };
/// assert_eq!(detection_scene("1 frame", &[frame]).frames(), 1);
/// ```
pub fn detection_scene(title: &str, frames: &[DetectionFrame]) -> Scene {
    let mut scene = Scene::new(title, Paint::Own);
    scene.frame_ms(FRAME_MS);
    let count = |frame: &DetectionFrame, fate: BoxFate| frame.boxes.iter().filter(|(_, of)| *of == fate).count();
    for frame in frames {
        let [missed, wrong, hit] = [BoxFate::Missed, BoxFate::False, BoxFate::Hit].map(|fate| count(frame, fate));
        scene.frame(&format!("{}: {missed} missed, {wrong} false, {hit} hit", frame.label));
    }
    for fate in BoxFate::ALL {
        let (name, colour) = fate.shown_as();
        let all: usize = frames.iter().map(|frame| count(frame, fate)).sum();
        let name = format!("{name}: {all}");
        let mut push = |rows: &[[f32; 7]], at: usize| {
            let is_missed = fate == BoxFate::Missed;
            let layer = if is_missed { Layer::solid_boxes(&name, rows) } else { Layer::boxes(&name, rows) };
            let layer = layer.colour(colour).width(2.0).at(at);
            let is_hidden = matches!(fate, BoxFate::Doubtful | BoxFate::Ignored);
            scene.push(if is_hidden { layer.hidden() } else { layer });
        };
        for (at, frame) in frames.iter().enumerate() {
            let rows: Vec<[f32; 7]> = frame.boxes.iter().filter(|(_, of)| *of == fate).map(|(row, _)| *row).collect();
            // The legend has a fate without boxes too.
            if !rows.is_empty() || (all == 0 && at == 0) {
                push(&rows, at);
            }
        }
    }
    scene.push(Layer::line("sensor", &SENSOR).colour([255, 110, 180]).width(2.0));
    let most = (0..frames.len()).rev().max_by_key(|&k| count(&frames[k], BoxFate::Missed)).unwrap_or(0);
    let area = areas(STILL, &[(1, 1)])[0];
    let camera = |frame: usize| fitted(&scene.places(frame, &[]), ABOVE, STRAYS);
    let panel = Panel { frame: Some(most), ..Panel::new(area, camera(most), &[]) };
    let cameras = (0..frames.len()).map(camera).collect();
    let moving = Panel { cameras, ..Panel::new(area, camera(0), &[]) };
    let label = scene.frames.get(most).cloned().unwrap_or_default();
    scene.still = Sheet { size: STILL, titles: vec![title.to_owned(), label], panels: vec![panel], ..Sheet::default() };
    scene.moving = Sheet { size: STILL, panels: vec![moving], ..Sheet::default() };
    scene
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_boxes_are_solid_and_all_fates_are_named() {
        let row = |x: f32| [x, 0.0, 0.0, 4.0, 2.0, 1.5, 0.3];
        let boxes = vec![(row(0.0), BoxFate::Hit), (row(0.1), BoxFate::Found), (row(9.0), BoxFate::Missed)];
        let clear = DetectionFrame { label: "a".into(), boxes: boxes[..2].to_vec() };
        let scene = detection_scene("", &[clear, DetectionFrame { label: "b".into(), boxes }]);
        assert_eq!(scene.frames, ["a: 0 missed, 0 false, 1 hit", "b: 1 missed, 0 false, 1 hit"]);
        let names = ["missed: 1", "false: 0", "hit: 2", "truth of hits: 2", "false, less sure: 0", "not counted: 0"];
        assert!(names.iter().all(|name| scene.layers.iter().any(|layer| layer.name == *name)));
        // The picture is that of the frame that misses one, whose box is filled.
        let picture = scene.picture();
        let filled = picture.rgb().as_chunks::<3>().0.iter().filter(|c| **c == BoxFate::Missed.shown_as().1).count();
        assert!(filled > 10_000, "{filled}");
        assert_eq!(detection_scene("", &[]).frames(), 0);
        detection_scene("", &[DetectionFrame::default()]).picture();
    }
}
