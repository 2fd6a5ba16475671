//! Overlaps of pairs.

use super::input::Boxes;
use super::params::check_threshold;
use super::{IouParams, Pairs, cpu, gpu};
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
    side: Side<(), gpu::PairWorkspace>,
}

/// Pairs of boxes that overlap, on the device that found them: the row of the first box, that of the
/// second, and how much they overlap.
#[derive(Debug)]
pub struct OverlapLists {
    pub(super) i: Buffer<i32>,
    pub(super) j: Buffer<i32>,
    pub(super) iou: Buffer<f32>,
    pub(super) len: usize,
}

impl OverlapLists {
    /// The number of pairs, P.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `[P]`, `[P]` and `[P]`: rows of the first boxes, rows of the second, and overlaps. The buffers
    /// can be longer.
    pub const fn buffers(&self) -> (&Buffer<i32>, &Buffer<i32>, &Buffer<f32>) {
        (&self.i, &self.j, &self.iou)
    }

    /// The three buffers by value.
    pub fn into_buffers(self) -> (Buffer<i32>, Buffer<i32>, Buffer<f32>) {
        (self.i, self.j, self.iou)
    }

    /// The three arrays on the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<(Vec<i32>, Vec<i32>, Vec<f32>)> {
        Ok((self.i.read(self.len)?, self.j.read(self.len)?, self.iou.read(self.len)?))
    }

    pub(super) fn reserve(&mut self, len: usize) -> Result<()> {
        self.len = 0;
        self.i.reserve(len)?;
        self.j.reserve(len)?;
        self.iou.reserve(len)?;
        self.len = len;
        Ok(())
    }
}

impl Output for OverlapLists {
    fn stream(&self) -> &Stream {
        self.i.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        self.i.set_stream(stream);
        self.j.set_stream(stream);
        self.iou.set_stream(stream);
    }
}

impl BoxIou {
    /// A worker whose work goes to `stream`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream, params: &IouParams) -> Result<Self> {
        let side = Side::new(stream, || Ok(()), || gpu::PairWorkspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: *params, side })
    }

    /// Empty lists to be filled.
    ///
    /// # Errors
    /// Out of memory.
    pub fn lists(&self) -> Result<OverlapLists> {
        let stream = &self.stream;
        Ok(OverlapLists { i: stream.alloc(0)?, j: stream.alloc(0)?, iou: stream.alloc(0)?, len: 0 })
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
        self.stream.check_memory(Argument::Out, "memory of", out.stream())?;
        let params = self.params;
        ensure(params.pairs == Pairs::All, Argument::Pairs, Pairs::All, params.pairs)?;
        check_threshold(threshold, params.kind)?;
        out.len = 0;
        let Self { stream, side, .. } = self;
        side.fill(
            stream,
            &[a.stream(), b.stream()],
            out,
            |(), out| cpu::overlaps(&a, &b, params.kind, threshold, out),
            |gpu, out| gpu.overlaps(&a, &b, params.kind, threshold, out),
        )?;
        self.check_rows()
    }

    /// Waits, and checks the rows of the last call: those in memory of a GPU are not looked at
    /// before.
    ///
    /// # Errors
    /// An extent below 0, a value out of range; whatever the queued work ran into.
    pub fn check_rows(&self) -> Result<()> {
        let Side::Gpu(gpu) = &self.side else { return Ok(()) };
        match gpu.first_fault()? {
            [None, None] => Ok(()),
            [Some(row), _] => Err(Boxes::refused(Argument::A, row)),
            [None, Some(row)] => Err(Boxes::refused(Argument::B, row)),
        }
    }

    /// Checks boxes, and puts both about one origin.
    fn check<'a>(&self, a: Rows<'a>, b: Rows<'a>) -> Result<(Boxes<'a>, Boxes<'a>)> {
        let a = Boxes::new(a, Argument::A, self.params.origin, &self.stream)?;
        let b = Boxes::new(b, Argument::B, self.params.origin, &self.stream)?;
        Ok((a.about_that_of(&a), b.about_that_of(&a)))
    }
}
