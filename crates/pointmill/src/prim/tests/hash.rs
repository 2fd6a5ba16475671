//! Hash tables.

use crate::device::Buffer;
use crate::{Argument, Error, Result};
use bytemuck::Pod;
use pointmill_kernels::Kernel;
use pointmill_kernels::prim::{BLOCK, hash as kernels};

/// A key that a table on a GPU can hold: `u32` or `u64`, all but the largest.
pub(super) trait HashKey: Pod {
    type Kernel: Kernel<Args = kernels::InsertArgs<Self>>;
}
impl HashKey for u32 {
    type Kernel = kernels::InsertU32;
}
impl HashKey for u64 {
    type Kernel = kernels::InsertU64;
}

/// Puts the first `n` keys into a table of `capacity` entries on a GPU and returns the slot of each
/// key and the table.
///
/// Equal keys get equal slots, different keys different ones; *which* slot depends on timing. A key
/// that finds the table full gets `u32::MAX`.
///
/// # Errors
/// A buffer shorter than `n`, a capacity that is no power of two from 4 to 2^31, the CPU as device,
/// out of memory.
pub(super) fn hash_slots<K: HashKey>(keys: &Buffer<K>, n: usize, capacity: usize) -> Result<(Buffer<u32>, Buffer<K>)> {
    if keys.len() < n {
        return Err(Error::argument(Argument::Keys, format!("at least {n} elements"), keys.len()));
    }
    if !capacity.is_power_of_two() || !(4..=1 << 31).contains(&capacity) {
        return Err(Error::argument(Argument::Capacity, "a power of two from 4 to 2^31", capacity));
    }
    if n >= 1 << 31 {
        return Err(Error::argument(Argument::N, "below 2^31", n));
    }
    if keys.stream().device().is_cpu() {
        return Err(Error::argument(Argument::Keys, "a buffer on a GPU", "cpu"));
    }
    let stream = keys.stream();
    let mut table = stream.alloc::<K>(capacity)?;
    table.fill_words(u32::MAX, capacity * size_of::<K>() / 4)?;
    let slots = stream.alloc(n)?;
    let args = kernels::InsertArgs {
        keys: keys.pointer(),
        table: table.pointer(),
        mask: capacity as u32 - 1,
        seed: crate::seed::seed(),
        slots: slots.pointer(),
        n: n as u32,
    };
    // SAFETY: the buffers have the sizes that the kernel asks for.
    unsafe { stream.launch::<K::Kernel>((n as u32).div_ceil(BLOCK).max(1), args) }?;
    Ok((slots, table))
}
