//! The machine on an NVIDIA GPU.
//!
//! Warp operations and barriers are LLVM intrinsics, which carry the `convergent` attribute; the
//! same instructions by `asm!` do not, and LLVM may duplicate them into branches. Plain loads,
//! stores and atomics need no such care, and are `asm!` where `core` would give them system scope.
#![allow(clippy::missing_safety_doc)]

use core::arch::{asm, global_asm, nvptx};

// All shared memory is one block whose size the launcher gives.
global_asm!(".extern .shared .align 16 .b8 shared_block[];");

#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn nvvm_ballot(mask: i32, predicate: bool) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn nvvm_shuffle(mask: i32, value: i32, lane: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn nvvm_shuffle_up(mask: i32, value: i32, distance: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn nvvm_match_any_u32(mask: i32, value: i32) -> i32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    fn nvvm_match_any_u64(mask: i32, value: i64) -> i32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn nvvm_sync_warp(mask: i32);
}

const ALL: i32 = -1;

/// This thread's place in its block.
#[inline(always)]
pub fn thread_index() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_thread_idx_x() as u32 }
}

/// This block's place in the launch.
#[inline(always)]
pub fn block_index() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_block_idx_x() as u32 }
}

/// Threads a block.
#[inline(always)]
pub fn block_size() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_block_dim_x() as u32 }
}

/// Blocks in the launch.
#[inline(always)]
pub fn grid_size() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nvptx::_grid_dim_x() as u32 }
}

/// Waits for all threads of the block; what they wrote before is seen after.
#[inline(always)]
pub fn sync_block() {
    // SAFETY: a barrier has no precondition on memory.
    unsafe { nvptx::_syncthreads() }
}

/// Waits for all lanes of the warp; what they wrote before is seen after.
#[inline(always)]
pub fn sync_warp() {
    // SAFETY: as above.
    unsafe { nvvm_sync_warp(ALL) }
}

/// Bit `l` of the result is lane `l`'s predicate.
#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    // SAFETY: register exchange, no memory.
    unsafe { nvvm_ballot(ALL, predicate) as u32 }
}

/// Mask of the lanes that hold the same value.
#[inline(always)]
pub fn match_any(value: u32) -> u32 {
    // SAFETY: register exchange, no memory.
    unsafe { nvvm_match_any_u32(ALL, value as i32) as u32 }
}

/// Mask of the lanes that hold the same 64-bit value.
#[inline(always)]
pub fn match_any_u64(value: u64) -> u32 {
    // SAFETY: register exchange, no memory.
    unsafe { nvvm_match_any_u64(ALL, value as i64) as u32 }
}

/// The value that `lane` holds.
#[inline(always)]
pub fn shuffle(value: u32, lane: u32) -> u32 {
    // SAFETY: register exchange, no memory.
    unsafe { nvvm_shuffle(ALL, value as i32, lane as i32, 31) as u32 }
}

/// The value that the lane `distance` before this one holds; this lane's own where there is none.
#[inline(always)]
pub fn shuffle_up(value: u32, distance: u32) -> u32 {
    // SAFETY: register exchange, no memory.
    unsafe { nvvm_shuffle_up(ALL, value as i32, distance as i32, 0) as u32 }
}

/// An array of `u32` in the block's shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    address: u32,
}

impl Shared {
    /// The array that starts `word` words into the block's shared memory.
    #[inline(always)]
    pub fn at(word: u32) -> Self {
        let base: u32;
        // SAFETY: takes the address of the shared block.
        unsafe { asm!("mov.u32 {}, shared_block;", out(reg32) base, options(pure, nomem, nostack, preserves_flags)) };
        Self { address: base + word * 4 }
    }

    /// The array that starts `words` words into another.
    #[inline(always)]
    pub fn at_offset(other: Self, words: u32) -> Self {
        Self { address: other.address + words * 4 }
    }

    /// Reads the four elements from `i` on, a multiple of four.
    #[inline(always)]
    pub fn get_x4(self, i: u32) -> [u32; 4] {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: the kernel keeps `i` inside the words it declared, and the array starts at a
        // multiple of four words.
        unsafe {
            asm!("ld.shared.v4.u32 {{{}, {}, {}, {}}}, [{}];", out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d,
                in(reg32) self.address + i * 4, options(readonly, nostack, preserves_flags))
        };
        [a, b, c, d]
    }

    /// Reads element `i`.
    #[inline(always)]
    pub fn get(self, i: u32) -> u32 {
        let value: u32;
        // SAFETY: the kernel keeps `i` inside the words it declared.
        unsafe {
            asm!("ld.shared.u32 {}, [{}];", out(reg32) value, in(reg32) self.address + i * 4,
                options(readonly, nostack, preserves_flags))
        };
        value
    }

