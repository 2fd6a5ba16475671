//! Mean and covariance of a cloud.

use super::*;
use pointmill_core::icp::spread::Spread;

/// A [`Spread`] in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredSpread(pub Spread);

plain!(StoredSpread: 12 * 8);

/// Arguments of all kernels here.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SpreadArgs {
    /// The clouds.
    pub clouds: Clouds,
    /// Their points.
    pub points: *const Place4,
    /// Sums of trees, nine for each.
    pub sums: *mut f64,
    /// Where the result of each cloud goes.
    pub spread: *mut StoredSpread,
}

/// Adds up the values of this block's points, and in the last block of a cloud those of all its
/// blocks: then thread k gets value k divided by the number of points.
#[inline(always)]
unsafe fn mean<const K: usize>(a: &SpreadArgs, share: &Share, values: [f64; K], arrived: *mut u32) -> Option<f64> {
    // SAFETY: the caller's promise.
    unsafe {
        write_tree(values, Shared::at(0), a.sums.cast::<[f64; K]>().add(block_index() as usize));
        if !is_last(arrived, a.clouds.room.div_ceil(TREE), Shared::at(fold_words(K))) {
            return None;
        }
        let n = share.n();
        let sum = fold(sums_of::<K>(a.sums, &a.clouds, share.cloud), n.div_ceil(TREE), Shared::at(0));
        if thread_index() < K as u32 { Some(sum / n as f64) } else { None }
    }
}

kernel! {
    /// The mean. One block a tree.
    SpreadMean = "icp_spread_mean", block TREE, shared fold_words(3) + 1, cooperative true,
    fn(a: SpreadArgs) {
        let share = a.clouds.share(TREE);
        let (i, n) = (share.index(), share.n());
        let terms = if i < n { wide(load4(a.points.add(share.first + i as usize)).0) } else { [0.0; 3] };
        let arrived = &raw mut (*share.head).arrived[0];
        if let Some(mean) = mean(&a, &share, terms, arrived) {
            (*a.spread.add(share.cloud)).0.mean[thread_index() as usize] = mean;
        }
    }
}

kernel! {
    /// The covariance: the mean of products of coordinates about the mean. One block a tree.
    SpreadCovariance = "icp_spread_covariance", block TREE, shared fold_words(9) + 1, cooperative true,
    fn(a: SpreadArgs) {
        let share = a.clouds.share(TREE);
        let (i, n) = (share.index(), share.n());
        let mut terms = [0.0; 9];
        if i < n {
            let (p, m) = (wide(load4(a.points.add(share.first + i as usize)).0), (*a.spread.add(share.cloud)).0.mean);
            let d = [p[0] - m[0], p[1] - m[1], p[2] - m[2]];
            for e in 0..9 {
                terms[e] = d[e / 3] * d[e % 3];
            }
        }
        let arrived = &raw mut (*share.head).arrived[1];
        if let Some(mean) = mean(&a, &share, terms, arrived) {
            let to = &raw mut (*a.spread.add(share.cloud)).0.covariance;
            *to.cast::<f64>().add(thread_index() as usize) = mean;
        }
    }
}
