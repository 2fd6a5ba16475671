//! Clouds as the loop takes them: finite points, in `f32`, about a centre.

use super::*;
use crate::cloud::{Points, StoredPoints};
use crate::prim::WARPS;
use crate::prim::compact::rank_tile;
use crate::prim::scan::{self, Tiles};
use pointmill_core::float;
use pointmill_core::icp::morton::{from_ordered, ordered};

/// Points that a centre is made from.
const SAMPLE: u32 = 1023;
/// Points of a thread of [`Keep`], and of [`Centre`].
const ITEMS: usize = 4;
/// Points of a tile of [`Keep`].
pub const KEEP_TILE: u32 = BLOCK * ITEMS as u32;
/// Largest distance from the centre along an axis. Squares of such distances are still numbers.
const FARTHEST: f64 = 1e18;

/// What is known of a cloud. Before [`Keep`] `far` and `bounds` have all bits set, and all else but
/// `points` is zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Head {
    /// The median of sampled points.
    pub centre: [f64; 3],
    /// Points that stay.
    pub kept: u32,
    /// Points that are not finite.
    pub non_finite: u32,
    /// Points at exactly zero that were left out.
    pub zeros: u32,
    /// The first point that stays and is too far from the centre.
    pub far: u32,
    /// Keys of the least coordinates of the box, and of the largest ones inverted: the smaller the
    /// farther out.
    pub bounds: [u32; 6],
    /// Blocks that have written their sums, for the mean and for the covariance; zero between
    /// launches.
    pub arrived: [u32; 2],
    /// The cloud.
    pub points: StoredPoints,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Head {
    /// Of a cloud, before [`Keep`].
    pub fn of(points: Points) -> Self {
        Self { far: u32::MAX, bounds: [u32::MAX; 6], points: points.into(), ..Self::default() }
    }

    /// A head that knows the box alone.
    pub fn around(low: [f32; 3], high: [f32; 3]) -> Self {
        let [a, b, c] = low.map(ordered);
        let [d, e, f] = high.map(|x| !ordered(x));
        Self { far: u32::MAX, bounds: [a, b, c, d, e, f], ..Self::default() }
    }
}

impl Head {
    /// The box around the points.
    #[inline(always)]
    pub(super) fn corners(&self) -> ([f32; 3], [f32; 3]) {
        corners(&self.bounds)
    }
}

/// The corners of a box from the keys of [`Head::bounds`].
#[inline(always)]
pub(super) fn corners(b: &[u32; 6]) -> ([f32; 3], [f32; 3]) {
    let (low, high) = ([b[0], b[1], b[2]], [!b[3], !b[4], !b[5]]);
    (
        [from_ordered(low[0]), from_ordered(low[1]), from_ordered(low[2])],
        [from_ordered(high[0]), from_ordered(high[1]), from_ordered(high[2])],
    )
}

/// Makes a box, as [`Head::bounds`] has it, larger by a point.
#[inline(always)]
pub(super) fn widen(bounds: &mut [u32; 6], p: [f32; 3]) {
    for k in 0..3 {
        let key = ordered(p[k]);
        bounds[k] = if key < bounds[k] { key } else { bounds[k] };
        bounds[3 + k] = if !key < bounds[3 + k] { !key } else { bounds[3 + k] };
    }
}

/// The least number of a warp. All lanes call.
#[inline(always)]
pub(super) fn warp_least(mut least: u32) -> u32 {
    let mut distance = WARP / 2;
    while distance > 0 {
        let other = shuffle(least, lane() ^ distance);
        least = if other < least { other } else { least };
        distance /= 2;
    }
    least
}

/// Words of shared memory of [`least_of_block`].
pub(super) const BOUNDS_WORDS: u32 = 6 * WARPS;

/// Puts boxes of threads together; thread k < 6 gets bound k. All threads of a block of [`BLOCK`]
/// call; `shared` has [`BOUNDS_WORDS`].
#[inline(always)]
fn least_of_block(bounds: &[u32; 6], shared: Shared) -> u32 {
    for k in 0..6 {
        let least = warp_least(bounds[k]);
        if lane() == 0 {
            shared.set(k as u32 * WARPS + warp(), least);
        }
    }
    sync_block();
    let mut all = u32::MAX;
    if thread_index() < 6 {
        for w in 0..WARPS {
            let least = shared.get(thread_index() * WARPS + w);
            all = if least < all { least } else { all };
        }
    }
    all
}

