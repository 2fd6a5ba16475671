//! What the twin finds in kernels.

use super::{launch, set_block_order};
use crate::Kernel;
use crate::simt::{back_off, block_index, load_relaxed, store_relaxed, thread_index};

/// Each block waits for the one before it.
struct WaitsForTheOneBefore;

impl Kernel for WaitsForTheOneBefore {
    /// A word for each block, set once it ran.
    type Args = *mut u32;
    const NAME: &'static str = "prim_waits_for_the_one_before";
    const BLOCK: u32 = 32;
    const SHARED_WORDS: u32 = 0;
    const COOPERATIVE: bool = true;
    const MIN_BLOCKS: Option<u32> = None;
    const CARVEOUT: Option<u32> = None;

    unsafe fn body(ran: *mut u32) {
        if thread_index() > 0 {
            return;
        }
        let (block, mut tries) = (block_index() as usize, 0);
        // SAFETY: there is a word for each block.
        unsafe {
            while block > 0 && load_relaxed(ran.add(block - 1)) == 0 {
                back_off(tries);
                tries += 1;
            }
            store_relaxed(ran.add(block), 1);
        }
    }
}

/// The kernel ends where blocks ascend, and nowhere else.
#[test]
fn a_kernel_that_relies_on_the_order_of_blocks_is_found() {
    let run = || {
        let mut ran = [0u32; 16];
        let args: *mut u32 = ran.as_mut_ptr();
        // SAFETY: there is a word for each block.
        unsafe { launch::<WaitsForTheOneBefore>(16, (&raw const args).cast()) };
    };
    let told = std::panic::catch_unwind(run).unwrap_err().downcast::<String>().unwrap();
    assert!(told.starts_with("prim_waits_for_the_one_before: block "), "{told}");
    assert!(told.ends_with(" waits for a block that has not run"), "{told}");
    let ascending = std::thread::spawn(move || {
        set_block_order(0);
        run();
    });
    ascending.join().unwrap();
}
