//! Points into sums.
//!
//! A lane takes a few points that follow each other and adds up those that share a cell; points of
//! a sweep mostly do. What a lane has of a cell waits in shared memory until there is a warp's
//! worth; then neighbouring lanes add neighbouring words of a record, which takes a third of the
//! sectors of a lane a record. Lanes that end with the same cell are added up first, so that a cell
//! with many points is no bottleneck.

use super::*;
use crate::prim::WARPS;
use pointmill_core::ndt::{Place, key_of};

/// Points that a block takes, for each that a lane takes.
pub const TILE: u32 = BLOCK;

/// Arguments of [`AccumulateF32`] and its like.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AccumulateArgs {
    /// `[n, columns]`, x, y, z first.
    pub points: *const u8,
    /// Values of a row.
    pub columns: u32,
    /// The number of points.
    pub n: u32,
    /// Points that a lane takes.
    pub items: u32,
    /// Nonzero: points are taken away.
    pub take_away: u32,
    /// What points of [`AccumulateAbout`] are added to, rounded once.
    pub origin: [f64; 3],
    /// The lattice.
    pub lattice: NdtLattice,
    /// The sums.
    pub table: Records,
}

/// Runs that wait, a warp's worth: low words, high words, keys, slots.
const HIGH: u32 = WARP_RUNS * SUMS as u32;
const KEYS: u32 = 2 * HIGH;
const SLOTS: u32 = KEYS + 2 * WARP_RUNS;
const WARP_WORDS: u32 = SLOTS + WARP_RUNS;
const WARP_RUNS: u32 = 32;
const SHARED: u32 = (BLOCK / 32) * WARP_WORDS;

const NONE: u64 = u64::MAX;

/// Sums of points that share a cell.
#[derive(Clone, Copy)]
struct Run {
    key: u64,
    sums: [u64; SUMS],
}

const NO_RUN: Run = Run { key: NONE, sums: [0; SUMS] };

impl Run {
    #[inline(always)]
    fn add(&mut self, [x, y, z]: [i32; 3]) {
        let product = |a: i32, b: i32| (a as i64 * b as i64) as u64;
        let one = [
            1,
            x as i64 as u64,
            y as i64 as u64,
            z as i64 as u64,
            product(x, x),
            product(x, y),
            product(x, z),
            product(y, y),
            product(y, z),
            product(z, z),
        ];
        for w in 0..SUMS {
            self.sums[w] = self.sums[w].wrapping_add(one[w]);
        }
    }
}

/// Runs of one warp that wait to be added to the table.
struct Queue {
    shared: Shared,
    len: u32,
}

impl Queue {
    /// Takes the runs of some lanes. All lanes of the warp call.
    #[inline(always)]
    unsafe fn push(&mut self, a: &AccumulateArgs, run: &Run, wanted: bool) {
        let votes = ballot(wanted);
        let count = votes.count_ones();
        if self.len + count > WARP_RUNS {
            // SAFETY: the caller's promise about the arguments.
            unsafe { self.drain(a) };
        }
        if wanted {
            let at = self.len + (votes & lanes_before()).count_ones();
            for w in 0..SUMS {
                self.shared.set(at * SUMS as u32 + w as u32, run.sums[w] as u32);
                self.shared.set(HIGH + at * SUMS as u32 + w as u32, (run.sums[w] >> 32) as u32);
            }
            self.shared.set(KEYS + at, run.key as u32);
            self.shared.set(KEYS + WARP_RUNS + at, (run.key >> 32) as u32);
        }
        self.len += count;
    }

    /// Adds all that wait. All lanes of the warp call.
    #[inline(always)]
    unsafe fn drain(&mut self, a: &AccumulateArgs) {
        let shared = self.shared;
        sync_warp();
        let (mut key, mut slot, mut fresh) = (0, None, false);
        // SAFETY: the caller's promise about the table.
        unsafe {
            if lane() < self.len {
                key = shared.get(KEYS + lane()) as u64 | (shared.get(KEYS + WARP_RUNS + lane()) as u64) << 32;
                (slot, fresh) = a.table.enter(key);
                if slot.is_none() {
                    atomic_add(&raw mut (*a.table.totals).lost, 1);
                }
                shared.set(SLOTS + lane(), slot.unwrap_or(u32::MAX));
            }
            a.table.note(key, slot.unwrap_or(0), fresh);
            sync_warp();
            let mut w = lane();
            while w < self.len * SUMS as u32 {
                let slot = shared.get(SLOTS + w / SUMS as u32);
                let value = shared.get(w) as u64 | (shared.get(HIGH + w) as u64) << 32;
                let value = if a.take_away != 0 { value.wrapping_neg() } else { value };
                if slot != u32::MAX {
                    atomic_add_u64(a.table.word(slot, 1 + (w % SUMS as u32) as usize), value);
                }
                w += WARP;
            }
        }
        sync_warp();
        self.len = 0;
    }
}

