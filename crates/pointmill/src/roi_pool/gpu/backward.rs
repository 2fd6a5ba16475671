//! Gradients on the GPU.

use super::marks::{PointBoxes, Wanted};
use crate::arrays::AnyBuffer;
use crate::device::{Buffer, workspace};
use crate::roi_pool::arrays::Extent;
use crate::roi_pool::{PoolMode, RoiArray, RoiLayout, RoiPooled};
use crate::{Result, Rows};
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::roi_pool as kernels;
use std::ptr::null_mut;

workspace! {
    /// Memory for the rows of each point.
    pub(super) struct Workspace(stream) {
        /// For each mode, whether the entries are those of the located scene.
        known: [bool; 2] = [false; 2],
        /// Whether a graph may make other lists without a word to the host, so that entries are
        /// never known.
        replayed: bool = false,
        words: Buffer<u32>,
        point_boxes: PointBoxes,
        /// Of means, and of maxima.
        of_mean: Buffer<[u32; 4]>,
        of_max: Buffer<u64>,
        grad: Buffer<u8>,
    }
}

impl Workspace {
    /// The lists are others now, or will be whenever a graph is launched.
    pub(super) const fn forget(&mut self, recorded: bool) {
        self.known = [false; 2];
        self.replayed |= recorded;
    }

    /// Where the entries are.
    fn entries(&self, mode: PoolMode) -> *mut kernels::Entry {
        match mode {
            PoolMode::Mean => self.of_mean.pointer().cast(),
            PoolMode::Max => self.of_max.pointer().cast(),
        }
    }
}

impl super::Workspace {
    pub(in crate::roi_pool) fn backward(
        &mut self,
        pooled: &RoiPooled,
        grad: &Rows<'_>,
        out: &mut AnyBuffer,
    ) -> Result<()> {
        let extent = &pooled.extent;
        let keeps = self.keeps();
        // A graph makes its own entries: the lists may be others when it is launched, and until
        // then nothing has run.
        let recorded = self.stream.is_capturing()?;
        if keeps && (recorded || !self.gradient.known[extent.mode as usize]) {
            self.transpose(extent)?;
            self.gradient.known[extent.mode as usize] |= !recorded && !self.gradient.replayed;
        }
        out.reserve(grad.dtype(), extent.points * extent.channels)?;
        let element = grad.element();
        let grad_pooled = kernels::Values { data: grad.address::<u8>(&mut self.gradient.grad)?.cast_mut(), element };
        let grad_features = kernels::Values { data: out.device_pointer() as *mut u8, element };
        let quads = super::quads(&grad_pooled, extent.channels) && super::quads(&grad_features, extent.channels);
        let args = kernels::GradientArgs {
            n: self.located.points,
            channels: extent.channels as u32,
            quads: u32::from(quads),
            mode: extent.mode,
            entries: if keeps { self.gradient.entries(extent.mode) } else { null_mut() },
            offsets: self.gradient.point_boxes.offsets().pointer(),
            grad_pooled,
            argmax: if extent.mode == PoolMode::Max { pooled.arrays.pointer(RoiArray::Argmax) } else { null_mut() },
            grad_features,
        };
        let lanes = (extent.channels as u64).div_ceil(if quads { 4 } else { 1 }).next_power_of_two().min(32);
        let blocks = (u64::from(args.n) * lanes).div_ceil(u64::from(BLOCK));
        let blocks = blocks.clamp(1, u64::from(self.stream.enough_blocks(64))) as u32;
        // SAFETY: room was made; the result is of the located scene, whose entries are queued
        // before.
        unsafe { self.stream.launch::<kernels::Gradient>(blocks, args) }
    }

    /// Queues what a gradient needs besides the pooled one, where that is of use: not in a graph,
    /// where the gradient makes it again.
    pub(in crate::roi_pool) fn prepare_backward(&mut self, pooled: &RoiPooled) -> Result<()> {
        let known = self.gradient.known[pooled.extent.mode as usize];
        if !self.keeps() || known || self.gradient.replayed || self.stream.is_capturing()? {
            return Ok(());
        }
        self.transpose(&pooled.extent)?;
        self.gradient.known[pooled.extent.mode as usize] = true;
        Ok(())
    }

    /// Whether any voxel can keep a point.
    const fn keeps(&self) -> bool {
        self.located.keep > 0 && self.located.boxes > 0
    }

    /// Queues the rows of each point in the order of the boxes.
    fn transpose(&mut self, extent: &Extent) -> Result<()> {
        let located = self.located;
        let backward = &mut self.gradient;
        match extent.mode {
            PoolMode::Mean => backward.of_mean.reserve(self.capacity)?,
            PoolMode::Max => backward.of_max.reserve(self.capacity)?,
        };
        backward.point_boxes.enqueue(&self.marks, located.boxes, located.points, Wanted::Ranks, &mut backward.words)?;
        let args = kernels::TransposeArgs {
            boxes: located.boxes,
            // Each pair takes several reads at places of their own; more threads than elsewhere
            // hide them, but boxes have few rows for more.
            parts: super::parts_of_box(located.boxes, (4 * self.parts()).min(16)),
            voxels: located.voxels,
            sparse: u32::from(extent.layout == RoiLayout::Sparse),
            words: self.gradient.words.pointer(),
            offsets: self.gradient.point_boxes.offsets().pointer(),
            scan: self.gradient.point_boxes.scan(located.points),
            lists: self.lists(),
            mode: extent.mode,
            entries: self.gradient.entries(extent.mode),
        };
        // SAFETY: there is an entry for each pair; the lists of the located scene are queued
        // before.
        unsafe { self.stream.launch::<kernels::Transpose>(located.boxes * args.parts, args) }?;
        self.gradient.point_boxes.cleared();
        Ok(())
    }
}
