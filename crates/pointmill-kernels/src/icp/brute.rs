//! Every point is looked at.
//!
//! Most points are not near: one fused operation less for each axis tells so, with room for what
//! that rounds otherwise. Only groups with a point that may be nearer are looked at exactly. A
//! first launch looks at every [`SPARSE`]th point, so that the second starts near.

use super::*;
use pointmill_core::icp::nearest::{distance_of, key, squared_distance};

/// Queries of a thread: each point that is read serves all of them.
const QUERIES: usize = 4;
/// Threads of a block.
const THREADS: u32 = 128;
/// Points that are looked at together.
const GROUP: u32 = 8;
/// Points that a block has in shared memory at a time.
const TILE: u32 = 256;
/// Part by which distances of fused and of separate operations may differ, and more.
const ROUNDING: f32 = 1e-6;
/// Of so many points, the first launch looks at one.
pub const SPARSE: u32 = 64;
/// Points that a block looks at.
const SLICE: u32 = 2048;

/// Arguments of [`NearestBrute`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NearestBruteArgs {
    /// Points.
    pub points: *const Place4,
    /// The number of points.
    pub n: u32,
    /// Queries.
    pub queries: *const Place4,
    /// The number of queries.
    pub len: u32,
    /// Every so many points one is looked at.
    pub stride: u32,
    /// `[len]`: the least key, if it is below the one there.
    pub keys: *mut u64,
}

impl NearestBruteArgs {
    /// Points that are looked at.
    const fn looked_at(&self) -> u32 {
        self.n.div_ceil(self.stride)
    }

    /// Blocks of a launch.
    pub const fn blocks(&self) -> u32 {
        self.len.div_ceil(THREADS * QUERIES as u32) * self.looked_at().div_ceil(SLICE)
    }

    /// Queries of a launch at most, so that there are fewer blocks than a launch can have.
    pub const fn most_queries(&self) -> u32 {
        let tiles = (1 << 30) / self.looked_at().div_ceil(SLICE);
        if tiles < 1 << 21 { tiles * (THREADS * QUERIES as u32) } else { 1 << 30 }
    }
}

/// Squared distances up to which a point may be nearer than one at `square`.
#[inline(always)]
fn reach_of(square: f32) -> f32 {
    // Squares near zero have few digits.
    square + (square * ROUNDING + 1e-37)
}

#[inline(always)]
fn about(a: [f32; 3], b: [f32; 3]) -> f32 {
    let (dx, dy, dz) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    fused(dz, dz, fused(dy, dy, dx * dx))
}

kernel! {
    /// The nearest point of each query. A block for each tile of queries and slice of points; the
    /// least key of all slices stays.
    NearestBrute = "icp_nearest_brute", block THREADS, shared TILE * 4, cooperative true,
    fn(a: NearestBruteArgs) {
        let tile = Shared::at(0);
        let (n, slices) = (a.looked_at(), a.looked_at().div_ceil(SLICE));
        let (first, slice) = (block_index() / slices * THREADS * QUERIES as u32 + thread_index(), block_index() % slices);
        let mut queries = [[f32::NAN; 3]; QUERIES];
        let mut best = [u64::MAX; QUERIES];
        let mut reach = [f32::NEG_INFINITY; QUERIES];
        for j in 0..QUERIES {
            let i = first + j as u32 * THREADS;
            if i < a.len {
                queries[j] = load4(a.queries.add(i as usize)).0;
                best[j] = load_relaxed_u64(a.keys.add(i as usize));
                reach[j] = reach_of(distance_of(best[j]));
            }
        }
        let mut start = slice * SLICE;
        let end = if start + SLICE < n { start + SLICE } else { n };
        while start < end {
            sync_block();
            let mut k = thread_index();
            while k < TILE {
                // Places without a point lie at infinity.
                let (p, index) =
                    if start + k < end { load4(a.points.add(((start + k) * a.stride) as usize)) } else { ([f32::INFINITY; 3], u32::MAX) };
                tile.set(4 * k, p[0].to_bits());
                tile.set(4 * k + 1, p[1].to_bits());
                tile.set(4 * k + 2, p[2].to_bits());
                tile.set(4 * k + 3, index);
                k += THREADS;
            }
            sync_block();
            let most = if end - start < TILE { end - start } else { TILE };
            let mut group = 0;
            while group < most {
                let mut least = [f32::INFINITY; QUERIES];
                for k in 0..GROUP {
                    let p = tile.get_x4(4 * (group + k));
                    let p = [f32::from_bits(p[0]), f32::from_bits(p[1]), f32::from_bits(p[2])];
                    for j in 0..QUERIES {
                        least[j] = least[j].min(about(queries[j], p));
                    }
                }
                for j in 0..QUERIES {
                    // NaN is not within reach.
                    if least[j] <= reach[j] {
                        for k in 0..GROUP {
                            let p = tile.get_x4(4 * (group + k));
                            let square = squared_distance(
                                queries[j],
                                [f32::from_bits(p[0]), f32::from_bits(p[1]), f32::from_bits(p[2])],
                            );
                            let key = key(square, p[3]);
                            best[j] = if key < best[j] { key } else { best[j] };
                        }
                        reach[j] = reach_of(distance_of(best[j]));
                    }
                }
                group += GROUP;
            }
            start += TILE;
        }
        for j in 0..QUERIES {
            let i = first + j as u32 * THREADS;
            if i < a.len {
                atomic_min_u64(a.keys.add(i as usize), best[j]);
            }
        }
    }
}
