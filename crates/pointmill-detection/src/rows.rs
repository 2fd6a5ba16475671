//! The rows of a class, frame by frame.

use crate::memory::{Result, collect, filled, push};
use crate::report::{Fate, RowFate};
use pointmill_io::detections::Detections;
use std::ops::Range;

/// The frames of both sides.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) count: usize,
    /// For each frame of the predictions and of the truth its number among all.
    pub(crate) numbers: [Vec<usize>; 2],
}

impl Frames {
    /// Joins the names of two sides, which ascend.
    pub(crate) fn of(sides: [&Detections; 2]) -> Result<Self> {
        let (mut at, mut numbers, mut count) = ([0; 2], [vec![], vec![]], 0);
        while let Some(first) = (0..2).filter_map(|side| sides[side].frames.get(at[side])).min() {
            for side in 0..2 {
                if sides[side].frames.get(at[side]) == Some(first) {
                    push(&mut numbers[side], count)?;
                    at[side] += 1;
                }
            }
            count += 1;
        }
        Ok(Self { count, numbers })
    }
}

/// Rows of a side, by frame.
#[derive(Debug)]
pub(crate) struct ClassRows {
    /// The rows, ascending.
    pub(crate) rows: Vec<u32>,
    /// The frame of each.
    pub(crate) frames: Vec<usize>,
    /// The place of each frame's first row, then the number of rows.
    splits: Vec<usize>,
}

impl ClassRows {
    /// The rows of a side for which `is_one` holds.
    pub(crate) fn of(boxes: &Detections, frames: &Frames, side: usize, is_one: impl Fn(usize) -> bool) -> Result<Self> {
        let mut found = Self { rows: vec![], frames: vec![], splits: filled(0, frames.count + 1)? };
        for (rows, &frame) in boxes.splits.windows(2).zip(&frames.numbers[side]) {
            for row in (rows[0]..rows[1]).filter(|&row| is_one(row)) {
                push(&mut found.rows, row as u32)?;
                push(&mut found.frames, frame)?;
                found.splits[frame + 1] += 1;
            }
        }
        for frame in 0..frames.count {
            found.splits[frame + 1] += found.splits[frame];
        }
        Ok(found)
    }

    /// The rows of a class.
    pub(crate) fn of_class(boxes: &Detections, frames: &Frames, side: usize, class: &str) -> Result<Self> {
        let class = boxes.classes.iter().position(|known| known == class);
        Self::of(boxes, frames, side, |row| class == Some(boxes.class[row] as usize))
    }

    /// The places of a frame's rows.
    pub(crate) fn frame(&self, frame: usize) -> Range<usize> {
        self.splits[frame]..self.splits[frame + 1]
    }

    /// The places in the order of scores, highest first, then of rows.
    pub(crate) fn by_score(&self, scores: &[f64]) -> Result<Vec<usize>> {
        let mut order = collect(0..self.rows.len())?;
        // Adding 0 makes -0 the score that equals it.
        let score = |place: usize| scores[self.rows[place] as usize] + 0.0;
        order.sort_unstable_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
        Ok(order)
    }

    /// A fate for each row, at first this one.
    pub(crate) fn fates(&self, fate: Fate) -> Result<Vec<RowFate>> {
        collect(self.rows.iter().map(|&row| RowFate { row, fate, other: None }))
    }
}

/// Makes two rows a match.
pub(crate) fn hit(prediction: &mut RowFate, truth: &mut RowFate) {
    (prediction.fate, truth.fate) = (Fate::True, Fate::True);
    (prediction.other, truth.other) = (Some(truth.row), Some(prediction.row));
}
