//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the kernels.

use super::arrays::Extent;
use super::{Job, MeanType, RowOrder, ScatterMode, VoxelArray, Voxels};
use crate::arrays::Arrays;
use crate::device::{Buffer, Stream, Uploaded};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::seed::seed;
use crate::{Argument, Dtype, Error, Result, Rows, f16};
use pointmill_core::hash::Seed;
use pointmill_kernels::prim::scan::{self, Tiles};
use pointmill_kernels::prim::{BLOCK, Length};
use pointmill_kernels::voxelize as kernels;
use std::ptr::{null, null_mut};

/// From here on larger tiles are faster: on an H200 small ones win by 3 % at 1 M points, large ones take 0.60 instead of 0.72 ms at 10 M.
const MANY_POINTS: usize = if cfg!(test) { 1000 } else { 2_000_000 };

/// Memory that calls use again.
///
/// Between calls the table and the slots are empty (all ones): the kernels empty what they used, which is far less than there is.
#[derive(Debug)]
pub(super) struct Workspace {
    stream: Stream,
    points: Buffer<u8>,
    table: Buffer<kernels::Entry>,
    seed: Seed,
    slots: Buffer<u32>,
    first: Buffer<u32>,
    /// Zero between calls.
    lost: Buffer<u32>,
    /// Whether table and slots are empty, and nothing is lost; false while a call is under way, and after one that failed.
    clean: bool,
    /// Entries minus one of a table that is too small.
    #[cfg(test)]
    pub(super) mask: Option<u32>,
    slot_of_point: Buffer<u32>,
    tiles: Buffer<u32>,
    row_splits: Uploaded,
    sample_found: Buffer<u32>,
    /// Where rows start and end, of one cloud.
    voxel_splits: Buffer<u32>,
    row_keys: Buffer<u64>,
    row_keys_u32: Buffer<u32>,
    row_slots: Buffer<u32>,
    /// Rows of points, for lists, where the result does not have them.
    point_to_voxel: Buffer<i32>,
    sorter: Sorter<u64>,
    sorter_u32: Sorter<u32>,
}

/// Sizes of one call.
#[derive(Clone, Copy)]
struct Plan {
    n: u32,
    columns: u32,
    rows: usize,
    mask: u32,
    /// Whether rows move after they were found: batches and sorted rows.
    place: bool,
    sorted: bool,
    /// Whether all keys fit 32 bits.
    short_keys: bool,
    passes: u32,
    /// Whether there are points enough for the kernel with larger tiles.
    many: bool,
    rank_tiles: u32,
    list_tiles: u32,
    /// M, or 0 for dynamic voxelization.
    max_points: u32,
}

impl Plan {
    fn new(job: &Job<'_>) -> Self {
        let (n, rows) = (job.input.len(), job.rows_bound());
        // Without samples there are no points, and no keys.
        let keys = (job.grid.num_cells() * job.samples() as u64).max(1);
        // At most half full: the 32 lanes of a warp wait for the longest of their searches.
        let entries = (n as u64).min(keys) * 2;
        let sorted = job.params.order == RowOrder::Sorted;
        let place = sorted || job.row_splits.is_some();
        let many = n >= MANY_POINTS && !place;
        Self {
            n: n as u32,
            columns: job.input.columns() as u32,
            rows,
            mask: (entries + 1).next_power_of_two().max(4) as u32 - 1,
            place,
            sorted,
            short_keys: keys <= 1 << 32,
            // An even number of passes sorts in place.
            passes: passes_for(keys - 1).next_multiple_of(2),
            many,
            rank_tiles: (n as u32).div_ceil(if many { kernels::LARGE_TILE } else { kernels::TILE }).max(1),
            list_tiles: rows as u32 / BLOCK + 1,
            max_points: job.params.max_points_per_voxel.unwrap_or(0),
        }
    }
}

