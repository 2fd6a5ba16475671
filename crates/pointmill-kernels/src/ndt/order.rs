//! The order of few cells, without a sort: one block sets a bit for each cell of the box around
//! them and counts the bits before each.

use super::*;

/// Threads of the block.
const THREADS: u32 = 1024;
/// Cells that a thread holds.
const OWN: usize = 8;
/// Words of bits that a thread counts; odd, so that lanes read different banks.
const WORDS: u32 = 7;
/// Bits of one round.
const BITS: u32 = THREADS * WORDS * 32;
/// The number of no cell.
const NONE: u32 = u32::MAX;

/// Arguments of [`Order`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OrderArgs {
    /// The sums.
    pub table: Records,
    /// How many records have cells; at most [`OrderArgs::MOST`].
    pub n: u32,
    /// The least coordinate plus 2^20 of all cells, along x, y, z.
    pub low: [u32; 3],
    /// Cells of the box along x and y.
    pub along: [u32; 2],
    /// Cells of the whole box; at most [`OrderArgs::MOST_IN_BOX`].
    pub all: u32,
    /// `[n]`: gets the records, by (z, y, x) of their cells.
    pub slots: *mut u32,
}

impl OrderArgs {
    /// Most cells.
    pub const MOST: u32 = THREADS * OWN as u32;
    /// Most cells of a box: eight rounds take less time than a sort.
    pub const MOST_IN_BOX: u32 = 8 * BITS;

    /// The number of the cell of a record, in order.
    #[inline(always)]
    unsafe fn number(&self, slot: u32) -> u32 {
        // SAFETY: a record with a cell.
        let key = unsafe { *self.table.word(slot, 0) } - 1;
        let c = |axis: usize| coordinate(key, axis) - self.low[axis];
        (c(2) * self.along[1] + c(1)) * self.along[0] + c(0)
    }
}

kernel! {
    /// Puts cells in order. One block.
    Order = "ndt_order", block THREADS, shared (2 * WORDS + 1) * THREADS, cooperative true, min_blocks 1,
    fn(a: OrderArgs) {
        let (bits, before) = (Shared::at(0), Shared::at(WORDS * THREADS));
        let sums = Shared::at(2 * WORDS * THREADS);
        let own = |j: usize| j as u32 * THREADS + thread_index();
        let mut numbers = [NONE; OWN];
        for j in 0..OWN {
            if own(j) < a.n {
                numbers[j] = a.number(*a.table.list.add(own(j) as usize));
            }
        }
        // The first number of a round, and how many cells have smaller ones.
        let (mut first, mut count) = (0, 0);
        while first < a.all {
            for w in 0..WORDS {
                bits.set(w * THREADS + thread_index(), 0);
            }
            sync_block();
            for j in 0..OWN {
                let bit = numbers[j].wrapping_sub(first);
                if bit < BITS {
                    bits.or(bit / 32, 1 << (bit % 32));
                }
            }
            sync_block();
            let (mut ones, mut sum) = ([0; WORDS as usize], 0);
            for w in 0..WORDS {
                ones[w as usize] = bits.get(thread_index() * WORDS + w).count_ones();
                sum += ones[w as usize];
            }
            let up_to_here = warp_inclusive_sum(sum);
            if lane() == WARP - 1 {
                sums.set(warp(), up_to_here);
            }
            sync_block();
            let of_warp = sums.get(lane());
            let up_to_warp = warp_inclusive_sum(of_warp);
            let mut rank = count + shuffle(up_to_warp - of_warp, warp()) + up_to_here - sum;
            for w in 0..WORDS {
                before.set(thread_index() * WORDS + w, rank);
                rank += ones[w as usize];
            }
            sync_block();
            for j in 0..OWN {
                let bit = numbers[j].wrapping_sub(first);
                if bit < BITS {
                    let lower = bits.get(bit / 32) & ((1 << (bit % 32)) - 1);
                    let rank = before.get(bit / 32) + lower.count_ones();
                    *a.slots.add(rank as usize) = *a.table.list.add(own(j) as usize);
                }
            }
            count += shuffle(up_to_warp, WARP - 1);
            first += BITS;
            // The bits have been read.
            sync_block();
        }
    }
}

const _: () = assert!(THREADS == 32 * 32 && WORDS % 2 == 1 && OrderArgs::MOST_IN_BOX < u32::MAX - BITS);
