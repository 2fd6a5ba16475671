//! `--visualize` of `evaluate detections`: which boxes were found, missed and false.

use crate::failure::Failure;
use crate::picture::save_scene;
use crate::stderr;
use crate::text::{counted, grouped};
use pointmill_detection::{AveragePrecision, DetectionReport, Detections, Fate};
use pointmill_io::{Place, escape};
use pointmill_view::{BoxFate, DetectionFrame, detection_scene, require_memory};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// The most frames and boxes that are shown.
const MOST_FRAMES: usize = 300;
const MOST_BOXES: usize = 100_000;
/// What is kept of a box until it is drawn, in things of `require_memory`.
const LAYERS: usize = 3;

/// Draws the boxes of all frames, those that miss the most first, or of as many as are shown, and
/// writes the page or picture.
pub(super) fn write(
    path: &Path,
    title: &str,
    found: &DetectionReport,
    [predictions, truth]: [&Detections; 2],
) -> Result<(), Failure> {
    require_memory(1, predictions.len() + truth.len())?;
    let mut frames: BTreeMap<&str, DetectionFrame> = BTreeMap::new();
    let places = [places(predictions, predictions, truth), places(truth, predictions, truth)];
    for of in found.chosen() {
        let least = median_of_hits(of, predictions);
        for (side, boxes, rows) in [(0, predictions, &of.predictions), (1, truth, &of.truth)] {
            let frame_of_rows = boxes.frame_of_rows();
            for row in rows {
                let (place, frame) = (row.row as usize, frame_of_rows[row.row as usize] as usize);
                let fate = match row.fate {
                    Fate::Missed => BoxFate::Missed,
                    Fate::False if boxes.scores[place] < least => BoxFate::Doubtful,
                    Fate::False => BoxFate::False,
                    Fate::True if side == 0 => BoxFate::Hit,
                    Fate::True => BoxFate::Found,
                    Fate::Ignored => BoxFate::Ignored,
                };
                let mut values = boxes.boxes[place];
                (0..3).for_each(|axis| values[axis] -= places[side][frame][axis]);
                let shown = frames.entry(&boxes.frames[frame]).or_default();
                shown.boxes.push((values.map(|x| x as f32), fate));
            }
        }
    }
    let all = frames.len();
    let mut frames: Vec<DetectionFrame> =
        frames.into_iter().map(|(name, frame)| DetectionFrame { label: escape(name), ..frame }).collect();
    let count = |frame: &DetectionFrame, fate| frame.boxes.iter().filter(|(_, of)| *of == fate).count();
    // The worst first; of equal ones in the order of names.
    frames.sort_by_key(|frame| Reverse([BoxFate::Missed, BoxFate::False].map(|fate| count(frame, fate))));
    let mut title = title.to_owned();
    let boxes: usize = frames.iter().map(|frame| frame.boxes.len()).sum();
    if all > MOST_FRAMES || boxes > MOST_BOXES {
        keep_first(&mut frames);
        let shown = format!("shows {} of {}", grouped(frames.len()), counted(all, "frame"));
        let limits = format!("at most {MOST_FRAMES} frames and {} boxes", grouped(MOST_BOXES));
        stderr::note(format_args!("--visualize {}: {shown}, those that miss the most; {limits}", path.display()));
        title += &format!("; {shown}, those that miss the most");
    }
    require_memory(1, LAYERS * frames.iter().map(|frame| frame.boxes.len()).sum::<usize>())?;
    save_scene(Place::named(path), &detection_scene(&title, &frames))
}

/// Keeps as many frames as are shown, of those in this order.
fn keep_first(frames: &mut Vec<DetectionFrame>) {
    let mut boxes = 0;
    frames.retain(|frame| {
        let is_kept = boxes + frame.boxes.len() <= MOST_BOXES;
        boxes += if is_kept { frame.boxes.len() } else { 0 };
        is_kept
    });
    frames.truncate(MOST_FRAMES);
}

/// The score that half of the hits of a class reach; of false boxes those below it are less sure.
fn median_of_hits(of: &AveragePrecision, predictions: &Detections) -> f64 {
    let hits = of.predictions.iter().filter(|row| row.fate == Fate::True);
    let mut scores: Vec<f64> = hits.map(|row| predictions.scores[row.row as usize]).collect();
    scores.sort_by(f64::total_cmp);
    scores.get(scores.len() / 2).copied().unwrap_or(f64::NEG_INFINITY)
}

/// Where the sensor is in each frame of a side: boxes of nuScenes are on its map, all others about
/// the sensor. Where nuScenes does not say, the first box of the frame stands for the sensor.
fn places(of: &Detections, predictions: &Detections, truth: &Detections) -> Vec<[f64; 3]> {
    let place = |name: &String| {
        let rows = |of: &Detections| of.frames.binary_search(name).ok().map(|k| of.splits[k]..of.splits[k + 1]);
        let first = |of: &Detections| {
            let row = rows(of)?.next().filter(|&row| row < of.states.len())?;
            let ([x, y, z, ..], ego) = (of.boxes[row], of.states[row].from_ego.unwrap_or_default());
            Some([x - ego[0], y - ego[1], z])
        };
        first(truth).or_else(|| first(predictions)).unwrap_or_default()
    };
    of.frames.iter().map(place).collect()
}
