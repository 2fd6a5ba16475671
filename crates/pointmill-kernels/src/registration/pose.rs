//! Poses of matches that have many neighbours in common.

use crate::simt::*;
use pointmill_core::icp::nearest::index_of;
use pointmill_core::registration::pose::Agreement;
use pointmill_core::registration::{Match, PART};

/// An [`Agreement`] in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredAgreement(pub Agreement);

plain!(StoredAgreement: 14 * 8);

/// Arguments of [`Agree`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AgreeArgs {
    /// `[len]`.
    pub matches: *const Match,
    /// How many.
    pub len: u32,
    /// Matches that poses begin with, one a block.
    pub seeds: *const u32,
    /// `[len, 24]`: the best neighbours of each match.
    pub best: *const u64,
    /// Most that a match may be off.
    pub width: f64,
    /// As many poses.
    pub out: *mut StoredAgreement,
}

kernel! {
    /// The pose of each seed. One block a seed, of which one thread works: seeds are few, and threads
    /// of a warp would wait for each other's branches.
    Agree = "registration_agree", block WARP, shared 0, cooperative false,
    fn(a: AgreeArgs) {
        if thread_index() > 0 {
            return;
        }
        let i = block_index();
        let seed = *a.seeds.add(i as usize) as usize;
        let best = a.best.add(seed * PART);
        let mut others = 0;
        while others < PART && *best.add(others) != u64::MAX {
            others += 1;
        }
        let part = |k: usize| {
            let of = if k == 0 { seed } else { index_of(*best.add(k - 1)) as usize };
            *a.matches.add(of)
        };
        let all = |k: usize| *a.matches.add(k);
        *a.out.add(i as usize) = StoredAgreement(Agreement::of((others + 1, part), (a.len as usize, all), a.width));
    }
}
