//! Memory that is noise at first, with a guard on both sides that shows writes outside.

use crate::memory::filled;
use crate::{Error, Result};
use pointmill_kernels::simt::twin::NOISE;

/// Sixteen bytes, the alignment that kernels may ask for.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Unit([u32; 4]);

const NOISE_UNIT: Unit = Unit([NOISE; 4]);
/// Guard on each side, in units.
const GUARD: usize = 16;

/// The length of a block and its guards, in units.
const fn units(bytes: usize) -> usize {
    bytes.div_ceil(16) + 2 * GUARD
}

/// The address of a new block. Kernels write through it while the host only has the number, as on a
/// GPU.
pub(super) fn alloc(bytes: usize) -> Result<usize> {
    let out_of_memory = |_| Error::OutOfMemory { device: "twin".into(), bytes: bytes as u64 };
    let block: Box<[Unit]> = filled(units(bytes), NOISE_UNIT).map_err(out_of_memory)?.into();
    let first = Box::into_raw(block).cast::<Unit>().expose_provenance();
    Ok(first + GUARD * size_of::<Unit>())
}

/// Frees a block, and panics if something was written beside it.
///
/// # Safety
/// The block came from [`alloc`] of so many bytes, and this is its last use.
pub(super) unsafe fn free(address: usize, bytes: usize) {
    let first = std::ptr::with_exposed_provenance_mut::<Unit>(address - GUARD * size_of::<Unit>());
    // SAFETY: `alloc` made it of this length.
    let block = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, units(bytes))) };
    let (front, rest) = block.split_at(GUARD);
    let intact = front.iter().chain(&rest[rest.len() - GUARD..]).all(|unit| *unit == NOISE_UNIT);
    // A panic that is under way says more.
    assert!(intact || std::thread::panicking(), "a kernel wrote outside a buffer of {bytes} bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes one byte at a place of a block, and frees it.
    fn write_at(bytes: usize, place: isize) {
        let address = alloc(bytes).unwrap();
        assert!(address.is_multiple_of(16));
        let memory = std::ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: inside the block and its guards; this is the block's last use.
        unsafe {
            memory.offset(place).write(1);
            free(address, bytes);
        }
    }

    #[test]
    fn writes_inside_are_fine() {
        [(1, 0), (16, 15), (33, 32)].into_iter().for_each(|(bytes, place)| write_at(bytes, place));
    }

    #[test]
    #[should_panic(expected = "a kernel wrote outside a buffer of 32 bytes")]
    fn writes_behind_are_seen() {
        write_at(32, 32);
    }

    #[test]
    #[should_panic(expected = "a kernel wrote outside a buffer of 0 bytes")]
    fn writes_before_are_seen() {
        write_at(0, -1);
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let told = alloc(1 << 60).unwrap_err();
        assert_eq!(told, Error::OutOfMemory { device: "twin".into(), bytes: 1 << 60 });
    }
}
