//! The machine on the host: the names that kernels use, the same as on the GPU.
//!
//! A kernel runs here only inside a launch of the twin, which is behind the feature `twin`.
#![allow(clippy::missing_safety_doc, missing_docs)]

pub(super) mod block;
mod races;

use block::{BLOCK, BLOCK_BARRIER, LOOKS, MOST_TRIES, PLACE, wait};
use races::Access;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

pub fn thread_index() -> u32 {
    PLACE.get().thread
}
pub fn block_index() -> u32 {
    PLACE.get().block
}
pub fn block_size() -> u32 {
    PLACE.get().block_size
}
pub fn grid_size() -> u32 {
    PLACE.get().grid_size
}
pub fn sync_block() {
    wait(BLOCK_BARRIER, true);
}
pub fn sync_warp() {
    wait((thread_index() / 32) as usize, true);
}

/// Shows a value to the warp and sees all lanes' values. Two exchanges in turn use two places, so one
/// wait is enough: who writes to a place again has waited for all who read it.
fn exchange(value: u64) -> [u64; 32] {
    let (warp, lane) = ((thread_index() / 32) as usize, (thread_index() % 32) as usize);
    let turn = BLOCK.with_borrow_mut(|b| {
        let barrier = b.barriers[warp];
        assert_eq!(barrier.alive, 32, "a warp operation that not all lanes reach");
        let turn = barrier.turn();
        b.shown[warp][turn][lane] = value;
        turn
    });
    wait(warp, false);
    BLOCK.with_borrow(|b| b.shown[warp][turn])
}
fn mask(values: [u64; 32], set: impl Fn(u64) -> bool) -> u32 {
    values.iter().enumerate().fold(0, |m, (lane, &v)| m | u32::from(set(v)) << lane)
}
pub fn ballot(predicate: bool) -> u32 {
    mask(exchange(u64::from(predicate)), |v| v == 1)
}
pub fn match_any(value: u32) -> u32 {
    match_any_u64(u64::from(value))
}
pub fn match_any_u64(value: u64) -> u32 {
    mask(exchange(value), |v| v == value)
}
pub fn shuffle(value: u32, lane: u32) -> u32 {
    exchange(u64::from(value))[(lane % 32) as usize] as u32
}
pub fn shuffle_up(value: u32, distance: u32) -> u32 {
    let lane = thread_index() % 32;
    exchange(u64::from(value))[if lane >= distance { lane - distance } else { lane } as usize] as u32
}

/// An array of `u32` in the block's shared memory; out of bounds is a panic here.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    word: u32,
}

impl Shared {
    pub fn at(word: u32) -> Self {
        Self { word }
    }
    pub fn at_offset(other: Self, words: u32) -> Self {
        Self { word: other.word + words }
    }
    pub fn get_x4(self, i: u32) -> [u32; 4] {
        assert!((self.word + i).is_multiple_of(4), "a read of four words of shared memory that is not aligned");
        std::array::from_fn(|j| self.get(i + j as u32))
    }
    fn with<R>(self, i: u32, access: Access, same: impl FnOnce(u32) -> bool, f: impl FnOnce(&mut u32) -> R) -> R {
        BLOCK.with_borrow_mut(|b| f(b.word((self.word + i) as usize, access, thread_index(), same)))
    }
    pub fn get(self, i: u32) -> u32 {
        self.with(i, Access::Read, |_| true, |v| *v)
    }
    pub fn set(self, i: u32, value: u32) {
        self.with(i, Access::Write, |old| old == value, |v| *v = value);
    }
    pub fn add(self, i: u32, value: u32) -> u32 {
        self.with(i, Access::Atomic, |_| false, |v| std::mem::replace(v, v.wrapping_add(value)))
    }
    pub fn or(self, i: u32, bits: u32) {
        self.with(i, Access::Atomic, |_| false, |v| *v |= bits);
    }
}

pub fn fused(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}
pub fn f32_from_f16(bits: u32) -> f32 {
    pointmill_core::half::f32_from_f16_bits(bits as u16)
}
pub fn f16_from_f32(value: f32) -> u32 {
    u32::from(pointmill_core::half::f16_bits_from_f32(value))
}

