//! What a kernel is: one declaration for the GPU, the launcher and the host twin.

/// The most shared memory of a block, which every GPU of compute capability 7.0 and later has.
pub const MAX_SHARED_BYTES: u32 = 64 << 10;

/// What the names of a module's kernels begin with, in the order of [`MODULES`](crate::MODULES).
pub(crate) const PREFIXES: [&str; 11] =
    ["prim", "voxelize", "roi", "ndt", "icp", "odometry", "boxes", "sparse", "registration", "scatter", "points"];

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
    /// Whether threads meet: barriers, warp operations or shared memory. The host twin runs other
    /// kernels as plain loops.
    const COOPERATIVE: bool;
    /// How many blocks must fit a multiprocessor at once, which limits the registers of a thread.
    const MIN_BLOCKS: Option<u32>;
    /// Percent of a multiprocessor's memory that becomes shared memory; the rest is cache. The
    /// driver chooses where this is `None`.
    const CARVEOUT: Option<u32>;
    /// The index in [`MODULES`](crate::MODULES) of the module that holds the kernel.
    const MODULE: usize = module_of(Self::NAME);

    /// What one thread does.
    ///
    /// # Safety
    /// Every pointer in `args` must be valid for what the kernel's documentation says it reads and
    /// writes, and the thread must run inside a launch.
    unsafe fn body(args: Self::Args);
}

/// The index in [`MODULES`](crate::MODULES) of the module that a kernel of this name belongs to.
pub(crate) const fn module_of(name: &str) -> usize {
    let mut i = 0;
    while i < PREFIXES.len() {
        if starts_with(name.as_bytes(), PREFIXES[i].as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("the name of a kernel begins with that of its module and an underscore")
}

/// Whether `name` begins with `prefix` and an underscore.
const fn starts_with(name: &[u8], prefix: &[u8]) -> bool {
    if name.len() <= prefix.len() || name[prefix.len()] != b'_' {
        return false;
    }
    let mut i = 0;
    while i < prefix.len() {
        if name[i] != prefix[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// A property that may be left out.
macro_rules! given {
    () => {
        None
    };
    ($value:literal) => {
        Some($value)
    };
}

/// Declares a kernel: a unit type with [`Kernel`], and on the GPU target the entry point. Behind
/// `cooperative` may stand `min_blocks` and `carveout`, in this order.
///
/// `Name<ITEMS> = { FEW: "symbol", MANY: "symbol_many" }` declares one kernel with an instance for
/// each number of items a thread; `min_blocks` then stands behind the name of the entry.
macro_rules! kernel {
    (
        $(#[$doc:meta])*
        $Name:ident = $symbol:literal, block $block:expr, shared $words:expr, cooperative $cooperative:literal
        $(, min_blocks $min_blocks:literal)? $(, carveout $carveout:literal)?,
        fn($args:ident: $Args:ty) $body:block
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Name;

        kernel! {
            @instance $Name, $symbol, $block, $words, $cooperative,
            given!($($min_blocks)?), given!($($carveout)?), ($args: $Args) $body
        }
    };
    (
        $(#[$doc:meta])*
        $Name:ident<$ITEMS:ident> = { $($items:ident: $symbol:literal $(min_blocks $min_blocks:literal)?),+ },
        block $block:expr, shared $words:expr, cooperative $cooperative:literal,
        fn($args:ident: $Args:ty) $body:block
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Name<const $ITEMS: usize>;

        impl<const $ITEMS: usize> $Name<$ITEMS> {
            #[inline(always)]
            unsafe fn instance($args: $Args) {
                // SAFETY: the caller's promise about the pointers in the arguments.
                unsafe { $body }
            }
        }

        $(kernel! {
            @instance $Name<{ $items }>, $symbol, $block, $words, $cooperative,
            given!($($min_blocks)?), None, ($args: $Args) { Self::instance($args) }
        })+
    };
    (
        @instance $Type:ty, $symbol:literal, $block:expr, $words:expr, $cooperative:literal,
        $min_blocks:expr, $carveout:expr, ($args:ident: $Args:ty) $body:block
    ) => {
        const _: () = assert!(<$Type as $crate::Kernel>::SHARED_WORDS * 4 <= $crate::MAX_SHARED_BYTES);

        impl $crate::Kernel for $Type {
            type Args = $Args;
            const NAME: &'static str = $symbol;
            const BLOCK: u32 = $block;
            const SHARED_WORDS: u32 = $words;
            const COOPERATIVE: bool = $cooperative;
            const MIN_BLOCKS: Option<u32> = $min_blocks;
            const CARVEOUT: Option<u32> = $carveout;

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
                unsafe { <$Type as $crate::Kernel>::body(args) }
            }
        };
    };
}
