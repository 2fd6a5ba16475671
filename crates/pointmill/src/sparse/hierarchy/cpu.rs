//! Larger and larger cells on the CPU.

use super::Stage;
use crate::sparse::{Cells, Serialized};
use crate::{Buffer, Result, memory, par};
use rayon::prelude::*;

/// The rows of the stage before.
struct Before<'a> {
    rows: usize,
    capacity: usize,
    orders: usize,
    codes: &'a [u64],
    order: &'a [u32],
}

pub(super) fn run(cells: &Cells<'_>, serialized: &Serialized, halvings: &[u32], stages: &mut [Stage]) -> Result<()> {
    let slice = |buffer: &Buffer<u32>| buffer.as_slice().map_or(0, |values| values[0]);
    let known = slice(&serialized.num_cells);
    for i in 0..stages.len() {
        let (done, rest) = stages.split_at_mut(i);
        let (stage, shift) = (&mut rest[0], 3 * halvings[i]);
        let last = done.last();
        let (codes, order) = last.map_or((&serialized.codes, &serialized.order), |last| (&last.codes, &last.order));
        let before = Before {
            rows: last.map_or(known, |last| slice(&last.counts)) as usize,
            capacity: last.map_or(cells.len(), |last| last.capacity()),
            orders: serialized.orders().len(),
            codes: codes.as_slice().unwrap_or_default(),
            order: order.as_slice().unwrap_or_default(),
        };
        let last = last
            .map(|last| (last.grid_coord.as_slice().unwrap_or_default(), last.batch.as_slice().unwrap_or_default()));
        let cell_of = |row: usize| match last {
            None => cells.host_row(row),
            Some((coords, batch)) => ([0, 1, 2].map(|k| coords[3 * row + k] as u32), batch[row] as u32),
        };
        one(&before, cell_of, shift, i == 0, stage)?;
    }
    Ok(())
}

fn one(
    before: &Before<'_>,
    cell_of: impl Fn(usize) -> ([u32; 3], u32),
    shift: u32,
    unsorted: bool,
    stage: &mut Stage,
) -> Result<()> {
    let (rows, capacity) = (before.rows, stage.capacity());
    let (cluster, indices) = (&mut stage.cluster.host_values()[..rows], &mut stage.indices.host_values()[..rows]);
    let indptr = stage.indptr.host_values();
    let (mut cells, mut code) = (0, None);
    // All larger cells for now, also those that there is no room for.
    for (place, &row) in before.order[..rows].iter().enumerate() {
        let parent = before.codes[row as usize] >> shift;
        if code != Some(parent) {
            if cells <= capacity {
                indptr[cells] = place as i32;
            }
            (cells, code) = (cells + 1, Some(parent));
        }
        cluster[row as usize] = cells as i32 - 1;
        indices[place] = row as i32;
    }
    let kept = cells.min(capacity);
    if cells <= capacity {
        indptr[cells..=capacity].fill(rows as i32);
    }
    if unsorted {
        // Rows ascend within a larger cell.
        let mut next = memory::filled(cells, 0i32)?;
        for &row in &before.order[..rows] {
            next[cluster[row as usize] as usize] += 1;
        }
        let mut sum = 0;
        next.iter_mut().for_each(|place| sum += std::mem::replace(place, sum));
        for (row, &id) in cluster.iter().enumerate() {
            indices[next[id as usize] as usize] = row as i32;
            next[id as usize] += 1;
        }
    }
    cluster.iter_mut().filter(|id| **id as usize >= capacity).for_each(|id| *id = -1);
    stage.counts.host_values().copy_from_slice(&[kept, cells - kept, rows].map(|count| count as u32));
    if capacity == 0 {
        return Ok(());
    }
    let (head, batch) = (stage.head.host_values(), stage.batch.host_values());
    let coords = stage.grid_coord.host_values();
    for id in 0..kept {
        let row = indices[indptr[id] as usize];
        head[id] = row;
        let (cell, item) = cell_of(row as usize);
        coords[3 * id..][..3].copy_from_slice(&cell.map(|c| (c >> (shift / 3)) as i32));
        batch[id] = item as i32;
    }
    let (head, cluster) = (&head[..kept], &*cluster);
    let len = before.orders * capacity;
    let codes = stage.codes.host_values()[..len].par_chunks_mut(capacity);
    let order = stage.order.host_values()[..len].par_chunks_mut(capacity);
    let all = codes.zip(order).zip(stage.inverse.host_values()[..len].par_chunks_mut(capacity)).enumerate();
    all.with_min_len(par::grain(1)).for_each(|(k, ((codes, order), inverse))| {
        let own = k * before.capacity..k * before.capacity + rows;
        for (code, &row) in codes.iter_mut().zip(head) {
            *code = before.codes[own.start + row as usize] >> shift;
        }
        let (mut place, mut last) = (0, -1);
        for &row in &before.order[own] {
            let id = cluster[row as usize];
            if id >= 0 && id != last {
                (order[place], inverse[id as usize]) = (id as u32, place as u32);
                place += 1;
            }
            last = id;
        }
    });
    Ok(())
}
