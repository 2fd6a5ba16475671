//! Mean and covariance of a cloud.

use super::*;
use pointmill_core::icp::spread::Spread;

/// A [`Spread`] in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredSpread(pub Spread);

#[cfg(not(target_arch = "nvptx64"))]
const _: () = {
    assert!(size_of::<Spread>() == 12 * 8);
    // SAFETY: numbers without a gap, valid whatever their bits are.
    unsafe impl bytemuck::Zeroable for StoredSpread {}
    // SAFETY: as above.
    unsafe impl bytemuck::Pod for StoredSpread {}
};

/// Arguments of all kernels here.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SpreadArgs {
    /// Points.
    pub points: *const Place4,
    /// The number of points.
    pub n: u32,
    /// Sums of trees, nine for each.
    pub sums: *mut f64,
    /// Where the result goes.
    pub spread: *mut StoredSpread,
}

kernel! {
    /// Adds up coordinates. One block a tree.
    SpreadMean = "icp_spread_mean", block TREE, shared 2 * 3, cooperative true,
    fn(a: SpreadArgs) {
        let i = global_index();
        let terms = if i < a.n { wide(load4(a.points.add(i as usize)).0) } else { [0.0; 3] };
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; 3]>().add(block_index() as usize));
    }
}

kernel! {
    /// The mean. One block.
    SpreadMeanTotal = "icp_spread_mean_total", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: SpreadArgs) {
        let sum = fold::<3>(a.sums.cast::<[f64; 3]>(), a.n.div_ceil(TREE), Shared::at(0));
        if thread_index() < 3 {
            (*a.spread).0.mean[thread_index() as usize] = sum / a.n as f64;
        }
    }
}

kernel! {
    /// Adds up products of coordinates about the mean. One block a tree.
    SpreadProducts = "icp_spread_products", block TREE, shared 2 * 9, cooperative true,
    fn(a: SpreadArgs) {
        let i = global_index();
        let mut terms = [0.0; 9];
        if i < a.n {
            let (p, m) = (wide(load4(a.points.add(i as usize)).0), (*a.spread).0.mean);
            let d = [p[0] - m[0], p[1] - m[1], p[2] - m[2]];
            for e in 0..9 {
                terms[e] = d[e / 3] * d[e % 3];
            }
        }
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; 9]>().add(block_index() as usize));
    }
}

kernel! {
    /// The covariance. One block.
    SpreadTotal = "icp_spread_total", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: SpreadArgs) {
        let sum = fold::<9>(a.sums.cast::<[f64; 9]>(), a.n.div_ceil(TREE), Shared::at(0));
        if thread_index() < 9 {
            let to = &raw mut (*a.spread).0.covariance;
            *to.cast::<f64>().add(thread_index() as usize) = sum / a.n as f64;
        }
    }
}
