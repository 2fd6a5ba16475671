//! The graph of matches that keep their distances, and the best neighbours of each match.

use super::BLOCK;
use crate::simt::*;
use pointmill_core::icp::nearest::index_of;
use pointmill_core::registration::{MOST_FEATURES, Match, PART, RANK, common_key, common_of, keep_distance};

/// Arguments of [`Join`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct JoinArgs {
    /// `[len]`.
    pub matches: *const Match,
    /// How many.
    pub len: u32,
    /// Words of a row: a bit for each match.
    pub words: u32,
    /// Most that distances differ.
    pub tolerance: f32,
    /// Shortest distance.
    pub shortest: f32,
    /// `[len, words]`.
    pub rows: *mut u32,
}

kernel! {
    /// Joins matches that keep their distance. One thread 32 bits.
    Join = "registration_join", block BLOCK, shared 0, cooperative false,
    fn(a: JoinArgs) {
        let at = global_index();
        if at >= a.len * a.words {
            return;
        }
        let (own, first) = (*a.matches.add((at / a.words) as usize), at % a.words * 32);
        let (mut word, mut j) = (0, 0);
        while j < 32 && first + j < a.len {
            let other = *a.matches.add((first + j) as usize);
            word |= if keep_distance(&own, &other, a.tolerance, a.shortest) { 1 << j } else { 0 };
            j += 1;
        }
        *a.rows.add(at as usize) = word;
    }
}

/// Arguments of [`Best`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BestArgs {
    /// What [`Join`] made.
    pub rows: *const u32,
    /// Matches, at most [`MOST_FEATURES`].
    pub len: u32,
    /// Words of a row.
    pub words: u32,
    /// `[len, 24]`: the neighbours that have the most neighbours in common with a match, the best
    /// first; all bits set where there are fewer.
    pub best: *mut u64,
    /// `[len]`: the number of neighbours in common with the sixth; 0 where there are fewer.
    pub scores: *mut u32,
}

/// A key for each match, and the least key of each warp.
const KEYS: u32 = MOST_FEATURES as u32;
const WARPS: u32 = BLOCK / WARP;

kernel! {
    /// The best neighbours. One block a match.
    Best = "registration_best", block BLOCK, shared 2 * (KEYS + WARPS), cooperative true,
    fn(a: BestArgs) {
        let (keys, leasts) = (Doubles::at(Shared::at(0), KEYS), Doubles::at(Shared::at(2 * KEYS), WARPS));
        let i = block_index();
        let own = a.rows.add(i as usize * a.words as usize);
        let mut j = thread_index();
        while j < a.len {
            let mut found = u64::MAX;
            if *own.add(j as usize / 32) >> (j % 32) & 1 != 0 {
                let other = a.rows.add(j as usize * a.words as usize);
                let (mut common, mut w) = (0, 0);
                while w < a.words as usize {
                    common += (*own.add(w) & *other.add(w)).count_ones();
                    w += 1;
                }
                found = common_key(common, j);
            }
            keys.set_bits(j, found);
            j += BLOCK;
        }
        let (mut round, mut score) = (0, 0);
        while round < PART {
            let mut least = u64::MAX;
            let mut j = thread_index();
            while j < a.len {
                let found = keys.bits(j);
                least = if found < least { found } else { least };
                j += BLOCK;
            }
            least = warp_least_u64(least);
            if lane() == 0 {
                leasts.set_bits(warp(), least);
            }
            sync_block();
            least = warp_least_u64(if lane() < WARPS { leasts.bits(lane()) } else { u64::MAX });
            sync_block();
            if least != u64::MAX {
                // The thread that reads this key in the next round takes it out.
                if index_of(least) % BLOCK == thread_index() {
                    keys.set_bits(index_of(least), u64::MAX);
                }
                score = if round + 1 == RANK { common_of(least) } else { score };
            }
            if thread_index() == 0 {
                *a.best.add(i as usize * PART + round) = least;
            }
            round += 1;
        }
        if thread_index() == 0 {
            *a.scores.add(i as usize) = score;
        }
    }
}