impl Workspace {
    pub(super) fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            points: stream.alloc(0)?,
            table: stream.alloc(0)?,
            seed: seed(),
            slots: stream.alloc(0)?,
            first: stream.alloc(0)?,
            lost: stream.upload(&[0])?,
            clean: true,
            #[cfg(test)]
            mask: None,
            slot_of_point: stream.alloc(0)?,
            tiles: stream.alloc(0)?,
            row_splits: Uploaded::new(stream)?,
            sample_found: stream.alloc(0)?,
            voxel_splits: stream.alloc(2)?,
            row_keys: stream.alloc(0)?,
            row_keys_u32: stream.alloc(0)?,
            row_slots: stream.alloc(0)?,
            point_to_voxel: stream.alloc(0)?,
            sorter: Sorter::new(stream)?,
            sorter_u32: Sorter::new(stream)?,
        })
    }

    /// Calls `arrays`, which may put other arrays into the result, when the device already works, and returns what it does.
    pub(super) fn run<R, E: From<Error>>(
        &mut self,
        job: &Job<'_>,
        extent: &Extent,
        out: &mut Voxels,
        arrays: impl FnOnce(&mut Voxels) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        #[cfg_attr(not(test), expect(unused_mut))]
        let mut plan = Plan::new(job);
        #[cfg(test)]
        if let Some(mask) = self.mask {
            plan.mask = mask;
        }
        self.reserve(&plan, job)?;
        let points = job.input.address(&mut self.points)?;
        let recorded = self.stream.is_capturing()?;
        let clean = std::mem::replace(&mut self.clean, false);
        // SAFETY: `reserve` made room for what the plan says.
        unsafe { self.insert(&plan, job, points, out.counters.pointer()) }?;
        let made = arrays(out)?;
        reserve_output(extent, &mut out.arrays)?;
        // SAFETY: `reserve` and `reserve_output` made room for what the plan says.
        unsafe { self.enqueue(&plan, job, extent, points, recorded, out) }?;
        // What is recorded has not run: it cleans up after itself only.
        self.clean = clean || !recorded;
        Ok(made)
    }

    fn reserve(&mut self, plan: &Plan, job: &Job<'_>) -> Result<()> {
        let n = plan.n as usize;
        let grown = self.table.reserve(plan.mask as usize + 1)?;
        if grown || !self.clean {
            let words = self.table.len() * 4;
            self.table.fill_words(u32::MAX, words)?;
        }
        self.first.reserve(plan.rows)?;
        let stride = kernels::Slots::stride(plan.max_points) as usize;
        let grown = self.slots.reserve(plan.rows.saturating_mul(stride))?;
        if grown || !self.clean {
            let words = self.slots.len();
            self.slots.fill_words(u32::MAX, words)?;
        }
        if !self.clean {
            self.lost.fill_words(0, 1)?;
        }
        self.slot_of_point.reserve(n)?;
        self.tiles.reserve((Tiles::words(plan.rank_tiles) + Tiles::words(plan.list_tiles)) as usize)?;
        if plan.place {
            self.row_slots.reserve(n)?;
            if plan.short_keys && plan.sorted {
                self.row_keys_u32.reserve(n)?;
                self.sorter_u32.reserve(plan.n, plan.passes)?;
            } else {
                self.row_keys.reserve(n)?;
                if plan.sorted {
                    self.sorter.reserve(plan.n, plan.passes)?;
                }
            }
        }
        if let Some(splits) = job.row_splits {
            self.sample_found.reserve(splits.len())?;
            self.row_splits.set(Argument::RowSplits, splits.iter().map(|&s| s as u32))?;
        }
        if plan.max_points == 0 && job.params.needs_lists() {
            self.sorter_u32.reserve(plan.n, passes_for(plan.rows as u64))?;
            self.row_keys_u32.reserve(n)?;
            self.point_to_voxel.reserve(n)?;
        }
        Ok(())
    }

    fn batch(&self, job: &Job<'_>) -> kernels::Batch {
        kernels::Batch {
            row_splits: if job.row_splits.is_some() { self.row_splits.pointer() } else { null() },
            samples: job.samples() as u32,
            max_voxels: job.params.max_voxels,
        }
    }

    fn table(&self, plan: &Plan) -> kernels::Table {
        let (entries, short) = (self.table.pointer(), u32::from(plan.short_keys));
        kernels::Table { entries, mask: plan.mask, seed: self.seed, short }
    }

    /// Queues the first kernel, which needs nothing of the result but its counters.
    unsafe fn insert(
        &self,
        plan: &Plan,
        job: &Job<'_>,
        points: *const f32,
        counters: *mut kernels::Counters,
    ) -> Result<()> {
        let list_tiles = if job.params.needs_lists() { Tiles::words(plan.list_tiles) } else { 0 };
        let args = kernels::InsertArgs {
            points,
            columns: plan.columns,
            n: plan.n,
            grid: *job.grid,
            strict: u32::from(job.params.strict_range),
            batch: self.batch(job),
            table: self.table(plan),
            slot_of_point: self.slot_of_point.pointer(),
            zero: self.tiles.pointer(),
            zero_words: Tiles::words(plan.rank_tiles) + list_tiles,
            counters,
            lost: kernels::Lost(self.lost.pointer()),
        };
        // SAFETY: the caller's promise about the sizes.
        unsafe { self.stream.launch::<kernels::Insert>(plan.n.div_ceil(BLOCK).max(1), args) }
    }

    /// Queues all others.
    unsafe fn enqueue(
        &mut self,
        plan: &Plan,
        job: &Job<'_>,
        extent: &Extent,
        points: *const f32,
        recorded: bool,
        out: &mut Voxels,
    ) -> Result<()> {
        let stream = self.stream.clone();
        let batch = self.batch(job);
        let counters = out.counters.pointer();
        let for_host = kernels::ForHost { word: out.for_host.pointer(), call: out.for_host.next_call(recorded) };
        // SAFETY: both lengths are fields of the counters.
        let (voxels, found) = unsafe { (&raw const (*counters).voxels, &raw const (*counters).found) };
        let rows = Length { bound: plan.rows as u32, exact: voxels };
        let dynamic = plan.max_points == 0;
        let rank_tiles = Tiles { words: self.tiles.pointer() };
        // SAFETY: the list tiles follow the rank tiles.
        let list_tiles = Tiles { words: unsafe { rank_tiles.words.add(Tiles::words(plan.rank_tiles) as usize) } };
        let point_blocks = plan.n.div_ceil(BLOCK).max(1);
        let arrays = &out.arrays;
        let num_points = arrays.pointer::<i32>(VoxelArray::NumPoints).cast::<u32>();
        let counts = if dynamic { num_points } else { null_mut() };
        let (outputs, lists) = (&extent.outputs, extent.lists);

        let table = self.table(plan);
        let slots = kernels::Slots {
            first: self.first.pointer(),
            rest: if dynamic { null_mut() } else { self.slots.pointer() },
            stride: kernels::Slots::stride(plan.max_points),
            max_points: plan.max_points,
        };
        let assign = kernels::AssignArgs {
            slot_of_point: self.slot_of_point.pointer(),
            n: plan.n,
            table,
            slots,
            num_points: counts,
            point_to_voxel: if outputs.point_to_voxel {
                arrays.pointer(VoxelArray::PointToVoxel)
            } else if dynamic && lists {
                self.point_to_voxel.pointer()
            } else {
                null_mut()
            },
            counters,
        };
        if dynamic && let Some(counts) = out.arrays.typed_mut::<i32>(VoxelArray::NumPoints) {
            counts.fill_words(0, plan.rows)?;
        }
        let arrays = &out.arrays;
        if plan.place {
            // SAFETY: the caller's promise about the sizes.
            unsafe { self.place_rows(plan, job, batch, table, rank_tiles, found, for_host, out) }?;
            // SAFETY: as above.
            unsafe { stream.launch::<kernels::Assign>(point_blocks, assign) }?;
        } else {
            let rows = kernels::RowsArgs {
                assign,
                grid: *job.grid,
                max_voxels: batch.max_voxels,
                tiles: rank_tiles,
                coords: arrays.pointer(VoxelArray::Coords),
                lost: kernels::Lost(self.lost.pointer()),
                for_host,
            };
            if plan.many {
                // SAFETY: the caller's promise about the sizes.
                unsafe { stream.launch::<kernels::RowsOfMany>(plan.rank_tiles, rows) }?;
            } else {
                // SAFETY: as above.
                unsafe { stream.launch::<kernels::Rows>(plan.rank_tiles, rows) }?;
            }
        }
        let list = |array| if lists { arrays.pointer::<u32>(array) } else { null_mut() };
        let (row_splits, indices) = (list(VoxelArray::RowSplits), list(VoxelArray::Indices));
        if lists {
            if dynamic {
                // SAFETY: as above.
                unsafe { self.list_all(plan, rows, assign.point_to_voxel, counts, list_tiles, row_splits, indices) }?;
            } else {
                let args = kernels::ListsArgs { slots, rows, row_splits, indices, tiles: list_tiles };
                // SAFETY: as above.
                unsafe { stream.launch::<kernels::Lists>(plan.list_tiles, args) }?;
            }
        }
        let fill = u32::from(job.params.outputs.padded);
        if outputs.voxels {
            let args = kernels::EmitPointsArgs {
                points,
                columns: plan.columns,
                rows,
                fill,
                slots,
                voxels: arrays.pointer::<f32>(VoxelArray::Voxels).cast(),
            };
            let tiles = (plan.rows as u64 * u64::from(plan.max_points))
                .div_ceil(u64::from(kernels::slots_per_tile(plan.columns)))
                .clamp(1, u64::from(stream.enough_blocks(8)));
            // SAFETY: as above.
            unsafe { stream.launch::<kernels::EmitPoints>(tiles as u32, args) }?;
        }
        let (mean, mean_f16) = match outputs.mean {
            None => (null_mut(), null_mut()),
            Some(MeanType::F32) => (arrays.pointer(VoxelArray::Mean), null_mut()),
            Some(MeanType::F16) => (null_mut(), arrays.pointer::<f16>(VoxelArray::Mean).cast()),
        };
        let emit = kernels::EmitArgs {
            points,
            columns: plan.columns,
            rows,
            fill,
            coord_columns: job.coord_columns() as u32,
            coords: arrays.pointer(VoxelArray::Coords),
            slots,
            num_points,
            lists: if dynamic { indices } else { null_mut() },
            list_splits: row_splits,
            mean,
            mean_f16,
            counters,
        };
        let tiles = (plan.rows as u32).div_ceil(kernels::rows_per_tile(plan.columns));
        // As many as fit at once with the registers that the kernel takes.
        let blocks = tiles.clamp(1, stream.enough_blocks(5));
        // SAFETY: as above.
        unsafe { stream.launch::<kernels::Emit>(blocks, emit) }
    }

    /// Finds the rows, puts them into their final order and keeps what the caps leave.
    #[expect(clippy::too_many_arguments)]
    unsafe fn place_rows(
        &mut self,
        plan: &Plan,
        job: &Job<'_>,
        batch: kernels::Batch,
        table: kernels::Table,
        tiles: Tiles,
        found: *const u32,
        for_host: kernels::ForHost,
        out: &Voxels,
    ) -> Result<()> {
        let stream = self.stream.clone();
        let counters = out.counters.pointer();
        let sample_found = if job.row_splits.is_some() { self.sample_found.pointer() } else { null_mut() };
        let short_keys = plan.sorted && plan.short_keys;
        let rank = kernels::RankArgs {
            slot_of_point: self.slot_of_point.pointer(),
            n: plan.n,
            batch,
            table,
            tiles,
            counters,
            row_keys: if short_keys { null_mut() } else { self.row_keys.pointer() },
            row_keys_u32: if short_keys { self.row_keys_u32.pointer() } else { null_mut() },
            row_slots: self.row_slots.pointer(),
            sample_found,
        };
        let lost = kernels::Lost(self.lost.pointer());
        let arrays = &out.arrays;
        let voxel_splits = match job.row_splits {
            Some(_) => arrays.pointer(VoxelArray::VoxelSplits),
            None => self.voxel_splits.pointer(),
        };
        let samples = kernels::SamplesArgs { batch, sample_found, voxel_splits, counters, lost, for_host };
        // SAFETY: the caller's promise about the sizes.
        unsafe {
            stream.launch::<kernels::Rank>(plan.rank_tiles, rank)?;
            stream.launch::<kernels::Samples>(1, samples)?;
        }
        let found = Length { bound: plan.n, exact: found };
        if short_keys {
            let pairs = Pairs { keys: rank.row_keys_u32, values: rank.row_slots };
            // SAFETY: as above, and the number of passes is even.
            unsafe { self.sorter_u32.enqueue(pairs, pairs, found, plan.passes) }?;
        } else if plan.sorted {
            let pairs = Pairs { keys: rank.row_keys, values: rank.row_slots };
            // SAFETY: as above, and the number of passes is even.
            unsafe { self.sorter.enqueue(pairs, pairs, found, plan.passes) }?;
        }
        let place = kernels::PlaceArgs {
            grid: *job.grid,
            batch,
            found,
            keys: rank.row_keys,
            keys_u32: rank.row_keys_u32,
            slots: rank.row_slots,
            sample_found,
            voxel_splits,
            table,
            first: self.first.pointer(),
            coords: arrays.pointer(VoxelArray::Coords),
        };
        // SAFETY: as above.
        unsafe { stream.launch::<kernels::Place>(plan.n.div_ceil(BLOCK).max(1), place) }
    }

    /// Lists of all points: sorts the points by row.
    #[expect(clippy::too_many_arguments)]
    unsafe fn list_all(
        &mut self,
        plan: &Plan,
        rows: Length,
        point_to_voxel: *const i32,
        counts: *const u32,
        tiles: Tiles,
        row_splits: *mut u32,
        indices: *mut u32,
    ) -> Result<()> {
        let last = plan.rows as u32;
        let keys = self.row_keys_u32.pointer();
        let row_keys = kernels::RowKeysArgs { point_to_voxel, keys, last, n: plan.n };
        let scan = scan::ScanArgs { input: counts, output: row_splits, n: rows, tiles };
        let passes = passes_for(u64::from(last));
        let input = Pairs { keys, values: null_mut() };
        // Entries of points have done their work by now; their memory takes the sorted keys, which nobody needs.
        let output = Pairs { keys: self.slot_of_point.pointer(), values: indices };
        // SAFETY: the caller's promise about the sizes.
        unsafe {
            self.stream.launch::<kernels::RowKeys>(plan.n.div_ceil(BLOCK).max(1), row_keys)?;
            self.stream.launch::<scan::Scan>(plan.rows as u32 / scan::TILE + 1, scan)?;
            self.sorter_u32.enqueue(input, output, Length::known(plan.n), passes)
        }
    }
}

