//! Larger and larger cells.

use super::cells::MAX_ROWS;
use super::serialize::without_padding;
use super::{Cells, Serialized, hierarchy_cpu};
use crate::device::{Buffer, Output, Side, Stream, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::{Argument, NamedArrays, Result, ensure};
use pointmill_core::array::ArrayView;
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::sparse::{self as kernels, BLOCK, STAGE_TILE};
use std::ptr::null_mut;

/// Parameters of the hierarchy.
///
/// ```
/// use pointmill::sparse::PoolParams;
/// let refused = PoolParams { strides: vec![2, 3], ..PoolParams::default() }.validate().unwrap_err();
/// assert_eq!(refused.to_string(), "strides: expected powers of two, got 3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoolParams {
    /// How many times larger the cells of each stage are, powers of two; default 2, four times. A
    /// stage that halves coordinates more often than they have bits left leaves cells as they are.
    pub strides: Vec<u32>,
    /// Larger cells that each stage has room for; default as many as rows come in.
    pub capacities: Option<Vec<usize>>,
}

impl Default for PoolParams {
    fn default() -> Self {
        Self { strides: vec![2; 4], capacities: None }
    }
}

impl PoolParams {
    /// Checks everything that does not depend on the cells.
    ///
    /// # Errors
    /// A stride that is no power of two; capacities that are 0, or not as many as strides.
    pub fn validate(&self) -> Result<()> {
        for &stride in &self.strides {
            ensure(stride.is_power_of_two(), Argument::Strides, "powers of two", stride)?;
        }
        if let Some(capacities) = &self.capacities {
            let expected = format_args!("{} numbers, as many as strides", self.strides.len());
            ensure(capacities.len() == self.strides.len(), Argument::Capacity, expected, capacities.len())?;
            for &capacity in capacities {
                ensure((1..MAX_ROWS).contains(&capacity), Argument::Capacity, "1 or more, fewer than 2^30", capacity)?;
            }
        }
        Ok(())
    }
}

/// One stage on the device that made it.
#[derive(Debug)]
pub struct Stage {
    pub(super) cluster: Buffer<i32>,
    pub(super) indptr: Buffer<i32>,
    pub(super) indices: Buffer<i32>,
    pub(super) head: Buffer<i32>,
    pub(super) coords: Buffer<i32>,
    pub(super) batch: Buffer<i32>,
    pub(super) codes: Buffer<u64>,
    pub(super) order: Buffer<u32>,
    pub(super) inverse: Buffer<u32>,
    /// [`kernels::StageCounts`].
    pub(super) counts: Buffer<u32>,
    pub(super) capacity: usize,
    pub(super) depth: u32,
}

impl Stage {
    fn new(stream: &Stream) -> Result<Self> {
        Ok(Self {
            cluster: stream.alloc(0)?,
            indptr: stream.alloc(0)?,
            indices: stream.alloc(0)?,
            head: stream.alloc(0)?,
            coords: stream.alloc(0)?,
            batch: stream.alloc(0)?,
            codes: stream.alloc(0)?,
            order: stream.alloc(0)?,
            inverse: stream.alloc(0)?,
            counts: stream.upload(&[0; 2])?,
            capacity: 0,
            depth: 0,
        })
    }

    fn reserve(&mut self, rows: usize, capacity: usize, orders: usize, depth: u32) -> Result<()> {
        self.capacity = 0;
        self.cluster.reserve(rows)?;
        self.indices.reserve(rows)?;
        self.indptr.reserve(capacity + 1)?;
        self.head.reserve(capacity)?;
        self.coords.reserve(3 * capacity)?;
        self.batch.reserve(capacity)?;
        self.codes.reserve(orders * capacity)?;
        self.order.reserve(orders * capacity)?;
        self.inverse.reserve(orders * capacity)?;
        (self.capacity, self.depth) = (capacity, depth);
        Ok(())
    }

    /// Larger cells that there is room for.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bits of a coordinate that are left.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// `[V_in]`: the larger cell of each row, or -1. The buffer can be longer.
    pub const fn cluster(&self) -> &Buffer<i32> {
        &self.cluster
    }

