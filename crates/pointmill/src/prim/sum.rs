//! Sums in one order, whoever adds.

use rayon::prelude::*;

/// Values that are added in one tree.
pub(crate) const BLOCK: usize = 256;

/// Sums over `n` values: within blocks by halves, then block after block, so that the order is one whoever adds.
pub(crate) fn sum<const K: usize>(n: usize, of: impl Fn(usize) -> [f64; K] + Sync) -> [f64; K] {
    let blocks: Vec<[f64; K]> = (0..n.div_ceil(BLOCK))
        .into_par_iter()
        .map_init(
            || vec![[0.0; K]; BLOCK],
            |values, b| {
                let first = b * BLOCK;
                for (i, value) in values.iter_mut().enumerate() {
                    *value = if first + i < n { of(first + i) } else { [0.0; K] };
                }
                let mut half = BLOCK / 2;
                while half > 0 {
                    let (low, high) = values.split_at_mut(half);
                    low.iter_mut().zip(high).for_each(|(a, b)| a.iter_mut().zip(b).for_each(|(a, b)| *a += *b));
                    half /= 2;
                }
                values[0]
            },
        )
        .collect();
    blocks.iter().fold([0.0; K], |all, block| std::array::from_fn(|k| all[k] + block[k]))
}
