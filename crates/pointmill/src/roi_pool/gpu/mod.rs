//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the kernels.

mod backward;
mod inside;
mod marks;

pub(super) use inside::Workspace as InsideWorkspace;

use super::result::Shape;
use super::{PoolMode, RoiLayout, RoiPoolParams, RoiPooled, Scene};
use crate::device::{Buffer, Stream};
use crate::{Error, Input, Result};
use marks::{Also, Marks};
use pointmill_kernels::roi_pool as kernels;
use std::ptr::null_mut;

/// Pairs that there is room for at first, and rows of a sparse result; in tests so few that they do not always do.
const FIRST_PAIRS: usize = if cfg!(test) { 500 } else { 1 << 24 };
const FIRST_ROWS: usize = if cfg!(test) { 50 } else { 1 << 18 };
/// Most pairs of a box and a point inside.
const MAX_PAIRS: u64 = (1 << 30) - 1;
/// Most bits of a voxel's id that one pass sorts by.
const DIGIT_BITS: u32 = kernels::DIGIT_BITS;
/// Memory that calls use again.
#[derive(Debug)]
pub(super) struct Workspace {
    stream: Stream,
    marks: Marks,
    /// Five numbers for each box.
    box_lists: Buffer<u32>,
    list_points: Buffer<u32>,
    list_voxels: Buffer<u32>,
    records: Buffer<[u32; 4]>,
    used: Buffer<u64>,
    /// Room for pairs in the three lists.
    capacity: usize,
    features: Buffer<u8>,
    located: Located,
    gradient: backward::Workspace,
}

/// Sizes of the located scene.
#[derive(Clone, Copy, Debug, Default)]
struct Located {
    boxes: u32,
    points: u32,
    voxels: u32,
    keep: u32,
    /// No scene of this size has more pairs.
    pairs_bound: u64,
}

