//! Points into sums, and sums into rows.

use super::Grid;
use crate::device::{Buffer, Stream, workspace};
use crate::ndt::cloud::outside;
use crate::ndt::moments::more_points;
use crate::ndt::{NdtMoments, NdtReport};
use crate::prim::{Pairs, SortKey, Sorter, passes_for};
use crate::rows::Values;
use crate::seed::seed;
use crate::{Argument, Error, Result, Rows, memory};
use pointmill_core::hash::Seed;
use pointmill_core::ndt::{LINE, LineBox, MAX_COUNT, Moments, NdtLattice, StatsParams};
use pointmill_kernels::Kernel;
use pointmill_kernels::cloud::kind;
use pointmill_kernels::ndt as kernels;
use pointmill_kernels::prim::scan::Tiles;
use pointmill_kernels::prim::{BLOCK, Length};
use std::ptr::{null, null_mut};

/// Least cells that there is room for.
const LEAST_CELLS: usize = if cfg!(test) { 4 } else { 1 << 14 };

/// Sums by cell in a hash table, all zero where there is no cell.
#[derive(Debug)]
pub(in crate::ndt) struct Table {
    stream: Stream,
    lattice: NdtLattice,
    staging: Buffer<u8>,
    seed: Seed,
    records: Buffer<kernels::Record>,
    list: Buffer<u32>,
    totals: Buffer<kernels::Totals>,
    /// The totals after the last call.
    known: kernels::Totals,
    state: State,
    points: u64,
    non_finite: u64,
    sort: Sort,
    finish_totals: Buffer<kernels::FinishTotals>,
    tiles: Buffer<u32>,
}

/// What records and totals are.
#[derive(Clone, Debug)]
enum State {
    /// What `known` says.
    Whole,
    /// Nothing in particular: no point was added since the table was made or emptied.
    Unused,
    /// Some points of a call may be in them and others not, because it did not come to its end;
    /// with the reason, once it is known.
    Partial(Option<Error>),
}

workspace! {
    /// Cells in order.
    struct Sort(stream) {
        short: Keys<u32>,
        long: Keys<u64>,
        slots: Buffer<u32>,
        sorted: Buffer<u32>,
    }
}

workspace! {
    /// Keys of cells, before and after they are sorted.
    struct Keys<K: SortKey>(stream) {
        keys: Buffer<K>,
        sorted: Buffer<K>,
        sorter: Sorter<K>,
    }
}

impl<K: SortKey> Keys<K> {
    /// Queues the making of the keys by `Make`, and their sort; `sorted` gets the slots in order.
    ///
    /// # Safety
    /// The arguments but for `keys` are valid, and `sorted` has room for as many slots.
    unsafe fn enqueue<Make: Kernel<Args = kernels::SortKeysArgs<K>>>(
        &mut self,
        stream: &Stream,
        mut args: kernels::SortKeysArgs<K>,
        sorted: *mut u32,
        passes: u32,
    ) -> Result<()> {
        let n = args.n;
        self.keys.reserve(n as usize)?;
        self.sorted.reserve(n as usize)?;
        self.sorter.reserve(n, passes)?;
        args.keys = self.keys.pointer();
        let from = Pairs { keys: args.keys, values: args.slots };
        let to = Pairs { keys: self.sorted.pointer(), values: sorted };
        // SAFETY: room was made, and the caller's promise.
        unsafe {
            stream.launch::<Make>(n.div_ceil(BLOCK), args)?;
            self.sorter.enqueue(from, to, Length::known(n), passes)
        }
    }
}

/// What a call adds.
#[derive(Clone, Copy)]
enum Part {
    Points { args: kernels::AccumulateArgs, kind: u32 },
    Records(kernels::AddRecordsArgs),
}

