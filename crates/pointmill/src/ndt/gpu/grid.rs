//! Searching, scoring and aligning.

use super::cells::Cells;
use super::lines::Lines;
use crate::device::{Buffer, Stream, workspace};
use crate::ndt::align::Task;
use crate::ndt::cells::lines_of;
use crate::ndt::near::Near;
use crate::ndt::{NdtCells, NdtNeighbours, NdtReport};
use crate::{Result, Rows, memory};
use pointmill_core::ndt::{LineBox, NdtAlignment, NdtLattice, NdtScore, state};
use pointmill_core::rigid::Rigid;
use pointmill_kernels::ndt as kernels;
use pointmill_kernels::prim::scan::{self, Scan, ScanArgs, Tiles};
use pointmill_kernels::prim::sum::TREE;
use pointmill_kernels::prim::{BLOCK, Length};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Steps that are queued before the host looks for the first time whether all alignments have
/// ended.
const FIRST_STEPS: usize = 8;
/// So many blocks a multiprocessor run at once in the kernels for few points.
const FEW_BLOCKS: u32 = 3;
/// Most trees of one launch: poses beyond wait for the next.
const MAX_TREES: usize = if cfg!(test) { 100 } else { 1 << 22 };

workspace! {
    /// Rows and where they are.
    pub(in crate::ndt) struct Grid(stream) {
        stream: Stream,
        len: u32 = 0,
        pub(super) cells: Cells = Cells::upload(stream, &NdtCells::default())?,
        pub(super) lines: Lines,
        work: Mutex<Work> = Mutex::new(Work::new(stream)?),
    }
}

workspace! {
    /// Memory that calls use again.
    struct Work(stream) {
        staging: Buffer<u8>,
        /// Scans of the host that are aligned together.
        scans: Vec<Buffer<u8>> = Vec::new(),
        poses: Buffer<kernels::StoredPose>,
        alignments: Buffer<kernels::StoredAlignment>,
        scores: Buffer<[f64; kernels::SCORES]>,
        totals: Buffer<[f64; kernels::SCORES]>,
        terms: Buffer<[f64; pointmill_core::ndt::TERMS]>,
        counts: Buffer<u32>,
        tiles: Buffer<u32>,
        /// What the last search found.
        listed: Listed = Listed { points: 1, rows: if cfg!(test) { 0 } else { 4 } },
    }
}

/// How many rows a search found near so many points.
#[derive(Clone, Copy, Debug)]
struct Listed {
    points: usize,
    rows: usize,
}

impl Listed {
    /// Room for the rows near `n` points, if there are no more than an eighth more of them for each
    /// point.
    fn room(self, n: usize) -> usize {
        let rows = n as u64 * self.rows as u64 / self.points as u64;
        (rows + rows / 8 + 64).min((1 << 30) - 1) as usize
    }
}

/// Makes room for so many rows.
fn reserve(out: &mut NdtNeighbours, args: &mut kernels::SearchArgs, rows: usize) -> Result<()> {
    out.rows.reserve(rows)?;
    args.rows = out.rows.pointer();
    if out.has_distances {
        out.distance_squared.reserve(rows)?;
        args.distances = out.distance_squared.pointer();
    }
    Ok(())
}

impl Grid {
    pub(in crate::ndt) fn upload(stream: &Stream, cells: &NdtCells) -> Result<Self> {
        let mut grid = Self::new(stream)?;
        grid.lines = Lines::upload(stream, &lines_of(cells)?)?;
        grid.cells = Cells::upload(stream, cells)?;
        grid.len = cells.len() as u32;
        Ok(grid)
    }

    /// Makes room for `n` rows of cells with lines in a box, and forgets all lines.
    pub(super) fn reserve(&mut self, n: u32, around: LineBox) -> Result<()> {
        self.len = 0;
        self.cells.reserve(n as usize)?;
        self.lines.reserve(n as usize, around)
    }

    pub(in crate::ndt) fn set_len(&mut self, len: usize) {
        self.len = len as u32;
    }

    pub(in crate::ndt) fn read(&self, report: NdtReport) -> Result<NdtCells> {
        self.cells.read(report)
    }

    fn map(&self, lattice: &NdtLattice) -> kernels::Map {
        kernels::Map {
            lattice: *lattice,
            len: self.len,
            lines: self.lines.argument(),
            mean: self.cells.mean.pointer(),
            inverse: self.cells.inverse.pointer(),
        }
    }

    /// Whether blocks of a tree each are so few that they had better have more threads.
    fn few(&self, blocks: u32) -> bool {
        blocks <= if cfg!(test) { 20 } else { self.stream.enough_blocks(FEW_BLOCKS) }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        // What a call that failed left in these buffers the next one writes anew.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::ndt) fn lookup(&self, lattice: &NdtLattice, cells: &[[i32; 3]]) -> Result<Vec<i32>> {
        if cells.is_empty() || self.len == 0 {
            return memory::filled(cells.len(), -1);
        }
        let (input, rows) = (self.stream.upload(cells)?, self.stream.alloc(cells.len())?);
        let n = cells.len() as u32;
        let args = kernels::LookupArgs { cells: input.pointer(), n, map: self.map(lattice), rows: rows.pointer() };
        // SAFETY: both arrays have n elements.
        unsafe { self.stream.launch::<kernels::Lookup>(n.div_ceil(BLOCK), args) }?;
        rows.read(cells.len())
    }

