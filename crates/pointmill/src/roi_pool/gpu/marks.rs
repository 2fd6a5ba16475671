//! Boxes and points on the device, and which points lie in which box.

use crate::device::{Buffer, Stream, Uploaded, workspace};
use crate::roi_pool::{BoxParams, Scene};
use crate::{Argument, Result};
use pointmill_core::BOX_WORDS;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::roi_pool::{self as kernels, BOXES, TILE, WORDS_OF_TILE};
use std::ptr::{null, null_mut};

workspace! {
    /// Memory for boxes, points and marks.
    pub(super) struct Marks(stream) {
        pub(super) stream: Stream,
        boxes: Buffer<u8>,
        points: Buffer<u8>,
        ranges: Uploaded,
        pub(super) prepared: Buffer<u32>,
        pub(super) marks: Buffer<u32>,
        pub(super) counts: Buffer<u32>,
        pub(super) tiles: u32 = 1,
    }
}

impl Marks {
    /// Makes room, for marks or for counts alone.
    pub(super) fn reserve(&mut self, scene: &Scene<'_>, marks: bool) -> Result<()> {
        self.tiles = (scene.num_points() as u32).div_ceil(TILE).max(1);
        let counts = scene.num_boxes() * self.tiles as usize;
        self.prepared.reserve(scene.num_boxes() * BOX_WORDS)?;
        self.counts.reserve(counts)?;
        if marks {
            self.marks.reserve(counts * WORDS_OF_TILE as usize)?;
        }
        self.upload_ranges(scene)
    }

    /// The points that each box sees.
    pub(super) fn upload_ranges(&mut self, scene: &Scene<'_>) -> Result<()> {
        if scene.batch.is_none() {
            return Ok(());
        }
        let ranges = scene.samples().enumerate().flat_map(|(sample, boxes)| {
            let points = scene.points_of(sample);
            boxes.flat_map(move |_| [points.start as u32, points.end as u32])
        });
        self.ranges.set(Argument::PointSplits, ranges)
    }

    /// The boxes as kernels take them.
    pub(super) fn boxes(&mut self, scene: &Scene<'_>, params: BoxParams) -> Result<kernels::BoxesArg> {
        Ok(kernels::BoxesArg {
            values: kernels::Values {
                data: scene.boxes.address::<u8>(&mut self.boxes)?.cast_mut(),
                element: scene.boxes.element(),
            },
            count: scene.num_boxes() as u32,
            origin: params.origin,
            margin: params.margin,
            ranges: if scene.batch.is_some() { self.ranges.pointer() } else { null() },
        })
    }

    /// The points as kernels take them.
    pub(super) fn points(&mut self, scene: &Scene<'_>) -> Result<kernels::PointsArg> {
        Ok(kernels::PointsArg {
            values: kernels::Values {
                data: scene.points.address::<u8>(&mut self.points)?.cast_mut(),
                element: scene.points.element(),
            },
            columns: scene.points.columns() as u32,
            n: scene.num_points() as u32,
        })
    }

    /// Queues the tests of all points with all boxes; returns both as kernels take them. `zero`, if
    /// not null, becomes 0 on the way.
    pub(super) fn enqueue(
        &mut self,
        scene: &Scene<'_>,
        params: BoxParams,
        marks: bool,
        zero: *mut u64,
    ) -> Result<(kernels::BoxesArg, kernels::PointsArg)> {
        let points = self.points(scene)?;
        let boxes = self.boxes(scene, params)?;
        let enough = u64::from(self.stream.enough_blocks(2));
        let groups = u64::from(boxes.count.div_ceil(BOXES));
        // As many points as a block can sort, and several groups of boxes with them, as long as
        // every multiprocessor has some blocks.
        let most = kernels::MarkArgs::MOST_TILES;
        let tiles_of_item = if u64::from(self.tiles / most) * groups >= enough { most } else { 1 };
        let runs = self.tiles.div_ceil(tiles_of_item);
        let items = |boxes_of_item: u32| u64::from(runs) * u64::from(boxes.count.div_ceil(boxes_of_item));
        let groups = [4, 2].into_iter().find(|groups| items(groups * BOXES) >= enough).unwrap_or(1);
        let args = kernels::MarkArgs {
            boxes,
            points,
            tiles: self.tiles,
            tiles_of_item,
            boxes_of_item: groups * BOXES,
            prepared: self.prepared.pointer(),
            marks: if marks { self.marks.pointer() } else { null_mut() },
            counts: self.counts.pointer(),
            zero,
        };
        let blocks = items(args.boxes_of_item).clamp(1, 1 << 20) as u32;
        // SAFETY: `reserve` made room for this scene.
        unsafe { self.stream.launch::<kernels::Mark>(blocks, args) }?;
        Ok((boxes, points))
    }
}

/// What is made of marks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Words.
    Words,
    /// Words, and where each point's boxes start in a list.
    Offsets,
    /// The same, with the rank of each word beside it.
    Ranks,
}

workspace! {
    /// The boxes of each point, as bits and as where they start in a list.
    pub(super) struct PointBoxes(stream) {
        offsets: Buffer<u32>,
        scan: Buffer<u32>,
        /// Whether the scan's state is zero; false from a call on until the kernel is queued that
        /// clears it.
        clean: bool = true,
        /// Whether it is zero then: what a graph records has not run.
        will_be_clean: bool = true,
    }
}

impl PointBoxes {
    /// Where each point's boxes start, and the number of pairs.
    pub(super) const fn offsets(&self) -> &Buffer<u32> {
        &self.offsets
    }

    /// The state of the scan that made the offsets for so many points, which the first kernel that
    /// uses them must clear, see [`PointBoxes::cleared`].
    pub(super) fn scan(&self, n: u32) -> kernels::ScanState {
        kernels::ScanState { tiles: Tiles { words: self.scan.pointer() }, words: Tiles::words(blocks(n)) }
    }

    /// Notes that a kernel is queued that clears the state.
    pub(super) const fn cleared(&mut self) {
        self.clean = self.will_be_clean;
    }

    /// Queues turning the marks round into `words`.
    pub(super) fn enqueue(
        &mut self,
        marks: &Marks,
        boxes: u32,
        n: u32,
        wanted: Wanted,
        words: &mut Buffer<u32>,
    ) -> Result<()> {
        let (offsets, ranked) = (wanted != Wanted::Words, wanted == Wanted::Ranks);
        words.reserve(n as usize * boxes.div_ceil(BOXES) as usize * if ranked { 2 } else { 1 })?;
        if offsets {
            self.offsets.reserve(n as usize + 1)?;
            let grown = self.scan.reserve(Tiles::words(blocks(n)) as usize)?;
            if grown || !self.clean {
                let words = self.scan.len();
                self.scan.fill_words(0, words)?;
            }
            self.will_be_clean = self.clean || !marks.stream.is_capturing()?;
            self.clean = false;
        }
        let args = kernels::PointBoxesArgs {
            boxes,
            n,
            tiles: marks.tiles,
            marks: marks.marks.pointer(),
            words: words.pointer(),
            ranked: u32::from(ranked),
            offsets: if offsets { self.offsets.pointer() } else { null_mut() },
            scan: self.scan(n),
        };
        // SAFETY: room was made; the marks are queued before, on the same stream.
        unsafe { marks.stream.launch::<kernels::PointBoxes>(blocks(n), args) }
    }
}

/// Blocks that turn the marks of so many points round.
fn blocks(n: u32) -> u32 {
    n.div_ceil(kernels::POINT_TILE).max(1)
}
