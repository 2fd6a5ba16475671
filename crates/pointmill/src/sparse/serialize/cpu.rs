//! Serialization on the CPU.

use super::params::{check_bits, depth_for};
use super::{SerializeParams, Serialized, largest_code};
use crate::sparse::Cells;
use crate::sparse::cells::ROWS_OF_A_THREAD;
use crate::sparse::radix::{self, Pair};
use crate::{Result, memory, par};
use pointmill_core::sparse::code;
use pointmill_kernels::sparse::NONE;
use rayon::prelude::*;

pub(super) fn run(
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
    out.begin(capacity, depth, cells.items(), orders)?;
    out.num_cells.host_values()[0] = rows as u32;
    out.faults.host_values().fill(NONE);
    if capacity == 0 {
        return Ok(());
    }
    let len = orders.len() * capacity;
    let (codes, order) = (&mut out.codes.host_values()[..len], &mut out.order.host_values()[..len]);
    let inverse = &mut out.inverse.host_values()[..len];
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
