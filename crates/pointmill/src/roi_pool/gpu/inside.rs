//! Points in boxes on the GPU.

use super::marks::{Marks, PointBoxes, Wanted};
use crate::Result;
use crate::device::{Buffer, Stream, workspace};
use crate::roi_pool::lists::BoxListSizes;
use crate::roi_pool::{BoxLists, BoxParams, Scene};
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::roi_pool::{self as kernels, BOXES};
use std::ptr::null_mut;

workspace! {
    /// Memory that calls use again.
    pub(in crate::roi_pool) struct Workspace(stream) {
        stream: Stream,
        marks: Marks,
        point_boxes: PointBoxes,
        words: Buffer<u32>,
        totals: Buffer<i32>,
    }
}

impl Workspace {
    pub(in crate::roi_pool) fn part(
        &mut self,
        scene: &Scene<'_>,
        params: BoxParams,
        out: &mut Buffer<i32>,
    ) -> Result<()> {
        out.reserve(scene.num_points())?;
        self.marks.upload_ranges(scene)?;
        let points = self.marks.points(scene)?;
        let boxes = self.marks.boxes(scene, params)?;
        // As many points as a block can take, and all boxes with them, as long as every
        // multiprocessor has some blocks.
        let enough = u64::from(self.stream.enough_blocks(2));
        let runs = |points_of_block: u32| u64::from(points.n.div_ceil(points_of_block).max(1));
        let chunks = |boxes_of_block: u32| u64::from(boxes.count.div_ceil(boxes_of_block).max(1));
        let most = kernels::FirstBoxArgs::MOST_POINTS;
        let points_of_block = if runs(most) >= enough { most } else { BLOCK };
        let boxes_of_block = super::boxes_of_block(boxes.count, runs(points_of_block), enough);
        let blocks = runs(points_of_block) * chunks(boxes_of_block);
        if boxes_of_block < boxes.count {
            // The result may start at any element, which rules out the kernel that writes four at a
            // time.
            out.fill_words(u32::MAX, scene.num_points())?;
        }
        let args = kernels::FirstBoxArgs { boxes, points, points_of_block, boxes_of_block, first: out.pointer() };
        // SAFETY: room was made; what blocks share is set to -1 before.
        unsafe { self.stream.launch::<kernels::FirstBox>(blocks as u32, args) }
    }

    pub(in crate::roi_pool) fn count(
        &mut self,
        scene: &Scene<'_>,
        params: BoxParams,
        out: &mut Buffer<i32>,
    ) -> Result<()> {
        self.marks.reserve(scene, false)?;
        self.marks.enqueue(scene, params, false, null_mut())?;
        enqueue_totals(&self.marks, scene, out)
    }

    pub(in crate::roi_pool) fn bits(
        &mut self,
        scene: &Scene<'_>,
        params: BoxParams,
        out: &mut Buffer<u32>,
    ) -> Result<()> {
        self.marks.reserve(scene, true)?;
        self.marks.enqueue(scene, params, true, null_mut())?;
        let (boxes, n) = (scene.num_boxes() as u32, scene.num_points() as u32);
        self.point_boxes.enqueue(&self.marks, boxes, n, Wanted::Words, out)
    }

    pub(in crate::roi_pool) fn all(&mut self, scene: &Scene<'_>, params: BoxParams, out: &mut BoxLists) -> Result<()> {
        let (boxes, n) = (scene.num_boxes(), scene.num_points());
        self.marks.reserve(scene, true)?;
        self.marks.enqueue(scene, params, true, null_mut())?;
        // Offsets are sums of 30 bits, so the number of pairs is asked of the boxes before there
        // are any.
        enqueue_totals(&self.marks, scene, &mut self.totals)?;
        let pairs = self.totals.read(boxes)?.iter().map(|&n| n as u64).sum();
        super::check_pairs(pairs)?;
        self.point_boxes.enqueue(&self.marks, boxes as u32, n as u32, Wanted::Offsets, &mut self.words)?;
        out.reserve(BoxListSizes { rows: n, len: pairs as usize })?;
        let args = kernels::PointListsArgs {
            n: n as u32,
            boxes: boxes as u32,
            words: self.words.pointer(),
            offsets: self.point_boxes.offsets().pointer(),
            scan: self.point_boxes.scan(n as u32),
            row_splits: out.row_splits.pointer(),
            indices: out.indices.pointer(),
        };
        // SAFETY: room was made for all pairs.
        unsafe { self.stream.launch::<kernels::PointLists>(n as u32 / BLOCK + 1, args) }?;
        self.point_boxes.cleared();
        Ok(())
    }

    pub(in crate::roi_pool) fn crop(&mut self, scene: &Scene<'_>, params: BoxParams, out: &mut BoxLists) -> Result<()> {
        let boxes = scene.num_boxes();
        self.marks.reserve(scene, true)?;
        self.marks.enqueue(scene, params, true, null_mut())?;
        enqueue_totals(&self.marks, scene, &mut self.totals)?;
        let mut splits = vec![0i64];
        splits.extend(self.totals.read(boxes)?.iter().scan(0, |end, &n| {
            *end += i64::from(n);
            Some(*end)
        }));
        out.reserve(BoxListSizes { rows: boxes, len: splits[boxes] as usize })?;
        out.row_splits.write(&splits)?;
        if boxes == 0 {
            return Ok(());
        }
        let args = kernels::CropArgs {
            counts: self.marks.counts.pointer(),
            marks: self.marks.marks.pointer(),
            tiles: self.marks.tiles,
            row_splits: out.row_splits.pointer(),
            indices: out.indices.pointer(),
        };
        // SAFETY: room was made for what the splits say.
        unsafe { self.stream.launch::<kernels::Crop>(boxes as u32, args) }
    }
}

/// Queues how many points each box holds.
fn enqueue_totals(marks: &Marks, scene: &Scene<'_>, out: &mut Buffer<i32>) -> Result<()> {
    out.reserve(scene.num_boxes())?;
    let args = kernels::BoxTotalsArgs {
        counts: marks.counts.pointer(),
        boxes: scene.num_boxes() as u32,
        tiles: marks.tiles,
        totals: out.pointer().cast(),
    };
    let blocks = args.boxes.div_ceil(BLOCK / BOXES).clamp(1, marks.stream.enough_blocks(8));
    // SAFETY: room was made; the counts are queued before, on the same stream.
    unsafe { marks.stream.launch::<kernels::BoxTotals>(blocks, args) }
}
