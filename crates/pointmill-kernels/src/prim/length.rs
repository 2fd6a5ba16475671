//! How many threads and elements a launch has.

/// Threads a block in the kernels of this module.
pub const BLOCK: u32 = 256;
/// Warps a block.
pub const WARPS: u32 = BLOCK / crate::simt::WARP;

/// A length that the host knows an upper bound of, and perhaps only the device knows exactly.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// No more than this many elements; what grids and buffers are sized by.
    pub bound: u32,
    /// Where the exact number is, or null if it is `bound`.
    pub exact: *const u32,
}

impl Length {
    /// A length the host knows.
    pub const fn known(n: u32) -> Self {
        Self { bound: n, exact: core::ptr::null() }
    }

    /// The exact number of elements, at most the bound.
    ///
    /// # Safety
    /// `exact` is null or valid for reads, and not written during this launch.
    #[inline(always)]
    pub unsafe fn get(self) -> u32 {
        if self.exact.is_null() {
            return self.bound;
        }
        // SAFETY: the caller's promise.
        let n = unsafe { *self.exact };
        if n < self.bound { n } else { self.bound }
    }
}
