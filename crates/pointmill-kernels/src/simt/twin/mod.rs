//! The machine on the host: every GPU thread a fiber, so that the very kernels run in tests without a GPU.
//!
//! A block's fibers run in turns on one OS thread and meet at barriers. The blocks run one after another, in a shuffled
//! order that [`set_block_order`] seeds, so no kernel can rely on low blocks coming first, and none on blocks that run at once: a block that waits for
//! one that has not run is a panic. Shared memory starts as noise.
//! Threads that race in shared memory are a panic, though here they take turns. What this cannot find are races between blocks: for those there is the sanitizer
//! on a GPU.

mod races;
#[cfg(test)]
mod tests;

use crate::Kernel;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use races::{Access, History, Moment};
use std::cell::{Cell, RefCell};

/// What fresh memory holds, on purpose: nobody may rely on zeros.
pub const NOISE: u32 = 0xa5c3_5a3c;

const WARPS: usize = 32;
/// The barrier of the whole block, after those of the warps.
const BLOCK_BARRIER: usize = WARPS;
const STACK_BYTES: usize = 32 << 10;

#[derive(Clone, Copy, Default)]
struct Barrier {
    /// Threads that are waiting.
    arrived: u32,
    /// Threads that have not returned.
    alive: u32,
    /// How often the barrier opened.
    opened: u32,
    /// Whether those who wait want memory to be in order behind it.
    orders: bool,
    /// How often it opened for such.
    ordered: u32,
}

impl Barrier {
    /// Opens if all living threads are here.
    fn check(&mut self) -> bool {
        let open = self.arrived >= self.alive && self.arrived > 0;
        if open {
            self.arrived = 0;
            self.opened += 1;
            self.ordered += u32::from(self.orders);
        }
        open
    }
}

struct Block {
    barriers: [Barrier; WARPS + 1],
    /// What each lane shows to the others in a warp operation.
    shown: [[u64; 32]; WARPS],
    shared: Vec<u32>,
    /// Who touched each word of shared memory.
    histories: Vec<History>,
    /// The kernel's name.
    kernel: &'static str,
}

#[derive(Clone, Copy, Default)]
struct Place {
    thread: u32,
    block: u32,
    block_size: u32,
    grid_size: u32,
}

thread_local! {
    static BLOCK: RefCell<Block> = RefCell::new(Block {
        barriers: [Barrier::default(); WARPS + 1],
        shown: [[0; 32]; WARPS],
        shared: Vec::new(),
        histories: Vec::new(),
        kernel: "",
    });
    static PLACE: Cell<Place> = const { Cell::new(Place { thread: 0, block: 0, block_size: 0, grid_size: 0 }) };
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    static ORDER_SEED: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// Most rounds of a loop that waits for another block. A look-back over 2^30 elements takes fewer.
const MOST_TRIES: u32 = 1 << 20;

/// Seeds the order in which this OS thread runs the blocks of a launch; 0 is ascending. Without it the order is shuffled.
pub fn set_block_order(seed: u64) {
    ORDER_SEED.set(seed);
}

/// How many boxes and points the searches of this OS thread have looked at since the last call, for tests of how work grows.
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
/// `args` points to a [`Kernel::Args`] of `K`. Every pointer in it must be valid for what the kernel's documentation says it reads and writes.
pub unsafe fn launch<K: Kernel>(grid: u32, args: *const ()) {
    // SAFETY: the caller's promise.
    let args = unsafe { args.cast::<K::Args>().read() };
    for block in block_order(grid) {
        if K::COOPERATIVE {
            // SAFETY: the caller's promise.
            unsafe { run_fibers::<K>(grid, block, args) };
        } else {
            for thread in 0..K::BLOCK {
                PLACE.set(Place { thread, block, block_size: K::BLOCK, grid_size: grid });
                // SAFETY: the caller's promise.
                unsafe { K::body(args) };
            }
        }
    }
}

unsafe fn run_fibers<K: Kernel>(grid: u32, block: u32, args: K::Args) {
    BLOCK.with_borrow_mut(|b| {
        for w in 0..WARPS as u32 {
            let alive = K::BLOCK.saturating_sub(w * 32).min(32);
            b.barriers[w as usize] = Barrier { alive, ..Barrier::default() };
        }
        b.barriers[BLOCK_BARRIER] = Barrier { alive: K::BLOCK, ..Barrier::default() };
        b.shared.clear();
        b.shared.resize(K::SHARED_WORDS as usize, NOISE);
        b.histories.clear();
        b.histories.resize(K::SHARED_WORDS as usize, History::default());
        b.kernel = K::NAME;
    });
    let place = move |thread| Place { thread, block, block_size: K::BLOCK, grid_size: grid };
    let mut fibers: Vec<Option<Coroutine<(), (), (), DefaultStack>>> = (0..K::BLOCK)
        .map(|thread| {
            let stack = STACKS
                .with_borrow_mut(Vec::pop)
                .unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a fiber"));
            Some(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
                YIELDER.set(yielder);
                PLACE.set(place(thread));
                // SAFETY: the caller's promise.
                unsafe { K::body(args) };
            }))
        })
        .collect();
    let mut alive = K::BLOCK;
    while alive > 0 {
        let before = progress();
        for (thread, place_of) in fibers.iter_mut().enumerate() {
            let Some(fiber) = place_of else { continue };
            PLACE.set(place(thread as u32));
            if let CoroutineResult::Return(()) = fiber.resume(()) {
                alive -= 1;
                let done = place_of.take().expect("a fiber that just ran");
                STACKS.with_borrow_mut(|s| s.push(done.into_stack()));
                BLOCK.with_borrow_mut(|b| {
                    for which in [thread / 32, BLOCK_BARRIER] {
                        b.barriers[which].alive -= 1;
                        b.barriers[which].check();
                    }
                });
            }
        }
        assert!(alive == 0 || progress() != before, "{}: block {block} waits at barriers that cannot open", K::NAME);
    }
    YIELDER.set(std::ptr::null());
}