    pub(in crate::ndt) fn search(&self, lattice: &NdtLattice, cloud: &Rows<'_>, near: Near) -> Result<NdtNeighbours> {
        if cloud.is_empty() || self.len == 0 {
            let splits = memory::filled(cloud.len() + 1, 0)?;
            return NdtNeighbours::of(&self.stream, cloud.len(), splits, Vec::new(), Vec::new());
        }
        let mut out = NdtNeighbours::new(&self.stream)?;
        let mut work = self.work();
        let n = cloud.len();
        let points = cloud.staged(&mut work.staging)?;
        out.row_splits.reserve(n + 1)?;
        let mut args = kernels::SearchArgs {
            points,
            near: match near {
                Near::Around(cells) => kernels::Near { cells, radius: 0.0 },
                Near::Within(radius) => kernels::Near { cells: 0, radius },
            },
            map: self.map(lattice),
            counts: null_mut(),
            row_splits: out.row_splits.pointer(),
            rows: null_mut(),
            distances: null_mut(),
        };
        let blocks = points.n.div_ceil(BLOCK);
        out.has_distances = matches!(near, Near::Within(_));
        let room = if n as u64 * self.most_near(lattice, near) >= 1 << 30 {
            // So many that their number must be known in 64 bits before it is added up in 32.
            self.count(&mut work, &mut args)?;
            0
        } else {
            let room = work.listed.room(n);
            reserve(&mut out, &mut args, room)?;
            let words = Tiles::words(blocks) as usize;
            work.tiles.reserve(words)?;
            work.tiles.fill_words(0, words)?;
            let tiles = Tiles { words: work.tiles.pointer() };
            // SAFETY: room was made.
            unsafe {
                self.stream
                    .launch::<kernels::List>(blocks, kernels::ListArgs { search: args, room: room as u32, tiles })
            }?;
            room
        };
        // The one wait: how long the lists are.
        let total = self.total(&out, n)?;
        if total > room {
            reserve(&mut out, &mut args, total)?;
            // SAFETY: room was made for what was counted.
            unsafe { self.stream.launch::<kernels::Fill>(blocks, args) }?;
        }
        work.listed = Listed { points: n, rows: total };
        (out.points, out.len, out.has_distances) = (n, total, out.has_distances && total > 0);
        Ok(out)
    }

    /// Counts the rows near each point and adds the counts up, where there are fewer than 2^30.
    fn count(&self, work: &mut Work, args: &mut kernels::SearchArgs) -> Result<()> {
        let n = args.points.n;
        work.counts.reserve(n as usize)?;
        args.counts = work.counts.pointer();
        let scan_blocks = n / scan::TILE + 1;
        work.tiles.reserve(Tiles::words(scan_blocks) as usize)?;
        work.tiles.fill_words(0, Tiles::words(scan_blocks) as usize)?;
        // SAFETY: room was made.
        unsafe { self.stream.launch::<kernels::Count>(n.div_ceil(BLOCK), *args) }?;
        let counts = work.counts.read(n as usize)?;
        NdtNeighbours::checked(counts.iter().map(|c| u64::from(*c)).sum())?;
        let tiles = Tiles { words: work.tiles.pointer() };
        let sums = ScanArgs { input: args.counts, output: args.row_splits, n: Length::known(n), tiles };
        // SAFETY: room was made.
        unsafe { self.stream.launch::<Scan>(scan_blocks, sums) }
    }

    /// No point has more rows near it.
    fn most_near(&self, lattice: &NdtLattice, near: Near) -> u64 {
        let cells = match near {
            Near::Around(cells) => f64::from(cells),
            Near::Within(radius) => (2.0 * radius / lattice.unit() + 3.0).powi(3),
        };
        cells.min(f64::from(self.len)) as u64
    }

    fn total(&self, out: &NdtNeighbours, n: usize) -> Result<usize> {
        let mut last = self.stream.alloc::<u32>(1)?;
        last.copy_part(&out.row_splits, n, 1)?;
        Ok(last.read(1)?[0] as usize)
    }