impl Table {
    pub(in crate::ndt) fn new(stream: &Stream, lattice: NdtLattice) -> Result<Self> {
        Ok(Self {
            stream: stream.clone(),
            lattice,
            staging: stream.alloc(0)?,
            seed: seed(),
            records: stream.alloc(0)?,
            list: stream.alloc(0)?,
            totals: stream.alloc(1)?,
            known: kernels::Totals::default(),
            state: State::Unused,
            points: 0,
            non_finite: 0,
            sort: Sort::new(stream)?,
            finish_totals: stream.alloc(1)?,
            tiles: stream.alloc(0)?,
        })
    }

    pub(in crate::ndt) fn add(&mut self, cloud: &Rows<'_>) -> Result<()> {
        self.check_whole()?;
        if cloud.is_empty() {
            return Ok(());
        }
        let [after, _] = more_points([self.points, 0], [cloud.len() as u64, 0])?;
        let points = cloud.staged(&mut self.staging)?;
        let args = kernels::AccumulateArgs {
            points: points.values,
            columns: points.columns,
            n: points.n,
            items: items(points.n, &self.stream),
            take_away: 0,
            origin: points.origin,
            lattice: self.lattice,
            table: self.table(),
        };
        // A cell for every eighth point is more than most clouds have.
        let totals = self.add_part(Part::Points { args, kind: points.kind }, cloud.len() / 8, cloud.len() as u64)?;
        if totals.outside != 0 {
            let index = !totals.outside as usize;
            return Err(match cloud.values() {
                Values::Device { .. } => {
                    let most = f64::from(pointmill_core::ndt::MAX_CELL) * self.lattice.unit();
                    let expected = format!("coordinates from -{most} to below {most} m, or an origin near them");
                    Error::argument(Argument::Points, expected, format!("others at point {index}"))
                }
                _ => outside(&self.lattice, index, cloud.point(index)),
            });
        }
        // Of the points that are not finite there are no more than points.
        (self.points, self.non_finite) = (after, self.non_finite + u64::from(totals.non_finite));
        Ok(())
    }

    pub(in crate::ndt) fn merge(&mut self, moments: &NdtMoments) -> Result<()> {
        self.check_whole()?;
        let after = more_points([self.points, self.non_finite], [moments.points(), moments.non_finite()])?;
        if !moments.is_empty() {
            let records = memory::collect(moments.sums().iter().map(|(key, m)| record(*key, m)))?;
            let source = self.stream.upload(&records)?;
            let args = kernels::AddRecordsArgs {
                source: source.pointer(),
                source_list: null(),
                n: records.len() as u32,
                to: self.table(),
                take_away: 0,
            };
            self.add_part(Part::Records(args), records.len(), moments.points())?;
        }
        [self.points, self.non_finite] = after;
        Ok(())
    }

    /// The number of records, with cells and without.
    #[cfg(test)]
    pub(in crate::ndt) const fn room(&self) -> usize {
        self.records.len()
    }

    /// Adds a part of so many points, which may have so many cells; if it does not fit, with more
    /// room; if it cannot be added, the table is as before, and the totals or an error say why.
    /// Where the device fails meanwhile, the table is [`State::Partial`].
    fn add_part(&mut self, part: Part, cells: usize, points: u64) -> Result<kernels::Totals> {
        let before = self.known.cells as usize;
        let mut room = (self.records.len() / 2).max(before + cells.max(LEAST_CELLS));
        loop {
            self.make_room(room)?;
            self.state = State::Partial(None);
            let added = self.try_part(part, points);
            self.state = match &added {
                Ok(_) => State::Whole,
                Err(error) => State::Partial(Some(error.clone())),
            };
            let totals = added?;
            self.known = totals;
            if totals.outside == 0 && totals.full != 0 {
                let expected = format!("at most {MAX_COUNT} points in a cell");
                return Err(Error::argument(Argument::Points, expected, format!("more in {} cells", totals.full)));
            }
            if totals.lost == 0 || totals.outside != 0 {
                return Ok(totals);
            }
            room = self.records.len() * 2;
        }
    }