/// Clouds side by side. A launch takes all of them: as many blocks for each as its places need,
/// those of a cloud side by side.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Clouds {
    /// What is known of each.
    pub heads: *mut Head,
    /// Places of each.
    pub room: u32,
}

/// What a block has of the clouds.
pub(super) struct Share {
    /// The cloud.
    pub(super) cloud: usize,
    /// Which of its blocks this is.
    pub(super) block: u32,
    /// The first of its places.
    pub(super) first: usize,
    /// What is known of it.
    pub(super) head: *mut Head,
}

impl Clouds {
    /// The share of this block, where blocks take so many places each.
    #[inline(always)]
    pub(super) fn share(&self, places: u32) -> Share {
        let blocks = self.room.div_ceil(places);
        let cloud = block_index() / blocks;
        self.of(cloud, block_index() - cloud * blocks)
    }

    /// A block of a cloud.
    #[inline(always)]
    pub(super) fn of(&self, cloud: u32, block: u32) -> Share {
        let cloud = cloud as usize;
        Share { cloud, block, first: cloud * self.room as usize, head: self.heads.wrapping_add(cloud) }
    }
}

impl Share {
    /// The index of this thread in the cloud, where each thread takes one point.
    #[inline(always)]
    pub(super) fn index(&self) -> u32 {
        self.block * block_size() + thread_index()
    }

    /// Points that stay.
    ///
    /// # Safety
    /// The head is valid, and [`Keep`] is done.
    #[inline(always)]
    pub(super) unsafe fn n(&self) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { (*self.head).kept }
    }
}

/// Arguments of [`Keep`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KeepArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// Not zero where points at zero are left out.
    pub drop_zeros: u32,
    /// Room for the indices of points that stay.
    pub kept: *mut u32,
    /// State of each cloud, zero before.
    pub tiles: Tiles,
}

kernel! {
    /// Lists the points that stay, in order. One block a tile of [`KEEP_TILE`].
    Keep = "icp_keep", block BLOCK, shared scan::SHARED_WORDS, cooperative true,
    fn(a: KeepArgs) {
        let (shared, share) = (Shared::at(0), a.clouds.share(KEEP_TILE));
        let points = (*share.head).points.get();
        let words = Tiles::words(a.clouds.room.div_ceil(KEEP_TILE)) as usize;
        let tiles = Tiles { words: a.tiles.words.add(share.cloud * words) };
        let tile = scan::take_tile(tiles, shared);
        let (mut non_finite, mut zeros) = (0, 0);
        let start = crate::prim::compact::first_element::<ITEMS>(tile);
        let mut stays = [false; ITEMS];
        for j in 0..ITEMS {
            let i = start + j as u32 * WARP;
            if i < points.n {
                let p = points.get(i);
                let finite = p[0].is_finite() && p[1].is_finite() && p[2].is_finite();
                let zero = a.drop_zeros != 0 && p[0] == 0.0 && p[1] == 0.0 && p[2] == 0.0;
                non_finite += if finite { 0 } else { 1 };
                zeros += if finite && zero { 1 } else { 0 };
                stays[j] = finite && !zero;
            }
        }
        let r = rank_tile::<ITEMS>(tiles, tile, shared, |i| stays[((i - start) / WARP) as usize]);
        for j in 0..ITEMS {
            if r.flagged[j] {
                *a.kept.add(share.first + r.rank[j] as usize) = r.start + j as u32 * WARP;
            }
        }
        let (non_finite, zeros) = (warp_sum(non_finite), warp_sum(zeros));
        if lane() == 0 && non_finite > 0 {
            atomic_add(&raw mut (*share.head).non_finite, non_finite);
        }
        if lane() == 0 && zeros > 0 {
            atomic_add(&raw mut (*share.head).zeros, zeros);
        }
        if thread_index() == 0 && points.n <= (tile + 1) * KEEP_TILE {
            (*share.head).kept = r.end;
        }
    }
}

/// Arguments of [`Centre`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CentreArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// The points that stay.
    pub kept: *const u32,
}

/// Bits of a key of [`Centre`] that a round settles, and values of these.
const RADIX_BITS: u32 = 8;
const RADIX: u32 = 1 << RADIX_BITS;
const _: () = assert!(RADIX == BLOCK);