    /// `[V_out + 1]`: where the rows of each larger cell start. The buffer can be longer.
    pub const fn indptr(&self) -> &Buffer<i32> {
        &self.indptr
    }

    /// `[V_in]`: rows by larger cell, and then ascending. The buffer can be longer.
    pub const fn indices(&self) -> &Buffer<i32> {
        &self.indices
    }

    /// `[V_out]`: the first row of each larger cell. The buffer can be longer.
    pub const fn head(&self) -> &Buffer<i32> {
        &self.head
    }

    /// `[V_out, 3]`: the larger cells. The buffer can be longer.
    pub const fn grid_coord(&self) -> &Buffer<i32> {
        &self.coords
    }

    /// `[V_out]`: the item of each. The buffer can be longer.
    pub const fn batch(&self) -> &Buffer<i32> {
        &self.batch
    }

    /// `[k, capacity]`: codes. The buffer can be longer.
    pub const fn codes(&self) -> &Buffer<u64> {
        &self.codes
    }

    /// `[k, capacity]`: rows in order; of the first order 0, 1, 2, ... The buffer can be longer.
    pub const fn order(&self) -> &Buffer<u32> {
        &self.order
    }

    /// `[k, capacity]`: the place of each row. The buffer can be longer.
    pub const fn inverse(&self) -> &Buffer<u32> {
        &self.inverse
    }

    /// `[2]`: how many larger cells there are, and how many there was no room for.
    pub const fn counts(&self) -> &Buffer<u32> {
        &self.counts
    }
}

/// All stages on the device that made them. Nothing of it waits but [`Hierarchy::read`].
#[derive(Debug)]
pub struct Hierarchy {
    stages: Vec<Stage>,
    /// `[1]`: how many rows come into the first stage.
    rows: Buffer<u32>,
    capacity: usize,
    orders: usize,
}

/// One stage on the host.
///
/// Its named arrays: `cluster` i32 `[V_in]`, `indptr` i32 `[V_out + 1]`, `indices` i32 `[V_in]`,
/// `head` i32 `[V_out]`, `grid_coord` i32 `[V_out, 3]`, `batch` i32 `[V_out]`, `codes` u64, `order`
/// u32 and `inverse` u32 `[k, V_out]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named as that of the stage")]
pub struct StageArrays {
    pub cluster: Vec<i32>,
    pub indptr: Vec<i32>,
    pub indices: Vec<i32>,
    pub head: Vec<i32>,
    pub grid_coord: Vec<i32>,
    pub batch: Vec<i32>,
    pub codes: Vec<u64>,
    pub order: Vec<u32>,
    pub inverse: Vec<u32>,
    /// Larger cells that there was no room for.
    pub dropped: usize,
    /// Bits of a coordinate that are left.
    pub depth: u32,
}

impl Hierarchy {
    /// The stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Waits, and copies all stages to the host. Rows that are no cells are told by
    /// [`Serialized::read`].
    ///
    /// # Errors
    /// Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<Vec<StageArrays>> {
        let mut rows = self.rows.read(1)?.first().map_or(0, |&rows| rows as usize);
        let read = |stage: &Stage| {
            let counts = stage.counts.read(2)?;
            let [cells, dropped] = [0, 1].map(|k| counts.get(k).map_or(0, |&count| count as usize));
            let (len, capacity) = (self.orders * stage.capacity, stage.capacity);
            let arrays = StageArrays {
                cluster: stage.cluster.read(rows)?,
                indptr: stage.indptr.read(cells + 1)?,
                indices: stage.indices.read(rows)?,
                head: stage.head.read(cells)?,
                grid_coord: stage.coords.read(3 * cells)?,
                batch: stage.batch.read(cells)?,
                codes: without_padding(stage.codes.read(len)?, capacity, cells),
                order: without_padding(stage.order.read(len)?, capacity, cells),
                inverse: without_padding(stage.inverse.read(len)?, capacity, cells),
                dropped,
                depth: stage.depth,
            };
            rows = cells;
            Ok(arrays)
        };
        self.stages.iter().map(read).collect()
    }
}

