//! KITTI's matching of a frame's rows, at all levels and scores in one go. Overlaps are computed for a row of the
//! truth at a time and not kept, so that memory is linear in the boxes, however many of them overlap.

use crate::image::{area, intersection, overlap_of_images};
use crate::memory::{Result, Watch, collect, filled, push, room};
use crate::rectangles::{Rectangle, Rectangles};
use crate::report::{Fate, Level, Metric, RowFate};
use pointmill_core::boxes::{iou_bev, iou_volume};
use pointmill_io::detections::{Detections, ImageBox};

/// The recalls of a curve: 0, 1/40, .. 1.
pub(crate) const RECALLS: usize = 41;

/// Rows, and whether they are of the class.
pub(crate) type Rows = Vec<(u32, bool)>;

/// A prediction that overlaps a row of the truth: its place, and by how much.
type Pair = (u32, f64);

/// The rows of a frame that matter for a class.
struct Frame {
    /// The truth, of the class or of its neighbour.
    truth: Rows,
    /// The predictions. The devkit lets small ones of any class take a box of the truth.
    found: Rows,
    /// Whether a prediction lies in a region that is not labelled.
    in_region: Vec<bool>,
}

/// The rows that matter for a class, and what decides about a match.
pub(crate) struct Case<'d> {
    predictions: &'d Detections,
    truth: &'d Detections,
    metric: Metric,
    threshold: f64,
    watch: Watch<'d>,
    frames: Vec<Frame>,
}

/// What becomes of all rows at a level: for each of some scores, where only predictions of at least that score
/// count, and, whatever their score, the fates.
pub(crate) struct Outcome {
    pub(crate) trues: [f64; RECALLS],
    pub(crate) falses: [f64; RECALLS],
    pub(crate) missed: [f64; RECALLS],
    /// The sum over the true ones of how near their angle of observation is to the truth, from 0 to 1.
    pub(crate) similar: [f64; RECALLS],
    pub(crate) fates: [Vec<RowFate>; 2],
}

/// The bit of the matching in which predictions of any score count; those below are of the scores.
const ANY: u64 = 1 << RECALLS;

/// A level of a frame while it is matched.
struct State<'s> {
    level: Level,
    outcome: &'s mut Outcome,
    /// For each prediction the matchings in which its score counts, and those in which it is taken.
    counts: Vec<u64>,
    is_taken: Vec<u64>,
}

