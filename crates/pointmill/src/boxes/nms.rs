//! Suppression of detections that overlap a better one.

use super::input::{Boxes, check_classes, refused_class};
use super::{NmsParams, cpu, gpu};
use crate::arrays::outputs;
use crate::device::{Output, Side, Stream};
use crate::{Argument, Dtype, Ints, NamedArrays, Result, Rows, ensure, memory, rows};
use pointmill_core::array::ArrayView;
use pointmill_core::record;
use pointmill_kernels::boxes::{Item, MAX_CANDIDATES, NONE};

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

    fn streams(&self) -> [Option<&'a Stream>; 3] {
        [self.boxes.stream(), self.scores.stream(), self.classes.and_then(|classes| classes.stream())]
    }

    /// Checks all arrays; returns the boxes about their own origin.
    fn check(&self, params: &NmsParams, stream: &Stream) -> Result<Boxes<'a>> {
        let boxes = Boxes::new(self.boxes, Argument::Boxes, params.origin, stream)?;
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
    fn items(&self, most: Option<u32>) -> Result<Vec<Item>> {
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
            tile += u64::from(gpu::tiles(len));
            bits += u64::from(len) * u64::from(len.div_ceil(32));
            let expected = "fewer than 2^32 words of 32 pairs in a batch: set pre_max, or split the batch";
            ensure(bits < 1 << 32 && tile < 1 << 31, Argument::Boxes, expected, bits)?;
        }
        Ok(items)
    }
}

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
        /// Boxes that were not kept because the box or its score has a NaN or an infinity.
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
        /// The first row that is no box, and the first class below 0.
        faults = [NONE; 2],
        non_finite = [0],
    }
    state {
        boxes: usize = 0,
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
        if let [row, class] = self.faults.read(2)?[..] {
            if row != NONE {
                return Err(Boxes::refused(Argument::Boxes, row));
            }
            if class != NONE {
                return Err(refused_class(class as usize, "one below 0"));
            }
        }
        Ok((self.sizes, self.num_kept.read(self.sizes.items)?))
    }

    /// Waits, and copies the rows to the host without those of -1.
    ///
    /// # Errors
    /// A row in memory of a GPU that is no box, or a class below 0; whatever the queued work ran
    /// into, or no memory.
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

/// Suppresses call after call, and keeps its memory: on a GPU 64 bytes and a little more for each
/// box, and a bit for each pair of candidates of an item.
///
/// ```
/// use pointmill::boxes::{Candidates, NmsParams, Suppressor};
/// use pointmill::{Device, Rows};
/// let mut suppressor = Suppressor::new(&Device::auto().stream()?, &NmsParams::default())?;
/// let mut kept = suppressor.output()?;
/// for far in [0.0f32, 50.0] {
///     let boxes = [[0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0], [far, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]];
///     suppressor.run(Candidates::new(&boxes, Rows::new(&[0.6f32, 0.9], 1)?), &mut kept)?;
/// }
/// assert_eq!(kept.read()?.rows, [1, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Suppressor {
    stream: Stream,
    params: NmsParams,
    side: Side<(), gpu::NmsWorkspace>,
}

impl Suppressor {
    /// A suppressor whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &NmsParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(()), || gpu::NmsWorkspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: *params, side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Kept> {
        Kept::empty(&self.stream)
    }

    /// Chooses the boxes that are kept. See [`nms`](super::nms()).
    ///
    /// # Errors
    /// As [`nms`](super::nms()); a result on another device.
    pub fn run(&mut self, candidates: Candidates<'_>, out: &mut Kept) -> Result<()> {
        let boxes = candidates.check(&self.params, &self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let items = candidates.items(self.params.pre_max)?;
        let longest = items.iter().map(|item| item.len).max().unwrap_or(0);
        let capacity = longest.min(self.params.post_max.unwrap_or(u32::MAX)) as usize;
        let Self { stream, side, params } = self;
        out.boxes = boxes.len();
        let work = (&boxes, &candidates, &items[..], &*params);
        side.fill(
            stream,
            &candidates.streams(),
            out,
            |(), out| {
                out.reserve(KeptSizes { items: items.len(), capacity })?;
                cpu::suppress(work.0, work.1, work.2, work.3, out)
            },
            |gpu, out| {
                out.reserve(KeptSizes { items: items.len(), capacity })?;
                gpu.run(&boxes, &candidates, &items, params, out)
            },
        )
    }
}