/// A number that changes whenever a thread gets anywhere.
fn progress() -> u64 {
    BLOCK.with_borrow(|b| {
        b.barriers
            .iter()
            .map(|r| u64::from(r.opened) * 2048 + u64::from(r.arrived) + (1 << 40) - u64::from(r.alive))
            .sum()
    })
}

/// Waits until all living threads of a barrier are here. Memory is in order behind it if it `orders`.
fn wait(which: usize, orders: bool) {
    let opened = BLOCK.with_borrow_mut(|b| {
        let barrier = &mut b.barriers[which];
        barrier.arrived += 1;
        barrier.orders = orders;
        let before = barrier.opened;
        if barrier.check() { None } else { Some(before) }
    });
    let Some(opened) = opened else { return };
    let (yielder, place) = (YIELDER.get(), PLACE.get());
    assert!(!yielder.is_null(), "a barrier or warp operation in a kernel declared not cooperative");
    while BLOCK.with_borrow(|b| b.barriers[which].opened == opened) {
        // SAFETY: the yielder belongs to this fiber and lives as long as the fiber runs.
        unsafe { (*yielder).suspend(()) };
        YIELDER.set(yielder);
        PLACE.set(place);
    }
}

impl Block {
    /// The word of shared memory, `access`ed by a thread; `same` if what is to be written is there already.
    fn word(&mut self, word: usize, access: Access, thread: u32, same: impl FnOnce(u32) -> bool) -> &mut u32 {
        let now = Moment {
            thread,
            block: self.barriers[BLOCK_BARRIER].ordered,
            warp: self.barriers[thread as usize / 32].ordered,
        };
        let race = self.histories[word].note(access, now, same(self.shared[word]));
        if let Some((other, what)) = race {
            let kernel = self.kernel;
            panic!(
                "{kernel}: a race at word {word} of shared memory: {what:?} of thread {other}, {access:?} of thread {thread}, no barrier between"
            );
        }
        &mut self.shared[word]
    }
}

/// The interface that kernels use; the same names as on the GPU.
pub mod machine {
    #![allow(clippy::missing_safety_doc, missing_docs)]
    use super::races::Access;
    use super::{BLOCK, BLOCK_BARRIER, LOOKS, MOST_TRIES, PLACE, wait};
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