/// The twin runs one thread at a time, in order.
pub fn fence() {}
/// Counts boxes and points that a search looks at; on a GPU it is nothing.
pub fn note_looks(n: u32) {
    LOOKS.set(LOOKS.get() + u64::from(n));
}
pub fn hidden(value: u32) -> u32 {
    value
}
/// Blocks run one after the other here, so a block that waits for another one waits for ever.
pub fn back_off(tries: u32) {
    if tries > MOST_TRIES {
        let kernel = BLOCK.with_borrow(|b| b.kernel);
        panic!("{kernel}: block {} waits for a block that has not run", block_index());
    }
}
pub fn nanoseconds() -> u64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_nanos() as u64
}

// SAFETY of all below: the caller promises a valid, aligned pointer; atomics make concurrent
// launches defined.
pub unsafe fn load_relaxed(p: *const u32) -> u32 {
    // SAFETY: see above.
    unsafe { AtomicU32::from_ptr(p.cast_mut()).load(Relaxed) }
}
pub unsafe fn load_stale(p: *const u32) -> u32 {
    // SAFETY: see above.
    unsafe { load_relaxed(p) }
}
pub unsafe fn load_relaxed_u64(p: *const u64) -> u64 {
    // SAFETY: see above.
    unsafe { AtomicU64::from_ptr(p.cast_mut()).load(Relaxed) }
}
pub unsafe fn store_relaxed(p: *mut u32, value: u32) {
    // SAFETY: see above.
    unsafe { AtomicU32::from_ptr(p).store(value, Relaxed) }
}
pub unsafe fn store_for_host(p: *mut u64, value: u64) {
    // SAFETY: see above.
    unsafe { AtomicU64::from_ptr(p).store(value, Relaxed) }
}
pub unsafe fn load_relaxed_x4(p: *const u32) -> [u32; 4] {
    assert!(p.addr().is_multiple_of(16), "a read of four words that is not aligned");
    // SAFETY: see above.
    std::array::from_fn(|j| unsafe { load_relaxed(p.add(j)) })
}
pub unsafe fn store_relaxed_x4(p: *mut u32, v: [u32; 4]) {
    assert!(p.addr().is_multiple_of(16), "a write of four words that is not aligned");
    for (j, v) in v.into_iter().enumerate() {
        // SAFETY: see above.
        unsafe { store_relaxed(p.add(j), v) };
    }
}
pub unsafe fn store_streaming_x4(p: *mut u32, v: [u32; 4]) {
    assert!(p.addr().is_multiple_of(16), "a write of four words that is not aligned");
    // SAFETY: see above.
    unsafe { *p.cast() = v };
}
pub unsafe fn atomic_add(p: *mut u32, value: u32) -> u32 {
    // SAFETY: see above.
    unsafe { AtomicU32::from_ptr(p).fetch_add(value, Relaxed) }
}
pub unsafe fn atomic_add_u64(p: *mut u64, value: u64) -> u64 {
    // SAFETY: see above.
    unsafe { AtomicU64::from_ptr(p).fetch_add(value, Relaxed) }
}
pub unsafe fn atomic_min(p: *mut u32, value: u32) -> u32 {
    // SAFETY: see above.
    unsafe { AtomicU32::from_ptr(p).fetch_min(value, Relaxed) }
}
pub unsafe fn atomic_min_u64(p: *mut u64, value: u64) -> u64 {
    // SAFETY: see above.
    unsafe { AtomicU64::from_ptr(p).fetch_min(value, Relaxed) }
}
pub unsafe fn atomic_max(p: *mut u32, value: u32) -> u32 {
    // SAFETY: see above.
    unsafe { AtomicU32::from_ptr(p).fetch_max(value, Relaxed) }
}
pub unsafe fn atomic_or(p: *mut u32, bits: u32) -> u32 {
    // SAFETY: see above.
    unsafe { AtomicU32::from_ptr(p).fetch_or(bits, Relaxed) }
}
pub unsafe fn compare_and_swap(p: *mut u32, expected: u32, new: u32) -> u32 {
    // SAFETY: see above.
    unsafe { AtomicU32::from_ptr(p).compare_exchange(expected, new, Relaxed, Relaxed).unwrap_or_else(|old| old) }
}
pub unsafe fn compare_and_swap_u64(p: *mut u64, expected: u64, new: u64) -> u64 {
    // SAFETY: see above.
    unsafe { AtomicU64::from_ptr(p).compare_exchange(expected, new, Relaxed, Relaxed).unwrap_or_else(|old| old) }
}
