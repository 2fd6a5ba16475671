//! Memory of the twin: noise at first, and a guard on both sides that tells of writes outside.

use pointmill_kernels::simt::twin::NOISE;

/// Sixteen bytes, the alignment that kernels may ask for.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Unit([u32; 4]);

const NOISE_UNIT: Unit = Unit([NOISE; 4]);
/// Guard on each side, in units.
const GUARD: usize = 16;

/// A block of memory.
pub(super) struct Memory {
    /// The block and its guards; nothing if the memory is somebody else's.
    units: Vec<Unit>,
    /// Kernels write through this pointer while the block is only borrowed, as they do on a GPU.
    pointer: *mut u8,
}

// SAFETY: the pointer is to memory of this block's own vector.
unsafe impl Send for Memory {}
// SAFETY: as above; the twin's launches are over when a call returns.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        let mut units = vec![NOISE_UNIT; bytes.div_ceil(16) + 2 * GUARD];
        let pointer = units[GUARD..].as_mut_ptr().cast();
        Self { units, pointer }
    }

    /// Memory that somebody else owns.
    pub(super) const fn foreign(pointer: *mut u8) -> Self {
        Self { units: Vec::new(), pointer }
    }

    pub(super) const fn is_foreign(&self) -> bool {
        self.units.is_empty()
    }

    pub(super) fn pointer(&self) -> *mut u8 {
        self.pointer
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.is_foreign() {
            return;
        }
        let end = self.units.len() - GUARD;
        let intact = self.units[..GUARD].iter().chain(&self.units[end..]).all(|u| *u == NOISE_UNIT);
        if !std::thread::panicking() {
            assert!(intact, "a kernel wrote outside a buffer of {} bytes", (end - GUARD) * 16);
        }
    }
}
