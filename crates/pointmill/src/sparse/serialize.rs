//! Cells in the order of curves.

use super::cells::{ROWS_OF_A_THREAD, refused_cell, refused_item};
use super::params::{check_bits, depth_for};
use super::radix::{self, Pair};
use super::{Cells, Order, SerializeParams, values};
use crate::device::{Buffer, Output, Side, Stream, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::{Argument, NamedArrays, Result, memory, par};
use pointmill_core::array::ArrayView;
use pointmill_core::sparse::code;
use pointmill_kernels::prim::Length;
use pointmill_kernels::sparse::{self as kernels, BLOCK, NONE};
use rayon::prelude::*;
use std::ptr::null_mut;

/// Cells in order, on the device that ordered them. Nothing of it waits but [`Serialized::read`].
#[derive(Debug)]
pub struct Serialized {
    pub(super) codes: Buffer<u64>,
    pub(super) order: Buffer<u32>,
    pub(super) inverse: Buffer<u32>,
    /// The first row that is no cell, and the first of an item that is not there.
    faults: Buffer<u32>,
    pub(super) count: Buffer<u32>,
    pub(super) orders: Vec<Order>,
    pub(super) capacity: usize,
    pub(super) depth: u32,
    pub(super) items: u32,
}

/// Cells in order, on the host.
///
/// Its named arrays: `codes` u64, `order` u32 and `inverse` u32, each `[k, V]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerializedArrays {
    /// The code of each cell, by row.
    pub codes: Vec<u64>,
    /// The rows of cells, in order.
    pub order: Vec<u32>,
    /// The place of each row in the order.
    pub inverse: Vec<u32>,
    /// The curves.
    pub orders: Vec<Order>,
    /// Bits of a coordinate.
    pub depth: u32,
}

impl Serialized {
    /// How many cells there are at most: the length of a row of each array.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bits of a coordinate.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// The curves.
    pub fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// `[k, capacity]`: the code of each cell, by row. The buffer can be longer.
    pub const fn codes(&self) -> &Buffer<u64> {
        &self.codes
    }

    /// `[k, capacity]`: the rows of cells, in order. The buffer can be longer.
    pub const fn order(&self) -> &Buffer<u32> {
        &self.order
    }

    /// `[k, capacity]`: the place of each row in the order. The buffer can be longer.
    pub const fn inverse(&self) -> &Buffer<u32> {
        &self.inverse
    }

    /// `[1]`: how many cells there are.
    pub const fn count(&self) -> &Buffer<u32> {
        &self.count
    }

    /// Waits, and copies the arrays to the host without what is behind the cells.
    ///
    /// # Errors
    /// A row in memory of a GPU that is no cell; whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<SerializedArrays> {
        let rows = self.count.read(1)?.first().map_or(0, |&rows| rows as usize);
        if let [cell, item] = self.faults.read(2)?[..] {
            if cell != NONE {
                return Err(refused_cell(self.depth, format_args!("row {cell}")));
            }
            if item != NONE {
                return Err(refused_item(self.items, format_args!("row {item}")));
            }
        }
        let (k, capacity) = (self.orders.len(), self.capacity);
        Ok(SerializedArrays {
            codes: without_padding(self.codes.read(k * capacity)?, capacity, rows),
            order: without_padding(self.order.read(k * capacity)?, capacity, rows),
            inverse: without_padding(self.inverse.read(k * capacity)?, capacity, rows),
            orders: self.orders.clone(),
            depth: self.depth,
        })
    }

    fn reserve(&mut self, capacity: usize, depth: u32, items: u32, orders: &[Order]) -> Result<()> {
        self.capacity = 0;
        let len = orders.len() * capacity;
        self.codes.reserve(len)?;
        self.order.reserve(len)?;
        self.inverse.reserve(len)?;
        if self.orders != orders {
            self.orders = orders.to_vec();
        }
        (self.capacity, self.depth, self.items) = (capacity, depth, items);
        Ok(())
    }
}

/// The first `len` values of each row of `capacity`.
pub(super) fn without_padding<T: Copy>(mut values: Vec<T>, capacity: usize, len: usize) -> Vec<T> {
    if len < capacity {
        let rows = values.len() / capacity;
        (1..rows).for_each(|row| values.copy_within(row * capacity..row * capacity + len, row * len));
        values.truncate(rows * len);
    }
    values
}

impl Output for Serialized {
    fn stream(&self) -> &Stream {
        self.codes.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        self.codes.set_stream(stream);
        self.order.set_stream(stream);
        self.inverse.set_stream(stream);
        self.faults.set_stream(stream);
        self.count.set_stream(stream);
    }
}

impl NamedArrays for SerializedArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let shape = [self.orders.len(), self.codes.len() / self.orders.len()];
        vec![
            ("codes", ArrayView::u64(&shape, &self.codes)),
            ("order", ArrayView::u32(&shape, &self.order)),
            ("inverse", ArrayView::u32(&shape, &self.inverse)),
        ]
    }
}