impl<'d> Case<'d> {
    pub(crate) fn new(
        [predictions, truth]: [&'d Detections; 2],
        (metric, threshold): (Metric, f64),
        watch: Watch<'d>,
        frames: usize,
    ) -> Result<Self> {
        Ok(Self { predictions, truth, metric, threshold, watch, frames: room(frames)? })
    }

    /// Adds the rows of the next frame, and the regions of its image that are not labelled.
    pub(crate) fn add(&mut self, [found, truth]: [Rows; 2], regions: &[ImageBox]) -> Result<()> {
        let rectangles = collect(regions.iter().map(|region| region.corners))?;
        let tree = Rectangles::new(&rectangles)?;
        let mut in_region = filled(false, found.len())?;
        for (&(row, _), inside) in found.iter().zip(&mut in_region) {
            (self.watch)();
            let image = &self.predictions.image[row as usize];
            let mut meet = |at: usize| {
                *inside |= intersection(image, &regions[at]) / area(image) > self.threshold;
                Ok(())
            };
            tree.meeting(&image.corners, &mut meet)?;
        }
        push(&mut self.frames, Frame { truth, found, in_region })
    }

    /// How much a prediction overlaps a box of the truth.
    fn overlap(&self, row: usize, other: usize) -> f64 {
        let (predictions, truth) = (self.predictions, self.truth);
        match self.metric {
            Metric::Bev => iou_bev(&predictions.boxes[row], &truth.boxes[other]),
            Metric::Volume => iou_volume(&predictions.boxes[row], &truth.boxes[other]),
            Metric::Bbox | Metric::Distance => overlap_of_images(&predictions.image[row], &truth.image[other]),
        }
    }

    /// A rectangle in which a box lies, in the plane or in the image.
    fn rectangle(&self, of: &Detections, row: u32) -> Rectangle {
        if self.metric == Metric::Bbox {
            return of.image[row as usize].corners;
        }
        let [x, y, _, dx, dy, ..] = of.boxes[row as usize];
        // A little more than half the diagonal, so that no rounding parts boxes that touch.
        let reach = 0.5 * (dx * dx + dy * dy).sqrt() * (1.0 + 1e-6) + 1e-6 * (1.0 + x.abs() + y.abs());
        [x - reach, y - reach, x + reach, y + reach]
    }

    /// Gives each row of a frame's truth, and the predictions that overlap it by more than the threshold, their
    /// places ascending.
    fn rows(&self, frame: &Frame, mut give: impl FnMut(usize, &[Pair]) -> Result<()>) -> Result<()> {
        let rectangles = collect(frame.found.iter().map(|&(row, _)| self.rectangle(self.predictions, row)))?;
        let tree = Rectangles::new(&rectangles)?;
        let mut pairs = vec![];
        for (other, &(row, _)) in frame.truth.iter().enumerate() {
            pairs.clear();
            let mut meet = |place: usize| {
                (self.watch)();
                let overlap = self.overlap(frame.found[place].0 as usize, row as usize);
                if overlap > self.threshold { push(&mut pairs, (place as u32, overlap)) } else { Ok(()) }
            };
            tree.meeting(&self.rectangle(self.truth, row), &mut meet)?;
            pairs.sort_unstable_by_key(|&(place, _)| place);
            (self.watch)();
            give(other, &pairs)?;
        }
        Ok(())
    }

    /// Whether a row of the truth counts.
    fn counts(&self, level: Level, (row, is_one): (u32, bool)) -> bool {
        is_one && level.counts(&self.truth.image[row as usize])
    }

    /// Whether a prediction is too small to count.
    fn is_small(&self, level: Level, frame: &Frame, place: u32) -> bool {
        level.is_small(&self.predictions.image[frame.found[place as usize].0 as usize])
    }

    /// For each level the scores of predictions that are objects, if each object takes the prediction of the
    /// highest score, and how many objects count.
    pub(crate) fn scores(&self) -> Result<[(Vec<f64>, usize); 3]> {
        let mut all = [(vec![], 0), (vec![], 0), (vec![], 0)];
        for frame in &self.frames {
            let score = |place: u32| self.predictions.scores[frame.found[place as usize].0 as usize];
            // A bit for each level.
            let mut is_taken = filled(0_u8, frame.found.len())?;
            self.rows(frame, |other, pairs| {
                for (bit, (&level, (scores, count))) in Level::ALL.iter().zip(&mut all).enumerate() {
                    let mut best: Option<u32> = None;
                    for &(place, _) in pairs {
                        let at = place as usize;
                        let may_be = frame.found[at].1 || self.is_small(level, frame, place);
                        let is_free = is_taken[at] >> bit & 1 == 0;
                        if may_be && is_free && best.is_none_or(|best| score(place) > score(best)) {
                            best = Some(place);
                        }
                    }
                    let counts = self.counts(level, frame.truth[other]);
                    *count += usize::from(counts);
                    if let Some(best) = best {
                        is_taken[best as usize] |= 1 << bit;
                        if counts && !self.is_small(level, frame, best) {
                            push(scores, score(best))?;
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(all)
    }

    /// What becomes of the rows at each level, of which `leasts` are the scores, descending, and `fates` those of
    /// the class, ignored.
    pub(crate) fn outcomes(&self, leasts: &[Vec<f64>; 3], fates: [[Vec<RowFate>; 2]; 3]) -> Result<[Outcome; 3]> {
        let zeros = [0.0; RECALLS];
        let mut outcomes =
            fates.map(|fates| Outcome { trues: zeros, falses: zeros, missed: zeros, similar: zeros, fates });
        for frame in &self.frames {
            let mut states = vec![];
            for ((&level, outcome), leasts) in Level::ALL.iter().zip(&mut outcomes).zip(leasts) {
                states.push(self.begin(frame, level, outcome, leasts)?);
            }
            let mut by_overlap = vec![];
            self.rows(frame, |other, pairs| {
                by_overlap.clear();
                pairs.iter().try_for_each(|&pair| push(&mut by_overlap, pair))?;
                by_overlap.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                for (state, leasts) in states.iter_mut().zip(leasts) {
                    self.take(frame, state, (other, leasts.len()), [&by_overlap, pairs]);
                }
                Ok(())
            })?;
        }
        Ok(outcomes)
    }

    /// All predictions of a frame that count are false at first.
    fn begin<'s>(&self, frame: &Frame, level: Level, outcome: &'s mut Outcome, leasts: &[f64]) -> Result<State<'s>> {
        let count = frame.found.len();
        let mut state = State { level, outcome, counts: filled(0, count)?, is_taken: filled(0, count)? };
        for (place, &(row, _)) in frame.found.iter().enumerate() {
            let score = self.predictions.scores[row as usize];
            let first = leasts.partition_point(|&least| score < least);
            state.counts[place] = ANY | (ANY - 1) & (u64::MAX << first);
            if self.is_false(level, frame, place) {
                state.outcome.falses[first..].iter_mut().for_each(|falses| *falses += 1.0);
                set(&mut state.outcome.fates[0], row, Fate::False, None);
            }
        }
        Ok(state)
    }

    /// Whether a prediction is false if nothing takes it.
    fn is_false(&self, level: Level, frame: &Frame, place: usize) -> bool {
        frame.found[place].1 && !self.is_small(level, frame, place as u32) && !frame.in_region[place]
    }

    /// Gives a row of the truth the prediction of the largest overlap, in each matching. A small prediction is taken
    /// only if no other is there.
    fn take(
        &self,
        frame: &Frame,
        state: &mut State<'_>,
        (other, leasts): (usize, usize),
        [by_overlap, by_place]: [&[Pair]; 2],
    ) {
        let (level, row) = (state.level, frame.truth[other]);
        let counts = self.counts(level, row);
        let mut left = ANY | ((1 << leasts) - 1);
        for (pairs, is_small) in [(by_overlap, false), (by_place, true)] {
            for &(place, _) in pairs {
                let at = place as usize;
                let here = left & state.counts[at] & !state.is_taken[at];
                if here == 0 || self.is_small(level, frame, place) != is_small || !(is_small || frame.found[at].1) {
                    continue;
                }
                state.is_taken[at] |= here;
                left &= !here;
                let is_true = counts && !is_small;
                let (was_false, outcome) = (self.is_false(level, frame, at), &mut *state.outcome);
                let similar = if is_true { self.similar(frame.found[at].0, row.0) } else { 0.0 };
                for bit in bits(here & !ANY) {
                    outcome.falses[bit] -= f64::from(u8::from(was_false));
                    outcome.trues[bit] += f64::from(u8::from(is_true));
                    outcome.similar[bit] += similar;
                }
                if here & ANY != 0 {
                    let fate = if is_true { Fate::True } else { Fate::Ignored };
                    set(&mut outcome.fates[0], frame.found[at].0, fate, Some(row.0));
                    set(&mut outcome.fates[1], row.0, fate, Some(frame.found[at].0));
                }
                if left == 0 {
                    return;
                }
            }
        }
        if counts {
            bits(left & !ANY).for_each(|bit| state.outcome.missed[bit] += 1.0);
            if left & ANY != 0 {
                set(&mut state.outcome.fates[1], row.0, Fate::Missed, None);
            }
        }
    }

    /// How near the angle of observation of a prediction is to that of the truth.
    fn similar(&self, row: u32, other: u32) -> f64 {
        let turn = self.truth.image[other as usize].alpha - self.predictions.image[row as usize].alpha;
        0.5 * (1.0 + turn.cos())
    }
}

/// The places of the bits of a number.
fn bits(mut of: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (of != 0).then(|| of.trailing_zeros() as usize)?;
        of &= of - 1;
        Some(bit)
    })
}

/// Sets the fate of a row, if it is among those of the class.
fn set(fates: &mut [RowFate], row: u32, fate: Fate, other: Option<u32>) {
    if let Ok(place) = fates.binary_search_by_key(&row, |fate| fate.row) {
        fates[place] = RowFate { row, fate, other };
    }
}
