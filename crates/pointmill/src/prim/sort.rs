//! Stable radix sort of pairs.

use crate::device::{Buffer, OnStream, Stream};
use crate::{Argument, Result, ensure};
use bytemuck::Pod;
use pointmill_kernels::Kernel;
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::sort as kernels;

/// A key that [`Sorter`] sorts by: `u32` or `u64`.
pub trait SortKey: Pod + sealed::Kernels {}
impl SortKey for u32 {}
impl SortKey for u64 {}

mod sealed {
    use super::{Kernel, kernels};

    pub trait Kernels: Copy + Sized {
        type Count: Kernel<Args = kernels::CountArgs<Self>>;
        type Pass: Kernel<Args = kernels::PassArgs<Self>>;
    }
    impl Kernels for u32 {
        type Count = kernels::CountU32;
        type Pass = kernels::PassU32;
    }
    impl Kernels for u64 {
        type Count = kernels::CountU64;
        type Pass = kernels::PassU64;
    }
}

/// Sorts pairs of a key and a `u32` on a GPU, and keeps its memory for the next time.
///
/// **Order and determinism**: ascending by key, stable: pairs with equal keys stay in input order.
/// The same result in every run.
///
/// **Limits**: 2^30 - 1 pairs. Needs one more array of keys and one of values, and 1 KiB of state
/// for each pass and tile of 4,096 pairs (2,048 with 64-bit keys).
///
/// **Source**: Adinets and Merrill, Onesweep, 2022.
#[derive(Debug)]
pub struct Sorter<K> {
    keys: Buffer<K>,
    values: Buffer<u32>,
    state: Buffer<u32>,
}

/// Pairs on the device: what one pass reads and the next writes.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<K> {
    /// Their keys.
    pub keys: *mut K,
    /// Null, as input only: the values are 0, 1, 2, ...
    pub values: *mut u32,
}

/// Bits that keys up to `largest` use, in whole digits; at least one digit.
pub fn passes_for(largest: u64) -> u32 {
    (u64::BITS - largest.leading_zeros()).div_ceil(kernels::DIGIT_BITS).max(1)
}

impl<K: SortKey> OnStream for Sorter<K> {
    fn on(stream: &Stream) -> Result<Self> {
        Self::new(stream)
    }
}

impl<K: SortKey> Sorter<K> {
    const KEY_SIZE: u32 = size_of::<K>() as u32;

    /// A sorter on `stream`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream) -> Result<Self> {
        Ok(Self { keys: stream.alloc(0)?, values: stream.alloc(0)?, state: stream.alloc(0)? })
    }

    /// Sorts the first `n` pairs by all bits of their keys, in place.
    ///
    /// # Errors
    /// Buffers shorter than `n`, more than 2^30 - 1 pairs, the CPU as device, out of memory.
    pub fn sort_pairs(&mut self, keys: &mut Buffer<K>, values: &mut Buffer<u32>, n: usize) -> Result<()> {
        ensure(keys.len() >= n, Argument::Keys, format_args!("at least {n} elements"), keys.len())?;
        ensure(values.len() >= n, Argument::Values, format_args!("at least {n} elements"), values.len())?;
        ensure(n <= kernels::MAX_LEN as usize, Argument::N, format_args!("at most {}", kernels::MAX_LEN), n)?;
        ensure(!keys.stream().device().is_cpu(), Argument::Keys, "a buffer on a GPU", "cpu")?;
        let pairs = Pairs { keys: keys.pointer(), values: values.pointer() };
        let passes = (size_of::<K>() * 8) as u32 / kernels::DIGIT_BITS;
        let stream = self.state.stream().clone();
        stream.in_order(&[Some(keys.stream()), Some(values.stream())], || {
            self.reserve(n as u32, passes)?;
            // SAFETY: all buffers have room for n pairs, and the number of passes is even.
            unsafe { self.enqueue(pairs, pairs, Length::known(n as u32), passes) }
        })
    }

    /// Makes room for `n` pairs and the state of `passes` passes.
    #[doc(hidden)]
    pub fn reserve(&mut self, n: u32, passes: u32) -> Result<()> {
        self.keys.reserve(n as usize)?;
        self.values.reserve(n as usize)?;
        self.state.reserve(kernels::state_words(n, passes, Self::KEY_SIZE) as usize)?;
        Ok(())
    }

    /// Zeroes the state and queues the passes, which leave the sorted pairs in `output`.
    ///
    /// # Safety
    /// `input` and `output` hold `n.bound` pairs (`input.values` may be null); they may be the same
    /// if the number of passes is even.
    /// [`Sorter::reserve`] was called for as many pairs and passes.
    #[doc(hidden)]
    pub unsafe fn enqueue(&mut self, input: Pairs<K>, output: Pairs<K>, n: Length, passes: u32) -> Result<()> {
        self.state.fill_words(0, kernels::state_words(n.bound, passes, Self::KEY_SIZE) as usize)?;
        let state = self.state.pointer();
        let stream = self.state.stream();
        let own = Pairs { keys: self.keys.pointer(), values: self.values.pointer() };
        let blocks = n.bound.div_ceil(kernels::tile(Self::KEY_SIZE));
        if blocks == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise; offsets into the state are within its words.
        unsafe {
            let count = kernels::CountArgs { keys: input.keys, n, passes, counts: state };
            stream.launch::<K::Count>(blocks.min(stream.enough_blocks(8)), count)?;
            stream.launch::<kernels::Starts>(passes, kernels::StartsArgs { counts: state })?;
            let mut from = input;
            // The last of the alternating targets must be the output.
            let mut to = if passes.is_multiple_of(2) { own } else { output };
            for pass in 0..passes {
                let args = kernels::PassArgs {
                    keys_in: from.keys,
                    values_in: from.values,
                    keys_out: to.keys,
                    values_out: to.values,
                    n,
                    shift: pass * kernels::DIGIT_BITS,
                    starts: state.add((pass * kernels::DIGITS) as usize),
                    ticket: state.add(kernels::ticket_word(pass) as usize),
                    look_back: state.add(kernels::look_back_word(n.bound, pass, Self::KEY_SIZE) as usize),
                };
                stream.launch::<K::Pass>(blocks, args)?;
                from = to;
                to = if (passes - pass).is_multiple_of(2) { output } else { own };
            }
            Ok(())
        }
    }
}
