//! Every point is looked at.

use super::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::icp::nearest::{distance_of, key, squared_distance};

/// Queries of a thread: each point that is read serves all of them.
const QUERIES: usize = 4;
/// Threads of a block.
const THREADS: u32 = 128;
/// Points that are looked at together.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const GROUP: u32 = 8;
/// Points that a block has in shared memory at a time.
const TILE: u32 = 256;
/// Points that a block looks at.
pub const SLICE: u32 = 2048;

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
    /// Slices of points.
    pub slices: u32,
    /// `[len]`: the least key, if it is below the one there.
    pub keys: *mut u64,
}

impl NearestBruteArgs {
    /// Blocks of a launch.
    pub const fn blocks(len: u32, slices: u32) -> u32 {
        len.div_ceil(THREADS * QUERIES as u32) * slices
    }
}

kernel! {
    /// The nearest point of each query. A block for each tile of queries and slice of points; the least key of all slices stays.
    NearestBrute = "icp_nearest_brute", block THREADS, shared TILE * 4, cooperative true,
    fn(a: NearestBruteArgs) {
        let tile = Shared::at(0);
        let (first, slice) = (block_index() / a.slices * THREADS * QUERIES as u32 + thread_index(), block_index() % a.slices);
        let mut queries = [[f32::NAN; 3]; QUERIES];
        let mut best = [u64::MAX; QUERIES];
        let mut reach = [f32::NEG_INFINITY; QUERIES];
        for j in 0..QUERIES {
            let i = first + j as u32 * THREADS;
            if i < a.len {
                queries[j] = load4(a.queries.add(i as usize)).0;
                best[j] = load_relaxed_u64(a.keys.add(i as usize));
                reach[j] = distance_of(best[j]);
            }
        }
        let mut start = slice * SLICE;
        let end = if start + SLICE < a.n { start + SLICE } else { a.n };
        while start < end {
            sync_block();
            let mut k = thread_index();
            while k < TILE {
                // Places without a point lie at infinity.
                let (p, index) =
                    if start + k < end { load4(a.points.add((start + k) as usize)) } else { ([f32::INFINITY; 3], u32::MAX) };
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
                        least[j] = least[j].min(squared_distance(queries[j], p));
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
                        reach[j] = distance_of(best[j]);
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
