//! Serialization by kernels.

use super::params::{check_bits, depth_for};
use super::{SerializeParams, Serialized, largest_code};
use crate::device::{Buffer, Stream, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::sparse::Cells;
use crate::{Argument, Result};
use pointmill_kernels::prim::Length;
use pointmill_kernels::sparse::{self as kernels, BLOCK, NONE};
use std::ptr::null_mut;

workspace! {
    /// Memory that kernels use again.
    pub(super) struct Workspace(stream) {
        stream: Stream,
        staging: [Buffer<i32>; 2] = [stream.alloc(0)?, stream.alloc(0)?],
        largest: Buffer<u32>,
        sorted: Buffer<u64>,
        sorter: Sorter<u64>,
    }
}

impl Workspace {
    pub(super) fn run(&mut self, cells: &Cells<'_>, params: &SerializeParams, out: &mut Serialized) -> Result<()> {
        let rows = cells.staged(&mut self.staging)?;
        let blocks = rows.n.bound.div_ceil(BLOCK);
        let depth = match params.depth {
            Some(depth) => depth,
            None => depth_for(self.largest(rows, blocks)?)?,
        };
        check_bits(depth, cells.items())?;
        if let Some(known) = cells.known() {
            cells.check_rows(known, depth)?;
        }
        out.begin(cells.len(), depth, cells.items(), &params.orders)?;
        out.faults.fill_words(NONE, 2)?;
        if blocks == 0 {
            return out.num_cells.fill_words(0, 1);
        }
        let passes = passes_for(largest_code(depth, cells.items()));
        self.sorted.reserve(cells.len())?;
        self.sorter.reserve(rows.n.bound, passes)?;
        let k = params.orders.len() as u32;
        let coding = kernels::CodesArgs {
            rows,
            items: cells.items(),
            depth,
            orders: kernels::packed(&params.orders),
            codes: out.codes.pointer(),
            faults: out.faults.pointer().cast(),
            count: out.num_cells.pointer(),
        };
        // SAFETY: room was made for a code of each row and order.
        unsafe { self.stream.launch::<kernels::Codes>(k * blocks, coding) }?;
        let n = Length { bound: rows.n.bound, exact: out.num_cells.pointer() };
        for order in 0..k as usize {
            let first = order * cells.len();
            // SAFETY: room was made for all rows; what a kernel reads is queued before.
            unsafe {
                let input = Pairs { keys: out.codes.pointer().add(first), values: null_mut() };
                let output = Pairs { keys: self.sorted.pointer(), values: out.order.pointer().add(first) };
                self.sorter.enqueue(input, output, n, passes)?;
            }
        }
        let inverting = kernels::InverseArgs { order: out.order.pointer(), n, inverse: out.inverse.pointer() };
        // SAFETY: as above.
        unsafe { self.stream.launch::<kernels::Inverse>(k * blocks, inverting) }
    }

    /// Waits for the largest coordinate.
    fn largest(&mut self, rows: kernels::CellRows, blocks: u32) -> Result<u32> {
        let got = "none: the call waits for the largest coordinate";
        self.stream.check_not_capturing(Argument::Depth, "a depth", got)?;
        self.largest.reserve(1)?;
        self.largest.fill_words(0, 1)?;
        if blocks > 0 {
            let args = kernels::LargestArgs { rows, largest: self.largest.pointer() };
            // SAFETY: there are so many rows, and room for a word.
            unsafe { self.stream.launch::<kernels::Largest>(blocks, args) }?;
        }
        Ok(self.largest.read(1)?.first().copied().unwrap_or(0))
    }
}
