//! Boxes that are kept, and pairs that overlap.

use super::input::refused_class;
use crate::arrays::outputs;
use crate::{NamedArrays, Result, memory};
use pointmill_core::array::ArrayView;
use pointmill_core::record;
use pointmill_kernels::boxes::NONE;

record! {
    /// What suppression counted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct NmsReport {
        /// Boxes.
        pub boxes: usize,
        /// Boxes that were kept, K.
        pub kept: usize,
        /// Rows that are no box, or whose score is not finite.
        pub non_finite: usize,
    }
}

outputs! {
    /// The boxes that are kept, on the device that chose them. Nothing of it waits but
    /// [`Kept::read`].
    pub struct Kept of KeptArray by KeptSizes { items, capacity } reports Vec<i32> {
        /// The rows that each item keeps, by score, the highest first, and -1 behind them.
        Rows = rows: i32 [items, capacity],
        /// How many boxes each item keeps.
        NumKept = num_kept: i32 [items] else 0,
    }
    words {
        /// The first row with a class below 0.
        bad_class = [NONE],
        non_finite = [0],
    }
    state {
        boxes: usize = 0,
        /// Whether classes lie on a device, where nobody has looked at them before.
        classes_on_device: bool = false,
    }
}

/// The boxes that are kept, on the host.
///
/// Its named arrays: `rows` i32 `[K]` and `row_splits` i64 `[items + 1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptArrays {
    /// The rows that are kept, of item after item, each by score, the highest first.
    pub rows: Vec<i32>,
    /// Where the rows of each item start.
    pub row_splits: Vec<i64>,
    /// What was counted.
    pub report: NmsReport,
}

impl Kept {
    /// The number of items.
    pub const fn num_items(&self) -> usize {
        self.sizes.items
    }

    /// How many boxes an item has room for.
    pub const fn capacity(&self) -> usize {
        self.sizes.capacity
    }

    /// Waits; all sizes are known before. How many boxes each item keeps.
    fn count(&self) -> Result<(KeptSizes, Vec<i32>)> {
        let bad = if self.classes_on_device { self.bad_class.read(1)? } else { Vec::new() };
        if let Some(&class) = bad.first().filter(|class| **class != NONE) {
            return Err(refused_class(class as usize, "one below 0"));
        }
        Ok((self.sizes, self.num_kept.read(self.sizes.items)?))
    }

    /// Waits, and copies the rows to the host without those of -1.
    ///
    /// # Errors
    /// A class below 0 in memory of a GPU; whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<KeptArrays> {
        let (KeptSizes { items, capacity }, counts) = self.count()?;
        let padded = self.rows.read(items * capacity)?;
        let (mut rows, mut row_splits) = (Vec::new(), vec![0]);
        memory::room(&mut row_splits, items + 1)?;
        for (item, &count) in counts.iter().enumerate() {
            memory::extend(&mut rows, padded[item * capacity..][..count as usize].iter().copied())?;
            row_splits.push(rows.len() as i64);
        }
        let non_finite = self.non_finite.read(1)?.first().map_or(0, |&n| n as usize);
        let report = NmsReport { boxes: self.boxes, kept: rows.len(), non_finite };
        Ok(KeptArrays { rows, row_splits, report })
    }
}

impl NamedArrays for KeptArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let (kept, splits) = ([self.rows.len()], [self.row_splits.len()]);
        vec![("rows", ArrayView::i32(&kept, &self.rows)), ("row_splits", ArrayView::i64(&splits, &self.row_splits))]
    }
}

outputs! {
    /// Pairs of boxes that overlap, on the device that found them.
    pub struct OverlapLists of OverlapArray by OverlapSizes { pairs } reports () {
        /// The row of the first box.
        I = i: i32 [pairs],
        /// The row of the second box.
        J = j: i32 [pairs],
        /// How much they overlap.
        Iou = iou: f32 [pairs],
    }
    words {}
    state {}
}

impl OverlapLists {
    /// The number of pairs, P.
    pub const fn len(&self) -> usize {
        self.sizes.pairs
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.sizes.pairs == 0
    }

    /// The call that fills lists has waited for their length.
    const fn count(&self) -> Result<(OverlapSizes, ())> {
        Ok((self.sizes, ()))
    }

    /// The three arrays on the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<(Vec<i32>, Vec<i32>, Vec<f32>)> {
        Ok((self.i.read(self.len())?, self.j.read(self.len())?, self.iou.read(self.len())?))
    }
}
