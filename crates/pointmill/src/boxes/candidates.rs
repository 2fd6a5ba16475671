//! Detections that suppression looks at.

use super::input::{Boxes, check_classes};
use super::{BoxLayout, NmsParams};
use crate::device::Stream;
use crate::{Argument, Dtype, Ints, Result, Rows, ensure, memory, rows};
use pointmill_kernels::boxes::{COLUMNS_OF_TILE, Item, MAX_CANDIDATES, ROWS_OF_TILE};

/// Detections of one call.
///
/// **Shapes**: boxes `[N, 7]` of `f32` or `f64`, see the [module](super); scores `[N, 1]` of `f32`;
/// classes `[N]`; where the items of a batch start `[items + 1]`.
///
/// ```
/// use pointmill::Rows;
/// use pointmill::boxes::Candidates;
/// let boxes = [[0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0], [0.2, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]];
/// let candidates = Candidates::new(&boxes, Rows::new(&[0.6f32, 0.9], 1)?).classes(&[0, 1]).batch(&[0, 2]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    boxes: Rows<'a>,
    scores: Rows<'a>,
    pub(super) classes: Option<Ints<'a>>,
    row_splits: Option<&'a [usize]>,
}

impl<'a> Candidates<'a> {
    /// Boxes of one item and one class.
    pub fn new(boxes: impl Into<Rows<'a>>, scores: impl Into<Rows<'a>>) -> Self {
        Self { boxes: boxes.into(), scores: scores.into(), classes: None, row_splits: None }
    }

    /// The same with classes, which never meet.
    pub fn classes(self, classes: impl Into<Ints<'a>>) -> Self {
        Self { classes: Some(classes.into()), ..self }
    }

    /// The same as a batch: `row_splits` holds `items + 1` ascending numbers from 0 to N. A call
    /// that is recorded in a graph must have the splits of the call before, and keeps them.
    pub fn batch(self, row_splits: &'a [usize]) -> Self {
        Self { row_splits: Some(row_splits), ..self }
    }

    pub(super) fn scores(&self) -> &Rows<'a> {
        &self.scores
    }

    pub(super) fn streams(&self) -> [Option<&'a Stream>; 3] {
        [self.boxes.stream(), self.scores.stream(), self.classes.and_then(|classes| classes.stream())]
    }

    /// Checks all arrays; returns the boxes about their own origin.
    pub(super) fn check(&self, params: &NmsParams, layout: BoxLayout, stream: &Stream) -> Result<Boxes<'a>> {
        let boxes = Boxes::new(self.boxes, Argument::Boxes, (layout, params.origin), stream)?;
        ensure(boxes.len() < 1 << 30, Argument::Boxes, "fewer than 2^30 boxes", boxes.len())?;
        ensure(self.scores.columns() == 1, Argument::Scores, "1 column", self.scores.columns())?;
        self.scores.check(Argument::Scores, stream, &[Dtype::F32])?;
        let expected = format_args!("{} values, as many as boxes", boxes.len());
        ensure(self.scores.len() == boxes.len(), Argument::Scores, expected, self.scores.len())?;
        if let Some(classes) = &self.classes {
            check_classes(classes, boxes.len(), stream)?;
        }
        if let Some(splits) = self.row_splits {
            rows::check_splits(Argument::RowSplits, splits, boxes.len())?;
        }
        Ok(boxes.about_that_of(&boxes))
    }

    /// The items, with at most `most` candidates each.
    pub(super) fn items(&self, most: Option<u32>) -> Result<Vec<Item>> {
        let all = [0, self.boxes.len()];
        let splits = self.row_splits.unwrap_or(&all);
        let (mut items, mut tile, mut bits) = (Vec::new(), 0u64, 0u64);
        memory::room(&mut items, splits.len() - 1)?;
        for span in splits.windows(2) {
            let rows = (span[1] - span[0]) as u32;
            let len = rows.min(most.unwrap_or(u32::MAX));
            let expected = format_args!("at most {MAX_CANDIDATES} candidates an item: set pre_max, or split the batch");
            ensure(len <= MAX_CANDIDATES, Argument::Boxes, expected, len)?;
            items.push(Item { first: span[0] as u32, len, tile: tile as u32, bits: bits as u32 });
            tile += u64::from(tiles(len));
            bits += u64::from(len) * u64::from(len.div_ceil(32));
            let expected = "fewer than 2^32 words of 32 pairs in a batch: set pre_max, or split the batch";
            ensure(bits < 1 << 32 && tile < 1 << 31, Argument::Boxes, expected, bits)?;
        }
        Ok(items)
    }
}

/// Tiles of pairs of an item with so many candidates.
pub(super) const fn tiles(len: u32) -> u32 {
    len.div_ceil(ROWS_OF_TILE) * len.div_ceil(COLUMNS_OF_TILE)
}
