//! Which inputs a sparse convolution pairs with which outputs.

use super::{BLOCK, NONE};
use crate::prim::Length;
use crate::prim::hash;
use crate::simt::*;
use pointmill_core::hash::{Seed, first_slot};
use pointmill_core::sparse::{CellGrid, Window};

/// Offsets that a block of [`Pairs`] looks up, and bits of a mask word.
pub const OFFSETS_OF_BLOCK: u32 = 32;
/// Keys that an entry of a [`CellTable`] is as long as.
pub const ENTRY: usize = 2;
/// A cell that is none.
const NO_CELL: [i32; 4] = [-1; 4];

/// Cells in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ConvCells {
    /// `[n, 4]`: item, z, y, x.
    pub cells: *const [i32; 4],
    /// The number of rows.
    pub n: Length,
    /// Where they lie.
    pub grid: CellGrid,
}

/// The rows of cells by their ids.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CellTable {
    /// `mask + 1` entries of [`ENTRY`] words of 64 bits, all ones before: the id, then the row.
    pub entries: *mut u64,
    /// Entries minus one.
    pub mask: u32,
    /// By which ids are spread.
    pub seed: Seed,
}

/// What is wrong with the cells of a call; [`NONE`] where nothing is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ConvFaults {
    /// The first input outside of the grid.
    pub outside: u32,
    /// The first input whose cell an earlier one has.
    pub repeated: u32,
    /// The first given output outside of the grid.
    pub output: u32,
}

impl CellTable {
    /// Where the row of an entry is.
    ///
    /// # Safety
    /// There is such an entry.
    #[inline(always)]
    unsafe fn row(&self, slot: u32) -> *mut u32 {
        // SAFETY: the caller's promise.
        unsafe { self.entries.add(slot as usize * ENTRY + 1).cast() }
    }

    /// The row of a cell, or [`NONE`]. Nobody changes the table meanwhile.
    ///
    /// # Safety
    /// The table is valid.
    #[inline(always)]
    unsafe fn find(&self, id: u64) -> u32 {
        let mut slot = first_slot(id, self.mask, self.seed);
        let mut left = self.mask;
        loop {
            // SAFETY: slot <= mask.
            let key = unsafe { *self.entries.add(slot as usize * ENTRY) };
            if key == id {
                // SAFETY: as above.
                return unsafe { *self.row(slot) };
            }
            if key == u64::MAX || left == 0 {
                return NONE;
            }
            left -= 1;
            slot = (slot + 1) & self.mask;
        }
    }
}

/// Arguments of [`Insert`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InsertArgs {
    /// The inputs.
    pub inputs: ConvCells,
    /// Filled.
    pub table: CellTable,
    /// All [`NONE`] before.
    pub faults: *mut ConvFaults,
}

kernel! {
    /// Puts the inputs into the table. One thread an input.
    Insert = "sparse_insert", block BLOCK, shared 0, cooperative false,
    fn(a: InsertArgs) {
        let i = global_index();
        if i >= a.inputs.n.get() {
            return;
        }
        match a.inputs.grid.id(*a.inputs.cells.add(i as usize)) {
            None => {
                atomic_min(&raw mut (*a.faults).outside, i);
            }
            Some(id) => {
                let slot = hash::find_or_insert(a.table.entries, ENTRY, a.table.mask, a.table.seed, id);
                let before = atomic_min(a.table.row(slot), i);
                if before != NONE {
                    atomic_min(&raw mut (*a.faults).repeated, if before > i { before } else { i });
                }
            }
        }
    }
}

/// Arguments of [`Outputs`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OutputsArgs {
    /// The inputs.
    pub inputs: ConvCells,
    /// Where the outputs lie.
    pub grid: CellGrid,
    /// The kernel.
    pub window: Window,
    /// The number of offsets.
    pub offsets: u32,
    /// Whether the inputs are the coarse cells.
    pub transposed: u32,
    /// `mask + 1` ids, all ones before.
    pub set: *mut u64,
    /// Entries minus one; more entries than there can be outputs.
    pub mask: u32,
    /// By which ids are spread.
    pub seed: Seed,
    /// The ids of the outputs, each once, in no order.
    pub ids: *mut u64,
    /// How many; 0 before.
    pub found: *mut u32,
}

/// The id of the output that offset `k` pairs with an input.
#[inline(always)]
fn output_of(a: &OutputsArgs, cell: [i32; 4], k: u32) -> Option<u64> {
    let offset = a.window.offset(k);
    let output = if a.transposed != 0 { Some(a.window.fine(cell, offset)) } else { a.window.coarse(cell, offset) };
    a.grid.id(output?)
}

/// Whether the id was not in the set, where it is now.
///
/// # Safety
/// The set is valid.
#[inline(always)]
unsafe fn is_new(a: &OutputsArgs, id: u64) -> bool {
    let mut slot = first_slot(id, a.mask, a.seed);
    let mut left = a.mask;
    loop {
        // SAFETY: slot <= mask.
        let entry = unsafe { a.set.add(slot as usize) };
        // SAFETY: as above.
        let mut key = unsafe { load_relaxed_u64(entry) };
        if key == u64::MAX {
            // SAFETY: as above.
            key = unsafe { compare_and_swap_u64(entry, u64::MAX, id) };
            if key == u64::MAX {
                return true;
            }
        }
        if key == id || left == 0 {
            return false;
        }
        left -= 1;
        slot = (slot + 1) & a.mask;
    }
}

