//! Weighted sums of features, and their gradients, by kernels.

use super::{Gather, Gathered};
use crate::device::{Buffer, Stream, workspace};
use crate::scatter::{Lists, RowNumber, numbers};
use crate::{Argument, Result};
use bytemuck::Pod;
use pointmill_kernels::points::{CHANNELS, GatherArgs, LONG};
use pointmill_kernels::prim::BLOCK;
use pointmill_kernels::scatter::Stored;
use pointmill_kernels::simt::WARP;
use std::ptr::{null, null_mut};

workspace! {
    /// Gathers on a GPU, and keeps its memory for the next time: what [`gather`](super::gather) and its
    /// gradients do on the CPU, with the same bits.
    pub struct GatherWorker(stream) {
        stream: Stream,
        lists: Lists,
        long: Buffer<u32>,
    }
}

/// Arguments without arrays but for row numbers and weights.
fn args<T: Gathered, I: RowNumber + Pod, W: Pod>(
    of: &Gather,
    weights: Option<&Buffer<W>>,
    index: &Buffer<I>,
) -> GatherArgs<T::Stored> {
    GatherArgs {
        features: null(),
        weights: weights.map_or(null(), |weights| weights.pointer().cast_const().cast()),
        index: numbers(index),
        grad: null(),
        items: of.items as u32,
        channels: of.channels as u32,
        rows: of.rows as u32,
        count: of.count as u32,
        k: of.k as u32,
        last: u32::from(of.channels_last),
        splits: null(),
        lists: null(),
        num_long: null_mut(),
        long: null_mut(),
        long_room: 0,
        out: null_mut(),
        of_weights: null_mut::<<T::Stored as Stored>::Wide>(),
        ok: null_mut(),
    }
}

/// Blocks with a thread for each group of channels of so many rows.
const fn blocks(of: &Gather, rows: usize) -> u32 {
    (of.items * rows * of.channels.div_ceil(CHANNELS)).div_ceil(BLOCK as usize) as u32
}

impl GatherWorker {
    /// [`gather`](super::gather); `ok` is one word, which becomes 0 where a row number is none, else 1.
    /// Nothing waits.
    ///
    /// # Errors
    /// Arrays of other sizes, several neighbours without weights; out of memory.
    pub fn gather<T: Gathered, I: RowNumber + Pod>(
        &mut self,
        features: &Buffer<T>,
        weights: Option<&Buffer<T::Wide>>,
        index: &Buffer<I>,
        of: Gather,
        out: &mut Buffer<T>,
        ok: &mut Buffer<i32>,
    ) -> Result<()> {
        let arrays = [(Argument::Features, features.len(), of.features()), (Argument::Out, out.len(), of.sums())];
        of.check(weights.map(Buffer::len), index.len(), arrays)?;
        ok.fill_words(1, 1)?;
        if of.sums() == 0 {
            return Ok(());
        }
        let args = GatherArgs {
            features: features.pointer().cast_const().cast(),
            out: out.pointer().cast(),
            ok: ok.pointer().cast(),
            ..args::<T, I, _>(&of, weights, index)
        };
        // SAFETY: the arrays have these sizes.
        unsafe { self.stream.launch::<T::Gather>(blocks(&of, of.count), args) }
    }

    /// [`gather_gradient`](super::gather_gradient); a number that is no row adds nothing.
    ///
    /// # Errors
    /// As [`GatherWorker::gather`].
    pub fn gradient<T: Gathered, I: RowNumber + Pod>(
        &mut self,
        grad: &Buffer<T>,
        weights: Option<&Buffer<T::Wide>>,
        index: &Buffer<I>,
        of: Gather,
        out: &mut Buffer<T>,
    ) -> Result<()> {
        let arrays = [(Argument::GradFeatures, grad.len(), of.sums()), (Argument::Out, out.len(), of.features())];
        of.check(weights.map(Buffer::len), index.len(), arrays)?;
        if of.features() == 0 {
            return Ok(());
        }
        let places = of.places() as u32;
        // SAFETY: there are so many numbers.
        unsafe { self.lists.list(numbers(index), of.items, of.count * of.k, of.rows, null_mut()) }?;
        let mut args = GatherArgs {
            grad: grad.pointer().cast_const().cast(),
            splits: self.lists.splits.pointer(),
            lists: self.lists.values.pointer(),
            out: out.pointer().cast(),
            ..args::<T, I, _>(&of, weights, index)
        };
        if places > LONG {
            args.long_room = places / LONG;
            self.long.reserve(1 + args.long_room as usize)?;
            self.long.fill_words(0, 1)?;
            args.num_long = self.long.pointer();
            // SAFETY: there is room behind the first word.
            args.long = unsafe { args.num_long.add(1) };
        }
        // SAFETY: the arrays have these sizes; lists are of places that are there.
        unsafe {
            self.stream.launch::<T::Gradient>(blocks(&of, of.rows), args)?;
            if places > LONG {
                let parts = u64::from(args.long_room) * u64::from(args.channels.div_ceil(WARP));
                let most = u64::from(self.stream.enough_blocks(4));
                self.stream.launch::<T::Long>(parts.min(most) as u32, args)?;
            }
        }
        Ok(())
    }

    /// [`weights_gradient`](super::weights_gradient); that of a number that is no row is 0.
    ///
    /// # Errors
    /// As [`GatherWorker::gather`].
    pub fn weights_gradient<T: Gathered, I: RowNumber + Pod>(
        &mut self,
        grad: &Buffer<T>,
        features: &Buffer<T>,
        index: &Buffer<I>,
        of: Gather,
        out: &mut Buffer<T::Wide>,
    ) -> Result<()> {
        let arrays =
            [(Argument::GradFeatures, grad.len(), of.sums()), (Argument::Features, features.len(), of.features())];
        of.check(Some(out.len()), index.len(), arrays)?;
        if of.places() == 0 {
            return Ok(());
        }
        let args = GatherArgs {
            features: features.pointer().cast_const().cast(),
            grad: grad.pointer().cast_const().cast(),
            of_weights: out.pointer().cast(),
            ..args::<T, I, T::Wide>(&of, None, index)
        };
        // SAFETY: the arrays have these sizes.
        unsafe { self.stream.launch::<T::Weights>((of.places() as u32).div_ceil(BLOCK), args) }
    }
}
