//! The nearest feature of each feature.

use super::{BLOCK, NONE};
use crate::simt::*;
use pointmill_core::icp::nearest::{index_of, key};
use pointmill_core::registration::feature::{VALUES, squared_distance};

/// Features that a block looks for neighbours of.
pub const QUERIES_OF_BLOCK: u32 = BLOCK / WARP;
const FEATURE: u32 = VALUES as u32;
/// Features that are in shared memory at once, one for each lane. Their length is odd, so lanes
/// read different banks.
const TILE: u32 = WARP * FEATURE;

/// Arguments of [`NearestFeature`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NearestFeatureArgs {
    /// `[len, 33]`.
    pub queries: *const f32,
    /// How many.
    pub len: u32,
    /// `[n, 33]`.
    pub features: *const f32,
    /// How many.
    pub n: u32,
    /// `[len]`: the row of the nearest feature, of equally near ones the first; [`NONE`] without
    /// any.
    pub nearest: *mut u32,
}

kernel! {
    /// Nearest features. One warp a query.
    NearestFeature = "registration_nearest_feature", block BLOCK, shared TILE + QUERIES_OF_BLOCK * FEATURE, cooperative true,
    fn(a: NearestFeatureArgs) {
        let (tile, own) = (Shared::at(0), Shared::at(TILE + warp() * FEATURE));
        let query = block_index() * QUERIES_OF_BLOCK + warp();
        let mut k = lane();
        while k < FEATURE {
            let value = if query < a.len { *a.queries.add((query * FEATURE + k) as usize) } else { 0.0 };
            own.set(k, value.to_bits());
            k += WARP;
        }
        let (mut best, mut first) = (u64::MAX, 0);
        while first < a.n {
            sync_block();
            let values = if a.n - first < WARP { a.n - first } else { WARP } * FEATURE;
            let mut at = thread_index();
            while at < values {
                tile.set(at, (*a.features.add((first * FEATURE + at) as usize)).to_bits());
                at += BLOCK;
            }
            sync_block();
            if first + lane() < a.n {
                let theirs = |k: usize| f32::from_bits(tile.get(lane() * FEATURE + k as u32));
                let square = squared_distance(|k| f32::from_bits(own.get(k as u32)), theirs);
                let found = key(square, first + lane());
                best = if found < best { found } else { best };
            }
            first += WARP;
        }
        best = warp_least_u64(best);
        if query < a.len && lane() == 0 {
            *a.nearest.add(query as usize) = if best == u64::MAX { NONE } else { index_of(best) };
        }
    }
}
