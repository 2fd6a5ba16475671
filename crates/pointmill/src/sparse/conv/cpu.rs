//! Pairs on the CPU: inputs and outputs are sorted, and each offset walks both once.

use super::ConvPairs;
use super::input::{Job, repeated};
use crate::{Result, memory, par};
use pointmill_core::sparse::CellGrid;
use pointmill_kernels::sparse::{NONE, OFFSETS_OF_BLOCK};
use rayon::prelude::*;

/// Cells that a thread takes at least.
const CELLS_OF_A_THREAD: usize = 4096;

/// Cells by ascending id.
#[derive(Debug)]
struct Sorted {
    ids: Vec<u64>,
    cells: Vec<[i32; 4]>,
    /// The row of each as it was given; empty where they were sorted already.
    rows: Vec<u32>,
}

impl Sorted {
    /// Cells that lie in the grid.
    fn of(cells: &[[i32; 4]], grid: &CellGrid) -> Result<Self> {
        let all = cells.par_iter().with_min_len(par::grain(CELLS_OF_A_THREAD));
        let ids = memory::collect_parallel(all.map(|cell| grid.id(*cell).unwrap_or(u64::MAX)))?;
        if ids.is_sorted() {
            return Ok(Self { ids, cells: memory::collect(cells.iter().copied())?, rows: Vec::new() });
        }
        let mut keys = memory::collect(ids.iter().enumerate().map(|(row, &id)| (id, row as u32)))?;
        par::sort_unstable_by(&mut keys, Ord::cmp);
        let keys = keys.par_iter().with_min_len(par::grain(CELLS_OF_A_THREAD));
        Ok(Self {
            ids: memory::collect_parallel(keys.clone().map(|&(id, _)| id))?,
            cells: memory::collect_parallel(keys.clone().map(|&(_, row)| cells[row as usize]))?,
            rows: memory::collect_parallel(keys.map(|&(_, row)| row))?,
        })
    }

    /// The outputs that the inputs reach.
    fn outputs(job: &Job<'_>, inputs: &Self) -> Result<Self> {
        let parts = inputs.cells.par_chunks(CELLS_OF_A_THREAD).with_min_len(par::grain(1));
        let parts = memory::collect_parallel(parts.map(|cells| Self::outputs_of(job, cells)))?;
        let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        let mut ids = memory::joined(parts.iter().map(|part| &part[..]))?;
        par::sort_unstable_by(&mut ids, Ord::cmp);
        ids.dedup();
        let all = ids.par_iter().with_min_len(par::grain(CELLS_OF_A_THREAD));
        let cells = memory::collect_parallel(all.map(|&id| job.output_grid.cell(id)))?;
        Ok(Self { ids, cells, rows: Vec::new() })
    }