/// What the accumulate kernels do; `read` is the place of a point, or whether it is finite.
///
/// # Safety
/// As the kernels.
#[inline(always)]
pub(super) unsafe fn accumulate(a: AccumulateArgs, read: impl Fn(u32) -> Result<Place, bool>) {
    let mut queue = Queue { shared: Shared::at(warp() * WARP_WORDS), len: 0 };
    let first = ((block_index() * WARPS + warp()) * WARP + lane()) * a.items;
    let mut run = NO_RUN;
    let (mut non_finite, mut outside) = (0, 0);
    let mut j = 0;
    while j < a.items {
        let i = first + j;
        let (mut key, mut offset) = (NONE, [0; 3]);
        if i < a.n {
            match read(i) {
                Ok(place) => (key, offset) = (key_of(place.cell), place.offset),
                Err(false) => non_finite += 1,
                Err(true) => outside = if outside == 0 { !i } else { outside },
            }
        }
        let ends = key != NONE && run.key != NONE && key != run.key;
        if ballot(ends) != 0 {
            // SAFETY: the caller's promise about the arguments.
            unsafe { queue.push(&a, &run, ends) };
            if ends {
                run = NO_RUN;
            }
        }
        if key != NONE {
            run.key = key;
            run.add(offset);
        }
        j += 1;
    }
    // Lanes that hold the same cell side by side: the last of them gets the sum.
    let before = shuffle_up_u64(run.key, 1);
    let starts = ballot(lane() == 0 || before != run.key);
    let from = run_start(starts);
    let mut distance = 1;
    while distance < WARP {
        for w in 0..SUMS {
            let other = shuffle_up_u64(run.sums[w], distance);
            if lane() >= from + distance {
                run.sums[w] = run.sums[w].wrapping_add(other);
            }
        }
        distance *= 2;
    }
    let last = lane() == WARP - 1 || starts >> (lane() + 1) & 1 == 1;
    // SAFETY: the caller's promise about the arguments.
    unsafe {
        queue.push(&a, &run, last && run.key != NONE);
        queue.drain(&a);
        if non_finite > 0 {
            atomic_add(&raw mut (*a.table.totals).non_finite, non_finite);
        }
        if outside > 0 {
            atomic_max(&raw mut (*a.table.totals).outside, outside);
        }
    }
}

/// The place of a point, or whether it is finite.
#[inline(always)]
pub(super) fn placed(p: [f64; 3], place: Option<Place>) -> Result<Place, bool> {
    place.ok_or(p[0].is_finite() && p[1].is_finite() && p[2].is_finite())
}

kernel! {
    /// Adds points of `f32`. One block for each [`TILE`] x `items` points.
    AccumulateF32 = "ndt_accumulate_f32", block BLOCK, shared SHARED, cooperative true,
    fn(a: AccumulateArgs) {
        accumulate(a, |i| {
            let row = a.points.cast::<f32>().add(i as usize * a.columns as usize);
            let p = [*row, *row.add(1), *row.add(2)];
            placed([p[0] as f64, p[1] as f64, p[2] as f64], a.lattice.place(p))
        });
    }
}

kernel! {
    /// Adds points of `f64`. One block for each [`TILE`] x `items` points.
    AccumulateF64 = "ndt_accumulate_f64", block BLOCK, shared SHARED, cooperative true,
    fn(a: AccumulateArgs) {
        accumulate(a, |i| {
            let row = a.points.cast::<f64>().add(i as usize * a.columns as usize);
            let p = [*row, *row.add(1), *row.add(2)];
            placed(p, a.lattice.place(p))
        });
    }
}

kernel! {
    /// Adds points of `f32` about an origin. One block for each [`TILE`] x `items` points.
    AccumulateAbout = "ndt_accumulate_about", block BLOCK, shared SHARED, cooperative true,
    fn(a: AccumulateArgs) {
        accumulate(a, |i| {
            let row = a.points.cast::<f32>().add(i as usize * a.columns as usize);
            let p = [a.origin[0] + *row as f64, a.origin[1] + *row.add(1) as f64, a.origin[2] + *row.add(2) as f64];
            placed(p, a.lattice.place(p))
        });
    }
}
