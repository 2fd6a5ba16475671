//! What the twin finds in kernels.

use super::{launch, set_block_order};
use crate::Kernel;
use crate::simt::{
    back_off, ballot, block_index, load_relaxed, shuffle, store_relaxed, sync_block, sync_warp, thread_index,
};

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

/// Each lane counts the exchanges that showed it what its neighbour had.
struct ExchangesInARow;

impl Kernel for ExchangesInARow {
    /// A word for each of two warps' lanes.
    type Args = *mut u32;
    const NAME: &'static str = "prim_exchanges_in_a_row";
    const BLOCK: u32 = 64;
    const SHARED_WORDS: u32 = 0;
    const COOPERATIVE: bool = true;
    const MIN_BLOCKS: Option<u32> = None;
    const CARVEOUT: Option<u32> = None;

    unsafe fn body(right: *mut u32) {
        let lane = thread_index() % 32;
        for i in 0..ROUNDS {
            let next = (lane + 1) % 32;
            let seen = shuffle(1000 * i + lane, next) == 1000 * i + next;
            let all = ballot(lane % 2 == i % 2) == if i % 2 == 0 { 0x5555_5555 } else { 0xaaaa_aaaa };
            // One of a warp and one of the block, which a warp's places must survive.
            if i % 3 == 0 {
                sync_warp();
            }
            if i % 5 == 0 {
                sync_block();
            }
            // SAFETY: there is a word for each thread.
            unsafe { *right.add(thread_index() as usize) += u32::from(seen && all) };
        }
    }
}

const ROUNDS: u32 = 31;

#[test]
fn exchanges_in_a_row_do_not_mix() {
    let mut right = [0u32; 64];
    let args = right.as_mut_ptr();
    // SAFETY: `Args` is a pointer, and the array has a word for each thread.
    unsafe { launch::<ExchangesInARow>(1, (&raw const args).cast()) };
    assert_eq!(right, [ROUNDS; 64]);
}