    pub(in crate::ndt) fn score(
        &self,
        lattice: &NdtLattice,
        scan: &Rows<'_>,
        poses: &[Rigid],
    ) -> Result<Vec<[f64; kernels::SCORES]>> {
        if scan.is_empty() || self.len == 0 {
            return memory::filled(poses.len(), [0.0; kernels::SCORES]);
        }
        let mut sums = Vec::new();
        memory::room(&mut sums, poses.len())?;
        let mut work = self.work();
        let points = scan.staged(&mut work.staging)?;
        let trees = points.n.div_ceil(TREE);
        for poses in poses.chunks((MAX_TREES / trees as usize).max(1)) {
            let stored = memory::collect(poses.iter().map(|pose| kernels::StoredPose(*pose)))?;
            work.poses.put(&stored)?;
            work.scores.reserve(poses.len() * trees as usize)?;
            work.totals.reserve(poses.len())?;
            let args = kernels::ScoreArgs {
                points,
                map: self.map(lattice),
                score: NdtScore::new(lattice.unit()),
                poses: work.poses.pointer(),
                trees,
                sums: work.scores.pointer(),
            };
            let fold = kernels::FoldArgs { sums: args.sums, trees, totals: work.totals.pointer() };
            // SAFETY: room was made.
            unsafe {
                let blocks = poses.len() as u32 * trees;
                if self.few(blocks) {
                    self.stream.launch::<kernels::Score>(blocks, args)?;
                } else {
                    self.stream.launch::<kernels::ScoreMany>(blocks, args)?;
                }
                self.stream.launch::<kernels::Fold>(poses.len() as u32, fold)?;
            }
            sums.extend(work.totals.read(poses.len())?);
        }
        Ok(sums)
    }

    pub(in crate::ndt) fn point_scores(
        &self,
        lattice: &NdtLattice,
        scan: &Rows<'_>,
        pose: &Rigid,
    ) -> Result<Vec<[f64; 2]>> {
        if scan.is_empty() || self.len == 0 {
            return memory::filled(scan.len(), [0.0; 2]);
        }
        let mut work = self.work();
        let points = scan.staged(&mut work.staging)?;
        work.poses.put(&[kernels::StoredPose(*pose)])?;
        let scores = self.stream.alloc(scan.len())?;
        let args = kernels::PointScoresArgs {
            points,
            map: self.map(lattice),
            score: NdtScore::new(lattice.unit()),
            pose: work.poses.pointer(),
            scores: scores.pointer(),
        };
        // SAFETY: room was made.
        unsafe { self.stream.launch::<kernels::PointScores>(points.n.div_ceil(BLOCK), args) }?;
        scores.read(scan.len())
    }

    /// Runs the alignments of all tasks to their ends, whose limits differ in what holds a pose
    /// alone.
    pub(in crate::ndt) fn align(&self, lattice: &NdtLattice, tasks: &mut [Task<'_>]) -> Result<()> {
        let mut work = self.work();
        let mut all: Vec<(kernels::StoredAlignment, &mut NdtAlignment)> = Vec::new();
        let (mut largest, mut last, mut scans) = (0, None, 0u32);
        for (i, task) in tasks.iter_mut().enumerate() {
            if task.scan.is_empty() || self.len == 0 {
                let nothing = [0.0; pointmill_core::ndt::TERMS];
                task.alignments.iter_mut().for_each(|one| one.advance(&nothing, &task.limits));
                continue;
            }
            while work.scans.len() <= i {
                memory::push(&mut work.scans, self.stream.alloc(0)?)?;
            }
            let points = task.scan.staged_through_host(&mut work.scans[i])?;
            (largest, last, scans) = (points.n.max(largest), Some((points, task.limits)), scans + 1);
            for one in &mut task.alignments {
                let stored =
                    kernels::StoredAlignment { alignment: *one, points: points.into(), hold: task.limits.hold };
                memory::push(&mut all, (stored, one))?;
            }
        }
        let (trees, Some((points, limits))) = (largest.div_ceil(TREE), last) else { return Ok(()) };
        let many = u32::from(scans > 1);
        for some in all.chunks_mut((MAX_TREES / trees as usize).max(1)) {
            let mut stored = memory::collect(some.iter().map(|one| one.0))?;
            work.alignments.put(&stored)?;
            work.terms.reserve(some.len() * trees as usize)?;
            let derive = kernels::DeriveArgs {
                points,
                many,
                map: self.map(lattice),
                score: NdtScore::new(lattice.unit()),
                alignments: work.alignments.pointer(),
                trees,
                sums: work.terms.pointer(),
            };
            let alignments = work.alignments.pointer();
            let advance = kernels::AdvanceArgs { alignments, limits, many, trees, sums: derive.sums };
            let blocks = some.len() as u32 * trees;
            let few = self.few(blocks);
            let (mut made, mut steps) = (0, FIRST_STEPS);
            while stored.iter().any(|one| one.alignment.state == state::RUNNING) {
                for _ in 0..steps {
                    // SAFETY: room was made.
                    unsafe {
                        if few {
                            self.stream.launch::<kernels::Derive>(blocks, derive)?;
                        } else {
                            self.stream.launch::<kernels::DeriveMany>(blocks, derive)?;
                        }
                        self.stream.launch::<kernels::Advance>(some.len() as u32, advance)?;
                    }
                }
                work.alignments.read_into(&mut stored)?;
                // Of the steps that are queued too many are few, and so are the looks.
                made += steps;
                steps = made / 2;
            }
            some.iter_mut().zip(&stored).for_each(|((_, one), stored)| **one = stored.alignment);
        }
        Ok(())
    }
}