kernel! {
    /// Lists the outputs that inputs reach. One thread an input.
    Outputs = "sparse_outputs", block BLOCK, shared 0, cooperative true,
    fn(a: OutputsArgs) {
        let i = global_index();
        let cell = if i < a.inputs.n.get() { *a.inputs.cells.add(i as usize) } else { NO_CELL };
        let valid = a.inputs.grid.id(cell).is_some();
        let mut first = 0;
        while first < a.offsets {
            let left = a.offsets - first;
            let count = if left < OFFSETS_OF_BLOCK { left } else { OFFSETS_OF_BLOCK };
            let mut new = 0u32;
            if valid {
                for k in 0..count {
                    if let Some(id) = output_of(&a, cell, first + k) {
                        new |= (is_new(&a, id) as u32) << k;
                    }
                }
            }
            // One place in the list for all that a warp found.
            let inclusive = warp_inclusive_sum(new.count_ones());
            let all = shuffle(inclusive, WARP - 1);
            let mut start = 0;
            if lane() == 0 && all > 0 {
                start = atomic_add(a.found, all);
            }
            let mut place = shuffle(start, 0) + inclusive - new.count_ones();
            while new != 0 {
                if let Some(id) = output_of(&a, cell, first + new.trailing_zeros()) {
                    *a.ids.add(place as usize) = id;
                }
                place += 1;
                new &= new - 1;
            }
            first += OFFSETS_OF_BLOCK;
        }
    }
}

/// Arguments of [`Pairs`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PairsArgs {
    /// The inputs.
    pub table: CellTable,
    /// Where they lie.
    pub grid: CellGrid,
    /// The outputs as cells, where `ids` is null; else only their number and grid.
    pub outputs: ConvCells,
    /// The outputs as ids, ascending.
    pub ids: *const u64,
    /// The kernel.
    pub window: Window,
    /// The number of offsets.
    pub offsets: u32,
    /// Whether the inputs are the coarse cells.
    pub transposed: u32,
    /// Rows of the results; those behind the outputs are -1.
    pub rows: u32,
    /// `[rows, 4]`.
    pub cells: *mut [i32; 4],
    /// `[offsets, rows]`: rows of inputs, or -1.
    pub pairs: *mut u32,
    /// `[offsets]`, 0 before.
    pub counts: *mut u32,
    /// `[rows, words]`: a bit for each offset that an output has; or null.
    pub masks: *mut u32,
    /// How many outputs there are, and how many more there would be with more rows.
    pub num_cells: *mut [u32; 2],
    /// The first given output outside of its grid.
    pub faults: *mut ConvFaults,
}

kernel! {
    /// Looks up the input of each output and offset. One block 256 rows and 32 offsets; blocks of
    /// the same rows follow each other.
    Pairs = "sparse_pairs", block BLOCK, shared OFFSETS_OF_BLOCK, cooperative true,
    fn(a: PairsArgs) {
        let shared = Shared::at(0);
        let groups = a.offsets.div_ceil(OFFSETS_OF_BLOCK);
        let (tile, group) = (block_index() / groups, block_index() % groups);
        let row = tile * BLOCK + thread_index();
        let n = a.outputs.n.get();
        if thread_index() < OFFSETS_OF_BLOCK {
            shared.set(thread_index(), 0);
        }
        sync_block();
        let mut cell = NO_CELL;
        if row < n {
            if a.ids.is_null() {
                cell = *a.outputs.cells.add(row as usize);
                if a.outputs.grid.id(cell).is_none() {
                    atomic_min(&raw mut (*a.faults).output, row);
                    cell = NO_CELL;
                }
            } else {
                cell = a.outputs.grid.cell(*a.ids.add(row as usize));
            }
        }
        if group == 0 && row < a.rows {
            *a.cells.add(row as usize) = cell;
        }
        let first = group * OFFSETS_OF_BLOCK;
        let left = a.offsets - first;
        let count = if left < OFFSETS_OF_BLOCK { left } else { OFFSETS_OF_BLOCK };
        let mut mask = 0;
        for k in 0..count {
            let mut found = NONE;
            if cell[0] >= 0 {
                let offset = a.window.offset(first + k);
                let input =
                    if a.transposed != 0 { a.window.coarse(cell, offset) } else { Some(a.window.fine(cell, offset)) };
                if let Some(input) = input
                    && let Some(id) = a.grid.id(input)
                {
                    found = a.table.find(id);
                }
            }
            if row < a.rows {
                *a.pairs.add((first + k) as usize * a.rows as usize + row as usize) = found;
            }
            let all = ballot(found != NONE);
            if lane() == 0 && all != 0 {
                shared.add(k, all.count_ones());
            }
            mask |= ((found != NONE) as u32) << k;
        }
        if !a.masks.is_null() && row < a.rows {
            *a.masks.add(row as usize * groups as usize + group as usize) = mask;
        }
        sync_block();
        if thread_index() < count {
            let pairs = shared.get(thread_index());
            if pairs > 0 {
                atomic_add(a.counts.add((first + thread_index()) as usize), pairs);
            }
        }
        if block_index() == 0 && thread_index() == 0 {
            let found = if a.outputs.n.exact.is_null() { n } else { *a.outputs.n.exact };
            *a.num_cells = [n, found - n];
        }
    }
}