    /// Adds a part, and takes it away again where it does not fit or cannot be added, as the totals
    /// say.
    fn try_part(&mut self, part: Part, points: u64) -> Result<kernels::Totals> {
        self.totals.fill_words(0, kernels::Totals::WORDS_OF_A_CALL)?;
        // SAFETY: room was made, and the part's arrays are the caller's.
        unsafe { self.launch(part, self.table(), false) }?;
        if self.points + points > u64::from(MAX_COUNT) {
            // SAFETY: the table is valid.
            unsafe { self.count_full() }?;
        }
        let totals = self.totals.read(1)?[0];
        if totals.lost != 0 || totals.outside != 0 || totals.full != 0 {
            // Integers: what was added can be taken away again.
            // SAFETY: as above.
            unsafe { self.launch(part, self.table(), true) }?;
        }
        Ok(totals)
    }

    /// Refuses to go on with sums that a call left unfinished.
    fn check_whole(&self) -> Result<()> {
        let State::Partial(reason) = &self.state else { return Ok(()) };
        let reason = reason.as_ref().map_or_else(|| "it did not end".to_owned(), Error::to_string);
        let got = format!("one that holds a part of the points of a call that failed: {reason}");
        Err(Error::argument(Argument::Builder, "one whose sums are whole; `clear` empties it", got))
    }

    fn table(&self) -> kernels::Records {
        kernels::Records {
            records: self.records.pointer(),
            mask: (self.records.len().max(1) - 1) as u32,
            seed: self.seed,
            list: self.list.pointer(),
            totals: self.totals.pointer(),
        }
    }

    unsafe fn launch(&self, part: Part, table: kernels::Records, take_away: bool) -> Result<()> {
        let take_away = u32::from(take_away);
        // SAFETY: the caller's promise.
        unsafe {
            match part {
                Part::Points { args, kind } => {
                    let args = kernels::AccumulateArgs { table, take_away, ..args };
                    let blocks = args.n.div_ceil(kernels::TILE * args.items);
                    match kind {
                        kind::F32 => self.stream.launch::<kernels::AccumulateF32>(blocks, args),
                        kind::F64 => self.stream.launch::<kernels::AccumulateF64>(blocks, args),
                        _ => self.stream.launch::<kernels::AccumulateAbout>(blocks, args),
                    }
                }
                Part::Records(args) => {
                    let args = kernels::AddRecordsArgs { to: table, take_away, ..args };
                    self.stream.launch::<kernels::AddRecords>(args.n.div_ceil(BLOCK), args)
                }
            }
        }
    }

    unsafe fn count_full(&mut self) -> Result<()> {
        // The host does not know how many records there are by now; no more than the table has.
        let cells = self.totals.read(1)?[0].cells;
        let args = kernels::FullArgs { table: self.table(), n: cells, most: u64::from(MAX_COUNT) };
        // SAFETY: the caller's promise.
        unsafe { self.stream.launch::<kernels::Full>(cells.div_ceil(BLOCK).max(1), args) }
    }

    /// Makes the table half empty with so many cells, and whole. Where that fails it is what it
    /// was.
    fn make_room(&mut self, cells: usize) -> Result<()> {
        let mut wanted = (cells * 2).next_power_of_two().max(4);
        if wanted <= self.records.len() {
            if matches!(self.state, State::Unused) {
                empty(&mut self.records, &mut self.totals)?;
                self.state = State::Whole;
            }
            return Ok(());
        }
        loop {
            if u32::try_from(wanted).is_err() {
                let bytes = (wanted * size_of::<kernels::Record>()) as u64;
                return Err(Error::OutOfMemory { device: self.stream.device().to_string(), bytes });
            }
            let list = self.stream.alloc(wanted)?;
            let mut records = self.stream.alloc(wanted)?;
            let mut totals = self.stream.alloc(1)?;
            empty(&mut records, &mut totals)?;
            let mut known = kernels::Totals::default();
            if self.known.cells > 0 {
                let (old, mask) = (self.table(), (wanted - 1) as u32);
                let (records, list, totals_of) = (records.pointer(), list.pointer(), totals.pointer());
                let to = kernels::Records { records, mask, seed: self.seed, list, totals: totals_of };
                let (source, source_list, n) = (old.records, old.list, self.known.cells);
                let args = kernels::AddRecordsArgs { source, source_list, n, to, take_away: 0 };
                // SAFETY: the old table is valid until its memory is given back, behind this
                // kernel; the new one is larger.
                unsafe { self.launch(Part::Records(args), to, false) }?;
                known = totals.read(1)?[0];
            }
            if known.lost == 0 {
                (self.list, self.records, self.totals, self.known) = (list, records, totals, known);
                self.state = State::Whole;
                return Ok(());
            }
            // A search for a free record ends early; in a table that is less full it finds one.
            wanted *= 2;
        }
    }

