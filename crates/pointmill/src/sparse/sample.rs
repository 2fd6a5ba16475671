//! One point of each cell.

use super::cells::MAX_ROWS;
use super::{Cells, sample_cpu};
use crate::device::{Buffer, Output, Side, Stream, Uploaded, workspace};
use crate::prim::{Pairs, Sorter, passes_for};
use crate::{Aabb, Argument, Dtype, Error, Ints, NamedArrays, Result, Rows, VoxelGrid, ensure, rows, seed};
use pointmill_core::array::ArrayView;
use pointmill_core::hash::Seed;
use pointmill_core::record;
use pointmill_kernels::prim::Length;
use pointmill_kernels::prim::scan::{self, Scan, ScanArgs, Tiles};
use pointmill_kernels::sparse::{self as kernels, BLOCK, SAMPLE_TILE, pick};
use std::ptr::{null, null_mut};

/// Where the grid of a call begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum GridOrigin {
    /// At the least x, y and z of all finite points of the call.
    #[default]
    Min,
    /// At the lower corner of a range. Points outside of its cells are in none; where the range is
    /// no multiple of the size, the number of cells is rounded, as `voxelize` does.
    Range(Aabb),
}

/// Which point of a cell is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Pick {
    /// The first in input order.
    #[default]
    First,
    /// The nearest to the centre of the cell, by the squared distance in `f64`; of several the
    /// first.
    Nearest,
    /// The one with this number in input order, counted from 0, modulo how many the cell has.
    Nth(u32),
    /// One by chance, each as likely: the seed, the item and the cell decide, on every device alike.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl Pick {
    /// The pick as kernels take it.
    const fn numbers(self) -> (u32, u64) {
        match self {
            Self::First => (pick::FIRST, 0),
            Self::Nearest => (pick::NEAREST, 0),
            Self::Nth(number) => (pick::NTH, number as u64),
            Self::Random { seed } => (pick::RANDOM, seed),
        }
    }
}

/// Parameters of grid sampling.
///
/// ```
/// use pointmill::sparse::{GridSampleParams, Pick};
/// let params = GridSampleParams { pick: Pick::Random { seed: 7 }, ..GridSampleParams::new([0.05; 3]) };
/// assert!(params.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GridSampleParams {
    /// Edge lengths of a cell along x, y, z in metres; default 0.05.
    pub grid_size: [f32; 3],
    /// Where the grid begins; default at the least coordinates.
    pub origin: GridOrigin,
    /// Which point of a cell is taken; default the first.
    pub pick: Pick,
    /// Cells that the result has room for; default as many as points.
    pub capacity: Option<usize>,
}

impl Default for GridSampleParams {
    fn default() -> Self {
        Self::new([0.05; 3])
    }
}

impl GridSampleParams {
    /// Cells of this size, from the least coordinates, the first point of each.
    pub const fn new(grid_size: [f32; 3]) -> Self {
        Self { grid_size, origin: GridOrigin::Min, pick: Pick::First, capacity: None }
    }

    /// Checks everything that does not depend on the points.
    ///
    /// # Errors
    /// A size that is not finite and above 0, a range that is empty or of too many cells, a
    /// capacity of 0.
    pub fn validate(&self) -> Result<()> {
        ensure(self.capacity != Some(0), Argument::Capacity, "1 or more", 0)?;
        self.grid(1).map(drop)
    }

    /// The grid of an item; where the points say its corner, one about 0 whose cells have ids of
    /// 64 bits with the item.
    pub(super) fn grid(&self, items: u32) -> Result<VoxelGrid> {
        for size in self.grid_size {
            let fits = size.is_finite() && size > 0.0 && size < 1e30;
            ensure(fits, Argument::GridSize, "finite sizes above 0 m", format_args!("{:?}", self.grid_size))?;
        }
        let range = match self.origin {
            GridOrigin::Range(range) => range,
            GridOrigin::Min => {
                let bits = (63 - (u32::BITS - (items - 1).leading_zeros())) / 3;
                Aabb::new([0.0; 3], self.grid_size.map(|size| size * (1u32 << bits) as f32))
            }
        };
        let grid = VoxelGrid::new(self.grid_size, range)?;
        let cells = u128::from(grid.num_cells()) * u128::from(items);
        let expected = "at most 2^63 cells in all items: a larger grid size, or fewer items";
        ensure(cells <= 1 << 63, Argument::GridSize, expected, cells)?;
        Ok(grid)
    }
}