    pub fn thread_index() -> u32 {
        PLACE.get().thread
    }
    pub fn block_index() -> u32 {
        PLACE.get().block
    }
    pub fn block_size() -> u32 {
        PLACE.get().block_size
    }
    pub fn grid_size() -> u32 {
        PLACE.get().grid_size
    }
    pub fn sync_block() {
        wait(BLOCK_BARRIER, true);
    }
    pub fn sync_warp() {
        wait((thread_index() / 32) as usize, true);
    }

    /// Shows a value to the warp and sees all lanes' values.
    fn exchange(value: u64) -> [u64; 32] {
        let (warp, lane) = ((thread_index() / 32) as usize, (thread_index() % 32) as usize);
        BLOCK.with_borrow_mut(|b| {
            let alive = b.barriers[warp].alive;
            assert_eq!(alive, 32, "a warp operation that not all lanes reach");
            b.shown[warp][lane] = value;
        });
        wait(warp, false);
        let seen = BLOCK.with_borrow(|b| b.shown[warp]);
        wait(warp, false);
        seen
    }
    fn mask(values: [u64; 32], set: impl Fn(u64) -> bool) -> u32 {
        values.iter().enumerate().fold(0, |m, (lane, &v)| m | u32::from(set(v)) << lane)
    }
    pub fn ballot(predicate: bool) -> u32 {
        mask(exchange(u64::from(predicate)), |v| v == 1)
    }
    pub fn match_any(value: u32) -> u32 {
        match_any_u64(u64::from(value))
    }
    pub fn match_any_u64(value: u64) -> u32 {
        mask(exchange(value), |v| v == value)
    }
    pub fn shuffle(value: u32, lane: u32) -> u32 {
        exchange(u64::from(value))[(lane % 32) as usize] as u32
    }
    pub fn shuffle_up(value: u32, distance: u32) -> u32 {
        let lane = thread_index() % 32;
        exchange(u64::from(value))[if lane >= distance { lane - distance } else { lane } as usize] as u32
    }

    /// An array of `u32` in the block's shared memory; out of bounds is a panic here.
    #[derive(Clone, Copy, Debug)]
    pub struct Shared {
        word: u32,
    }

    impl Shared {
        pub fn at(word: u32) -> Self {
            Self { word }
        }
        pub fn at_offset(other: Self, words: u32) -> Self {
            Self { word: other.word + words }
        }
        pub fn get_x4(self, i: u32) -> [u32; 4] {
            assert!((self.word + i).is_multiple_of(4), "a read of four words of shared memory that is not aligned");
            std::array::from_fn(|j| self.get(i + j as u32))
        }
        fn with<R>(self, i: u32, access: Access, same: impl FnOnce(u32) -> bool, f: impl FnOnce(&mut u32) -> R) -> R {
            BLOCK.with_borrow_mut(|b| f(b.word((self.word + i) as usize, access, thread_index(), same)))
        }
        pub fn get(self, i: u32) -> u32 {
            self.with(i, Access::Read, |_| true, |v| *v)
        }
        pub fn set(self, i: u32, value: u32) {
            self.with(i, Access::Write, |old| old == value, |v| *v = value);
        }
        pub fn add(self, i: u32, value: u32) -> u32 {
            self.with(i, Access::Atomic, |_| false, |v| std::mem::replace(v, v.wrapping_add(value)))
        }
        pub fn or(self, i: u32, bits: u32) {
            self.with(i, Access::Atomic, |_| false, |v| *v |= bits);
        }
    }

