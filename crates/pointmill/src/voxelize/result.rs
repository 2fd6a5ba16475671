//! The result on its device.

use super::arrays::{Counted, Extent};
use super::report::Report;
use super::{VoxelArray, VoxelArrays};
use crate::arrays::{AnyBuffer, ArraySpec, Arrays};
use crate::device::{Buffer, Notice, Output, Stream};
use crate::{Error, Result};
use pointmill_kernels::voxelize::{Counters, LOST};

/// The result of voxelization, on the device that made it.
///
/// **Shapes**: see [`VoxelArray`]. The buffers can be longer: later calls use them again. After a
/// call that failed on the way the result has no rows and no points.
#[derive(Debug)]
pub struct Voxels {
    pub(super) arrays: Arrays<VoxelArray>,
    pub(super) counters: Buffer<Counters>,
    pub(super) for_host: Notice,
    pub(super) extent: Extent,
    /// Whether a call filled the arrays. Else the result has no rows, whatever is in them.
    pub(super) filled: bool,
}

impl Voxels {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            arrays: Arrays::new(stream),
            counters: stream.upload(&[Counters::default()])?,
            for_host: Notice::new(stream)?,
            extent: Extent::default(),
            filled: false,
        })
    }

    /// See [`interop::exchange_voxels`](crate::interop::exchange_voxels).
    pub(crate) fn exchange(&mut self, arrays: Arrays<VoxelArray>) -> Result<Arrays<VoxelArray>> {
        let own = self.arrays.exchange(arrays)?;
        self.clear();
        Ok(own)
    }

    /// From here on the result has no rows and is of no points, until a call has succeeded.
    pub(super) const fn clear(&mut self) {
        self.filled = false;
        (self.extent.points, self.extent.samples, self.extent.rows_bound) = (0, 0, 0);
    }

    /// The stream that the result belongs to.
    pub fn stream(&self) -> &Stream {
        self.arrays.stream()
    }

    /// The number of points that went in, N.
    pub const fn num_input_points(&self) -> usize {
        self.extent.points
    }

    /// The number of rows, V. On a GPU this waits until the call has counted them, while it may
    /// still write them: whoever reads them does so in the stream's order, as always. Where no wait
    /// is wanted, [`interop::num_voxels_device`](crate::interop::num_voxels_device) has it.
    ///
    /// # Errors
    /// Whatever the queued work ran into so far.
    pub fn num_voxels(&self) -> Result<usize> {
        if !self.filled {
            return Ok(0);
        }
        let told = self.for_host.wait()?;
        // Only a report says how many.
        if told & LOST > 0 {
            self.counters()?;
        }
        Ok((told & !LOST) as usize)
    }

    /// What the call counted. On a GPU this waits for the call to finish.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn report(&self) -> Result<Report> {
        if !self.filled {
            return Ok(Report::default());
        }
        Ok(Report::new(self.extent.points, &self.counters()?))
    }

    /// See [`interop::num_voxels_device`](crate::interop::num_voxels_device).
    pub(crate) fn num_voxels_device(&self) -> u64 {
        self.counters.device_pointer()
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = [Counters::default()];
        self.counters.read_into(&mut counters)?;
        let [counters] = counters;
        check_lost(counters.lost)?;
        Ok(counters)
    }

    /// An array of the last call, on the device; `None` if the call did not make it.
    ///
    /// ```
    /// use pointmill::voxelize::{VoxelArray, VoxelizeParams, voxelize};
    /// use pointmill::{AnyBuffer, Device, Rows};
    /// let voxels = voxelize(&[[1.0f32, 2.0, 0.0]], &VoxelizeParams::default(), &Device::auto())?;
    /// let Some(AnyBuffer::F32(mean)) = voxels.array(VoxelArray::Mean) else { panic!("means are on by default") };
    /// assert_eq!(mean.read(3)?, [1.0, 2.0, 0.0]);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    pub fn array(&self, array: VoxelArray) -> Option<&AnyBuffer> {
        let made = self.filled && self.extent.bound().any(|spec| spec.array == array);
        self.arrays.get(array).filter(|_| made)
    }

    /// The arrays of the last call with types and shapes. On a GPU this waits for the call to
    /// finish, unless the result is padded and has no lists.
    ///
    /// # Errors
    /// Whatever the queued work ran into.
    pub fn specs(&self) -> Result<Vec<ArraySpec<VoxelArray>>> {
        Ok(self.extent.specs(self.counted()?).collect())
    }

    fn counted(&self) -> Result<Counted> {
        if self.extent.outputs.lists {
            let report = self.report()?;
            return Ok(Counted { voxels: report.voxels, kept: report.points_kept });
        }
        let voxels = if self.extent.outputs.padded { self.extent.rows_bound } else { self.num_voxels()? };
        Ok(Counted { voxels, kept: 0 })
    }

    /// Copies everything to the host.
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<VoxelArrays> {
        let report = self.report()?;
        let counted = Counted { voxels: report.voxels, kept: report.points_kept };
        let read = self.arrays.read(self.extent.specs(counted), self.filled)?;
        Ok(VoxelArrays::new(&self.extent, report, read))
    }
}

impl Output for Voxels {
    fn stream(&self) -> &Stream {
        self.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        let Self { arrays, counters, for_host, extent: _, filled: _ } = self;
        arrays.set_stream(stream);
        counters.set_stream(stream);
        for_host.set_stream(stream);
    }
}

fn check_lost(lost: u32) -> Result<()> {
    if lost == 0 { Ok(()) } else { Err(Error::Internal { what: format!("{lost} cells found the table full") }) }
}