record! {
    /// What grid sampling counted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
    #[non_exhaustive]
    pub struct GridSampleReport {
        /// Points.
        pub points: usize,
        /// Cells, V.
        pub cells: usize,
        /// Cells beyond the capacity.
        pub cells_dropped: usize,
        /// Points with a NaN or an infinity among x, y, z.
        pub non_finite: usize,
        /// Points outside of the grid.
        pub outside: usize,
        /// Points of cells beyond the capacity.
        pub points_dropped: usize,
    }
}

/// One point of each cell, on the device that chose it. Nothing of it waits but [`Sampled::read`].
#[derive(Debug)]
pub struct Sampled {
    pub(super) coords: Buffer<i32>,
    pub(super) batch: Buffer<i32>,
    pub(super) rows: Buffer<i32>,
    pub(super) num_points: Buffer<i32>,
    pub(super) inverse: Buffer<i32>,
    /// [`kernels::SampleCounts`].
    pub(super) counts: Buffer<u32>,
    pub(super) capacity: usize,
    pub(super) points: usize,
    pub(super) items: u32,
    /// Where cells end, in metres from the least coordinates, if the grid begins there.
    ends: Option<[f32; 3]>,
}

/// Words of [`kernels::SampleCounts`].
const COUNTS: usize = size_of::<kernels::SampleCounts>() / 4;

/// One point of each cell, on the host.
///
/// Its named arrays, of i32: `grid_coord` `[V, 3]`, `batch`, `rows` and `num_points` `[V]`, and
/// `inverse` `[N]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledArrays {
    /// The cells x, y, z.
    pub grid_coord: Vec<i32>,
    /// The item of each cell.
    pub batch: Vec<i32>,
    /// The point of each cell that is taken.
    pub rows: Vec<i32>,
    /// How many points each cell has.
    pub num_points: Vec<i32>,
    /// The cell of each point, or -1.
    pub inverse: Vec<i32>,
    /// What was counted.
    pub report: GridSampleReport,
}

impl Sampled {
    /// Cells that there is room for.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// `[capacity, 3]`: the cells x, y, z. The buffer can be longer.
    pub const fn grid_coord(&self) -> &Buffer<i32> {
        &self.coords
    }

    /// `[capacity]`: the item of each cell. The buffer can be longer.
    pub const fn batch(&self) -> &Buffer<i32> {
        &self.batch
    }

    /// Words: cells, cells beyond the capacity, points that are not finite, points outside, points of
    /// cells beyond the capacity.
    pub const fn counts(&self) -> &Buffer<u32> {
        &self.counts
    }

    /// How many points there were, N.
    pub const fn num_points_in(&self) -> usize {
        self.points
    }

    /// `[capacity]`: the point of each cell that is taken. The buffer can be longer.
    pub const fn rows(&self) -> &Buffer<i32> {
        &self.rows
    }

    /// `[capacity]`: how many points each cell has. The buffer can be longer.
    pub const fn num_points(&self) -> &Buffer<i32> {
        &self.num_points
    }

    /// `[N]`: the cell of each point, or -1. The buffer can be longer.
    pub const fn inverse(&self) -> &Buffer<i32> {
        &self.inverse
    }

