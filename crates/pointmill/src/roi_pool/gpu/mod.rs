//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the
//! kernels.

mod backward;
mod inside;
mod marks;
mod output;

pub(super) use inside::Workspace as InsideWorkspace;

use super::arrays::Extent;
use super::{RoiPoolParams, RoiPooled, Scene};
use crate::device::{Buffer, Stream, workspace};
use crate::{Argument, Error, Result, Rows, ensure};
use marks::Marks;
use pointmill_kernels::roi_pool as kernels;
use std::ptr::null_mut;

/// Pairs that there is room for at first; in tests so few that they do not always do.
const FIRST_PAIRS: usize = if cfg!(test) { 500 } else { 1 << 24 };
/// Points that a multiprocessor tests with boxes, point by point, in the time that it takes to sort
/// points first and look at those near each other together.
const DIRECT_POINTS: u64 = if cfg!(test) { 700 } else { 1 << 15 };
/// Most pairs of a box and a point inside: what a sum of the scan can be. In tests so few that the
/// twin can have more.
const MAX_PAIRS: u64 = if cfg!(test) { 1 << 20 } else { (1 << 30) - 1 };
/// Most blocks of a launch.
const MAX_BLOCKS: u32 = i32::MAX as u32;
/// Most bits of a voxel's id that one pass sorts by.
const DIGIT_BITS: u32 = kernels::DIGIT_BITS;
workspace! {
    /// Memory that calls use again.
    pub(super) struct Workspace(stream) {
        stream: Stream,
        marks: Marks,
        /// Five numbers for each box.
        box_lists: Buffer<u32>,
        list_points: Buffer<u32>,
        list_voxels: Buffer<u32>,
        records: Buffer<[u32; 4]>,
        used: Buffer<u64> = stream.alloc(1)?,
        /// Room for pairs in the three lists.
        capacity: usize = 0,
        features: Buffer<u8>,
        located: Located = Located::default(),
        gradient: backward::Workspace,
    }
}

/// Sizes of the located scene.
#[derive(Clone, Copy, Debug, Default)]
struct Located {
    boxes: u32,
    points: u32,
    voxels: u32,
    keep: u32,
    /// No scene of this size has more pairs to list: none if no voxel keeps a point.
    pairs_bound: u64,
    /// Whether there are so few pairs that each box has room for all points.
    direct: bool,
}

impl Workspace {
    /// Finds the lists. Waits where there may be too little room for them.
    pub(super) fn locate(&mut self, scene: &Scene<'_>, params: &RoiPoolParams) -> Result<()> {
        self.reserve(scene, params)?;
        loop {
            self.enqueue_lists(scene, params)?;
            if !self.must_grow()? {
                return Ok(());
            }
        }
    }

    /// Pools over the lists.
    pub(super) fn pool(&mut self, features: &Rows<'_>, extent: &Extent, out: &mut RoiPooled) -> Result<()> {
        loop {
            let args = self.emit_args(features, extent, out)?;
            // SAFETY: `emit_args` made room; the lists are queued before, and their pairs are below
            // `capacity`.
            unsafe { self.stream.launch::<kernels::Emit>((args.boxes * args.parts).max(1), args) }?;
            if !self.must_grow_rows(extent, out)? {
                return Ok(());
            }
        }
    }

    /// Both; nothing waits between them. Calls `arrays`, which may put other arrays into the
    /// result, when the device already works, and returns what it does.
    pub(super) fn run<R, E: From<Error>>(
        &mut self,
        scene: &Scene<'_>,
        params: &RoiPoolParams,
        features: &Rows<'_>,
        extent: &Extent,
        out: &mut RoiPooled,
        arrays: impl FnOnce(&mut RoiPooled) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.reserve(scene, params)?;
        self.enqueue_lists(scene, params)?;
        let made = arrays(out)?;
        loop {
            self.pool(features, extent, out)?;
            if !self.must_grow()? {
                return Ok(made);
            }
            self.enqueue_lists(scene, params)?;
        }
    }

    fn reserve(&mut self, scene: &Scene<'_>, params: &RoiPoolParams) -> Result<()> {
        let (boxes, points) = (scene.num_boxes(), scene.num_points());
        let keep = params.max_points_per_voxel;
        let pairs_bound = if keep > 0 { boxes as u64 * points as u64 } else { 0 };
        let boxes_of_multiprocessor = boxes.div_ceil(self.stream.enough_blocks(1) as usize);
        let direct = (1..=DIRECT_POINTS).contains(&(points as u64 * boxes_of_multiprocessor as u64));
        self.located = Located {
            boxes: boxes as u32,
            points: points as u32,
            voxels: params.voxels() as u32,
            keep,
            pairs_bound,
            direct,
        };
        self.marks.reserve(scene, true)?;
        self.box_lists.reserve(5 * boxes)?;
        self.grow((pairs_bound as usize).min(if direct { usize::MAX } else { FIRST_PAIRS }))
    }

    fn grow(&mut self, capacity: usize) -> Result<()> {
        if capacity > self.capacity {
            self.list_points.reserve(capacity)?;
            self.list_voxels.reserve(capacity)?;
            self.records.reserve(capacity)?;
            self.capacity = capacity;
        }
        Ok(())
    }

    /// Where the room may not have been enough, waits for how much was needed; makes room if it was
    /// not.
    fn must_grow(&mut self) -> Result<bool> {
        if self.located.pairs_bound <= self.capacity as u64 {
            return Ok(false);
        }
        let mut used = [0];
        self.used.read_into(&mut used)?;
        check_pairs(used[0])?;
        let more = used[0] > self.capacity as u64;
        if more {
            self.grow(used[0] as usize)?;
        }
        Ok(more)
    }

