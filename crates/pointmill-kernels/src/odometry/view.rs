//! What a scan sees in each direction.

use super::*;
use crate::cloud::Points;
use pointmill_core::odometry::view::seen;

/// The least distance of the points of a bin, and the largest with all bits turned, as bits of
/// `f64`, which have the order of distances. All ones before.
pub type Reach = [u64; 2];

/// Arguments of [`See`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SeeArgs {
    /// The scan.
    pub points: Points,
    /// Every so many points are looked at.
    pub step: u32,
    /// The squares of the least and the largest range of points that are used.
    pub ranges: [f64; 2],
    /// One for each of [`BINS`](pointmill_core::odometry::view::BINS).
    pub bins: *mut Reach,
}

kernel! {
    /// Puts every `step`-th point into the bin of its direction. One thread a point.
    See = "odometry_see", block BLOCK, shared 0, cooperative false,
    fn(a: SeeArgs) {
        let i = global_index() as u64 * a.step as u64;
        if i < a.points.n as u64
            && let Some((bin, range)) = seen(a.points.get(i as u32), a.ranges)
        {
            let [least, most] = [range.to_bits(), !range.to_bits()];
            let at = a.bins.add(bin).cast::<u64>();
            // A plain read is cheaper than an atomic, and most points are between others.
            if load_relaxed_u64(at) > least {
                atomic_min_u64(at, least);
            }
            if load_relaxed_u64(at.add(1)) > most {
                atomic_min_u64(at.add(1), most);
            }
        }
    }
}
