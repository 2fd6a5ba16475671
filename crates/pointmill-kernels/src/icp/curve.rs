//! Points along the Morton curve.

use super::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::icp::morton::MortonGrid;

/// Arguments of [`Codes`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CodesArgs {
    /// Points.
    pub points: *const Place4,
    /// The number of points.
    pub n: u32,
    /// The box around them.
    pub head: *const Head,
    /// `[n]`.
    pub codes: *mut u64,
}

kernel! {
    /// The Morton code of each point. One thread a point.
    Codes = "icp_codes", block BLOCK, shared 0, cooperative false,
    fn(a: CodesArgs) {
        let i = global_index();
        if i < a.n {
            let (low, high) = (*a.head).corners();
            *a.codes.add(i as usize) = MortonGrid::new(low, high).code(load4(a.points.add(i as usize)).0);
        }
    }
}

/// Arguments of [`Gather`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GatherArgs {
    /// Points.
    pub points: *const Place4,
    /// Which come first.
    pub order: *const u32,
    /// The number of points.
    pub n: u32,
    /// The points in that order, with their words.
    pub sorted: *mut Place4,
}

kernel! {
    /// Puts points in order. One thread a point.
    Gather = "icp_gather", block BLOCK, shared 0, cooperative false,
    fn(a: GatherArgs) {
        let i = global_index();
        if i < a.n {
            *a.sorted.add(i as usize).cast::<Aligned>() = *a.points.add(*a.order.add(i as usize) as usize).cast::<Aligned>();
        }
    }
}