    /// The cells with their items, as the next step takes them: their number stays on the device.
    ///
    /// # Errors
    /// None that a result of a call can have.
    pub fn cells(&self) -> Result<Cells<'_>> {
        let cells = Cells::new(Ints::on_device(&self.coords, 3 * self.capacity)?)?;
        cells.batch(Ints::on_device(&self.batch, self.capacity)?, self.items as usize)?.counted(&self.counts)
    }

    /// Waits, and copies the arrays to the host.
    ///
    /// # Errors
    /// Points beyond the cells of a grid that begins at the least coordinates: a stray point, or a size
    /// too small for so wide a cloud. Whatever the queued work ran into, or no memory.
    pub fn read(&self) -> Result<SampledArrays> {
        let counts = self.counts.read(COUNTS)?;
        let count = |k: usize| counts.get(k).map_or(0, |&count| count as usize);
        let cells = count(0);
        if let Some(ends) = self.ends.filter(|_| count(3) > 0) {
            let [x, y, z] = ends;
            let expected = "a larger size, a range, or points without a stray one";
            let got = format!("{} points beyond all cells: ({x}, {y}, {z}) m from the least coordinates", count(3));
            return Err(Error::argument(Argument::GridSize, expected, got));
        }
        Ok(SampledArrays {
            grid_coord: self.coords.read(3 * cells)?,
            batch: self.batch.read(cells)?,
            rows: self.rows.read(cells)?,
            num_points: self.num_points.read(cells)?,
            inverse: self.inverse.read(self.points)?,
            report: GridSampleReport {
                points: self.points,
                cells,
                cells_dropped: count(1),
                non_finite: count(2),
                outside: count(3),
                points_dropped: count(4),
            },
        })
    }

    fn reserve(&mut self, capacity: usize, points: usize, items: u32) -> Result<()> {
        (self.capacity, self.points) = (0, 0);
        self.coords.reserve(3 * capacity)?;
        self.batch.reserve(capacity)?;
        self.rows.reserve(capacity)?;
        self.num_points.reserve(capacity)?;
        self.inverse.reserve(points)?;
        (self.capacity, self.points, self.items) = (capacity, points, items);
        Ok(())
    }
}

impl Output for Sampled {
    fn stream(&self) -> &Stream {
        self.coords.stream()
    }

    fn set_stream(&mut self, stream: &Stream) {
        let Self { coords, batch, rows, num_points, inverse, counts, .. } = self;
        [coords, batch, rows, num_points, inverse].into_iter().for_each(|buffer| buffer.set_stream(stream));
        counts.set_stream(stream);
    }
}

impl NamedArrays for SampledArrays {
    fn arrays(&self) -> Vec<(&'static str, ArrayView<'_>)> {
        let cells = self.rows.len();
        vec![
            ("grid_coord", ArrayView::i32(&[cells, 3], &self.grid_coord)),
            ("batch", ArrayView::i32(&[cells], &self.batch)),
            ("rows", ArrayView::i32(&[cells], &self.rows)),
            ("num_points", ArrayView::i32(&[cells], &self.num_points)),
            ("inverse", ArrayView::i32(&[self.inverse.len()], &self.inverse)),
        ]
    }
}

/// Samples call after call, and keeps its memory: on a GPU 36 to 100 bytes a point.
///
/// ```
/// use pointmill::Device;
/// use pointmill::sparse::{GridSampleParams, GridSampler};
/// let mut sampler = GridSampler::new(&Device::auto().stream()?, &GridSampleParams::new([0.5; 3]))?;
/// let mut out = sampler.output()?;
/// for x in [0.1f32, 0.9] {
///     sampler.run(&[[x, 0.0, 0.0], [0.0, 0.0, 0.0]], None, &mut out)?;
/// }
/// assert_eq!(out.read()?.inverse, [0, 1]);
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Debug)]
pub struct GridSampler {
    stream: Stream,
    params: GridSampleParams,
    side: Side<sample_cpu::Sampling, Workspace>,
}

workspace! {
    /// Memory that kernels use again.
    struct Workspace(stream) {
        stream: Stream,
        staging: Buffer<u8>,
        splits: Uploaded,
        corner: Buffer<u32>,
        table: Buffer<u64>,
        firsts: Buffer<u32>,
        ids: Buffer<u32>,
        slots: Buffer<u32>,
        tiles: Buffer<u32>,
        least: Buffer<u64>,
        keys: Buffer<u32>,
        sorted_keys: Buffer<u32>,
        sorted: Buffer<u32>,
        starts: Buffer<u32>,
        sorter: Sorter<u32>,
        seed: Seed = seed::seed(),
    }
}

