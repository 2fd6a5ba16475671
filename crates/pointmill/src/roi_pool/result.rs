//! The result on its device.

use super::arrays::Extent;
use super::report::Report;
use super::{RoiArray, RoiArrays, RoiPoolParams};
use crate::Result;
use crate::arrays::{AnyBuffer, ArraySpec, Arrays};
use crate::device::{Buffer, Output, Stream};
use pointmill_kernels::roi_pool::Totals;

/// The result of RoI-aware pooling, on the device that made it.
///
/// **Shapes**: see [`RoiArray`]. The buffers can be longer: later calls use them again. After a
/// call that failed on the way the result has no boxes and no points.
#[derive(Debug)]
pub struct RoiPooled {
    pub(super) arrays: Arrays<RoiArray>,
    pub(super) totals: Buffer<Totals>,
    pub(super) extent: Extent,
}

impl RoiPooled {
    pub(super) fn new(stream: &Stream, params: &RoiPoolParams) -> Result<Self> {
        let mut totals = Buffer::alloc_shared(stream, 1)?;
        totals.write(&[Totals::default()])?;
        Ok(Self { arrays: Arrays::new(stream), totals, extent: Extent::new(params, (0, 0)) })
    }

    /// See [`interop::exchange_pooled`](crate::interop::exchange_pooled).
    pub(crate) fn exchange(&mut self, arrays: Arrays<RoiArray>) -> Result<Arrays<RoiArray>> {
        let own = self.arrays.exchange(arrays)?;
        self.clear();
        Ok(own)
    }

    /// From here on the result is that of no boxes and no points, until a call has succeeded.
    pub(super) const fn clear(&mut self) {
        (self.extent.boxes, self.extent.points, self.extent.scene) = (0, 0, 0);
    }

    /// The stream that the result belongs to.
    pub fn stream(&self) -> &Stream {
        self.arrays.stream()
    }

    /// An array of the last call, on the device; `None` if the call did not make it.
    pub fn array(&self, array: RoiArray) -> Option<&AnyBuffer> {
        let made = self.extent.scene != 0 && self.extent.bound().any(|spec| spec.array == array);
        self.arrays.get(array).filter(|_| made)
    }

    /// The arrays of the last call with types and shapes. On a GPU this waits for the call to
    /// finish, unless the layout is dense.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn specs(&self) -> Result<Vec<ArraySpec<RoiArray>>> {
        let known = self.extent.layout == super::RoiLayout::Dense;
        let report = if known { Report::default() } else { self.report()? };
        Ok(self.extent.specs(report.voxels, report.kept).collect())
    }

    /// The number of non-empty voxels, R. On a GPU this waits for the call to finish.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn num_voxels(&self) -> Result<usize> {
        Ok(self.totals()?.rows as usize)
    }

    /// The number of rows that a call under way asks for. On a GPU this waits for what is queued.
    pub(super) fn rows_asked_for(&self) -> Result<usize> {
        Ok(self.totals_of_device()?.rows as usize)
    }

    /// What the call counted. On a GPU this waits for the call to finish.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn report(&self) -> Result<Report> {
        Ok(Report::new(self.extent.boxes, self.extent.points, &self.totals()?))
    }

    fn totals(&self) -> Result<Totals> {
        if self.extent.scene == 0 {
            return Ok(Totals::default());
        }
        self.totals_of_device()
    }

    fn totals_of_device(&self) -> Result<Totals> {
        let mut totals = [Totals::default()];
        self.totals.read_into(&mut totals)?;
        Ok(totals[0])
    }

    /// Copies everything to the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<RoiArrays> {
        let report = self.report()?;
        // Of a result that no call has filled there is nothing but one split.
        let extent = if self.extent.scene == 0 { Extent { boxes: 0, points: 0, ..self.extent } } else { self.extent };
        let read = self.arrays.read(extent.specs(report.voxels, report.kept), extent.scene != 0)?;
        Ok(RoiArrays::new(&extent, report, read))
    }
}

impl Output for RoiPooled {
    fn stream(&self) -> &Stream {
        self.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        let Self { arrays, totals, extent: _ } = self;
        arrays.set_stream(stream);
        totals.set_stream(stream);
    }
}