    /// Forgets all points, also those that a call left when it failed.
    pub(in crate::ndt) fn clear(&mut self) -> Result<()> {
        let cells = self.known.cells;
        let whole = matches!(self.state, State::Whole);
        self.known = kernels::Totals::default();
        (self.points, self.non_finite) = (0, 0);
        // Until it is known to be empty.
        self.state = State::Unused;
        if whole && cells > 0 {
            let args = kernels::ClearArgs { table: self.table(), n: cells };
            let words = cells * (size_of::<kernels::Record>() / 8) as u32;
            // SAFETY: the list has as many records.
            unsafe { self.stream.launch::<kernels::Clear>(words.div_ceil(BLOCK), args) }?;
            self.totals.fill_words(0, size_of::<kernels::Totals>() / 4)?;
        }
        if whole {
            self.state = State::Whole;
        }
        Ok(())
    }

    /// The least coordinates of all cells plus 2^20.
    fn low(&self) -> [u32; 3] {
        self.known.below.map(|b| (1 << 21) - b)
    }

    /// The box around the lines of all cells.
    fn around(&self) -> LineBox {
        if self.known.cells == 0 {
            return LineBox::default();
        }
        let high = self.known.above.map(|above| above - 1);
        LineBox::of([self.low(), high].map(|[x, y, z]| [x / LINE, y, z]))
    }

    /// Queues the sort of the cells; where their records are listed then.
    fn sort(&mut self) -> Result<*const u32> {
        let (table, n, low) = (self.table(), self.known.cells, self.low());
        let along: [u32; 3] = std::array::from_fn(|axis| self.known.above[axis] - low[axis]);
        self.sort.sorted.reserve(n as usize)?;
        let all = along.iter().fold(1, |all, &cells| all * u64::from(cells));
        if n <= kernels::OrderArgs::MOST && all <= u64::from(kernels::OrderArgs::MOST_IN_BOX) {
            let sorted = self.sort.sorted.pointer();
            let args =
                kernels::OrderArgs { table, n, low, along: [along[0], along[1]], all: all as u32, slots: sorted };
            // SAFETY: the table is valid, its cells are in the box, and room was made.
            unsafe { self.stream.launch::<kernels::Order>(1, args) }?;
            return Ok(sorted);
        }
        let widths = along.map(|cells| u32::BITS - (cells - 1).leading_zeros());
        let (bits, all) = ([widths[0], widths[1]], widths.iter().sum::<u32>());
        let passes = passes_for((1u64 << all) - 1);
        let Sort { short, long, slots, sorted } = &mut self.sort;
        slots.reserve(n as usize)?;
        let (slots, sorted) = (slots.pointer(), sorted.pointer());
        // SAFETY: the table is valid, and room was made.
        unsafe {
            if all <= 32 {
                let args = kernels::SortKeysArgs { table, n, low, bits, keys: null_mut(), slots };
                short.enqueue::<kernels::SortKeysShort>(&self.stream, args, sorted, passes)?;
            } else {
                let args = kernels::SortKeysArgs { table, n, low, bits, keys: null_mut(), slots };
                long.enqueue::<kernels::SortKeysLong>(&self.stream, args, sorted, passes)?;
            }
        }
        Ok(sorted)
    }

