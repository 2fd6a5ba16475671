//! `--visualize` of `evaluate detections`: which boxes were found, missed and false.

use super::points::Clouds;
use crate::failure::Failure;
use crate::outputs::has_extension;
use crate::picture::save_scene;
use crate::stderr;
use crate::text::{counted, grouped};
use pointmill_detection::{AveragePrecision, DetectionReport, Detections, Fate};
use pointmill_io::{Place, escape};
use pointmill_view::{BoxFate, DetectionFrame, detection_scene, require_memory};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// The most frames and boxes that are shown, and with points the most frames and points of all of them.
const MOST_FRAMES: usize = 300;
const MOST_BOXES: usize = 100_000;
const MOST_FRAMES_OF_POINTS: usize = 100;
const MOST_POINTS: usize = 1_000_000;
/// What is kept of a box until it is drawn, in things of `require_memory`.
const LAYERS: usize = 3;

/// The boxes of a frame, and where its sensor is.
#[derive(Default)]
struct Shown {
    frame: DetectionFrame,
    sensor: [f64; 3],
}

/// Draws the boxes of all frames, the worst first, or of as many as are shown, and writes the page or picture.
pub(super) fn write(
    path: &Path,
    title: &str,
    found: &DetectionReport,
    [predictions, truth]: [&Detections; 2],
    clouds: Option<&Clouds<'_>>,
) -> Result<(), Failure> {
    require_memory(1, predictions.len() + truth.len())?;
    let mut frames: BTreeMap<&str, Shown> = BTreeMap::new();
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
                let (mut values, sensor) = (boxes.boxes[place], places[side][frame]);
                (0..3).for_each(|axis| values[axis] -= sensor[axis]);
                let shown = frames.entry(&boxes.frames[frame]).or_default();
                shown.sensor = sensor;
                shown.frame.boxes.push((values.map(|x| x as f32), fate));
            }
        }
    }
    let all = BoxFate::ALL.map(|fate| frames.values().map(|shown| shown.frame.count(fate)).sum());
    let boxes: usize = frames.values().map(|shown| shown.frame.boxes.len()).sum();
    let mut frames: Vec<(&str, Shown)> = frames.into_iter().collect();
    // The worst first; of equal ones in the order of names.
    let wrong = |of: &Shown| [BoxFate::Missed, BoxFate::False].map(|fate| of.frame.count(fate)).iter().sum::<usize>();
    frames.sort_by_key(|(_, shown)| Reverse(wrong(shown)));
    let count = frames.len();
    let most = match clouds {
        _ if has_extension(path, "png") => 1,
        Some(_) => MOST_FRAMES_OF_POINTS,
        None => MOST_FRAMES,
    };
    let mut title = title.to_owned();
    if count > most || boxes > MOST_BOXES {
        keep_first(&mut frames, most);
        let of = format!("{} of {}", grouped(frames.len()), counted(found.frames, "frame"));
        let shown = format!("shows the worst {of} by missed and sure false boxes");
        let limits = format!("at most {} and {} boxes", counted(most, "frame"), grouped(MOST_BOXES));
        stderr::note(format_args!("--visualize {}: {shown}; {limits}", path.display()));
        title += &format!("; {shown}");
    }
    if let Some(clouds) = clouds {
        add_points(&mut frames, clouds)?;
    }
    let drawn: Vec<DetectionFrame> =
        frames.into_iter().map(|(name, shown)| DetectionFrame { label: escape(name), ..shown.frame }).collect();
    let things = |frame: &DetectionFrame| LAYERS * frame.boxes.len() + frame.points.len();
    require_memory(1, drawn.iter().map(things).sum::<usize>())?;
    save_scene(Place::named(path), &detection_scene(&title, &drawn, all))
}

/// Reads the clouds of the frames that are shown, so many points of each that all are not too many.
fn add_points(frames: &mut [(&str, Shown)], clouds: &Clouds<'_>) -> Result<(), Failure> {
    let most = MOST_POINTS / frames.len().max(1);
    require_memory(1, MOST_POINTS)?;
    let mut without = vec![];
    for (name, shown) in frames.iter_mut() {
        let rows: Vec<[f32; 7]> = shown.frame.boxes.iter().map(|(row, _)| *row).collect();
        match clouds.of(name, shown.sensor, &rows, most)? {
            Some(points) => shown.frame.points = points,
            None => without.push(*name),
        }
    }
    match without.first() {
        Some(first) if without.len() == frames.len() => Err(clouds.missing(first)),
        Some(first) => {
            let count = counted(without.len(), "frame");
            stderr::warning(format_args!(
                "--points: no cloud for {count} that are shown, the first is {}",
                escape(first)
            ));
            Ok(())
        }
        None => Ok(()),
    }
}

/// Keeps as many frames as are shown, of those in this order.
fn keep_first(frames: &mut Vec<(&str, Shown)>, most: usize) {
    let mut boxes = 0;
    frames.retain(|(_, Shown { frame, .. })| {
        let is_kept = boxes + frame.boxes.len() <= MOST_BOXES;
        boxes += if is_kept { frame.boxes.len() } else { 0 };
        is_kept
    });
    frames.truncate(most);
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
