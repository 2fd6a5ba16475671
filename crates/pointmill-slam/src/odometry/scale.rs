//! The voxel size that suits a sweep.

use pointmill::{Result, Rows};
use pointmill_core::odometry::cells::{cell_of, key_of};
use std::collections::HashSet;

/// Sizes in metres, the largest first.
const SIZES: [f64; 10] = [1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, SMALLEST];
/// The smallest of them.
pub(super) const SMALLEST: f64 = 0.1;
/// So many voxels hold a sweep: a size is too large if fewer have a point.
const ENOUGH: usize = 600;

/// The largest of a few sizes whose voxels divide a sweep into enough parts; of a sweep with few
/// points the largest that leaves half of its parts of the smallest size apart. `None` if no point
/// is in range.
pub(super) fn voxel_size_of(points: &Rows<'_>, [least, largest]: [f64; 2]) -> Result<Option<f64>> {
    points.on_host(|points| {
        let in_range = |p: &[f64; 3]| {
            let range = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
            range >= least * least && range <= largest * largest
        };
        let used: Vec<[f64; 3]> = (0..points.len()).map(|i| points.point(i)).filter(in_range).collect();
        let cells = |size: f64| {
            let keys: HashSet<u64> = used.iter().filter_map(|p| cell_of(*p, size).map(key_of)).collect();
            keys.len()
        };
        let [sizes @ .., smallest] = SIZES;
        if used.is_empty() {
            return Ok(None);
        }
        if let Some(size) = sizes.into_iter().find(|size| cells(*size) >= ENOUGH) {
            return Ok(Some(size));
        }
        let half = cells(smallest).div_ceil(2);
        Ok(Some(sizes.into_iter().find(|size| cells(*size) >= half.min(ENOUGH)).unwrap_or(smallest)))
    })
}
