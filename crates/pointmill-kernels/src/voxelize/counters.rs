//! What a call counts, and what it reports to the host.

use crate::simt::*;

/// What a call counts, in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Counters {
    /// Rows of the result, V.
    pub voxels: u32,
    /// Cells that have a point.
    pub found: u32,
    /// Points with a NaN or an infinity in x, y or z.
    pub non_finite: u32,
    /// Finite points outside the grid.
    pub out_of_range: u32,
    /// Points whose cell got no row.
    pub dropped_voxel: u32,
    /// Points in the result's slots.
    pub kept: u32,
    /// Points that found the table full: zero, or a defect.
    pub lost: u32,
}

/// A word that counts lost points in the kernel that enters them. It is no field of [`Counters`],
/// because other blocks may count before the one that zeroes those has run. It is zero between
/// calls.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Lost(pub *mut u32);

impl Lost {
    /// Moves the count to the counters, zeroes the word and returns the count. One thread of a
    /// later kernel.
    ///
    /// # Safety
    /// The pointers are valid.
    #[inline(always)]
    pub(super) unsafe fn take(self, counters: *mut Counters) -> u32 {
        // SAFETY: the launcher's promise about the pointers.
        unsafe {
            let lost = *self.0;
            if lost > 0 {
                *self.0 = 0;
                (*counters).lost = lost;
            }
            lost
        }
    }
}

/// Where the number of rows goes for the host, while the rest of the call goes on: memory that the
/// host reads without a copy.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ForHost {
    /// The upper half is the number of the call, by which the host knows that this call wrote the
    /// word. The lower half has the rows, and [`LOST`] if points were lost. Null where another
    /// kernel reports.
    pub word: *mut u64,
    /// The number of the call.
    pub call: u32,
}

/// The bit of [`ForHost::word`] that says that points were lost.
pub const LOST: u32 = 1 << 31;

impl ForHost {
    /// The word of a call.
    pub const fn message(call: u32, voxels: u32, lost: u32) -> u64 {
        (call as u64) << 32 | (voxels | if lost > 0 { LOST } else { 0 }) as u64
    }

    /// Writes the word, all of it at once. One thread.
    ///
    /// # Safety
    /// The word is valid.
    #[inline(always)]
    pub(super) unsafe fn tell(&self, voxels: u32, lost: u32) {
        // SAFETY: the launcher's promise.
        unsafe { store_for_host(self.word, Self::message(self.call, voxels, lost)) };
    }
}

/// Words of [`Counters`].
pub const COUNTER_WORDS: u32 = 7;

/// Counts the cells found and the rows that the cap leaves, and reports the rows to the host. One
/// thread.
///
/// # Safety
/// The pointers are valid.
#[inline(always)]
pub(super) unsafe fn report_rows(found: u32, max_voxels: u32, counters: *mut Counters, lost: Lost, for_host: ForHost) {
    let voxels = if found < max_voxels { found } else { max_voxels };
    // SAFETY: the caller's promise.
    unsafe {
        (*counters).found = found;
        (*counters).voxels = voxels;
        for_host.tell(voxels, lost.take(counters));
    }
}

/// Adds counts of a whole block to counters, once a block: thousands of additions to one address
/// take longer than all else on an H200. All threads call; `shared` has [`COUNT_WORDS`] words for
/// each counter.
///
/// # Safety
/// The counters are valid.
#[inline(always)]
pub(super) unsafe fn count_in_block<const N: usize>(counters: [*mut u32; N], counts_of_warp: [u32; N], shared: Shared) {
    if lane() == 0 {
        for j in 0..N {
            shared.set(j as u32 * COUNT_WORDS + warp(), counts_of_warp[j]);
        }
    }
    sync_block();
    if thread_index() == 0 {
        for j in 0..N {
            let mut sum = 0;
            for w in 0..COUNT_WORDS {
                sum += shared.get(j as u32 * COUNT_WORDS + w);
            }
            if sum > 0 {
                // SAFETY: the caller's promise.
                unsafe { atomic_add(counters[j], sum) };
            }
        }
    }
}

/// Words of shared memory that a count takes: one a warp.
pub(super) const COUNT_WORDS: u32 = crate::prim::WARPS;