kernel! {
    /// The median of evenly spaced points, one axis a block, three blocks a cloud: digit by digit
    /// from the highest, one thread a value of the digit.
    Centre = "icp_centre", block BLOCK, shared 2 * RADIX + WARPS + 2, cooperative true,
    fn(a: CentreArgs) {
        let (axis, share) = (block_index() % 3, a.clouds.of(block_index() / 3, 0));
        let (warps, found) = (Shared::at(2 * RADIX), Shared::at(2 * RADIX + WARPS));
        let (points, kept) = ((*share.head).points.get(), share.n());
        let n = if kept < SAMPLE { kept } else { SAMPLE };
        // Keys with the total order of floats. A place that has no point is above all.
        let mut keys = [u64::MAX; ITEMS];
        for j in 0..ITEMS {
            let i = j as u32 * BLOCK + thread_index();
            if i < n {
                let at = *a.kept.add(share.first + (i as u64 * kept as u64 / n as u64) as usize);
                let p = points.get(at);
                keys[j] = float::ordered(if axis == 0 { p[0] } else if axis == 1 { p[1] } else { p[2] });
            }
        }
        Shared::at(0).set(thread_index(), 0);
        sync_block();
        // A number that the compiler does not know: it would write out the loop over it.
        let (mut prefix, mut rank, mut shift) = (0u64, n / 2, block_size() / 4);
        while shift > 0 {
            shift -= RADIX_BITS;
            // Two arrays of counts in turn: one is made zero while the other counts.
            let turn = shift / RADIX_BITS % 2;
            let (counts, next) = (Shared::at((1 - turn) * RADIX), Shared::at(turn * RADIX));
            for j in 0..ITEMS {
                let key = keys[j] >> shift;
                if key >> RADIX_BITS == prefix {
                    counts.add(key as u32 % RADIX, 1);
                }
            }
            next.set(thread_index(), 0);
            sync_block();
            let own = counts.get(thread_index());
            let inclusive = warp_inclusive_sum(own);
            if lane() == WARP - 1 {
                warps.set(warp(), inclusive);
            }
            sync_block();
            let mut below = inclusive - own;
            for w in 0..WARPS {
                below += if w < warp() { warps.get(w) } else { 0 };
            }
            // The digit in which the rank lies.
            if below <= rank && rank < below + own {
                found.set(0, thread_index());
                found.set(1, rank - below);
            }
            sync_block();
            prefix = prefix << RADIX_BITS | found.get(0) as u64;
            rank = found.get(1);
        }
        if thread_index() == 0 {
            let centre = (&raw mut (*share.head).centre).cast::<f64>();
            *centre.add(axis as usize) = if n > 0 { float::from_ordered(prefix) } else { 0.0 };
        }
    }
}

/// Arguments of [`Local`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LocalArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// The points that stay.
    pub kept: *const u32,
    /// The points about the centre; each with its index.
    pub local: *mut Place4,
    /// Null where indices count the points that stay; else indices are rows of the cloud, and the
    /// points go here as well, by row.
    pub by_row: *mut Place4,
}

kernel! {
    /// Takes the centre off the points that stay, and finds the box around them. One thread a
    /// point.
    Local = "icp_local", block BLOCK, shared BOUNDS_WORDS, cooperative true,
    fn(a: LocalArgs) {
        let share = a.clouds.share(BLOCK);
        let i = share.index();
        let mut bounds = [u32::MAX; 6];
        if i < share.n() {
            let row = *a.kept.add(share.first + i as usize);
            let (p, c) = ((*share.head).points.get().get(row), (*share.head).centre);
            let q = narrow([p[0] - c[0], p[1] - c[1], p[2] - c[2]]);
            let place = [q[0], q[1], q[2], f32::from_bits(if a.by_row.is_null() { i } else { row })];
            *a.local.add(share.first + i as usize) = place;
            if !a.by_row.is_null() {
                *a.by_row.add(share.first + row as usize) = place;
            }
            let mut far = false;
            widen(&mut bounds, q);
            for k in 0..3 {
                far |= q[k].abs() as f64 > FARTHEST;
            }
            if far {
                atomic_min(&raw mut (*share.head).far, i);
            }
        }
        // One thread a bound: thousands of atomics at one place would take longer than the points.
        let least = least_of_block(&bounds, Shared::at(0));
        if thread_index() < 6 && least != u32::MAX {
            atomic_min((&raw mut (*share.head).bounds).cast::<u32>().add(thread_index() as usize), least);
        }
    }
}
