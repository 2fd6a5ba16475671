//! The CPU path.

mod normals;
mod score;
pub(super) mod sum;

use super::cells::lines_of;
use super::near::Near;
use super::{NdtCells, NdtNeighbours};
use crate::device::Stream;
use crate::{Result, Rows, memory, par};
use pointmill_core::ndt::{CellRows, Line, LineBox, LinePlace, NdtLattice, in_lattice, line_key};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;

/// Points that a thread takes at least.
const CHUNK: usize = 256;

/// Cells and where they are.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub(super) lattice: NdtLattice,
    pub(super) cells: NdtCells,
    lines: Lines,
}

/// Where lines are found. Most maps are small enough for an array over the box around them, in
/// which a look takes a fifth of the time.
#[derive(Clone, Debug)]
enum Lines {
    Box { around: LineBox, lines: Vec<Line> },
    Table(HashMap<u64, Line, sum::Spread>),
}

/// Most lines of a [`Lines::Box`].
const MOST_LINES: u64 = if cfg!(test) { 2000 } else { 1 << 21 };

impl Lines {
    fn new(lines: Vec<(LinePlace, Line)>) -> Result<Self> {
        let around = LineBox::of(lines.iter().map(|line| line.0));
        if around.len() > MOST_LINES {
            let mut table = HashMap::with_hasher(sum::Spread(crate::seed::seed()));
            table.try_reserve(lines.len()).map_err(|_| memory::refused::<(u64, Line)>(lines.len()))?;
            table.extend(lines.into_iter().map(|(place, line)| (line_key(place), line)));
            return Ok(Self::Table(table));
        }
        let mut all = Vec::new();
        memory::resize(&mut all, around.len() as usize, Line::default())?;
        for (place, line) in lines {
            let at = around.at(place).expect("a line inside the box around all");
            all[at as usize] = line;
        }
        Ok(Self::Box { around, lines: all })
    }

    #[inline(always)]
    fn get(&self, place: LinePlace) -> Line {
        match self {
            Self::Box { around, lines } => around.at(place).map_or_else(Line::default, |at| lines[at as usize]),
            Self::Table(lines) => lines.get(&line_key(place)).copied().unwrap_or_default(),
        }
    }
}

/// Rows near points, as lists side by side.
#[derive(Default)]
struct Lists {
    counts: Vec<u32>,
    rows: Vec<u32>,
    distances: Vec<f64>,
}

impl Grid {
    pub(super) fn new(lattice: NdtLattice, cells: NdtCells) -> Result<Self> {
        let lines = Lines::new(lines_of(&cells)?)?;
        Ok(Self { lattice, cells, lines })
    }

    pub(super) fn lookup(&self, cell: [i32; 3]) -> i32 {
        if !in_lattice(cell) {
            return -1;
        }
        let (place, bit) = Line::of(cell);
        self.lines.get(place).row(bit).map_or(-1, |row| row as i32)
    }

    fn rows(&self) -> CellRows<impl Fn(LinePlace) -> Line, impl Fn(u32) -> [f64; 3]> {
        CellRows {
            lattice: self.lattice,
            len: self.cells.len() as u32,
            line: |place| self.lines.get(place),
            mean: |row| self.cells.mean[row as usize],
        }
    }

    /// The rows near some of the points.
    fn lists(&self, points: &Rows<'_>, some: Range<usize>, near: Near) -> Result<Lists> {
        let mut lists = Lists::default();
        memory::room(&mut lists.counts, some.len())?;
        let mut found: Vec<(f64, u32)> = Vec::new();
        for i in some {
            par::check();
            found.clear();
            let mut told = Ok(());
            let mut keep = |distance, row| {
                if let Err(refused) = memory::push(&mut found, (distance, row)) {
                    told = Err(refused);
                }
            };
            match near {
                Near::Within(radius) => {
                    self.rows().each_within(points.point(i), radius, |row, distance| keep(distance, row));
                }
                Near::Around(cells) => self.rows().each_around(points.point(i), cells, |row| keep(0.0, row)),
            }
            told?;
            if matches!(near, Near::Within(_)) {
                // By distance and row. A stable sort would take memory.
                found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                memory::extend(&mut lists.distances, found.iter().map(|f| f.0))?;
            }
            lists.counts.push(found.len() as u32);
            memory::extend(&mut lists.rows, found.iter().map(|f| f.1))?;
        }
        Ok(lists)
    }

    pub(super) fn search(&self, points: &Rows<'_>, near: Near, stream: &Stream) -> Result<NdtNeighbours> {
        let chunks = (0..points.len().div_ceil(CHUNK)).into_par_iter().with_min_len(par::grain(1));
        let chunks = chunks.map(|c| self.lists(points, c * CHUNK..points.len().min((c + 1) * CHUNK), near));
        let chunks = memory::collect_parallel(chunks)?;
        let mut total = 0u64;
        let mut splits = Vec::new();
        memory::room(&mut splits, points.len() + 1)?;
        splits.push(0);
        let mut lists = Vec::new();
        memory::room(&mut lists, chunks.len())?;
        for chunk in chunks {
            let chunk = chunk?;
            for count in &chunk.counts {
                total += u64::from(*count);
                splits.push(NdtNeighbours::checked(total)?);
            }
            lists.push(chunk);
        }
        let rows = memory::joined(lists.iter().map(|list| &list.rows[..]))?;
        let distances = memory::joined(lists.iter().map(|list| &list.distances[..]))?;
        NdtNeighbours::of(stream, points.len(), splits, rows, distances)
    }
}