    /// The ids of what some inputs reach, ascending, each once.
    fn outputs_of(job: &Job<'_>, cells: &[[i32; 4]]) -> Result<Vec<u64>> {
        let mut ids = Vec::new();
        for k in 0..job.offsets {
            let offset = job.window.offset(k);
            let output = |cell| {
                if job.transposed { Some(job.window.fine(cell, offset)) } else { job.window.coarse(cell, offset) }
            };
            for id in cells.iter().filter_map(|&cell| job.output_grid.id(output(cell)?)) {
                memory::push(&mut ids, id)?;
            }
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// The first row whose cell an earlier one has.
    fn first_repeated(&self) -> Option<usize> {
        let again = (1..self.ids.len()).filter(|&i| self.ids[i] == self.ids[i - 1]);
        again.map(|i| self.row(i)).min()
    }

    fn row(&self, i: usize) -> usize {
        self.rows.get(i).map_or(i, |&row| row as usize)
    }
}

pub(super) fn run(job: &Job<'_>, out: &mut ConvPairs) -> Result<()> {
    let inputs = Sorted::of(job.inputs.host(), &job.input_grid)?;
    if let Some(row) = inputs.first_repeated() {
        return Err(repeated(row));
    }
    let own = match job.outputs {
        None => Some(Sorted::outputs(job, &inputs)?),
        Some(outputs) if job.transposed => Some(Sorted::of(outputs.host(), &job.output_grid)?),
        Some(_) => None,
    };
    let outputs = own.as_ref().unwrap_or(&inputs);
    let found = outputs.cells.len();
    let rows = job.outputs.map_or(job.capacity.map_or(found, |capacity| capacity as usize), |given| given.len());
    let kept = found.min(rows);
    out.begin(job, rows)?;
    out.faults.host_values().fill(NONE);
    out.num_cells.host_values()[..2].copy_from_slice(&[kept as u32, (found - kept) as u32]);
    let cells = &mut bytemuck::cast_slice_mut(out.cells.host_values())[..rows];
    cells.fill([-1; 4]);
    outputs.cells[..kept].iter().enumerate().for_each(|(i, &cell)| cells[outputs.row(i)] = cell);
    let counts = &mut out.counts.host_values()[..job.offsets as usize];
    counts.fill(0);
    let all = job.offsets as usize * job.inputs.len();
    if job.lists {
        out.lists.host_values()[..2 * all].fill(-1);
    }
    if rows == 0 {
        return Ok(());
    }
    let table = &mut out.table.host_values()[..rows * job.offsets as usize];
    if own.is_some() {
        let lines = table.par_chunks_exact_mut(rows).zip(counts).enumerate().with_min_len(par::grain(1));
        lines.for_each(|(k, (line, count))| *count = pairs_of(job, k as u32, &inputs, (outputs, kept), line));
    } else {
        submanifold(job, &inputs, table, rows, counts);
    }
    if job.lists && all > 0 {
        let (from, to) = out.lists.host_values()[..2 * all].split_at_mut(all);
        let lists = from.par_chunks_exact_mut(job.inputs.len()).zip(to.par_chunks_exact_mut(job.inputs.len()));
        lists.zip(table.par_chunks_exact(rows)).with_min_len(par::grain(1)).for_each(|((from, to), line)| {
            let pairs = line.iter().enumerate().filter(|&(_, &input)| input >= 0);
            for ((from, to), (output, &input)) in from.iter_mut().zip(to).zip(pairs) {
                (*from, *to) = (input, output as i32);
            }
        });
    }
    if job.masks {
        let words = job.offsets.div_ceil(OFFSETS_OF_BLOCK) as usize;
        let masks = out.masks.host_values()[..rows * words].par_chunks_exact_mut(words);
        masks.with_min_len(par::grain(CELLS_OF_A_THREAD)).enumerate().for_each(|(row, mask)| {
            mask.fill(0);
            for k in 0..job.offsets as usize {
                mask[k / 32] |= u32::from(table[k * rows + row] >= 0) << (k % 32);
            }
        });
    }
    Ok(())
}

/// Fills the rows of an offset; how many pairs it has. Of ascending outputs the inputs ascend too,
/// so both are walked once.
fn pairs_of(job: &Job<'_>, k: u32, inputs: &Sorted, (outputs, kept): (&Sorted, usize), line: &mut [i32]) -> i32 {
    line.fill(-1);
    let offset = job.window.offset(k);
    let (mut at, mut count) = (0, 0);
    for (i, &cell) in outputs.cells[..kept].iter().enumerate() {
        let input = if job.transposed { job.window.coarse(cell, offset) } else { Some(job.window.fine(cell, offset)) };
        let Some(id) = input.and_then(|input| job.input_grid.id(input)) else { continue };
        while inputs.ids.get(at).is_some_and(|&other| other < id) {
            at += 1;
        }
        if inputs.ids.get(at) == Some(&id) {
            line[outputs.row(i)] = inputs.row(at) as i32;
            count += 1;
        }
    }
    count
}

/// Fills the table of a layer whose outputs are its inputs: offset `k` pairs two cells where offset
/// `K - 1 - k` pairs them the other way round.
fn submanifold(job: &Job<'_>, inputs: &Sorted, table: &mut [i32], rows: usize, counts: &mut [i32]) {
    let (half, kept) = (counts.len() / 2, inputs.cells.len());
    let (low, rest) = table.split_at_mut(half * rows);
    let (center, high) = rest.split_at_mut(rows);
    center.iter_mut().enumerate().for_each(|(row, at)| *at = if row < kept { row as i32 } else { -1 });
    let (low_counts, rest) = counts.split_at_mut(half);
    rest[0] = kept as i32;
    let lows = low.par_chunks_exact_mut(rows).zip(&mut *low_counts);
    let lines = lows.zip(high.par_chunks_exact_mut(rows).rev()).enumerate().with_min_len(par::grain(1));
    lines.for_each(|(k, ((line, count), mirrored))| {
        *count = pairs_of(job, k as u32, inputs, (inputs, kept), line);
        mirrored.fill(-1);
        for (row, &other) in line.iter().enumerate().filter(|&(_, &other)| other >= 0) {
            mirrored[other as usize] = row as i32;
        }
    });
    rest[1..].iter_mut().zip(low_counts.iter().rev()).for_each(|(count, &low)| *count = low);
}