    pub fn fused(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    pub fn f32_from_f16(bits: u32) -> f32 {
        pointmill_core::half::f32_from_f16_bits(bits as u16)
    }
    pub fn f16_from_f32(value: f32) -> u32 {
        u32::from(pointmill_core::half::f16_bits_from_f32(value))
    }

    /// The twin runs one thread at a time, in order.
    pub fn fence() {}
    /// Counts boxes and points that a search looks at; on a GPU it is nothing.
    pub fn note_looks(n: u32) {
        LOOKS.set(LOOKS.get() + u64::from(n));
    }
    pub fn hidden(value: u32) -> u32 {
        value
    }
    /// Blocks run one after the other here, so a block that waits for another one waits for ever.
    pub fn back_off(tries: u32) {
        if tries > MOST_TRIES {
            let kernel = BLOCK.with_borrow(|b| b.kernel);
            panic!("{kernel}: block {} waits for a block that has not run", block_index());
        }
    }
    pub fn nanoseconds() -> u64 {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed().as_nanos() as u64
    }

    // SAFETY of all below: the caller promises a valid, aligned pointer; atomics make concurrent launches defined.
    pub unsafe fn load_relaxed(p: *const u32) -> u32 {
        // SAFETY: see above.
        unsafe { AtomicU32::from_ptr(p.cast_mut()).load(Relaxed) }
    }
    pub unsafe fn load_stale(p: *const u32) -> u32 {
        // SAFETY: see above.
        unsafe { load_relaxed(p) }
    }
    pub unsafe fn load_relaxed_u64(p: *const u64) -> u64 {
        // SAFETY: see above.
        unsafe { AtomicU64::from_ptr(p.cast_mut()).load(Relaxed) }
    }
    pub unsafe fn store_relaxed(p: *mut u32, value: u32) {
        // SAFETY: see above.
        unsafe { AtomicU32::from_ptr(p).store(value, Relaxed) }
    }
    pub unsafe fn store_for_host(p: *mut u64, value: u64) {
        // SAFETY: see above.
        unsafe { AtomicU64::from_ptr(p).store(value, Relaxed) }
    }
    pub unsafe fn load_relaxed_x4(p: *const u32) -> [u32; 4] {
        assert!(p.addr().is_multiple_of(16), "a read of four words that is not aligned");
        // SAFETY: see above.
        std::array::from_fn(|j| unsafe { load_relaxed(p.add(j)) })
    }
    pub unsafe fn store_relaxed_x4(p: *mut u32, v: [u32; 4]) {
        assert!(p.addr().is_multiple_of(16), "a write of four words that is not aligned");
        for (j, v) in v.into_iter().enumerate() {
            // SAFETY: see above.
            unsafe { store_relaxed(p.add(j), v) };
        }
    }
    pub unsafe fn store_streaming_x4(p: *mut u32, v: [u32; 4]) {
        assert!(p.addr().is_multiple_of(16), "a write of four words that is not aligned");
        // SAFETY: see above.
        unsafe { *p.cast() = v };
    }
    pub unsafe fn atomic_add(p: *mut u32, value: u32) -> u32 {
        // SAFETY: see above.
        unsafe { AtomicU32::from_ptr(p).fetch_add(value, Relaxed) }
    }
    pub unsafe fn atomic_add_u64(p: *mut u64, value: u64) -> u64 {
        // SAFETY: see above.
        unsafe { AtomicU64::from_ptr(p).fetch_add(value, Relaxed) }
    }
    pub unsafe fn atomic_min(p: *mut u32, value: u32) -> u32 {
        // SAFETY: see above.
        unsafe { AtomicU32::from_ptr(p).fetch_min(value, Relaxed) }
    }
    pub unsafe fn atomic_min_u64(p: *mut u64, value: u64) -> u64 {
        // SAFETY: see above.
        unsafe { AtomicU64::from_ptr(p).fetch_min(value, Relaxed) }
    }
    pub unsafe fn atomic_max(p: *mut u32, value: u32) -> u32 {
        // SAFETY: see above.
        unsafe { AtomicU32::from_ptr(p).fetch_max(value, Relaxed) }
    }
    pub unsafe fn atomic_or(p: *mut u32, bits: u32) -> u32 {
        // SAFETY: see above.
        unsafe { AtomicU32::from_ptr(p).fetch_or(bits, Relaxed) }
    }
    pub unsafe fn compare_and_swap(p: *mut u32, expected: u32, new: u32) -> u32 {
        // SAFETY: see above.
        unsafe { AtomicU32::from_ptr(p).compare_exchange(expected, new, Relaxed, Relaxed).unwrap_or_else(|old| old) }
    }
    pub unsafe fn compare_and_swap_u64(p: *mut u64, expected: u64, new: u64) -> u64 {
        // SAFETY: see above.
        unsafe { AtomicU64::from_ptr(p).compare_exchange(expected, new, Relaxed, Relaxed).unwrap_or_else(|old| old) }
    }
}