impl Output for Hierarchy {
    fn stream(&self) -> &Stream {
        self.rows.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        self.rows.set_stream(stream);
        for stage in &mut self.stages {
            let Stage { cluster, indptr, indices, head, coords, batch, codes, order, inverse, counts, .. } = stage;
            for buffer in [cluster, indptr, indices, head, coords, batch] {
                buffer.set_stream(stream);
            }
            for buffer in [order, inverse, counts] {
                buffer.set_stream(stream);
            }
            codes.set_stream(stream);
        }
    }
}

impl NamedArrays for StageArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let (rows, cells) = (self.cluster.len(), self.head.len());
        let orders = [self.codes.len().checked_div(cells).unwrap_or(0), cells];
        vec![
            ("cluster", ArrayView::i32(&[rows], &self.cluster)),
            ("indptr", ArrayView::i32(&[cells + 1], &self.indptr)),
            ("indices", ArrayView::i32(&[rows], &self.indices)),
            ("head", ArrayView::i32(&[cells], &self.head)),
            ("grid_coord", ArrayView::i32(&[cells, 3], &self.grid_coord)),
            ("batch", ArrayView::i32(&[cells], &self.batch)),
            ("codes", ArrayView::u64(&orders, &self.codes)),
            ("order", ArrayView::u32(&orders, &self.order)),
            ("inverse", ArrayView::u32(&orders, &self.inverse)),
        ]
    }
}

/// Makes hierarchies call after call, and keeps its memory: on a GPU 16 bytes for each row.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{Cells, PoolParams, Pooler, SerializeParams, serialize};
/// let cells = Cells::new(&[[0, 0, 0], [7, 7, 7], [1, 1, 1]])?;
/// let serialized = serialize(cells, &SerializeParams::default(), &Device::cpu())?;
/// let mut pooler = Pooler::new(&Device::cpu().stream()?, &PoolParams::default())?;
/// let mut out = pooler.output()?;
/// pooler.run(cells, &serialized, &mut out)?;
/// assert_eq!(out.read()?[0].cluster, [0, 1, 0]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct Pooler {
    stream: Stream,
    params: PoolParams,
    side: Side<(), Workspace>,
}

workspace! {
    /// Memory that kernels use again.
    struct Workspace(stream) {
        stream: Stream,
        staging: [Buffer<i32>; 2] = [stream.alloc(0)?, stream.alloc(0)?],
        tiles: Buffer<u32>,
        keys: Buffer<u32>,
        sorted: Buffer<u32>,
        sorter: Sorter<u32>,
    }
}

impl Pooler {
    /// A pooler whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &PoolParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(()), || Workspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: params.clone(), side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Hierarchy> {
        let stages = self.params.strides.iter().map(|_| Stage::new(&self.stream)).collect::<Result<_>>()?;
        Ok(Hierarchy { stages, rows: self.stream.upload(&[0])?, capacity: 0, orders: 0 })
    }

    /// Makes all stages. See [`pool_hierarchy`](super::pool_hierarchy()). No call waits.
    ///
    /// # Errors
    /// As [`pool_hierarchy`](super::pool_hierarchy()); a result on another device, or of another
    /// number of stages.
    pub fn run(&mut self, cells: Cells<'_>, serialized: &Serialized, out: &mut Hierarchy) -> Result<()> {
        cells.check(&self.stream)?;
        self.stream.check_memory(Argument::Codes, "memory of", Output::stream(serialized))?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let expected = format_args!("{} rows, as many as cells", cells.len());
        ensure(serialized.capacity() == cells.len(), Argument::Codes, expected, serialized.capacity())?;
        let expected = format_args!("{} stages", self.params.strides.len());
        ensure(out.stages.len() == self.params.strides.len(), Argument::Out, expected, out.stages.len())?;
        let [a, b, c] = cells.streams();
        let Self { stream, params, side } = self;
        side.fill(
            stream,
            &[a, b, c, Some(Output::stream(serialized))],
            out,
            |(), out| {
                let halvings = reserve(out, &cells, serialized, params)?;
                hierarchy_cpu::run(&cells, serialized, &halvings, &mut out.rows, &mut out.stages)
            },
            |gpu, out| {
                let halvings = reserve(out, &cells, serialized, params)?;
                gpu.run(&cells, serialized, &halvings, out)
            },
        )
    }
}

