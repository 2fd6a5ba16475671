//! What a kernel is: one declaration for the GPU, the launcher and the host twin.

/// The most shared memory of a block, which every GPU of compute capability 7.0 and later has.
pub const MAX_SHARED_BYTES: u32 = 64 << 10;

/// A kernel: what a launcher must know of it.
pub trait Kernel {
    /// The one argument, passed by value.
    type Args: Copy + 'static;
    /// The name of the entry in the PTX.
    const NAME: &'static str;
    /// Threads a block.
    const BLOCK: u32;
    /// Shared memory a block, in 32-bit words.
    const SHARED_WORDS: u32;
    /// Whether threads meet: barriers, warp operations or shared memory. The host twin runs other kernels as plain loops.
    const COOPERATIVE: bool;

    /// What one thread does.
    ///
    /// # Safety
    /// Every pointer in `args` must be valid for what the kernel's documentation says it reads and writes, and the
    /// thread must run inside a launch.
    #[cfg(any(target_arch = "nvptx64", feature = "twin"))]
    unsafe fn body(args: Self::Args);
}

/// Declares a kernel: a unit type with [`Kernel`], and on the GPU target the entry point.
macro_rules! kernel {
    (
        $(#[$doc:meta])*
        $Name:ident = $symbol:literal, block $block:expr, shared $words:expr, cooperative $cooperative:literal,
        fn($args:ident: $Args:ty) $body:block
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Name;

        const _: () = assert!(<$Name as $crate::Kernel>::SHARED_WORDS * 4 <= $crate::MAX_SHARED_BYTES);

        impl $crate::Kernel for $Name {
            type Args = $Args;
            const NAME: &'static str = $symbol;
            const BLOCK: u32 = $block;
            const SHARED_WORDS: u32 = $words;
            const COOPERATIVE: bool = $cooperative;

            #[cfg(any(target_arch = "nvptx64", feature = "twin"))]
            #[inline(always)]
            unsafe fn body($args: $Args) {
                // SAFETY: the caller's promise about the pointers in the arguments.
                unsafe { $body }
            }
        }

        #[cfg(target_arch = "nvptx64")]
        const _: () = {
            #[unsafe(export_name = $symbol)]
            unsafe extern "ptx-kernel" fn entry(args: $Args) {
                // SAFETY: the launcher's promise about the pointers in the arguments.
                unsafe { <$Name as $crate::Kernel>::body(args) }
            }
        };
    };
}
