//! The next pose, and the end of the loop.
//!
//! The loop runs ahead of the host, which looks at its iterations later and decides with the same
//! arithmetic. So the device may stop too early, where a step takes more than it can do, but never
//! goes another way.

use super::spread::StoredSpread;
use super::*;
use crate::simt::WARP;
use pointmill_core::icp::{
    pairs::{HEAD, Linearization, POINT_TERMS, STEP_TERMS},
    pose::{closest, stepped_if_determined},
    spread::margin,
    termination::{Rules, rmse},
};
use pointmill_core::rigid::Rigid;

/// Iterations of a loop that are queued at once.
pub const BATCH: usize = 8;
/// Places where blocks add to the counters of an iteration.
pub const STATS_PLACES: usize = WARP as usize;

/// Counters of one iteration, over all blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct IterationStats {
    /// Source points whose pair changed.
    pub changed: u64,
    /// Those that were searched for.
    pub searched: u64,
    /// What the pairs make together.
    pub hash: u64,
}

/// Where the loop is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LoopState {
    /// The pose to look at.
    pub pose: Rigid,
    /// Where the loop began: what pairs do not determine stays as it is there.
    pub guess: Rigid,
    /// The last step in metres.
    pub step: f64,
    /// Steps so far.
    pub steps: u64,
    /// The counters of this iteration, a block in one of many places, so that few meet at one; zero
    /// before it.
    pub stats: [IterationStats; STATS_PLACES],
    /// Nanoseconds: when the search began, and the sums.
    pub times: [u64; 2],
    /// Metres by which searches look farther.
    pub margin: f32,
    /// Not zero until the end.
    pub running: u32,
    /// Not zero where nothing is known of pairs yet.
    pub fresh: u32,
    /// Iterations that are noted.
    pub iterations: u32,
}

/// One look at a pose.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Iteration {
    /// The pose.
    pub pose: Rigid,
    /// The sums there; of point-to-point only the first are set.
    pub terms: [f64; STEP_TERMS],
    /// Its counters.
    pub stats: IterationStats,
    /// Nanoseconds: when the search began, the sums, the solution, and when that was done.
    pub times: [u64; 4],
}

/// The iterations of a loop that were queued at once.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IterationBatch {
    /// How many were made, where the loop ran: at least one.
    pub made: u64,
    /// These, and room for others.
    pub iterations: [Iteration; BATCH],
}

plain! {
    LoopState: (24 + 4 + 3 * STATS_PLACES) * 8 + 16,
    Iteration: (12 + STEP_TERMS + 7) * 8,
    IterationBatch: 8 + BATCH * size_of::<Iteration>(),
}

/// Arguments of [`AdvancePoints`] and [`AdvanceSteps`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AdvanceArgs {
    /// The sources.
    pub clouds: Clouds,
    /// The loop of each source.
    pub state: *mut LoopState,
    /// The iterations of each.
    pub iterations: *mut IterationBatch,
    /// What ends a loop.
    pub rules: Rules,
    /// Where each source is.
    pub spread: *const StoredSpread,
    /// Sums of trees.
    pub sums: *const f64,
}

/// How the next pose follows from sums. (Closures are not inlined everywhere, and functions that
/// are called need a stack.)
trait Next<const K: usize> {
    fn next(guess: &Rigid, terms: &[f64; K], at: &Linearization) -> Option<Rigid>;
}

impl Next<POINT_TERMS> for AdvancePoints {
    #[inline(always)]
    fn next(guess: &Rigid, terms: &[f64; POINT_TERMS], _: &Linearization) -> Option<Rigid> {
        closest(terms, guess)
    }
}

impl Next<STEP_TERMS> for AdvanceSteps {
    #[inline(always)]
    fn next(_: &Rigid, terms: &[f64; STEP_TERMS], at: &Linearization) -> Option<Rigid> {
        stepped_if_determined(terms, at)
    }
}

/// Adds up the trees, notes the iteration, and sets the next pose or ends the loop, if it runs. All
/// threads of a block of [`BLOCK`] call; `shared` has 512 words.
#[inline(always)]
unsafe fn advance<N: Next<K>, const K: usize>(a: &AdvanceArgs, shared: Shared) {
    // SAFETY: the caller's promise about all pointers.
    unsafe {
        let share = a.clouds.of(block_index(), 0);
        let state = a.state.add(share.cloud);
        // All that is read besides the sums is under way at once, so that the thread that solves
        // waits for none of it.
        let place = &raw mut (*state).stats[lane() as usize];
        let IterationStats { changed, searched, hash } = *place;
        let n = hidden(share.n());
        let (spread, pose, guess) = ((*a.spread.add(share.cloud)).0, (*state).pose, (*state).guess);
        let (step, steps, times) = ((*state).step, (*state).steps, (*state).times);
        if (*state).running == 0 {
            return;
        }
        let (iterations, number) = (a.iterations.add(share.cloud), (*state).iterations as usize);
        let iteration = (&raw mut (*iterations).iterations).cast::<Iteration>().add(number);
        if thread_index() == 0 {
            (*iteration).times[2] = nanoseconds();
        }
        let sum = fold(sums_of::<K>(a.sums, &a.clouds, share.cloud), n.div_ceil(TREE), shared);
        // The first warp adds up the counters; the order of whole numbers does not matter.
        let stats = IterationStats {
            changed: warp_sum_u64(changed),
            searched: warp_sum_u64(searched),
            hash: warp_sum_u64(hash),
        };
        if warp() == 0 {
            *place = IterationStats::default();
        }
        // The words of the first two warps are read no more once all threads are here.
        sync_block();
        let sums = Doubles::at(shared, BLOCK);
        if thread_index() < K as u32 {
            sums.set(thread_index(), sum);
        }
        if thread_index() < STEP_TERMS as u32 {
            // What this metric has no sum for is zero.
            let to = (&raw mut (*iteration).terms).cast::<f64>();
            *to.add(thread_index() as usize) = if thread_index() < K as u32 { sum } else { 0.0 };
        }
        sync_block();
        if thread_index() == 0 {
            let mut terms = [0.0; K];
            for k in 0..K {
                terms[k] = sums.get(k as u32);
            }
            let mut head = [0.0; HEAD];
            head.copy_from_slice(&terms[..HEAD]);
            (*iteration).pose = pose;
            (*iteration).stats = stats;
            ((*iteration).times[0], (*iteration).times[1]) = (times[0], times[1]);
            (*state).fresh = 0;
            (*state).iterations = number as u32 + 1;
            (*iterations).made = number as u64 + 1;
            let end = a.rules.end(head[0], stats.changed, steps, step, spread.size());
            (*state).running = 0;
            if end.is_none()
                && let Some(next) = N::next(&guess, &terms, &spread.at(pose))
            {
                let step = spread.motion(&pose, &next);
                (*state).running = 1;
                (*state).step = step;
                (*state).margin = margin(step, rmse(&head));
                (*state).steps = steps + 1;
                (*state).pose = next;
            }
            (*iteration).times[3] = nanoseconds();
        }
    }
}

kernel! {
    /// The next pose of point-to-point. One block a source.
    AdvancePoints = "icp_advance_points", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: AdvanceArgs) {
        advance::<Self, POINT_TERMS>(&a, Shared::at(0));
    }
}

kernel! {
    /// The next pose of point-to-plane and GICP, if the pairs determine all of it. One block a
    /// source.
    AdvanceSteps = "icp_advance_steps", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: AdvanceArgs) {
        advance::<Self, STEP_TERMS>(&a, Shared::at(0));
    }
}
