//! What a loader and a launcher must know of a kernel.

use crate::kernel::Kernel;

/// A kernel without its type: what a loader and a launcher must know of it.
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    /// [`Kernel::NAME`].
    pub name: &'static str,
    /// [`Kernel::MODULE`].
    pub module: usize,
    /// [`Kernel::BLOCK`].
    pub block: u32,
    /// [`Kernel::SHARED_WORDS`].
    pub shared_words: u32,
    /// The size of [`Kernel::Args`], whose alignment is at most 16.
    pub args_bytes: usize,
    /// [`Kernel::MIN_BLOCKS`].
    pub min_blocks: Option<u32>,
    /// [`Kernel::CARVEOUT`].
    pub carveout: Option<u32>,
    /// Runs so many blocks on the host, with an argument that is read before the first:
    /// [`launch`](crate::simt::twin::launch).
    #[cfg(feature = "twin")]
    pub on_host: unsafe fn(u32, *const ()),
}

impl Properties {
    /// The properties of a kernel.
    pub const fn of<K: Kernel>() -> Self {
        const { assert!(align_of::<K::Args>() <= 16) };
        Self {
            name: K::NAME,
            module: K::MODULE,
            block: K::BLOCK,
            shared_words: K::SHARED_WORDS,
            args_bytes: size_of::<K::Args>(),
            min_blocks: K::MIN_BLOCKS,
            carveout: K::CARVEOUT,
            #[cfg(feature = "twin")]
            on_host: crate::simt::twin::launch::<K>,
        }
    }
}

/// The properties of some kernels.
macro_rules! properties {
    ($($Kernel:ty),+ $(,)?) => { &[$($crate::Properties::of::<$Kernel>()),+] };
}
