//! Lists and features into the arrays of the result.

use super::locate::{Located, Row, Workspace};
use crate::arrays::{AnyBuffer, Value};
use crate::roi_pool::arrays::Extent;
use crate::roi_pool::{PoolMode, RoiArray, RoiLayout, RoiPooled};
use crate::rows::Feature;
use crate::{ElementType, Result, Rows, bf16, f16, par};
use rayon::prelude::*;

/// Rows that a thread handles at a time.
const ROWS: usize = 256;

impl Workspace {
    pub(in crate::roi_pool) fn pool(
        &mut self,
        features: &Rows<'_>,
        extent: &Extent,
        out: &mut RoiPooled,
    ) -> Result<()> {
        let located = &self.located;
        let rows = extent.rows(located.rows.len());
        extent.check_values(rows)?;
        for spec in extent.specs(located.rows.len(), located.indices.len()) {
            out.arrays.reserve(spec.array, spec.dtype, spec.shape.num_values())?;
        }
        match features.element() {
            ElementType::F32 => pool::<f32>(located, features, extent, out),
            ElementType::F16 => pool::<f16>(located, features, extent, out),
            ElementType::Bf16 => pool::<bf16>(located, features, extent, out),
        }
        let (_, [_, _, point_indices, coords, row_splits, indices]) = out.arrays.slots();
        if extent.lists && extent.layout == RoiLayout::Dense {
            dense_lists(located, extent, values_in(point_indices));
        }
        if extent.layout == RoiLayout::Sparse {
            write_coords(located, extent, &mut values_in(coords)[..rows * 4]);
        }
        if extent.csr() {
            write_splits(located, extent, &mut values_in(row_splits)[..rows + 1]);
            values_in(indices)[..located.indices.len()].copy_from_slice(&located.indices);
        }
        out.totals.write(&[located.totals])
    }
}

/// The values of an array that was reserved.
fn values_in<T: Value>(slot: &mut Option<AnyBuffer>) -> &mut [T] {
    super::host(slot.as_mut().and_then(AnyBuffer::typed_mut).expect("an array that was reserved"))
}

/// A result row and the non-empty voxels in a part of the result.
fn pool<E: Feature + Value>(located: &Located, features: &Rows<'_>, extent: &Extent, out: &mut RoiPooled) {
    let features = features.host::<E>().expect("values of the CPU");
    let channels = extent.channels;
    let sparse = extent.layout == RoiLayout::Sparse;
    let values = extent.rows(located.rows.len()) * channels;
    let (_, [pooled, argmax, ..]) = out.arrays.slots::<{ RoiArray::ALL.len() }>();
    let pooled = &mut values_in::<E>(pooled)[..values];
    let argmax = if extent.mode == PoolMode::Max { &mut values_in::<i32>(argmax)[..values] } else { &mut [] };
    let work = |part: usize, pooled: &mut [E], argmax: &mut [i32]| {
        par::check();
        let first = part * ROWS;
        let end = first + pooled.len() / channels;
        let rows = if sparse {
            first..end
        } else {
            pooled.fill(E::zeroed());
            argmax.fill(-1);
            rows_between(&located.rows, first, end)
        };
        let mut sums = vec![0.0; channels];
        for r in rows {
            let at = if sparse { r } else { located.rows[r].slot as usize } - first;
            let values = at * channels..(at + 1) * channels;
            let list = located.list(r);
            match extent.mode {
                PoolMode::Max => max(features, list, &mut sums, &mut pooled[values.clone()], &mut argmax[values]),
                PoolMode::Mean => mean(features, list, &mut sums, &mut pooled[values]),
            }
        }
    };
    let pooled = pooled.par_chunks_mut(ROWS * channels).with_min_len(par::grain(1));
    match extent.mode {
        PoolMode::Max => {
            pooled.zip(argmax.par_chunks_mut(ROWS * channels)).enumerate().for_each(|(i, (p, a))| work(i, p, a));
        }
        PoolMode::Mean => pooled.enumerate().for_each(|(i, p)| work(i, p, &mut [])),
    }
}

/// The rows whose slots lie between two.
fn rows_between(rows: &[Row], first: usize, end: usize) -> std::ops::Range<usize> {
    rows.partition_point(|row| row.slot < first as u64)..rows.partition_point(|row| row.slot < end as u64)
}

/// The first of the largest values of each channel, and the point it came from.
fn max<E: Feature>(features: &[E], list: &[i32], best: &mut [f32], pooled: &mut [E], argmax: &mut [i32]) {
    best.fill(f32::NEG_INFINITY);
    pooled.fill(E::zeroed());
    argmax.fill(-1);
    for &i in list {
        let row = &features[i as usize * best.len()..][..best.len()];
        for (((value, best), pooled), argmax) in row.iter().zip(&mut *best).zip(&mut *pooled).zip(&mut *argmax) {
            let wide = value.widen();
            if wide > *best {
                (*best, *pooled, *argmax) = (wide, *value, i);
            }
        }
    }
}

/// The mean of each channel, added in order.
fn mean<E: Feature>(features: &[E], list: &[i32], sums: &mut [f32], pooled: &mut [E]) {
    sums.fill(0.0);
    for &i in list {
        let row = &features[i as usize * sums.len()..][..sums.len()];
        for (value, sum) in row.iter().zip(&mut *sums) {
            *sum += value.widen();
        }
    }
    for (pooled, sum) in pooled.iter_mut().zip(sums) {
        *pooled = E::narrow(*sum / list.len() as f32);
    }
}

/// Counts and points, padded with zeros.
fn dense_lists(located: &Located, extent: &Extent, all: &mut [i32]) {
    let m = extent.slots();
    all[..extent.voxels() * m].par_chunks_mut(ROWS * m).with_min_len(par::grain(1)).enumerate().for_each(
        |(part, slots)| {
            slots.fill(0);
            let first = part * ROWS;
            for r in rows_between(&located.rows, first, first + slots.len() / m) {
                let list = located.list(r);
                let slots = &mut slots[(located.rows[r].slot as usize - first) * m..];
                slots[0] = list.len() as i32;
                slots[1..=list.len()].copy_from_slice(list);
            }
        },
    );
}

fn write_coords(located: &Located, extent: &Extent, all: &mut [i32]) {
    let [_, oy, oz] = extent.out_size.map(u64::from);
    let voxels = extent.out_size.iter().map(|&n| u64::from(n)).product::<u64>();
    all.par_chunks_mut(4).zip(&located.rows).with_min_len(par::grain(ROWS)).for_each(|(coords, row)| {
        let v = row.slot % voxels;
        coords.copy_from_slice(&[row.slot / voxels, v / oz / oy, v / oz % oy, v % oz].map(|n| n as i32));
    });
}

/// Where each row's points start: of the non-empty voxels, or of all.
fn write_splits(located: &Located, extent: &Extent, all: &mut [i64]) {
    if extent.layout == RoiLayout::Sparse {
        all.iter_mut().zip(&located.rows).for_each(|(split, row)| *split = row.start as i64);
        all[located.rows.len()] = located.indices.len() as i64;
        return;
    }
    all.par_chunks_mut(ROWS).with_min_len(par::grain(1)).enumerate().for_each(|(part, splits)| {
        let mut r = located.rows.partition_point(|row| row.slot < (part * ROWS) as u64);
        for (i, split) in splits.iter_mut().enumerate() {
            r += usize::from(located.rows.get(r).is_some_and(|row| row.slot < (part * ROWS + i) as u64));
            *split = located.rows.get(r).map_or(located.indices.len(), |row| row.start) as i64;
        }
    });
}