impl Workspace {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            marks: Marks::new(stream)?,
            box_lists: stream.alloc(0)?,
            list_points: stream.alloc(0)?,
            list_voxels: stream.alloc(0)?,
            records: stream.alloc(0)?,
            used: stream.alloc(1)?,
            capacity: 0,
            features: stream.alloc(0)?,
            located: Located::default(),
            gradient: backward::Workspace::new(stream)?,
        })
    }

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
    pub(super) fn pool(&mut self, features: &Input<'_>, shape: &Shape, out: &mut RoiPooled) -> Result<()> {
        self.fill(features, shape, out)?;
        self.emit(features, shape, out)
    }

    /// Both; nothing waits between them.
    pub(super) fn run(
        &mut self,
        scene: &Scene<'_>,
        params: &RoiPoolParams,
        features: &Input<'_>,
        shape: &Shape,
        out: &mut RoiPooled,
    ) -> Result<()> {
        self.reserve(scene, params)?;
        loop {
            self.enqueue_lists(scene, params)?;
            self.pool(features, shape, out)?;
            if !self.must_grow()? {
                return Ok(());
            }
        }
    }

    /// Makes room for the result and queues writing its empty part. Beside or before the kernels that find the lists this would take longer: while memory is busy with it
    /// what they read comes late, and it leaves the cache to what is written.
    fn fill(&self, features: &Input<'_>, shape: &Shape, out: &mut RoiPooled) -> Result<()> {
        let fill = self.reserve_output(features, shape, out)?;
        if fill.is_empty() {
            return Ok(());
        }
        // SAFETY: the regions are those of the output.
        unsafe { self.stream.launch::<kernels::Fill>(self.stream.enough_blocks(4), fill) }
    }

    fn reserve(&mut self, scene: &Scene<'_>, params: &RoiPoolParams) -> Result<()> {
        let (boxes, points) = (scene.num_boxes(), scene.num_points());
        self.located = Located {
            boxes: boxes as u32,
            points: points as u32,
            voxels: params.voxels() as u32,
            keep: params.max_points_per_voxel - 1,
            pairs_bound: boxes as u64 * points as u64,
        };
        self.marks.reserve(scene, true)?;
        self.box_lists.reserve(5 * boxes)?;
        self.grow((self.located.pairs_bound as usize).min(FIRST_PAIRS))
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

    /// Where the room may not have been enough, waits for how much was needed; makes room if it was not.
    fn must_grow(&mut self) -> Result<bool> {
        if self.located.pairs_bound <= self.capacity as u64 {
            return Ok(false);
        }
        let mut used = [0];
        self.used.read_into(&mut used)?;
        if used[0] > MAX_PAIRS {
            let expected = format!("at most {MAX_PAIRS} pairs of a box and a point inside");
            return Err(Error::argument("scene", expected, used[0]));
        }
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
            used: self.used.pointer(),
        }
    }

    fn enqueue_lists(&mut self, scene: &Scene<'_>, params: &RoiPoolParams) -> Result<()> {
        let (zero_words, zero_len) = self.gradient.forget(scene.num_points())?;
        let also = Also { zero: self.used.pointer(), zero_words, zero_len };
        let points = self.marks.enqueue(scene, params.boxes(), true, &also)?;
        let Located { boxes, voxels, keep, .. } = self.located;
        if boxes == 0 {
            return Ok(());
        }
        let bits = u32::BITS - (voxels - 1).leading_zeros();
        let passes = bits.div_ceil(DIGIT_BITS);
        let args = kernels::CollectArgs {
            points,
            tiles: self.marks.tiles(),
            prepared: self.marks.prepared(),
            marks: self.marks.marks(),
            counts: self.marks.counts(),
            out: params.out_size,
            keep,
            passes,
            digit_bits: bits.div_ceil(passes.max(1)),
            lists: self.lists(),
        };
        // SAFETY: `reserve` made room; the marks are queued before.
        unsafe { self.stream.launch::<kernels::Collect>(boxes, args) }
    }

    /// Makes room for the result; what of it is to be written first.
    fn reserve_output(&self, features: &Input<'_>, shape: &Shape, out: &mut RoiPooled) -> Result<kernels::FillArgs> {
        let too_large = || Error::OutOfMemory { device: self.stream.device().to_string(), bytes: u64::MAX };
        let rows = shape.rows(self.rows_capacity(shape, out));
        let values = rows.checked_mul(shape.channels).filter(|n| *n < usize::MAX / 8).ok_or_else(too_large)?;
        // Whole words, for halves too.
        out.pooled.reserve(features.element(), values.next_multiple_of(2))?;
        let mut fill = NO_FILL;
        let dense = shape.layout != RoiLayout::Sparse;
        let words = (values * features.element().bytes()).div_ceil(4) as u64;
        let region = |words: *mut u32, len: u64, value: u32| kernels::Region { words, len, value };
        if dense {
            fill.regions[0] = region(out.pooled.device_pointer() as *mut u32, words, 0);
        }
        if shape.mode == PoolMode::Max {
            out.argmax.reserve(values)?;
            if dense {
                fill.regions[1] = region(out.argmax.pointer().cast(), values as u64, u32::MAX);
            }
        }
        if shape.layout == RoiLayout::Sparse {
            out.coords.reserve(rows * 4)?;
        }
        if shape.lists && shape.layout == RoiLayout::Dense {
            let slots = rows.checked_mul(shape.max_points).filter(|n| *n < usize::MAX / 8).ok_or_else(too_large)?;
            out.point_indices.reserve(slots)?;
            fill.regions[2] = region(out.point_indices.pointer().cast(), slots as u64, 0);
        } else if shape.lists {
            out.row_splits.reserve(rows + 1)?;
        }
        Ok(fill)
    }

    /// Rows that a sparse result has room for: all there can be, or what is likely, or what it has.
    fn rows_capacity(&self, shape: &Shape, out: &RoiPooled) -> usize {
        self.rows_bound(shape).min(FIRST_ROWS.max(out.coords.len() / 4))
    }

    fn rows_bound(&self, shape: &Shape) -> usize {
        shape.voxels().min(usize::try_from(self.located.pairs_bound).unwrap_or(usize::MAX))
    }

    /// Rows and features into the result. Waits where a sparse result may have too little room.
    fn emit(&mut self, features: &Input<'_>, shape: &Shape, out: &mut RoiPooled) -> Result<()> {
        let sparse = shape.layout == RoiLayout::Sparse;
        loop {
            let room = self.rows_capacity(shape, out);
            self.enqueue_emit(features, shape, room, out)?;
            if !sparse || room >= self.rows_bound(shape) {
                return Ok(());
            }
            let rows = out.num_voxels()?;
            if rows <= room {
                return Ok(());
            }
            out.coords.reserve(rows * 4)?;
            self.reserve_output(features, shape, out)?;
        }
    }

    fn enqueue_emit(&mut self, features: &Input<'_>, shape: &Shape, room: usize, out: &mut RoiPooled) -> Result<()> {
        let boxes = self.located.boxes;
        let (sparse, lists) = (shape.layout == RoiLayout::Sparse, shape.lists);
        if lists && shape.layout != RoiLayout::Dense {
            out.indices.reserve(self.capacity)?;
        }
        let dense_lists = lists && shape.layout == RoiLayout::Dense;
        let csr_lists = lists && shape.layout != RoiLayout::Dense;
        let element = features.element();
        let features = kernels::Values { data: features.address::<u8>(&mut self.features)?.cast_mut(), element };
        let args = kernels::EmitArgs {
            boxes,
            parts: self.parts(),
            out: shape.out_size,
            lists: self.lists(),
            prepared: self.marks.prepared(),
            features,
            channels: shape.channels as u32,
            quads: u32::from(quads(&features, shape.channels)),
            mode: shape.mode,
            sparse: u32::from(sparse),
            pooled: kernels::Values { data: out.pooled.device_pointer() as *mut u8, element },
            argmax: out.argmax.pointer(),
            point_indices: if dense_lists { out.point_indices.pointer() } else { null_mut() },
            slots: shape.max_points as u32,
            row_splits: if csr_lists { out.row_splits.pointer() } else { null_mut() },
            indices: if csr_lists { out.indices.pointer() } else { null_mut() },
            coords: out.coords.pointer(),
            rows_capacity: u32::try_from(room).unwrap_or(u32::MAX),
            totals: out.totals.pointer(),
        };
        // SAFETY: `reserve_output` made room; the lists are queued before, and their pairs are below `capacity`.
        unsafe { self.stream.launch::<kernels::Emit>((boxes * args.parts).max(1), args) }
    }

    /// Blocks that share a box, so that all multiprocessors have work.
    fn parts(&self) -> u32 {
        (self.stream.enough_blocks(8) / self.located.boxes.max(1)).max(1)
    }
}

/// Whether rows of so many values can be read four values at a time.
fn quads(values: &kernels::Values, channels: usize) -> bool {
    channels.is_multiple_of(4) && (values.data as usize).is_multiple_of(4 * values.element.bytes())
}

const NO_FILL: kernels::FillArgs =
    kernels::FillArgs { regions: [kernels::Region { words: null_mut(), len: 0, value: 0 }; 3] };
