//! Which points lie in which box.

use super::lists::BoxListSizes;
use super::{BoxLists, BoxParams, Scene, cpu, gpu};
use crate::device::{Buffer, Output, Side, Stream};
use crate::{Argument, Result};

/// Answers which points lie in which box, and keeps its memory between calls.
///
/// **Shapes, units and frames**: see [`Scene`].
///
/// **Order and determinism**: lists ascend; the same bits everywhere. The test is that of
/// [pooling](super): faces closed in z, open in x and y; what is not finite is outside.
///
/// **Limits**: fewer than 2^31 boxes and points, and 2^30 pairs of a point and a box that holds it
/// for lists by point.
///
/// ```
/// use pointmill::roi_pool::{BoxParams, PointsInBoxes, Scene};
/// use pointmill::{Device, Rows};
///
/// let stream = Device::auto().stream()?;
/// let boxes = [0.0f32, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0, /**/ 1.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0];
/// let points = [0.5f32, 0.5, 0.5, /**/ 2.5, 0.1, 1.0, /**/ 9.0, 0.0, 0.0];
/// let scene = Scene::new(Rows::new(&boxes, 7)?, Rows::new(&points, 3)?);
/// let mut inside = PointsInBoxes::new(&stream, BoxParams::default())?;
/// let mut part = stream.alloc(0)?;
/// inside.part(scene, &mut part)?;
/// assert_eq!(part.read(3)?, [0, 1, -1]);
/// let mut all = inside.lists()?;
/// inside.all(scene, &mut all)?;
/// assert_eq!(all.read()?, (vec![0, 2, 3, 3], vec![0, 1, 1]));
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct PointsInBoxes {
    stream: Stream,
    params: BoxParams,
    side: Side<(), gpu::InsideWorkspace>,
}

impl PointsInBoxes {
    /// A tester whose work goes to `stream`.
    ///
    /// # Errors
    /// A margin that is negative or not finite; out of memory.
    pub fn new(stream: &Stream, params: BoxParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(()), || gpu::InsideWorkspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params, side })
    }

    pub(super) const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Empty lists to be filled.
    ///
    /// # Errors
    /// Out of memory.
    pub fn lists(&self) -> Result<BoxLists> {
        BoxLists::new(&self.stream)
    }

    /// The lowest box that holds each point, or -1: `[N]`.
    ///
    /// # Errors
    /// Boxes and points that are not such (see [`Scene`]); a buffer on another device; out of
    /// memory.
    pub fn part(&mut self, scene: Scene<'_>, out: &mut Buffer<i32>) -> Result<()> {
        self.check(&scene, out.stream())?;
        let params = self.params;
        self.run(&scene, out, |gpu, out| gpu.part(&scene, params, out), |out| cpu::part(&scene, params, out))
    }

    /// How many points each box holds: `[B]`.
    ///
    /// # Errors
    /// As [`PointsInBoxes::part`].
    pub fn count(&mut self, scene: Scene<'_>, out: &mut Buffer<i32>) -> Result<()> {
        self.check(&scene, out.stream())?;
        let params = self.params;
        self.run(&scene, out, |gpu, out| gpu.count(&scene, params, out), |out| cpu::count(&scene, params, out))
    }

    /// All boxes of each point as bits: `[N, ceil(B / 32)]`, box `b` in bit `b % 32` of word
    /// `b / 32`.
    ///
    /// # Errors
    /// As [`PointsInBoxes::part`].
    pub fn bits(&mut self, scene: Scene<'_>, out: &mut Buffer<u32>) -> Result<()> {
        self.check(&scene, out.stream())?;
        let params = self.params;
        self.run(&scene, out, |gpu, out| gpu.bits(&scene, params, out), |out| cpu::bits(&scene, params, out))
    }

    /// All boxes of each point as lists: a row for each point. On a GPU this waits, to learn how
    /// long the lists are.
    ///
    /// # Errors
    /// As [`PointsInBoxes::part`].
    pub fn all(&mut self, scene: Scene<'_>, out: &mut BoxLists) -> Result<()> {
        self.check(&scene, out.stream())?;
        let params = self.params;
        out.sizes = BoxListSizes::default();
        let done = self.run(&scene, out, |gpu, out| gpu.all(&scene, params, out), |out| cpu::all(&scene, params, out));
        if done.is_err() {
            out.sizes = BoxListSizes::default();
        }
        done
    }

    /// The points of each box: a row for each box. On a GPU this waits, to learn how long the lists
    /// are.
    ///
    /// # Errors
    /// As [`PointsInBoxes::part`].
    pub fn crop(&mut self, scene: Scene<'_>, out: &mut BoxLists) -> Result<()> {
        self.check(&scene, out.stream())?;
        let params = self.params;
        out.sizes = BoxListSizes::default();
        let done =
            self.run(&scene, out, |gpu, out| gpu.crop(&scene, params, out), |out| cpu::crop(&scene, params, out));
        if done.is_err() {
            out.sizes = BoxListSizes::default();
        }
        done
    }

    /// Runs one of two paths, in order with the streams of the arrays.
    fn run<O: Output + Send>(
        &mut self,
        scene: &Scene<'_>,
        out: &mut O,
        on_gpu: impl FnOnce(&mut gpu::InsideWorkspace, &mut O) -> Result<()>,
        on_cpu: impl FnOnce(&mut O) -> Result<()> + Send,
    ) -> Result<()> {
        let Self { stream, side, .. } = self;
        side.fill(stream, &scene.streams(), out, |(), out| on_cpu(out), on_gpu)
    }

    fn check(&self, scene: &Scene<'_>, out: &Stream) -> Result<()> {
        scene.check(&self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", out)
    }
}
