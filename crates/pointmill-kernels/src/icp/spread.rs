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
    /// The clouds.
    pub clouds: Clouds,
    /// Their points.
    pub points: *const Place4,
    /// Sums of trees, nine for each.
    pub sums: *mut f64,
    /// Where the result of each cloud goes.
    pub spread: *mut StoredSpread,
}

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl SpreadArgs {
    /// The total of a cloud's sums. One block a cloud.
    #[inline(always)]
    unsafe fn total<const K: usize>(&self) -> (f64, Share) {
        let share = self.clouds.of(block_index(), 0);
        // SAFETY: the caller's promise.
        let sum = unsafe {
            fold(sums_of::<K>(self.sums, &self.clouds, share.cloud), share.n().div_ceil(TREE), Shared::at(0))
        };
        (sum, share)
    }
}

kernel! {
    /// Adds up coordinates. One block a tree.
    SpreadMean = "icp_spread_mean", block TREE, shared 2 * 3, cooperative true,
    fn(a: SpreadArgs) {
        let share = a.clouds.share(TREE);
        let (i, n) = (share.index(), share.n());
        let terms = if i < n { wide(load4(a.points.add(share.first + i as usize)).0) } else { [0.0; 3] };
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; 3]>().add(block_index() as usize));
    }
}

kernel! {
    /// The mean. One block a cloud.
    SpreadMeanTotal = "icp_spread_mean_total", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: SpreadArgs) {
        let (sum, share) = a.total::<3>();
        if thread_index() < 3 {
            (*a.spread.add(share.cloud)).0.mean[thread_index() as usize] = sum / share.n() as f64;
        }
    }
}

kernel! {
    /// Adds up products of coordinates about the mean. One block a tree.
    SpreadProducts = "icp_spread_products", block TREE, shared 2 * 9, cooperative true,
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
        write_tree(terms, Shared::at(0), a.sums.cast::<[f64; 9]>().add(block_index() as usize));
    }
}

kernel! {
    /// The covariance. One block a cloud.
    SpreadTotal = "icp_spread_total", block BLOCK, shared 2 * BLOCK, cooperative true,
    fn(a: SpreadArgs) {
        let (sum, share) = a.total::<9>();
        if thread_index() < 9 {
            let to = &raw mut (*a.spread.add(share.cloud)).0.covariance;
            *to.cast::<f64>().add(thread_index() as usize) = sum / share.n() as f64;
        }
    }
}
