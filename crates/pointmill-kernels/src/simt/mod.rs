//! The machine a kernel runs on: threads, barriers, warp operations, shared memory, atomics.
//!
//! Two implementations with one interface: `device` (NVIDIA GPUs) and `host`, for tests, where
//! `twin` launches kernels. Kernels must keep three rules, which the twin checks where it can:
//! every lane of a warp reaches each warp operation, every thread of a block reaches each block
//! barrier, and helpers are `#[inline(always)]` (a function that is not inlined loses the property
//! that keeps LLVM from duplicating a barrier).
//!
#![doc = include_str!("README.md")]

#[cfg(target_arch = "nvptx64")]
mod device;
#[cfg(not(target_arch = "nvptx64"))]
#[cfg_attr(not(feature = "twin"), expect(dead_code, reason = "only the twin launches kernels on the host"))]
mod host;
#[cfg(feature = "twin")]
pub mod twin;

#[cfg(target_arch = "nvptx64")]
pub use device::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

/// Threads in a warp.
pub const WARP: u32 = 32;

/// An array of `f64` in the block's shared memory: an array of the low words, and behind it one of
/// the high words.
#[derive(Clone, Copy, Debug)]
pub struct Doubles {
    words: Shared,
    len: u32,
}

impl Doubles {
    /// The array of `len` numbers in `2 * len` words.
    #[inline(always)]
    pub fn at(words: Shared, len: u32) -> Self {
        Self { words, len }
    }

    /// Reads element `i`.
    #[inline(always)]
    pub fn get(self, i: u32) -> f64 {
        f64::from_bits(self.bits(i))
    }

    /// Reads the bits of element `i`.
    #[inline(always)]
    pub fn bits(self, i: u32) -> u64 {
        self.words.get(i) as u64 | (self.words.get(self.len + i) as u64) << 32
    }

    /// Writes element `i`.
    #[inline(always)]
    pub fn set(self, i: u32, value: f64) {
        self.set_bits(i, value.to_bits());
    }

    /// Writes the bits of element `i`.
    #[inline(always)]
    pub fn set_bits(self, i: u32, bits: u64) {
        self.words.set(i, bits as u32);
        self.words.set(self.len + i, (bits >> 32) as u32);
    }
}

/// This thread's place in its warp, 0 to 31.
#[inline(always)]
pub fn lane() -> u32 {
    thread_index() % WARP
}

/// This thread's warp in its block.
#[inline(always)]
pub fn warp() -> u32 {
    thread_index() / WARP
}

/// This thread's place in the whole launch.
#[inline(always)]
pub fn global_index() -> u32 {
    block_index() * block_size() + thread_index()
}

/// Mask of the lanes before this one.
#[inline(always)]
pub fn lanes_before() -> u32 {
    (1 << lane()) - 1
}

/// Whether this lane's value differs from that of the lane before it; true in lane 0. All lanes
/// call.
#[inline(always)]
pub fn starts_run(value: u32) -> bool {
    let before = shuffle_up(value, 1);
    lane() == 0 || before != value
}

/// The first lane of this lane's run, given which lanes start one.
#[inline(always)]
pub fn run_start(starts: u32) -> u32 {
    // Lane 0 starts a run, so there is a start at or before every lane.
    WARP - 1 - (starts & (lanes_before() | (1 << lane()))).leading_zeros()
}

/// A double word of another lane.
#[inline(always)]
pub fn shuffle_u64(value: u64, lane: u32) -> u64 {
    shuffle(value as u32, lane) as u64 | (shuffle((value >> 32) as u32, lane) as u64) << 32
}

/// The double word of the lane `distance` before this one; this lane's own where there is none.
#[inline(always)]
pub fn shuffle_up_u64(value: u64, distance: u32) -> u64 {
    shuffle_up(value as u32, distance) as u64 | (shuffle_up((value >> 32) as u32, distance) as u64) << 32
}

/// Sum over all lanes, in every lane: each half of the lanes that are left is added to the other,
/// so that the order is always the same.
#[inline(always)]
pub fn warp_tree_sum(mut value: f64) -> f64 {
    let mut distance = WARP / 2;
    while distance > 0 {
        value += f64::from_bits(shuffle_u64(value.to_bits(), lane() ^ distance));
        distance /= 2;
    }
    value
}

/// Sums of several values over all lanes, each in the order of [`warp_tree_sum`]: lane l gets that
/// of value `l * G / 32`. G is a power of two, at most 32.
///
/// Lanes give away half of the values with each step, so that 32 values take 31 exchanges instead
/// of 160.
#[inline(always)]
pub fn warp_tree_sums<const G: usize>(mut values: [f64; G]) -> f64 {
    let (mut width, mut distance) = (G, WARP / 2);
    while distance > 0 {
        let upper = lane() & distance != 0;
        if width == 1 {
            values[0] += f64::from_bits(shuffle_u64(values[0].to_bits(), lane() ^ distance));
        } else {
            width /= 2;
            for k in 0..width {
                let (low, high) = (values[k], values[k + width]);
                let (own, other) = if upper { (high, low) } else { (low, high) };
                values[k] = own + f64::from_bits(shuffle_u64(other.to_bits(), lane() ^ distance));
            }
        }
        distance /= 2;
    }
    values[0]
}

/// Sum over the lanes up to and including this one.
#[inline(always)]
pub fn warp_inclusive_sum(mut value: u32) -> u32 {
    let mut distance = 1;
    while distance < WARP {
        let other = shuffle_up(value, distance);
        if lane() >= distance {
            value += other;
        }
        distance *= 2;
    }
    value
}

/// Sum over all lanes, in every lane, modulo 2^64.
#[inline(always)]
pub fn warp_sum_u64(mut value: u64) -> u64 {
    let mut distance = WARP / 2;
    while distance > 0 {
        value = value.wrapping_add(shuffle_u64(value, lane() ^ distance));
        distance /= 2;
    }
    value
}

/// The least number of all lanes, in every lane.
#[inline(always)]
pub fn warp_least(mut least: u32) -> u32 {
    let mut distance = WARP / 2;
    while distance > 0 {
        let other = shuffle(least, lane() ^ distance);
        least = if other < least { other } else { least };
        distance /= 2;
    }
    least
}

/// The least number of all lanes, in every lane.
#[inline(always)]
pub fn warp_least_u64(mut least: u64) -> u64 {
    let mut distance = WARP / 2;
    while distance > 0 {
        let other = shuffle_u64(least, lane() ^ distance);
        least = if other < least { other } else { least };
        distance /= 2;
    }
    least
}

/// Sum over all lanes, in every lane.
#[inline(always)]
pub fn warp_sum(value: u32) -> u32 {
    shuffle(warp_inclusive_sum(value), WARP - 1)
}