impl GridSampler {
    /// A sampler whose work goes to `stream`.
    ///
    /// # Errors
    /// Parameters out of range; out of memory.
    pub fn new(stream: &Stream, params: &GridSampleParams) -> Result<Self> {
        params.validate()?;
        let side = Side::new(stream, || Ok(sample_cpu::Sampling::default()), || Workspace::new(stream))?;
        Ok(Self { stream: stream.clone(), params: *params, side })
    }

    /// An empty result to be filled; its buffers grow as needed and are used again.
    ///
    /// # Errors
    /// Out of memory.
    pub fn output(&self) -> Result<Sampled> {
        let stream = &self.stream;
        Ok(Sampled {
            coords: stream.alloc(0)?,
            batch: stream.alloc(0)?,
            rows: stream.alloc(0)?,
            num_points: stream.alloc(0)?,
            inverse: stream.alloc(0)?,
            counts: stream.upload(&[0; COUNTS])?,
            capacity: 0,
            points: 0,
            items: 1,
            ends: None,
        })
    }

    /// Takes one point of each cell. See [`grid_sample`](super::grid_sample()). `row_splits` holds
    /// `items + 1` ascending numbers from 0 to N. No call waits; one that is recorded in a graph
    /// must have the splits of the call before, and keeps them.
    ///
    /// # Errors
    /// As [`grid_sample`](super::grid_sample()); a result on another device.
    pub fn run<'a>(
        &mut self,
        points: impl Into<Rows<'a>>,
        row_splits: Option<&[usize]>,
        out: &mut Sampled,
    ) -> Result<()> {
        let points = points.into();
        points.check(Argument::Points, &self.stream, &[Dtype::F32])?;
        ensure(points.columns() >= 3, Argument::Points, "at least 3 columns: x, y, z first", points.columns())?;
        ensure(points.len() < MAX_ROWS, Argument::Points, "fewer than 2^30 points", points.len())?;
        self.stream.check_memory(Argument::Out, "memory of", Output::stream(out))?;
        let whole = [0, points.len()];
        let splits = row_splits.unwrap_or(&whole);
        rows::check_splits(Argument::RowSplits, splits, points.len())?;
        let expected = "2 numbers or more, and fewer than 2^31";
        ensure((2..1 << 31).contains(&splits.len()), Argument::RowSplits, expected, splits.len())?;
        let grid = self.params.grid(splits.len() as u32 - 1)?;
        let Self { stream, params, side } = self;
        let capacity = params.capacity.unwrap_or(points.len());
        ensure(capacity < MAX_ROWS, Argument::Capacity, "fewer than 2^30 cells", capacity)?;
        let items = splits.len() as u32 - 1;
        let from_points = params.origin == GridOrigin::Min;
        out.ends = from_points.then(|| [0, 1, 2].map(|k| grid.range().max[k] - grid.range().min[k]));
        side.fill(
            stream,
            &[points.stream()],
            out,
            |sampling, out| {
                out.reserve(capacity, points.len(), items)?;
                let values =
                    points.host::<f32>().ok_or_else(|| Error::argument(Argument::Points, "host memory", "a device"))?;
                sampling.run(values, points.columns(), splits, grid, params, out)
            },
            |gpu, out| {
                out.reserve(capacity, points.len(), items)?;
                gpu.run(&points, splits, grid, params, out)
            },
        )
    }
}