    /// Writes element `i`.
    #[inline(always)]
    pub fn set(self, i: u32, value: u32) {
        // SAFETY: as above.
        unsafe {
            asm!("st.shared.u32 [{}], {};", in(reg32) self.address + i * 4, in(reg32) value,
                options(nostack, preserves_flags))
        };
    }

    /// Adds to element `i` atomically and returns what was there.
    #[inline(always)]
    pub fn add(self, i: u32, value: u32) -> u32 {
        let old: u32;
        // SAFETY: as above.
        unsafe {
            asm!("atom.shared.add.u32 {}, [{}], {};", out(reg32) old, in(reg32) self.address + i * 4, in(reg32) value,
                options(nostack, preserves_flags))
        };
        old
    }

    /// Sets bits of element `i` atomically.
    #[inline(always)]
    pub fn or(self, i: u32, bits: u32) {
        // SAFETY: as above.
        unsafe {
            asm!("red.shared.or.b32 [{}], {};", in(reg32) self.address + i * 4, in(reg32) bits,
                options(nostack, preserves_flags))
        };
    }
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn fused(a: f32, b: f32, c: f32) -> f32 {
    let value: f32;
    // SAFETY: register arithmetic.
    unsafe {
        asm!("fma.rn.f32 {}, {}, {}, {};", out(reg32) value, in(reg32) a, in(reg32) b, in(reg32) c,
            options(pure, nomem, nostack, preserves_flags))
    };
    value
}

/// The value of an `f16`, exact; a NaN stays one.
#[inline(always)]
pub fn f32_from_f16(bits: u32) -> f32 {
    let value: f32;
    // SAFETY: register arithmetic.
    unsafe {
        asm!("{{ .reg .b16 h; cvt.u16.u32 h, {1}; cvt.f32.f16 {0}, h; }}", out(reg32) value, in(reg32) bits,
            options(pure, nomem, nostack, preserves_flags))
    };
    value
}

/// The bits of the nearest `f16`, ties to even; every NaN becomes `0x7e00`.
#[inline(always)]
pub fn f16_from_f32(value: f32) -> u32 {
    let bits: u32;
    // SAFETY: register arithmetic.
    unsafe {
        asm!("{{ .reg .b16 h; cvt.rn.f16.f32 h, {1}; cvt.u32.u16 {0}, h; }}", out(reg32) bits, in(reg32) value,
            options(pure, nomem, nostack, preserves_flags))
    };
    if value.is_nan() { 0x7e00 } else { bits }
}

/// What this thread wrote before is seen, by whoever sees what it writes after.
#[inline(always)]
pub fn fence() {
    // SAFETY: an order among accesses; nothing that this code touches.
    unsafe { asm!("fence.acq_rel.gpu;", options(nostack, preserves_flags)) };
}

/// For loops that wait for another block: after many tries in vain the thread sleeps a little, so
/// that blocks that share the multiprocessor get on.
#[inline(always)]
pub fn back_off(tries: u32) {
    if tries >= 64 {
        // SAFETY: waits, and touches nothing.
        unsafe { asm!("nanosleep.u32 64;", options(nostack, preserves_flags)) };
    }
}

/// The same number, of which the compiler knows nothing: it computes nothing from it in advance,
/// which would take registers.
#[inline(always)]
pub fn hidden(value: u32) -> u32 {
    let mut same = value;
    // SAFETY: no instruction.
    unsafe { asm!("/* {} */", inout(reg32) same, options(nomem, nostack, preserves_flags)) };
    same
}

/// The twin counts what searches look at; here it is nothing.
#[inline(always)]
pub fn note_looks(_: u32) {}

/// Nanoseconds of a clock that all blocks share.
#[inline(always)]
pub fn nanoseconds() -> u64 {
    let now: u64;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u64 {}, %globaltimer;", out(reg64) now, options(nostack, preserves_flags)) };
    now
}

/// Reads a word that other blocks write during this launch.
#[inline(always)]
pub unsafe fn load_relaxed(p: *const u32) -> u32 {
    let value: u32;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("ld.relaxed.gpu.global.u32 {}, [{}];", out(reg32) value, in(reg64) p, options(nostack, preserves_flags))
    };
    value
}

/// Reads a word that other blocks write during this launch, where an older value does as well: it
/// may come from the multiprocessor's own cache.
#[inline(always)]
pub unsafe fn load_stale(p: *const u32) -> u32 {
    let value: u32;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("ld.relaxed.cta.global.u32 {}, [{}];", out(reg32) value, in(reg64) p, options(nostack, preserves_flags))
    };
    value
}

/// Reads a double word that other blocks write during this launch.
#[inline(always)]
pub unsafe fn load_relaxed_u64(p: *const u64) -> u64 {
    let value: u64;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("ld.relaxed.gpu.global.u64 {}, [{}];", out(reg64) value, in(reg64) p, options(nostack, preserves_flags))
    };
    value
}