/// Makes room in all stages; returns how often each halves coordinates.
fn reserve(out: &mut Hierarchy, cells: &Cells<'_>, serialized: &Serialized, params: &PoolParams) -> Result<Vec<u32>> {
    let (mut rows, mut depth, orders) = (cells.len(), serialized.depth(), serialized.orders().len());
    (out.capacity, out.orders) = (rows, orders);
    let mut halvings = Vec::new();
    for (i, (stage, stride)) in out.stages.iter_mut().zip(&params.strides).enumerate() {
        let wanted = stride.trailing_zeros();
        let halved = if wanted > depth { 0 } else { wanted };
        depth -= halved;
        let capacity = params.capacities.as_ref().map_or(rows, |capacities| capacities[i]);
        stage.reserve(rows, capacity, orders, depth)?;
        halvings.push(halved);
        rows = capacity;
    }
    Ok(halvings)
}

impl Workspace {
    fn run(&mut self, cells: &Cells<'_>, serialized: &Serialized, halvings: &[u32], out: &mut Hierarchy) -> Result<()> {
        out.rows.copy_from(&serialized.count, 1)?;
        let first = cells.staged(&mut self.staging)?;
        let n = Length { bound: first.n.bound, exact: serialized.count.pointer() };
        let (mut rows, orders) = (kernels::CellRows { n, ..first }, out.orders as u32);
        let (mut codes, mut order) = (serialized.codes.pointer(), serialized.order.pointer());
        self.keys.reserve(cells.len())?;
        self.sorted.reserve(cells.len())?;
        let passes = passes_for(cells.len() as u64);
        self.sorter.reserve(n.bound, passes)?;
        let words = |bound: u32| orders as usize * Tiles::words(bound.div_ceil(STAGE_TILE).max(1)) as usize;
        let most = out.stages.iter().map(|stage| words(stage.capacity as u32)).max().unwrap_or(0);
        self.tiles.reserve(most.max(words(n.bound)))?;
        for (i, (stage, &doubled)) in out.stages.iter_mut().zip(halvings).enumerate() {
            let bound = rows.n.bound;
            let tiles = bound.div_ceil(STAGE_TILE);
            self.tiles.fill_words(0, words(bound))?;
            let args = kernels::StageArgs {
                rows,
                codes,
                order,
                orders,
                doubled,
                capacity: stage.capacity as u32,
                tiles: Tiles { words: self.tiles.pointer() },
                cluster: stage.cluster.pointer(),
                keys: if i == 0 { self.keys.pointer() } else { null_mut() },
                indptr: stage.indptr.pointer().cast(),
                indices: stage.indices.pointer().cast(),
                head: stage.head.pointer().cast(),
                next_coords: stage.coords.pointer(),
                next_batch: stage.batch.pointer(),
                next_codes: stage.codes.pointer(),
                next_order: stage.order.pointer(),
                next_inverse: stage.inverse.pointer(),
                counts: stage.counts.pointer().cast(),
            };
            // SAFETY: room was made for all rows and larger cells; what a kernel reads is queued
            // before.
            unsafe {
                self.stream.launch::<kernels::Parents>(tiles.max(1), args)?;
                if i == 0 {
                    let input = Pairs { keys: self.keys.pointer(), values: null_mut() };
                    let output = Pairs { keys: self.sorted.pointer(), values: args.indices };
                    self.sorter.enqueue(input, output, rows.n, passes)?;
                }
                if stage.capacity > 0 {
                    self.stream.launch::<kernels::Heads>((stage.capacity as u32).div_ceil(BLOCK), args)?;
                }
                if (orders > 1) & (tiles > 0) {
                    self.stream.launch::<kernels::NextOrders>((orders - 1) * tiles, args)?;
                }
            }
            (codes, order) = (args.next_codes, args.next_order);
            let n = Length { bound: args.capacity, exact: stage.counts.pointer() };
            rows = kernels::CellRows { coords: args.next_coords, batch: args.next_batch, n };
        }
        Ok(())
    }
}
