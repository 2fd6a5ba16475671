//! The GPU path: allocates and launches. Arguments are already validated; the arithmetic is in the
//! kernels.

mod cells;
mod lists;
mod pick;
mod place;
mod plan;
mod rows;

pub(super) use lists::scatter;

use super::arrays::Extent;
use super::{Job, MeanType, VoxelArray, Voxels};
use crate::arrays::Arrays;
use crate::device::{Buffer, Stream, Uploaded, workspace};
use crate::prim::{Sorter, passes_for};
use crate::seed::seed;
use crate::{Argument, Dtype, Error, Result, f16};
use plan::{Plan, Way};
use pointmill_core::hash::Seed;
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::voxelize as kernels;
use std::ptr::{null, null_mut};

workspace! {
    /// Memory that calls use again.
    ///
    /// Between calls the tables and the slots are empty (all ones), and the sets of cells (all
    /// zero): the kernels empty what they used, which is far less than there is.
    pub(super) struct Workspace(stream) {
        stream: Stream,
        points: Buffer<u8>,
        table: Buffer<kernels::Entry>,
        seed: Seed = seed(),
        slots: Buffer<u32>,
        cells: cells::Memory,
        /// Zero between calls.
        lost: Buffer<u32> = stream.upload(&[0])?,
        /// Whether tables, slots and sets are empty, and nothing is lost; false while a call is
        /// under way, and after one that failed.
        clean: bool = true,
        /// Entries minus one of a table that is too small.
        #[cfg(test)]
        pub(super) mask: Option<u32> = None,
        slot_of_point: Buffer<u32>,
        tiles: Buffer<u32>,
        row_splits: Uploaded,
        sample_found: Buffer<u32>,
        /// Where rows start and end, of one cloud.
        voxel_splits: Buffer<u32> = stream.alloc(2)?,
        row_keys: Buffer<u64>,
        row_keys_u32: Buffer<u32>,
        row_slots: Buffer<u32>,
        /// Rows of points, for lists, where the result does not have them.
        point_to_voxel: Buffer<i32>,
        choice: pick::Choice,
        sorter: Sorter<u64>,
        sorter_u32: Sorter<u32>,
    }
}

/// A call that is under way.
struct Call<'a> {
    plan: Plan,
    job: &'a Job<'a>,
    extent: &'a Extent,
    cloud: kernels::Cloud,
    counters: *mut kernels::Counters,
    tiles: Tiles,
    lost: kernels::Lost,
}

impl Call<'_> {
    /// The rows of the result, which only the device knows.
    const fn rows(&self) -> Length {
        // SAFETY: a field of the counters.
        let exact = unsafe { &raw const (*self.counters).voxels };
        Length { bound: self.plan.rows as u32, exact }
    }

    /// Where coordinates go.
    fn coords(&self, out: &Voxels) -> kernels::Coords {
        let batched = u32::from(self.job.row_splits.is_some());
        kernels::Coords { coords: out.arrays.pointer(VoxelArray::Coords), grid: *self.job.grid, batched }
    }

    /// Where means go.
    fn means(&self, arrays: &Arrays<VoxelArray>) -> kernels::Means {
        let (f32, f16) = match self.extent.outputs.mean {
            None => (null_mut(), null_mut()),
            Some(MeanType::F32) => (arrays.pointer(VoxelArray::Mean), null_mut()),
            Some(MeanType::F16) => (null_mut(), arrays.pointer::<f16>(VoxelArray::Mean).cast()),
        };
        kernels::Means { f32, f16 }
    }

    /// What a padded result has behind its rows.
    fn padded(&self, arrays: &Arrays<VoxelArray>) -> [kernels::Padded; kernels::PADDED] {
        let of_rows = [VoxelArray::Coords, VoxelArray::NumPoints, VoxelArray::Mean, VoxelArray::Voxels];
        of_rows.map(|array| {
            let spec = self.extent.bound().find(|spec| spec.array == array && self.extent.outputs.padded);
            let buffer = spec.and_then(|spec| Some((arrays.get(array)?, spec)));
            buffer.map_or(kernels::Padded { array: null_mut(), row_bytes: 0, value: 0 }, |(buffer, spec)| {
                kernels::Padded {
                    array: buffer.device_pointer() as *mut u8,
                    row_bytes: (spec.shape[1..].iter().product::<usize>() * spec.dtype.bytes()) as u64,
                    value: if array == VoxelArray::Coords { u32::MAX } else { 0 },
                }
            })
        })
    }
}