impl Workspace {
    fn run(
        &mut self,
        points: &Rows<'_>,
        splits: &[usize],
        grid: VoxelGrid,
        params: &GridSampleParams,
        out: &mut Sampled,
    ) -> Result<()> {
        out.counts.fill_words(0, COUNTS)?;
        let n = points.len() as u32;
        if n == 0 {
            return Ok(());
        }
        let (rows, capacity) = (points.len(), out.capacity);
        let entries = (2 * rows + 1).next_power_of_two().max(4);
        let (tiles, blocks) = (n.div_ceil(SAMPLE_TILE), n.div_ceil(BLOCK));
        let (pick, value) = params.pick.numbers();
        let by_number = pick >= pick::NTH;
        let scan_blocks = capacity as u32 / scan::TILE + 1;
        let scan_words = Tiles::words(scan_blocks) as usize;
        let words = Tiles::words(tiles) as usize + scan_words;
        self.table.reserve(entries)?;
        self.firsts.reserve(entries)?;
        self.ids.reserve(entries)?;
        self.slots.reserve(rows)?;
        self.tiles.reserve(words)?;
        self.corner.reserve(3)?;
        self.table.fill_words(u32::MAX, 2 * entries)?;
        self.firsts.fill_words(u32::MAX, entries)?;
        self.tiles.fill_words(0, words)?;
        if pick == pick::NEAREST {
            self.least.reserve(capacity)?;
            self.least.fill_words(u32::MAX, 2 * capacity)?;
        }
        let passes = passes_for(capacity as u64);
        if by_number {
            self.keys.reserve(rows)?;
            self.sorted_keys.reserve(rows)?;
            self.sorted.reserve(rows)?;
            self.starts.reserve(capacity + 1)?;
            self.sorter.reserve(n, passes)?;
        }
        self.splits.set(Argument::RowSplits, splits.iter().map(|&split| split as u32))?;
        let (from_points, items) = (params.origin == GridOrigin::Min, splits.len() as u32 - 1);
        let input = kernels::SamplePoints {
            points: points.address(&mut self.staging)?,
            columns: points.columns() as u32,
            n,
            starts: self.splits.pointer(),
            items,
            grid,
            corner: if from_points { self.corner.pointer().cast_const() } else { null() },
        };
        let args = kernels::SampleArgs {
            input,
            table: self.table.pointer(),
            mask: entries as u32 - 1,
            seed: self.seed,
            firsts: self.firsts.pointer(),
            ids: self.ids.pointer(),
            slots: self.slots.pointer(),
            tiles: Tiles { words: self.tiles.pointer() },
            capacity: capacity as u32,
            pick,
            value,
            coords: out.coords.pointer(),
            batch: out.batch.pointer(),
            rows: out.rows.pointer().cast(),
            num_points: out.num_points.pointer().cast(),
            inverse: out.inverse.pointer(),
            least: self.least.pointer(),
            keys: self.keys.pointer(),
            starts: self.starts.pointer(),
            sorted: self.sorted.pointer(),
            counts: out.counts.pointer().cast(),
        };
        if from_points {
            self.corner.fill_words(u32::MAX, 3)?;
        }
        // SAFETY: room was made for all points, cells and entries; what a kernel reads is queued
        // before.
        unsafe {
            if from_points {
                let finding = kernels::CornerArgs { input, corner: self.corner.pointer() };
                self.stream.launch::<kernels::Corner>(blocks, finding)?;
            }
            self.stream.launch::<kernels::InsertCells>(blocks, args)?;
            self.stream.launch::<kernels::RankCells>(tiles, args)?;
            self.stream.launch::<kernels::AssignCells>(blocks, args)?;
            if pick == pick::NEAREST {
                self.stream.launch::<kernels::NearestPoints>(blocks, args)?;
            }
            if by_number {
                let cells = Length { bound: capacity as u32, exact: out.counts.pointer() };
                let words = self.tiles.pointer().add(Tiles::words(tiles) as usize);
                let sums = ScanArgs {
                    input: args.num_points,
                    output: self.starts.pointer(),
                    n: cells,
                    tiles: Tiles { words },
                };
                self.stream.launch::<Scan>(scan_blocks, sums)?;
                let input = Pairs { keys: self.keys.pointer(), values: null_mut() };
                let output = Pairs { keys: self.sorted_keys.pointer(), values: self.sorted.pointer() };
                self.sorter.enqueue(input, output, Length::known(n), passes)?;
                self.stream.launch::<kernels::ChoosePoints>((capacity as u32).div_ceil(BLOCK), args)?;
            }
        }
        Ok(())
    }
}
