//! Which boxes two runs of a detector treat differently.

use crate::memory::{Watch, collect, filled, push};
use crate::rectangles::{Rectangle, Rectangles};
use crate::report::{AveragePrecision, DetectionReport, Fate, SAME};
use pointmill_core::names;
use pointmill_io::detections::Detections;
use pointmill_io::{Detail, IoError};

/// Whether a change is for the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An object is found that was missed, or a false box is gone.
    Better,
    /// An object is missed that was found, or a false box is new.
    Worse,
    /// A box of the truth counts in one run alone.
    Other,
}
names!(Verdict { Better = "better", Worse = "worse", Other = "other" });

/// A box whose fate is another one than before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The class.
    pub class: &'static str,
    /// The name of the frame.
    pub frame: String,
    /// The row in the frame: of the truth, or of the predictions that have the false box.
    pub row: usize,
    /// The fate before; null if the box is new.
    pub before: Option<Fate>,
    /// The fate now; null if the box is gone.
    pub after: Option<Fate>,
    /// Whether that is better.
    pub verdict: Verdict,
}

/// Lists the boxes whose fate in `after` is another one than in `before`; both were compared with one
/// truth by one protocol.
///
/// Of each class [`DetectionReport::chosen`] counts. A box of the
/// truth is compared with itself. A false box of one run is that of the other run which is nearest in
/// frame and class, at most 2 m away; the other false boxes are new or gone.
///
/// **Order**: classes, then boxes of the truth by row, then new false boxes, then those that are gone.
///
/// # Errors
/// [`IoError::InvalidArgument`] if the protocols differ, or the reports are of other boxes.
pub fn compare(
    reports: [&DetectionReport; 2],
    predictions: [&Detections; 2],
    truth: &Detections,
) -> Result<Vec<Change>, IoError> {
    compare_watched(reports, predictions, truth, &|| {})
}

/// [`compare`], which calls `watch` as [`evaluate_watched`](crate::evaluate_watched) does.
///
/// # Errors
/// As [`compare`].
pub fn compare_watched(
    [before, after]: [&DetectionReport; 2],
    predictions: [&Detections; 2],
    truth: &Detections,
    watch: &(dyn Fn() + Sync),
) -> Result<Vec<Change>, IoError> {
    let chosen = [before, after].map(|report| report.chosen().collect::<Vec<_>>());
    let fits = |(before, after): (&&AveragePrecision, &&AveragePrecision)| {
        let rows = |of: &AveragePrecision, side: usize| {
            of.predictions.last().is_none_or(|last| (last.row as usize) < predictions[side].len())
        };
        before.class == after.class
            && before.truth.len() == after.truth.len()
            && before.truth.last().is_none_or(|last| (last.row as usize) < truth.len())
            && rows(before, 0)
            && rows(after, 1)
    };
    if before.protocol != after.protocol || !chosen[0].iter().zip(&chosen[1]).all(fits) {
        let got = format!("{} and {}", before.protocol, after.protocol);
        return Err(IoError::InvalidArgument(Detail::new(
            "compare",
            "reports",
            "two of the same truth and protocol",
            got,
        )));
    }
    let mut changes: Vec<Change> = vec![];
    for (before, after) in chosen[0].iter().zip(&chosen[1]) {
        for (old, new) in before.truth.iter().zip(&after.truth).filter(|(old, new)| old.fate != new.fate) {
            let verdict = match (old.fate, new.fate) {
                (Fate::Missed, Fate::True) => Verdict::Better,
                (Fate::True, Fate::Missed) => Verdict::Worse,
                _ => Verdict::Other,
            };
            let fates = [Some(old.fate), Some(new.fate)];
            push(&mut changes, change(before.class, truth, new.row, fates, verdict))?;
        }
        false_boxes([before, after], predictions, &mut changes, watch)?;
    }
    Ok(changes)
}

/// Adds the false boxes of a class that are new, then those that are gone.
fn false_boxes(
    of: [&AveragePrecision; 2],
    predictions: [&Detections; 2],
    changes: &mut Vec<Change>,
    watch: Watch<'_>,
) -> Result<(), IoError> {
    let falses = |side: usize| {
        let rows = of[side].predictions.iter().filter(|row| row.fate == Fate::False);
        collect(rows.map(move |row| (frame_of(predictions[side], row.row), row.row)))
    };
    let (old, new) = (falses(0)?, falses(1)?);
    let mut is_kept = filled(false, old.len())?;
    let mut at = 0;
    while at < new.len() {
        let frame = new[at].0;
        let end = at + new[at..].partition_point(|of| of.0 == frame);
        let others = predictions[0].frames.binary_search(&predictions[1].frames[frame]);
        let first = others.map_or(old.len(), |frame| old.partition_point(|of| of.0 < frame));
        let last = others.map_or(old.len(), |frame| old.partition_point(|of| of.0 <= frame));
        let rectangles = collect(old[first..last].iter().map(|&(_, row)| around(&predictions[0].boxes[row as usize])))?;
        let tree = Rectangles::new(&rectangles)?;
        for &(_, row) in &new[at..end] {
            watch();
            let a = &predictions[1].boxes[row as usize];
            let mut nearest: (f64, Option<usize>) = (SAME, None);
            let mut meet = |other: usize| {
                let place = first + other;
                if !is_kept[place] {
                    let b = &predictions[0].boxes[old[place].1 as usize];
                    let far = (0..3).map(|i| (a[i] - b[i]) * (a[i] - b[i])).sum::<f64>().sqrt();
                    // Of equally near ones the first.
                    if far < nearest.0 || (far == nearest.0 && nearest.1.is_none_or(|before| place < before)) {
                        nearest = (far, Some(place));
                    }
                }
                Ok(())
            };
            tree.meeting(&around(a), &mut meet)?;
            match nearest.1 {
                Some(place) => is_kept[place] = true,
                None => {
                    let fates = [None, Some(Fate::False)];
                    push(changes, change(of[1].class, predictions[1], row, fates, Verdict::Worse))?;
                }
            }
        }
        at = end;
    }
    for ((_, row), _) in old.into_iter().zip(is_kept).filter(|(_, is_kept)| !is_kept) {
        push(changes, change(of[0].class, predictions[0], row, [Some(Fate::False), None], Verdict::Better))?;
    }
    Ok(())
}

/// A square about a centre: those of two boxes meet if the boxes may be one.
fn around(row: &[f64; 7]) -> Rectangle {
    let reach = 0.5 * SAME + 1e-6 * (1.0 + row[0].abs() + row[1].abs());
    [row[0] - reach, row[1] - reach, row[0] + reach, row[1] + reach]
}

fn frame_of(boxes: &Detections, row: u32) -> usize {
    boxes.splits.partition_point(|&first| first <= row as usize) - 1
}

fn change(
    class: &'static str,
    boxes: &Detections,
    row: u32,
    [before, after]: [Option<Fate>; 2],
    verdict: Verdict,
) -> Change {
    let frame = frame_of(boxes, row);
    let row = row as usize - boxes.splits[frame];
    Change { class, frame: boxes.frames[frame].clone(), row, before, after, verdict }
}
