//! `--visualize` of `evaluate detections`: which boxes were found, missed and false.

use crate::failure::Failure;
use crate::picture::save_scene;
use crate::stderr;
use crate::text::{counted, grouped, label};
use pointmill_detection::{AveragePrecision, DetectionReport, Detections, Fate};
use pointmill_view::{BoxFate, DetectionFrame, detection_scene, require_memory};
use std::collections::BTreeMap;
use std::path::Path;

/// The most frames and boxes that are shown.
const MOST_FRAMES: usize = 300;
const MOST_BOXES: usize = 100_000;
/// What is kept of a box until it is drawn, in things of `require_memory`.
const LAYERS: usize = 3;

/// Draws the boxes of all frames, or of those that miss the most, and writes the page or picture.
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
        frames.into_iter().map(|(name, frame)| DetectionFrame { label: label(name), ..frame }).collect();
    let mut title = title.to_owned();
    let boxes: usize = frames.iter().map(|frame| frame.boxes.len()).sum();
    if all > MOST_FRAMES || boxes > MOST_BOXES {
        keep_worst(&mut frames);
        let shown = format!("shows {} of {}", grouped(frames.len()), counted(all, "frame"));
        let limits = format!("at most {MOST_FRAMES} frames and {} boxes", grouped(MOST_BOXES));
        stderr::note(format_args!("--visualize {}: {shown}, those that miss the most; {limits}", path.display()));
        title += &format!("; {shown}, those that miss the most");
    }
    require_memory(1, LAYERS * frames.iter().map(|frame| frame.boxes.len()).sum::<usize>())?;
    save_scene(path, &detection_scene(&title, &frames))
}

/// Keeps the frames of the most missed boxes, in their order.
fn keep_worst(frames: &mut Vec<DetectionFrame>) {
    let missed = |frame: &DetectionFrame| frame.boxes.iter().filter(|(_, fate)| *fate == BoxFate::Missed).count();
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(missed(&frames[k])));
    let (mut is_kept, mut boxes) = (vec![false; frames.len()], 0);
    for k in order.into_iter().take(MOST_FRAMES) {
        is_kept[k] = boxes + frames[k].boxes.len() <= MOST_BOXES;
        boxes += if is_kept[k] { frames[k].boxes.len() } else { 0 };
    }
    let mut is_kept = is_kept.into_iter();
    frames.retain(|_| is_kept.next() == Some(true));
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
