//! Numbers in their order: a bit for each, and how many bits come before.

use super::*;
use crate::prim::partition_point;

/// A set of numbers below a bound.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    /// A bit for each number, all zero between calls.
    pub words: *mut u32,
    /// Quads of words.
    pub quads: u32,
    /// `[words]`: for each word that has a bit, the bits before the word, and the word.
    pub ranked: *mut u64,
}

impl Bits {
    /// Quads of words for numbers below `end`.
    pub const fn quads(end: u64) -> u64 {
        end.div_ceil(QUAD_BITS as u64)
    }
}

/// Bits of a quad of words.
const QUAD_BITS: u32 = 128;
/// Quads that a thread of [`RankBits`] reads.
const QUADS: usize = 2;
/// Quads that a tile of [`RankBits`] holds.
pub const QUADS_PER_TILE: u32 = BLOCK * QUADS as u32;

impl Bits {
    /// Whether a number is in the set, as far as this multiprocessor has seen: a number that was
    /// added a moment ago may be missing.
    ///
    /// # Safety
    /// The number is below the bound.
    #[inline(always)]
    pub(super) unsafe fn seen(&self, number: u32) -> bool {
        // SAFETY: the caller promises that the number is below the bound.
        unsafe { load_stale(self.words.add(number as usize / 32)) & 1 << (number % 32) != 0 }
    }

    /// Adds a number.
    ///
    /// # Safety
    /// As [`Bits::seen`].
    #[inline(always)]
    pub(super) unsafe fn set(&self, number: u32) {
        // SAFETY: the caller promises that the number is below the bound.
        unsafe { atomic_or(self.words.add(number as usize / 32), 1 << (number % 32)) };
    }

    /// How many numbers are smaller than this one, which is in the set.
    ///
    /// # Safety
    /// As [`Bits::seen`]; [`RankBits`] ran before.
    #[inline(always)]
    pub(super) unsafe fn rank(&self, number: u32) -> u32 {
        // SAFETY: the caller promises that the number is below the bound.
        let ranked = unsafe { *self.ranked.add(number as usize / 32) };
        ranked as u32 + ((ranked >> 32) as u32 & below(number % 32)).count_ones()
    }
}

/// Mask of the bits below a bit of a word.
#[inline(always)]
const fn below(bit: u32) -> u32 {
    (1 << bit) - 1
}

/// Arguments of [`RankBits`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RankBitsArgs {
    /// The numbers; their bits are zeroed here.
    pub bits: Bits,
    /// Look-back state, zero before.
    pub tiles: scan::Tiles,
    /// The samples.
    pub batch: Batch,
    /// How many numbers a sample has; zero where sample `s` has those from `row_splits[s]` on.
    pub step: u32,
    /// `[samples + 1]`: the bits before each sample's first number; null if nobody asked.
    pub sample_found: *mut u32,
    /// Gets the number of bits.
    pub counters: *mut Counters,
    /// From the kernels before; zeroed where rows are reported.
    pub lost: Lost,
    /// See [`ForHost`]; null where others report the rows.
    pub for_host: ForHost,
}

kernel! {
    /// Ranks the numbers of a set, and empties it. One block a tile of [`QUADS_PER_TILE`], at least
    /// one.
    ///
    /// Words without a bit are neither written nor read again, so a sparse set costs one read of
    /// its words.
    RankBits = "voxelize_rank_bits", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: RankBitsArgs) {
        let shared = Shared::at(0);
        let tile = scan::take_tile(a.tiles, shared);
        // The quads of a warp are consecutive, so that its sums are too.
        let first = (tile * (BLOCK / WARP) + warp()) * (WARP * QUADS as u32) + lane();
        let words = a.bits.words.cast::<Four>();
        let mut quads = [[0; 4]; QUADS];
        for j in 0..QUADS {
            let q = first + j as u32 * WARP;
            if q < a.bits.quads {
                quads[j] = (*words.add(q as usize)).0;
            }
        }
        let mut before = [0; QUADS];
        let mut sum = 0;
        for j in 0..QUADS {
            let own = quads[j][0].count_ones() + quads[j][1].count_ones() + quads[j][2].count_ones() + quads[j][3].count_ones();
            let inclusive = warp_inclusive_sum(own);
            before[j] = sum + inclusive - own;
            sum += shuffle(inclusive, WARP - 1);
        }
        let (before_warp, end) = scan::prefix_of_warp(a.tiles, tile, sum, shared);
        for j in 0..QUADS {
            let q = first + j as u32 * WARP;
            if q < a.bits.quads {
                let rank = before_warp + before[j];
                if !a.sample_found.is_null() {
                    a.note_samples(q * QUAD_BITS, quads[j], rank);
                }
                a.write_ranks(q, quads[j], rank);
            }
        }
        if thread_index() == 0 && (tile + 1) * QUADS_PER_TILE >= a.bits.quads {
            if !a.sample_found.is_null() {
                *a.sample_found.add(a.batch.samples as usize) = end;
            }
            if a.for_host.word.is_null() {
                (*a.counters).found = end;
            } else {
                report_rows(end, a.batch.max_voxels, a.counters, a.lost, a.for_host);
            }
        }
    }
}

impl RankBitsArgs {
    /// Writes the ranks of a quad that begins with this one, and zeroes its bits.
    #[inline(always)]
    unsafe fn write_ranks(&self, q: u32, quad: [u32; 4], mut rank: u32) {
        if quad[0] | quad[1] | quad[2] | quad[3] == 0 {
            return;
        }
        // SAFETY: `q` is below `quads`, and there are four ranks for each.
        let ranked = unsafe { self.bits.ranked.add(q as usize * 4) };
        for k in 0..4 {
            if quad[k] != 0 {
                // SAFETY: `k` is below four.
                unsafe { *ranked.add(k) = (quad[k] as u64) << 32 | rank as u64 };
            }
            rank += quad[k].count_ones();
        }
        // SAFETY: `q` is below `quads`; the words are aligned to 16 bytes.
        unsafe { *self.bits.words.cast::<Four>().add(q as usize) = Four([0; 4]) };
    }

    /// Notes the rank of each sample's first number that lies in the quad from number `start` on.
    #[inline(always)]
    unsafe fn note_samples(&self, start: u32, quad: [u32; 4], rank: u32) {
        let mut sample = self.first_sample(start);
        while sample < self.batch.samples {
            let bit = self.start_of(sample) - start;
            if bit >= QUAD_BITS {
                break;
            }
            let mut found = rank;
            for k in 0..4 {
                let first = k as u32 * 32;
                let mask = if bit >= first + 32 {
                    u32::MAX
                } else if bit > first {
                    below(bit - first)
                } else {
                    0
                };
                found += (quad[k] & mask).count_ones();
            }
            // SAFETY: `sample` is a sample.
            unsafe { *self.sample_found.add(sample as usize) = found };
            sample += 1;
        }
    }

    /// The first number of a sample.
    #[inline(always)]
    fn start_of(&self, sample: u32) -> u32 {
        // SAFETY: there are `samples + 1` splits.
        if self.step > 0 { sample * self.step } else { unsafe { *self.batch.row_splits.add(sample as usize) } }
    }

    /// The first sample that starts at `number` or behind.
    #[inline(always)]
    fn first_sample(&self, number: u32) -> u32 {
        if self.step > 0 {
            return number.div_ceil(self.step);
        }
        partition_point(0, self.batch.samples, |sample| self.start_of(sample) < number)
    }
}
