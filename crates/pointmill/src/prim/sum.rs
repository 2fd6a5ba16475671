//! Sums in one order, whoever adds.

use crate::{Result, memory, par};
use pointmill_kernels::prim::sum::{SEGMENTS, TREE};
use rayon::prelude::*;

/// Trees that a thread takes at a time: fewer are done before another thread is awake.
const TREES: usize = 4;
/// Values of a tree.
pub(crate) const BLOCK: usize = TREE as usize;

/// Sums over `n` values, in the order of the kernels: each half of a warp's values is added to the
/// other, then those of the two warps of a tree; the trees in chains, and these by halves.
///
/// # Errors
/// Memory for the sums of trees that is refused.
pub fn sum<const K: usize>(n: usize, of: impl Fn(usize) -> [f64; K] + Sync) -> Result<[f64; K]> {
    let trees = (0..n.div_ceil(BLOCK)).into_par_iter().with_min_len(par::grain(TREES)).map(|tree| {
        par::check();
        let mut values = [[0.0; K]; BLOCK];
        for (i, value) in (tree * BLOCK..n.min((tree + 1) * BLOCK)).zip(&mut values) {
            *value = of(i);
        }
        values.chunks_exact_mut(32).for_each(halve);
        plus(values[0], &values[32])
    });
    Ok(fold(&memory::collect_parallel(trees)?))
}

/// Adds the sums of trees, in the order of the kernels.
pub fn fold<const K: usize>(trees: &[[f64; K]]) -> [f64; K] {
    let mut chains = [[0.0; K]; SEGMENTS as usize];
    for (tree, value) in trees.iter().enumerate() {
        let chain = &mut chains[tree % SEGMENTS as usize];
        *chain = plus(*chain, value);
    }
    halve(&mut chains);
    chains[0]
}

/// Adds the upper half to the lower one until the first element has the sum.
fn halve<const K: usize>(values: &mut [[f64; K]]) {
    let mut half = values.len() / 2;
    while half > 0 {
        let (low, high) = values.split_at_mut(half);
        low.iter_mut().zip(&*high).for_each(|(a, b)| *a = plus(*a, b));
        half /= 2;
    }
}

fn plus<const K: usize>(mut a: [f64; K], b: &[f64; K]) -> [f64; K] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}
