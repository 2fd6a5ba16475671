//! The block that runs on this OS thread: its barriers, its shared memory, and the thread whose
//! turn it is.

use super::races::{Access, History, Moment};
use std::cell::{Cell, RefCell};

const WARPS: usize = 32;
/// The barrier of the whole block, after those of the warps.
pub(super) const BLOCK_BARRIER: usize = WARPS;

#[derive(Clone, Copy, Default)]
pub(super) struct Barrier {
    /// Threads that are waiting.
    arrived: u32,
    /// Threads that have not returned.
    pub(super) alive: u32,
    /// How often the barrier opened.
    opened: u32,
    /// Whether those who wait want memory to be in order behind it.
    orders: bool,
    /// How often it opened for such.
    ordered: u32,
}

impl Barrier {
    /// 0 and 1 in turns: the other one as soon as the barrier opens.
    pub(super) fn turn(&self) -> usize {
        (self.opened % 2) as usize
    }

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

pub(in crate::simt) struct Block {
    pub(super) barriers: [Barrier; WARPS + 1],
    /// What each lane shows to the others in a warp operation, at each turn of the warp's barrier.
    pub(super) shown: [[[u64; 32]; 2]; WARPS],
    shared: Vec<u32>,
    /// Who touched each word of shared memory.
    histories: Vec<History>,
    /// The kernel's name.
    pub(super) kernel: &'static str,
}

/// Where a thread is in its launch.
#[derive(Clone, Copy, Default)]
pub(in crate::simt) struct Place {
    pub(in crate::simt) thread: u32,
    pub(in crate::simt) block: u32,
    pub(in crate::simt) block_size: u32,
    pub(in crate::simt) grid_size: u32,
}

/// How the running thread lets the other threads of its block run: `suspend` of `fiber`.
#[derive(Clone, Copy)]
pub(in crate::simt) struct Fiber {
    pub(in crate::simt) fiber: *const (),
    pub(in crate::simt) suspend: unsafe fn(*const ()),
}

thread_local! {
    pub(in crate::simt) static BLOCK: RefCell<Block> = RefCell::new(Block {
        barriers: [Barrier::default(); WARPS + 1],
        shown: [[[0; 32]; 2]; WARPS],
        shared: Vec::new(),
        histories: Vec::new(),
        kernel: "",
    });
    pub(in crate::simt) static PLACE: Cell<Place> =
        const { Cell::new(Place { thread: 0, block: 0, block_size: 0, grid_size: 0 }) };
    /// None while a kernel runs that is declared not cooperative.
    pub(in crate::simt) static FIBER: Cell<Option<Fiber>> = const { Cell::new(None) };
    pub(in crate::simt) static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// Most rounds of a loop that waits for another block. A look-back over 2^30 elements takes fewer.
pub(super) const MOST_TRIES: u32 = 1 << 20;

/// Waits until all living threads of a barrier are here. Memory is in order behind it if it
/// `orders`.
pub(super) fn wait(which: usize, orders: bool) {
    let opened = BLOCK.with_borrow_mut(|b| {
        let barrier = &mut b.barriers[which];
        barrier.arrived += 1;
        barrier.orders = orders;
        let before = barrier.opened;
        if barrier.check() { None } else { Some(before) }
    });
    let Some(opened) = opened else { return };
    let (fiber, place) = (FIBER.get(), PLACE.get());
    let Some(Fiber { fiber: own, suspend }) = fiber else {
        panic!("a barrier or warp operation in a kernel declared not cooperative")
    };
    while BLOCK.with_borrow(|b| b.barriers[which].opened == opened) {
        // SAFETY: the fiber is the one that runs, and lives as long as it does.
        unsafe { suspend(own) };
        FIBER.set(fiber);
        PLACE.set(place);
    }
}

impl Block {
    /// Becomes a block of `threads` that runs `kernel`, with fresh shared memory full of `noise`.
    pub(in crate::simt) fn begin(&mut self, kernel: &'static str, threads: u32, shared_words: u32, noise: u32) {
        for w in 0..WARPS as u32 {
            let alive = threads.saturating_sub(w * 32).min(32);
            self.barriers[w as usize] = Barrier { alive, ..Barrier::default() };
        }
        self.barriers[BLOCK_BARRIER] = Barrier { alive: threads, ..Barrier::default() };
        self.shared.clear();
        self.shared.resize(shared_words as usize, noise);
        self.histories.clear();
        self.histories.resize(shared_words as usize, History::default());
        self.kernel = kernel;
    }

    /// Notes that a thread returned; no barrier waits for it any more.
    pub(in crate::simt) fn end_thread(&mut self, thread: usize) {
        for which in [thread / 32, BLOCK_BARRIER] {
            self.barriers[which].alive -= 1;
            self.barriers[which].check();
        }
    }

    /// A number that changes whenever a thread gets anywhere.
    pub(in crate::simt) fn progress(&self) -> u64 {
        self.barriers
            .iter()
            .map(|r| u64::from(r.opened) * 2048 + u64::from(r.arrived) + (1 << 40) - u64::from(r.alive))
            .sum()
    }

    /// The word of shared memory, `access`ed by a thread; `same` if what is to be written is there
    /// already.
    pub(super) fn word(
        &mut self,
        word: usize,
        access: Access,
        thread: u32,
        same: impl FnOnce(u32) -> bool,
    ) -> &mut u32 {
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