    pub(in crate::ndt) fn moments(&mut self) -> Result<NdtMoments> {
        self.check_whole()?;
        let n = self.known.cells;
        let mut sums = Vec::new();
        if n > 0 {
            let slots = self.sort()?;
            let to = self.stream.alloc(n as usize)?;
            let args = kernels::CopyRecordsArgs { table: self.table(), slots, n, to: to.pointer() };
            let words = u64::from(n) * (size_of::<kernels::Record>() / 8) as u64;
            // SAFETY: room was made.
            unsafe { self.stream.launch::<kernels::CopyRecords>(words.div_ceil(u64::from(BLOCK)) as u32, args) }?;
            memory::room(&mut sums, n as usize)?;
            sums.extend(to.read(n as usize)?.iter().map(moments_of).filter(|(_, m)| m.count > 0));
        }
        Ok(NdtMoments::of(self.lattice, sums, self.points, self.non_finite))
    }

    pub(in crate::ndt) fn finish(
        &mut self,
        min_points: u32,
        params: StatsParams,
        grid: &mut Grid,
    ) -> Result<NdtReport> {
        self.check_whole()?;
        let n = self.known.cells;
        let mut totals = kernels::FinishTotals::default();
        grid.reserve(n, self.around())?;
        if n > 0 {
            let slots = self.sort()?;
            let tiles = n.div_ceil(BLOCK);
            self.tiles.reserve(Tiles::words(tiles) as usize)?;
            self.tiles.fill_words(0, Tiles::words(tiles) as usize)?;
            self.finish_totals.fill_words(0, size_of::<kernels::FinishTotals>() / 4)?;
            let args = kernels::FinishArgs {
                table: self.table(),
                slots,
                n,
                lattice: self.lattice,
                params,
                min_points,
                cells: grid.cells.arrays(),
                lines: grid.lines.argument(),
                tiles: Tiles { words: self.tiles.pointer() },
                totals: self.finish_totals.pointer(),
            };
            // SAFETY: room was made.
            unsafe { self.stream.launch::<kernels::Finish>(tiles, args) }?;
            totals = self.finish_totals.read(1)?[0];
        }
        grid.set_len(totals.voxels as usize);
        let mut report = NdtReport::default();
        (report.points, report.non_finite) = (self.points, self.non_finite);
        report.cells = (n - totals.empty) as usize;
        report.sparse = totals.sparse as usize;
        report.degenerate = totals.degenerate as usize;
        report.voxels = totals.voxels as usize;
        report.clamped = totals.clamped as usize;
        Ok(report)
    }
}

/// Makes a table without cells of memory that holds anything.
fn empty(records: &mut Buffer<kernels::Record>, totals: &mut Buffer<kernels::Totals>) -> Result<()> {
    records.fill_words(0, records.len() * size_of::<kernels::Record>() / 4)?;
    totals.fill_words(0, size_of::<kernels::Totals>() / 4)
}

/// Points that a lane takes: several where there are enough of them to keep all multiprocessors
/// busy.
fn items(n: u32, stream: &Stream) -> u32 {
    if cfg!(test) {
        return 1 + n % 7;
    }
    (n / (stream.enough_blocks(8) * BLOCK)).clamp(1, 8)
}

fn record(key: u64, moments: &Moments) -> kernels::Record {
    let mut words = [0; kernels::SUMS + 2];
    (words[0], words[1]) = (key + 1, u64::from(moments.count));
    words[2..5].copy_from_slice(&moments.sum.map(|s| s as u64));
    words[5..11].copy_from_slice(&moments.products.map(|p| p as u64));
    kernels::Record(words)
}

fn moments_of(kernels::Record(words): &kernels::Record) -> (u64, Moments) {
    let sums = |from: usize, i: usize| words[from + i] as i64;
    let moments = Moments {
        count: words[1] as u32,
        sum: std::array::from_fn(|i| sums(2, i)),
        products: std::array::from_fn(|i| sums(5, i)),
    };
    (words[0] - 1, moments)
}
