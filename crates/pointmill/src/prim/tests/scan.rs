//! Prefix sums and compaction.

use crate::device::Buffer;
use crate::{Argument, Error, Result};
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::prim::{Length, compact as compact_kernel, scan as scan_kernel};

/// Prefix sums of the first `n` elements on a GPU: element `i` of the result is the sum of the
/// first `i`, the last one (`n`) the total.
///
/// **Limits**: the total stays below 2^30.
///
/// # Errors
/// A buffer shorter than `n`, the CPU as device, out of memory.
pub(super) fn exclusive_scan(input: &Buffer<u32>, n: usize) -> Result<Buffer<u32>> {
    check(input, n)?;
    let stream = input.stream();
    let blocks = n as u32 / scan_kernel::TILE + 1;
    let output = stream.alloc(n + 1)?;
    let tiles = zeroed_tiles(input, blocks)?;
    let args = scan_kernel::ScanArgs {
        input: input.pointer(),
        output: output.pointer(),
        n: Length::known(n as u32),
        tiles: Tiles { words: tiles.pointer() },
    };
    // SAFETY: the buffers have the sizes that the kernel asks for.
    unsafe { stream.launch::<scan_kernel::Scan>(blocks, args) }?;
    Ok(output)
}

/// The indices of the nonzero ones of the first `n` flags on a GPU, ascending, and their number
/// (one element).
///
/// # Errors
/// A buffer shorter than `n`, the CPU as device, out of memory.
pub(super) fn compact(flags: &Buffer<u32>, n: usize) -> Result<(Buffer<u32>, Buffer<u32>)> {
    check(flags, n)?;
    let stream = flags.stream();
    let blocks = (n as u32).div_ceil(compact_kernel::TILE).max(1);
    let indices = stream.alloc(n)?;
    let count = stream.alloc(1)?;
    let tiles = zeroed_tiles(flags, blocks)?;
    let args = compact_kernel::CompactArgs {
        flags: flags.pointer(),
        indices: indices.pointer(),
        count: count.pointer(),
        n: Length::known(n as u32),
        tiles: Tiles { words: tiles.pointer() },
    };
    // SAFETY: the buffers have the sizes that the kernel asks for.
    unsafe { stream.launch::<compact_kernel::Compact>(blocks, args) }?;
    Ok((indices, count))
}

fn check(input: &Buffer<u32>, n: usize) -> Result<()> {
    if input.len() < n {
        return Err(Error::argument(Argument::Input, format!("at least {n} elements"), input.len()));
    }
    if n >= scan_kernel::MAX_SUM as usize {
        return Err(Error::argument(Argument::N, format!("below {}", scan_kernel::MAX_SUM), n));
    }
    if input.stream().device().is_cpu() {
        return Err(Error::argument(Argument::Input, "a buffer on a GPU", "cpu"));
    }
    Ok(())
}

fn zeroed_tiles(like: &Buffer<u32>, tiles: u32) -> Result<Buffer<u32>> {
    let words = Tiles::words(tiles) as usize;
    let mut state = like.stream().alloc(words)?;
    state.fill_words(0, words)?;
    Ok(state)
}