/// Makes room for as much as a call can write.
fn reserve_output(extent: &Extent, arrays: &mut Arrays<VoxelArray>) -> Result<()> {
    extent.bound().try_for_each(|spec| arrays.reserve(spec.array, spec.dtype, spec.room))?;
    if extent.lists {
        // Of means too, for which nobody asks for lists.
        arrays.reserve(VoxelArray::RowSplits, Dtype::U32, extent.rows_bound + 1)?;
        arrays.reserve(VoxelArray::Indices, Dtype::U32, extent.points)?;
    }
    Ok(())
}

/// Reduces features over the lists of a result.
pub(super) fn scatter(voxels: &Voxels, features: Rows<'_>, mode: ScatterMode) -> Result<Buffer<f32>> {
    let stream = voxels.stream();
    let (rows, columns) = (voxels.extent.rows_bound, features.columns());
    let mut staging = stream.alloc(0)?;
    let len = rows.saturating_mul(columns);
    let output = stream.alloc(len)?;
    let args = kernels::ScatterArgs {
        features: features.address(&mut staging)?,
        columns: columns as u32,
        rows: Length { bound: rows as u32, exact: voxels.counters.pointer().cast() },
        row_splits: voxels.arrays.pointer(VoxelArray::RowSplits),
        indices: voxels.arrays.pointer(VoxelArray::Indices),
        mode,
        output: output.pointer(),
    };
    let blocks = (len as u64).div_ceil(u64::from(BLOCK)).max(1) as u32;
    // SAFETY: the lists belong to this result; features and output have the sizes that the kernel asks for.
    unsafe { stream.launch::<kernels::Scatter>(blocks, args) }?;
    Ok(output)
}
