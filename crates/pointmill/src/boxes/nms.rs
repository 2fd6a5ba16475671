//! Suppression of detections that overlap a better one.

use super::result::KeptSizes;
use super::{BoxLayout, Candidates, Kept, NmsParams, cpu, gpu};
use crate::device::{Output, Side, Stream};
use crate::worker::{Input, InputKind, Inputs, Worker};
use crate::{Argument, Dtype, Result};

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
    layout: BoxLayout,
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
        Ok(Self { stream: stream.clone(), params: *params, layout: BoxLayout::default(), side })
    }

    /// The same for boxes of another layout.
    #[must_use]
    pub fn layout(self, layout: BoxLayout) -> Self {
        Self { layout, ..self }
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
        let boxes = candidates.check(&self.params, self.layout, &self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let items = candidates.items(self.params.pre_max)?;
        let longest = items.iter().map(|item| item.len).max().unwrap_or(0);
        let capacity = longest.min(self.params.post_max.unwrap_or(u32::MAX)) as usize;
        let Self { stream, side, params, .. } = self;
        out.boxes = boxes.len();
        out.classes_on_device = candidates.classes.is_some_and(|classes| classes.host().is_none());
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

impl Worker for Suppressor {
    type Params = NmsParams;
    type Out = Kept;
    const NAME: &'static str = "nms";
    const INPUTS: &'static [Input] = &[
        Input::new(
            Argument::Boxes,
            InputKind::Rows(Some(7), &[Dtype::F32, Dtype::F64]),
            "[N, 7] (x, y, z, dx, dy, dz, yaw)",
            "x, y, z, dx, dy, dz, yaw in metres and radians; at most 262,144 in an item of a batch, or `pre_max`.",
        ),
        Input::new(
            Argument::Scores,
            InputKind::Rows(Some(1), &[Dtype::F32]),
            "[N]",
            "Rows that are no box, or whose scores are not finite, are never kept.",
        ),
        Input::new(
            Argument::Classes,
            InputKind::Ints,
            "[N]",
            "Whole numbers of 0 or more; boxes of different classes never meet.",
        )
        .optional(),
        Input::new(
            Argument::RowSplits,
            InputKind::Splits,
            "[items + 1]",
            "For a batch, where the boxes of each item start; those of different items never meet.",
        )
        .optional(),
    ];

    fn new(stream: &Stream, params: &NmsParams) -> Result<Self> {
        Self::new(stream, params)
    }

    fn output(&self) -> Result<Kept> {
        self.output()
    }

    fn run(&mut self, inputs: &Inputs<'_>, out: &mut Kept) -> Result<()> {
        let mut candidates = Candidates::new(inputs.rows(Argument::Boxes)?, inputs.rows(Argument::Scores)?);
        if let Some(classes) = inputs.ints(Argument::Classes) {
            candidates = candidates.classes(classes);
        }
        if let Some(splits) = inputs.splits(Argument::RowSplits) {
            candidates = candidates.batch(splits);
        }
        self.run(candidates, out)
    }
}