/// Writes a word that other blocks read during this launch.
#[inline(always)]
pub unsafe fn store_relaxed(p: *mut u32, value: u32) {
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("st.relaxed.gpu.global.u32 [{}], {};", in(reg64) p, in(reg32) value, options(nostack, preserves_flags))
    };
}

/// Writes a double word that the host reads while the device goes on.
#[inline(always)]
pub unsafe fn store_for_host(p: *mut u64, value: u64) {
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("st.relaxed.sys.global.u64 [{}], {};", in(reg64) p, in(reg64) value, options(nostack, preserves_flags))
    };
}

/// Reads four words that other blocks write during this launch; each word by itself is whole.
#[inline(always)]
pub unsafe fn load_relaxed_x4(p: *const u32) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: the caller's promise that `p` is valid for 16 bytes and aligned to them.
    unsafe {
        asm!("ld.relaxed.gpu.global.v4.u32 {{{}, {}, {}, {}}}, [{}];", out(reg32) a, out(reg32) b, out(reg32) c,
            out(reg32) d, in(reg64) p, options(nostack, preserves_flags))
    };
    [a, b, c, d]
}

/// Writes four words that other blocks read during this launch; each word by itself is whole.
#[inline(always)]
pub unsafe fn store_relaxed_x4(p: *mut u32, v: [u32; 4]) {
    // SAFETY: the caller's promise that `p` is valid for 16 bytes and aligned to them.
    unsafe {
        asm!("st.relaxed.gpu.global.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg64) p, in(reg32) v[0], in(reg32) v[1],
            in(reg32) v[2], in(reg32) v[3], options(nostack, preserves_flags))
    };
}

/// Writes four words that nobody reads soon: the cache drops them before others.
#[inline(always)]
pub unsafe fn store_streaming_x4(p: *mut u32, v: [u32; 4]) {
    // SAFETY: the caller's promise that `p` is valid for 16 bytes and aligned to them.
    unsafe {
        asm!("st.global.cs.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg64) p, in(reg32) v[0], in(reg32) v[1],
            in(reg32) v[2], in(reg32) v[3], options(nostack, preserves_flags))
    };
}

/// Adds and returns what was there.
#[inline(always)]
pub unsafe fn atomic_add(p: *mut u32, value: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.add.u32 {}, [{}], {};", out(reg32) old, in(reg64) p, in(reg32) value,
            options(nostack, preserves_flags))
    };
    old
}

/// Adds and returns what was there.
#[inline(always)]
pub unsafe fn atomic_add_u64(p: *mut u64, value: u64) -> u64 {
    let old: u64;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.add.u64 {}, [{}], {};", out(reg64) old, in(reg64) p, in(reg64) value,
            options(nostack, preserves_flags))
    };
    old
}

/// Keeps the smaller value and returns what was there.
#[inline(always)]
pub unsafe fn atomic_min(p: *mut u32, value: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.min.u32 {}, [{}], {};", out(reg32) old, in(reg64) p, in(reg32) value,
            options(nostack, preserves_flags))
    };
    old
}

/// Keeps the smaller value and returns what was there.
#[inline(always)]
pub unsafe fn atomic_min_u64(p: *mut u64, value: u64) -> u64 {
    let old: u64;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.min.u64 {}, [{}], {};", out(reg64) old, in(reg64) p, in(reg64) value,
            options(nostack, preserves_flags))
    };
    old
}

/// Keeps the larger value and returns what was there.
#[inline(always)]
pub unsafe fn atomic_max(p: *mut u32, value: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.max.u32 {}, [{}], {};", out(reg32) old, in(reg64) p, in(reg32) value,
            options(nostack, preserves_flags))
    };
    old
}

/// Sets bits and returns what was there.
#[inline(always)]
pub unsafe fn atomic_or(p: *mut u32, bits: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.or.b32 {}, [{}], {};", out(reg32) old, in(reg64) p, in(reg32) bits,
            options(nostack, preserves_flags))
    };
    old
}

/// Writes `new` where `expected` is, and returns what was there.
#[inline(always)]
pub unsafe fn compare_and_swap(p: *mut u32, expected: u32, new: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.cas.b32 {}, [{}], {}, {};", out(reg32) old, in(reg64) p, in(reg32) expected,
            in(reg32) new, options(nostack, preserves_flags))
    };
    old
}

/// Writes `new` where `expected` is, and returns what was there.
#[inline(always)]
pub unsafe fn compare_and_swap_u64(p: *mut u64, expected: u64, new: u64) -> u64 {
    let old: u64;
    // SAFETY: the caller's promise that `p` is valid.
    unsafe {
        asm!("atom.relaxed.gpu.global.cas.b64 {}, [{}], {}, {};", out(reg64) old, in(reg64) p, in(reg64) expected,
            in(reg64) new, options(nostack, preserves_flags))
    };
    old
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