/// Serializes call after call, and keeps its memory: 24 bytes for each cell on a GPU, and 32 for
/// each cell and curve on the CPU.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{Cells, Order, SerializeParams, Serializer};
/// let params = SerializeParams { depth: Some(4), orders: vec![Order::Hilbert] };
/// let mut serializer = Serializer::new(&Device::auto().stream()?, &params)?;
/// let mut out = serializer.output()?;
/// for x in [0, 15] {
///     serializer.run(Cells::new(&[[x, 0, 0], [0, 0, 3]])?, &mut out)?;
/// }
/// assert_eq!(out.read()?.order, [1, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Serializer {
    stream: Stream,
    params: SerializeParams,
    side: Side<Vec<[Vec<Pair>; 2]>, Workspace>,
}

workspace! {
    /// Memory that kernels use again.
    struct Workspace(stream) {
        stream: Stream,
        staging: [Buffer<i32>; 2] = [stream.alloc(0)?, stream.alloc(0)?],
        largest: Buffer<u32>,
        sorted: Buffer<u64>,
        sorter: Sorter<u64>,
    }
}

impl Serializer {
    /// A serializer whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &SerializeParams) -> Result<Self> {
        params.validate()?;
        let cpu = || Ok(params.orders.iter().map(|_| Default::default()).collect());
        let side = Side::new(stream, cpu, || Workspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: params.clone(), side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Serialized> {
        let stream = &self.stream;
        Ok(Serialized {
            codes: stream.alloc(0)?,
            order: stream.alloc(0)?,
            inverse: stream.alloc(0)?,
            faults: stream.upload(&[NONE; 2])?,
            count: stream.upload(&[0])?,
            orders: self.params.orders.clone(),
            capacity: 0,
            depth: 1,
            items: 1,
        })
    }

    /// Orders cells. See [`serialize`](super::serialize()). With a given depth no call waits.
    ///
    /// # Errors
    /// As [`serialize`](super::serialize()); a result on another device; where no depth is given, a
    /// stream that is being captured.
    pub fn run(&mut self, cells: Cells<'_>, out: &mut Serialized) -> Result<()> {
        cells.check(&self.stream)?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let Self { stream, params, side } = self;
        side.fill(
            stream,
            &cells.streams(),
            out,
            |sorting, out| on_cpu(&cells, params, sorting, out),
            |gpu, out| gpu.run(&cells, params, out),
        )
    }
}

fn on_cpu(
    cells: &Cells<'_>,
    params: &SerializeParams,
    sorting: &mut [[Vec<Pair>; 2]],
    out: &mut Serialized,
) -> Result<()> {
    let rows = cells.known().unwrap_or(0);
    let depth = params.depth.map_or_else(|| depth_for(cells.largest(rows).unwrap_or(0)), Ok)?;
    check_bits(depth, cells.items())?;
    cells.check_rows(rows, depth)?;
    let (orders, capacity) = (&params.orders[..], cells.len());
    out.reserve(capacity, depth, cells.items(), orders)?;
    values(&mut out.count)[0] = rows as u32;
    values(&mut out.faults).fill(NONE);
    if capacity == 0 {
        return Ok(());
    }
    let len = orders.len() * capacity;
    let (codes, order) = (&mut values(&mut out.codes)[..len], &mut values(&mut out.order)[..len]);
    let inverse = &mut values(&mut out.inverse)[..len];
    let codes_of = codes.par_chunks_mut(capacity).zip(orders).with_min_len(par::grain(1));
    codes_of.for_each(|(codes, &order)| {
        let parts = codes[..rows].par_chunks_mut(ROWS_OF_A_THREAD).enumerate().with_min_len(par::grain(1));
        parts.for_each(|(part, codes)| {
            for (i, value) in codes.iter_mut().enumerate() {
                let (cell, item) = cells.host_row(part * ROWS_OF_A_THREAD + i);
                *value = code(item, cell, depth, order);
            }
        });
    });
    let bits = u64::BITS - largest_code(depth, cells.items()).leading_zeros();
    let all = codes.par_chunks(capacity).zip(order.par_chunks_mut(capacity)).zip(inverse.par_chunks_mut(capacity));
    all.zip(sorting).with_min_len(par::grain(1)).try_for_each(|(((codes, order), inverse), [pairs, other])| {
        pairs.clear();
        memory::extend(pairs, (0..rows).map(|i| (codes[i], i as u32)))?;
        radix::sort(pairs, other, bits)?;
        for (i, (place, &(_, row))) in order.iter_mut().zip(pairs.iter()).enumerate() {
            *place = row;
            inverse[row as usize] = i as u32;
        }
        Ok(())
    })
}

/// No code of such cells is larger.
pub(super) const fn largest_code(depth: u32, items: u32) -> u64 {
    ((items as u64) << (3 * depth)) - 1
}

impl Workspace {
    fn run(&mut self, cells: &Cells<'_>, params: &SerializeParams, out: &mut Serialized) -> Result<()> {
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
        out.reserve(cells.len(), depth, cells.items(), &params.orders)?;
        out.faults.fill_words(NONE, 2)?;
        if blocks == 0 {
            return out.count.fill_words(0, 1);
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
            count: out.count.pointer(),
        };
        // SAFETY: room was made for a code of each row and order.
        unsafe { self.stream.launch::<kernels::Codes>(k * blocks, coding) }?;
        let n = Length { bound: rows.n.bound, exact: out.count.pointer() };
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
