//! Overlaps of pairs.

use super::input::Boxes;
use super::params::check_threshold;
use super::{BoxLayout, IouParams, OverlapLists, Pairs, cpu, gpu};
use crate::device::{Buffer, Output, Side, Stream};
use crate::{Argument, Result, Rows, ensure};

/// Measures overlaps call after call, and keeps its memory.
///
/// ```
/// use pointmill::Device;
/// use pointmill::boxes::{BoxIou, IouParams};
/// let stream = Device::auto().stream()?;
/// let mut worker = BoxIou::new(&stream, &IouParams::default())?;
/// let mut out = stream.alloc(0)?;
/// for x in [0.0f32, 2.0] {
///     worker.iou(&[[0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]], &[[x, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]], &mut out)?;
/// }
/// assert_eq!(out.read(1)?, [1.0 / 3.0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct BoxIou {
    stream: Stream,
    params: IouParams,
    layout: BoxLayout,
    side: Side<(), gpu::PairWorkspace>,
}

impl BoxIou {
    /// A worker whose work goes to `stream`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream, params: &IouParams) -> Result<Self> {
        let side = Side::new(stream, || Ok(()), || gpu::PairWorkspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: *params, layout: BoxLayout::default(), side })
    }

    /// The same for boxes of another layout.
    #[must_use]
    pub fn layout(self, layout: BoxLayout) -> Self {
        Self { layout, ..self }
    }

    /// Empty lists to be filled.
    ///
    /// # Errors
    /// Out of memory.
    pub fn lists(&self) -> Result<OverlapLists> {
        OverlapLists::empty(&self.stream)
    }

    /// The overlap of pairs: `[N, M]`, with [`Pairs::Aligned`] `[N]`. See [`iou`](super::iou()).
    ///
    /// # Errors
    /// As [`iou`](super::iou()); a buffer on another device.
    pub fn iou<'a>(&mut self, a: impl Into<Rows<'a>>, b: impl Into<Rows<'a>>, out: &mut Buffer<f32>) -> Result<()> {
        let (a, b) = self.check(a.into(), b.into())?;
        self.stream.check_memory(Argument::Out, "memory of", out.stream())?;
        let params = self.params;
        let pairs = match params.pairs {
            Pairs::All => a.len().saturating_mul(b.len()),
            Pairs::Aligned => {
                ensure(a.len() == b.len(), Argument::B, format_args!("{} boxes, as in a", a.len()), b.len())?;
                a.len()
            }
        };
        let Self { stream, side, .. } = self;
        side.fill(
            stream,
            &[a.stream(), b.stream()],
            out,
            |(), out| cpu::iou(&a, &b, params, out, pairs),
            |gpu, out| gpu.iou(&a, &b, params, out, pairs),
        )
    }

    /// The pairs that overlap more than a threshold. On a GPU this waits, to learn how many there
    /// are. See [`overlaps`](super::overlaps()).
    ///
    /// # Errors
    /// As [`overlaps`](super::overlaps()); a buffer on another device.
    pub fn overlaps<'a>(
        &mut self,
        a: impl Into<Rows<'a>>,
        b: impl Into<Rows<'a>>,
        threshold: f32,
        out: &mut OverlapLists,
    ) -> Result<()> {
        let (a, b) = self.check(a.into(), b.into())?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let params = self.params;
        ensure(params.pairs == Pairs::All, Argument::Pairs, Pairs::All, params.pairs)?;
        check_threshold(threshold, params.kind)?;
        out.sizes.pairs = 0;
        let Self { stream, side, .. } = self;
        side.fill(
            stream,
            &[a.stream(), b.stream()],
            out,
            |(), out| cpu::overlaps(&a, &b, params.kind, threshold, out),
            |gpu, out| gpu.overlaps(&a, &b, params.kind, threshold, out),
        )
    }

    /// Checks boxes, and puts both about one origin.
    fn check<'a>(&self, a: Rows<'a>, b: Rows<'a>) -> Result<(Boxes<'a>, Boxes<'a>)> {
        let as_given = (self.layout, self.params.origin);
        let a = Boxes::new(a, Argument::A, as_given, &self.stream)?;
        let b = Boxes::new(b, Argument::B, as_given, &self.stream)?;
        Ok((a.about_that_of(&a), b.about_that_of(&a)))
    }
}
