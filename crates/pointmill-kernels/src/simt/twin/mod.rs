//! Launches on the host: every GPU thread a fiber, so that the very kernels run in tests without a
//! GPU.
//!
//! A block's fibers run in turns on one OS thread and meet at barriers. The blocks run one after
//! another, in a shuffled order that [`set_block_order`] seeds, so no kernel can rely on low blocks
//! coming first, and none on blocks that run at once: a block that waits for one that has not run
//! is a panic. Shared memory starts as noise. Threads that race in shared memory are a panic,
//! though here they take turns. What this cannot find are races between blocks: for those there is
//! the sanitizer on a GPU.

#[cfg(test)]
mod tests;

use super::host::block::{BLOCK, Block, FIBER, Fiber, LOOKS, PLACE, Place};
use crate::Kernel;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};

/// What fresh memory holds, on purpose: nobody may rely on zeros.
pub const NOISE: u32 = 0xa5c3_5a3c;

const STACK_BYTES: usize = 32 << 10;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    static ORDER_SEED: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
}

/// Seeds the order in which this OS thread runs the blocks of a launch; 0 is ascending. Without it
/// the order is shuffled.
pub fn set_block_order(seed: u64) {
    ORDER_SEED.set(seed);
}

/// How many boxes and points the searches of this OS thread have looked at since the last call, for
/// tests of how work grows.
pub fn take_looks() -> u64 {
    LOOKS.replace(0)
}

fn block_order(grid: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..grid).collect();
    let mut state = ORDER_SEED.get();
    if state != 0 {
        for i in (1..order.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(i, (state % (i as u64 + 1)) as usize);
        }
    }
    order
}

/// Runs `grid` blocks of kernel `K`.
///
/// # Safety
/// `args` points to a [`Kernel::Args`] of `K`. Every pointer in it must be valid for what the
/// kernel's documentation says it reads and writes.
pub unsafe fn launch<K: Kernel>(grid: u32, args: *const ()) {
    let code = Code { name: K::NAME, shared_words: K::SHARED_WORDS, body: body::<K> };
    for block in block_order(grid) {
        let first = Place { thread: 0, block, block_size: K::BLOCK, grid_size: grid };
        if K::COOPERATIVE {
            // SAFETY: the caller's promise.
            unsafe { run_fibers(code, first, args) };
        } else {
            for thread in 0..K::BLOCK {
                PLACE.set(Place { thread, ..first });
                // SAFETY: the caller's promise.
                unsafe { body::<K>(args) };
            }
        }
    }
}

/// One thread of `K`.
///
/// # Safety
/// As for [`launch`].
unsafe fn body<K: Kernel>(args: *const ()) {
    // SAFETY: the caller's promise.
    unsafe { K::body(args.cast::<K::Args>().read()) };
}

/// A kernel whose type is forgotten, so that fibers are compiled once.
#[derive(Clone, Copy)]
struct Code {
    name: &'static str,
    shared_words: u32,
    body: unsafe fn(*const ()),
}

/// Runs the block whose thread 0 is at `first`.
///
/// # Safety
/// As for [`launch`], of the kernel of `code`.
unsafe fn run_fibers(code: Code, first: Place, args: *const ()) {
    let threads = first.block_size;
    BLOCK.with_borrow_mut(|b| b.begin(code.name, threads, code.shared_words, NOISE));
    let mut fibers: Vec<Option<Coroutine<(), (), (), DefaultStack>>> = (0..threads)
        .map(|thread| {
            let stack = STACKS
                .with_borrow_mut(Vec::pop)
                .unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a fiber"));
            Some(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
                let fiber = (&raw const *yielder).cast();
                FIBER.set(Some(Fiber { fiber, suspend }));
                PLACE.set(Place { thread, ..first });
                // SAFETY: the caller's promise.
                unsafe { (code.body)(args) };
            }))
        })
        .collect();
    let mut alive = threads;
    while alive > 0 {
        let before = BLOCK.with_borrow(Block::progress);
        for (thread, place_of) in fibers.iter_mut().enumerate() {
            let Some(fiber) = place_of else { continue };
            PLACE.set(Place { thread: thread as u32, ..first });
            if let CoroutineResult::Return(()) = fiber.resume(()) {
                alive -= 1;
                let done = place_of.take().expect("a fiber that just ran");
                STACKS.with_borrow_mut(|s| s.push(done.into_stack()));
                BLOCK.with_borrow_mut(|b| b.end_thread(thread));
            }
        }
        assert!(
            alive == 0 || BLOCK.with_borrow(Block::progress) != before,
            "{}: block {} waits at barriers that cannot open",
            code.name,
            first.block
        );
    }
    FIBER.set(None);
}

/// Lets the other threads of the block run.
///
/// # Safety
/// `fiber` is the [`Yielder`] of the fiber that calls.
unsafe fn suspend(fiber: *const ()) {
    // SAFETY: the caller's promise.
    unsafe { (*fiber.cast::<Yielder<(), ()>>()).suspend(()) }
}