impl Workspace {
    /// Calls `arrays`, which may put other arrays into the result, when the device already works,
    /// and returns what it does.
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
        let call = Call {
            plan,
            job,
            extent,
            cloud: self.cloud(&plan, job, points),
            counters: out.counters.pointer(),
            tiles: Tiles { words: self.tiles.pointer() },
            lost: kernels::Lost(self.lost.pointer()),
        };
        // SAFETY: `reserve` made room for what the plan says.
        unsafe {
            match &plan.way {
                Way::Cells(cells) => self.mark(&call, cells),
                Way::Rows | Way::Place => self.insert(&call),
            }?;
        }
        let made = arrays(out)?;
        reserve_output(extent, &mut out.arrays)?;
        let for_host = kernels::ForHost { word: out.for_host.pointer(), call: out.for_host.next_call(recorded) };
        // SAFETY: `reserve` and `reserve_output` made room for what the plan says.
        unsafe { self.enqueue(&call, for_host, out) }?;
        // What is recorded has not run: it cleans up after itself only.
        self.clean = clean || !recorded;
        Ok(made)
    }

    fn reserve(&mut self, plan: &Plan, job: &Job<'_>) -> Result<()> {
        let (n, entries, clean) = (plan.n as usize, plan.mask as usize + 1, self.clean);
        let entries = if let Way::Cells(_) = plan.way { 0 } else { entries };
        reserve_filled(&mut self.table, entries, u32::MAX, clean)?;
        let slots = plan.slotted().saturating_mul(kernels::Slots::stride(plan.kept()) as usize);
        reserve_filled(&mut self.slots, slots, u32::MAX, clean)?;
        reserve_filled(&mut self.lost, 1, 0, clean)?;
        let cells = if let Way::Cells(cells) = plan.way { cells } else { cells::Cells::default() };
        self.cells.reserve(&cells, clean)?;
        self.slot_of_point.reserve(n)?;
        self.tiles.reserve((plan.tile_words + plan.list_words()) as usize)?;
        if let Way::Place = plan.way {
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
        if let Some((_, pick)) = plan.chosen {
            self.choice.reserve(plan, pick, &mut self.sorter)?;
        }
        if plan.max_points == 0 && (job.params.needs_lists() || plan.chosen.is_some()) {
            self.sorter_u32.reserve(plan.n, passes_for(plan.rows as u64))?;
            self.row_keys_u32.reserve(n)?;
            self.point_to_voxel.reserve(n)?;
        }
        Ok(())
    }

    fn cloud(&self, plan: &Plan, job: &Job<'_>, points: *const f32) -> kernels::Cloud {
        kernels::Cloud {
            points,
            columns: plan.columns,
            n: plan.n,
            grid: *job.grid,
            strict: u32::from(job.params.strict_range),
            batch: kernels::Batch {
                row_splits: if job.row_splits.is_some() { self.row_splits.pointer() } else { null() },
                samples: job.samples() as u32,
                max_voxels: job.params.max_voxels,
            },
        }
    }

    /// What the first kernel zeroes: the counters and the tiles.
    const fn begin(call: &Call<'_>) -> kernels::Begin {
        let listed = call.extent.lists || call.plan.chosen.is_some();
        let list_words = if listed { call.plan.list_words() } else { 0 };
        let zero_words = call.plan.tile_words + list_words;
        kernels::Begin { zero: call.tiles.words, zero_words, counters: call.counters, lost: call.lost }
    }
}

/// Makes room for words that all have one value between calls.
fn reserve_filled<T: bytemuck::Pod>(buffer: &mut Buffer<T>, len: usize, value: u32, clean: bool) -> Result<()> {
    if buffer.reserve(len)? || !clean {
        let words = buffer.len() * (size_of::<T>() / 4);
        buffer.fill_words(value, words)?;
    }
    Ok(())
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