    fn lists(&self) -> kernels::BoxLists {
        let boxes = self.located.boxes as usize;
        let array = |k: usize| {
            // SAFETY: `box_lists` has five arrays of that length.
            unsafe { self.box_lists.pointer().add(k * boxes) }
        };
        kernels::BoxLists {
            start: array(0),
            inside: array(1),
            rows: array(2),
            kept: array(3),
            first_row: array(4),
            points: self.list_points.pointer(),
            voxels: self.list_voxels.pointer(),
            records: self.records.pointer().cast(),
            capacity: self.capacity as u32,
            used: if self.located.direct { null_mut() } else { self.used.pointer() },
        }
    }

    /// Queues making the lists.
    fn enqueue_lists(&mut self, scene: &Scene<'_>, params: &RoiPoolParams) -> Result<()> {
        let Located { boxes, voxels, keep, direct, .. } = self.located;
        self.gradient.forget(self.stream.is_capturing()?);
        // Arrays of the host are copied once, by whoever needs them first.
        let (boxes_arg, points_arg) = if direct {
            (self.marks.boxes(scene, params.boxes())?, self.marks.points(scene)?)
        } else {
            self.marks.enqueue(scene, params.boxes(), true, self.used.pointer())?
        };
        if boxes == 0 {
            return Ok(());
        }
        let bits = u32::BITS - (voxels - 1).leading_zeros();
        let passes = bits.div_ceil(DIGIT_BITS);
        let args = kernels::CollectArgs {
            boxes: boxes_arg,
            points: points_arg,
            tiles: self.marks.tiles,
            prepared: self.marks.prepared.pointer(),
            marks: self.marks.marks.pointer(),
            counts: self.marks.counts.pointer(),
            out: params.out_size,
            keep,
            passes,
            digit_bits: bits.div_ceil(passes.max(1)),
            lists: self.lists(),
        };
        // SAFETY: `reserve` made room; the marks are queued before where they are not made.
        unsafe {
            if direct {
                self.stream.launch::<kernels::MarkAndCollect>(boxes, args)
            } else {
                self.stream.launch::<kernels::Collect>(boxes, args)
            }
        }
    }
}

/// How many blocks can share each of so many boxes, if as many as `wanted` would be good.
const fn parts_of_box(boxes: u32, wanted: u32) -> u32 {
    let most = MAX_BLOCKS / if boxes > 0 { boxes } else { 1 };
    if wanted < most { wanted } else { most }
}

/// Boxes that a block takes, so that there are enough blocks but not too many: `runs` of points,
/// each tested with all boxes.
fn boxes_of_block(boxes: u32, runs: u64, enough: u64) -> u32 {
    let blocks = |boxes_of_block: u32| runs * u64::from(boxes.div_ceil(boxes_of_block).max(1));
    let least = kernels::FirstBoxArgs::BOXES;
    let candidates = [boxes.max(1), 8 * least, 4 * least, 2 * least];
    let mut boxes_of_block = candidates.into_iter().find(|&n| blocks(n) >= enough).unwrap_or(least);
    while blocks(boxes_of_block) > u64::from(MAX_BLOCKS) {
        boxes_of_block *= 2;
    }
    boxes_of_block
}

/// Refuses more pairs than offsets can count.
fn check_pairs(pairs: u64) -> Result<()> {
    let expected = format_args!("at most {MAX_PAIRS} pairs of a box and a point inside");
    ensure(pairs <= MAX_PAIRS, Argument::Scene, expected, pairs)
}

/// Whether rows of so many values can be read four values at a time.
fn quads(values: &kernels::Values, channels: usize) -> bool {
    channels.is_multiple_of(4) && (values.data as usize).is_multiple_of(4 * values.element.bytes())
}

const NOTHING_TO_FILL: [kernels::Region; 3] = [kernels::Region { words: null_mut(), len: 0, value: 0 }; 3];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_many_boxes_are_few_enough() {
        assert_eq!((parts_of_box(0, 4), parts_of_box(128, 32)), (4, 32));
        for boxes in [1 << 29, 1 << 30, (1 << 30) + 1, i32::MAX as u32] {
            for wanted in [1, 4, 32] {
                let parts = parts_of_box(boxes, wanted);
                assert!(parts >= 1 && u64::from(parts) * u64::from(boxes) <= u64::from(MAX_BLOCKS), "{boxes}");
            }
        }
    }

    #[test]
    fn blocks_of_a_point_are_enough_and_not_too_many() {
        let least = kernels::FirstBoxArgs::BOXES;
        assert_eq!(boxes_of_block(0, 1, 264), least);
        assert_eq!(boxes_of_block(128, 32, 264), least);
        assert_eq!(boxes_of_block(1024, 140, 264), 2 * least);
        assert_eq!(boxes_of_block(1024, 300, 264), 1024);
        let most = i32::MAX as u32;
        for (boxes, runs) in [(most, 263), (most, 1), (most, 1 << 19), (1 << 28, 263)] {
            let n = boxes_of_block(boxes, runs, 264);
            let blocks = runs * u64::from(boxes.div_ceil(n));
            assert!(n == boxes || n.is_multiple_of(least), "{boxes} boxes, {runs} runs: {n} a block");
            assert!(blocks >= 264 && blocks <= u64::from(MAX_BLOCKS), "{boxes} boxes, {runs} runs: {blocks} blocks");
        }
    }
}
