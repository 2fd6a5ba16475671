//! Sums of an upright search: what the points of a source add at places, blocks and wide blocks.

use super::BLOCK;
use crate::simt::*;
use pointmill_core::ndt::{LEVEL_BEST, level_cube};

/// Places along a block and blocks along a wide block.
pub const SIDE: u32 = 8;
/// Places along a wide block; places of a block, and blocks of a wide block.
pub const WIDE: u32 = SIDE * SIDE;
/// Threads that share the points of a block.
pub const PARTS: u32 = 8;
/// Threads a block of [`LevelSums`]: each adds a row of a part of the points.
pub const THREADS_OF_BLOCK: u32 = SIDE * PARTS;

/// Rows that are added up as bytes: their sum is below 256.
const OF_BYTES: u32 = 4;
const _: () = assert!(OF_BYTES == 4 && OF_BYTES * (LEVEL_BEST as u32) < 256);

/// A field in memory of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LevelField {
    /// `[z, y, x]`: the value of a cube. Behind each of the three are 8 bytes more.
    pub values: *const u64,
    /// `[y % 8, x % 8, z, y / 8, x / 8]`: the largest value of 8 x 8 cubes.
    pub blocks: *const u64,
    /// `[z, y, x]`: the largest value of 64 x 64 cubes.
    pub wide: *const u8,
    /// Cubes along x, y, z; along x and y a multiple of 8.
    pub size: [u32; 3],
}

/// Arguments of [`LevelTurn`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LevelTurnArgs {
    /// The points of a source.
    pub points: *const [f64; 3],
    /// How many.
    pub n: u32,
    /// Sine and cosine of each yaw.
    pub yaws: *const [f64; 2],
    /// How many turned points.
    pub len: u32,
    /// The edge of a cube in metres.
    pub step: f64,
    /// Cubes of the field before that of the first place.
    pub margin: i32,
    /// Cubes of the field along x, y, z.
    pub size: [u32; 3],
    /// `[yaw, point]`: where the point of the first place at height 0 is in the field, and in that
    /// of its blocks, modulo 2^32.
    pub turned: *mut [u32; 2],
}

kernel! {
    /// Turns points by each yaw, and finds their cubes. One thread a point at a yaw.
    LevelTurn = "registration_level_turn", block BLOCK, shared 0, cooperative false,
    fn(a: LevelTurnArgs) {
        let at = global_index();
        if at >= a.len {
            return;
        }
        let cube = level_cube(*a.points.add((at % a.n) as usize), *a.yaws.add((at / a.n) as usize), a.step);
        let ([nx, ny, nz], layer) = (a.size, cube[2] as u32);
        let [x, y] = [cube[0], cube[1]].map(|c| (c + a.margin) as u32);
        let of_layer = nx * ny / WIDE;
        let phase = y % SIDE * SIDE + x % SIDE;
        let of_blocks = phase * (of_layer * nz) + y / SIDE * (nx / SIDE) + x / SIDE;
        *a.turned.add(at as usize) =
            [(y * nx + x).wrapping_add(layer.wrapping_mul(nx * ny)), of_blocks.wrapping_add(layer.wrapping_mul(of_layer))];
    }
}

/// A block or a wide block of places at a yaw and a height.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct LevelBlock {
    /// The first of the turned points whose layers are in the field at this height.
    pub first: u32,
    /// How many these are.
    pub points: u32,
    /// How far its first place at its height is from the first place at height 0, in the field or in
    /// that of blocks, modulo 2^32.
    pub at: u32,
    /// Which of the two: 0 for places, 1 for blocks.
    pub of_blocks: u32,
}

/// Arguments of [`LevelBounds`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LevelBoundsArgs {
    /// The field.
    pub field: LevelField,
    /// What [`LevelTurn`] made.
    pub turned: *const [u32; 2],
    /// `[len]`: wide blocks.
    pub blocks: *const LevelBlock,
    /// How many.
    pub len: u32,
    /// `[len]`, first zeros: their bounds.
    pub bounds: *mut u32,
}

kernel! {
    /// Bounds of wide blocks. One thread a part of the points of one.
    LevelBounds = "registration_level_bounds", block BLOCK, shared 0, cooperative false,
    fn(a: LevelBoundsArgs) {
        let (of, part) = (global_index() / PARTS, global_index() % PARTS);
        if of >= a.len {
            return;
        }
        let block = *a.blocks.add(of as usize);
        let (mut sum, mut i) = (0, part);
        while i < block.points {
            let [at, _] = *a.turned.add((block.first + i) as usize);
            sum += *a.field.wide.add(at.wrapping_add(block.at) as usize) as u32;
            i += PARTS;
        }
        atomic_add(a.bounds.add(of as usize), sum);
    }
}

/// Arguments of [`LevelSums`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LevelSumsArgs {
    /// The field.
    pub field: LevelField,
    /// What [`LevelTurn`] made.
    pub turned: *const [u32; 2],
    /// `[len]`: blocks and wide blocks.
    pub blocks: *const LevelBlock,
    /// How many.
    pub len: u32,
    /// `[len, 8, 8]`, two sums a word, first zeros: the scores of places, or bounds of blocks.
    pub sums: *mut u32,
}

/// 8 bytes that may begin anywhere.
#[inline(always)]
unsafe fn row(field: *const u64, at: u32) -> u64 {
    // SAFETY: the caller's promise: the bytes are in the field, behind which are 8 more.
    let [low, high] = unsafe { [*field.add(at as usize / 8), *field.add(at as usize / 8 + 1)] };
    let shift = at % 8 * 8;
    // A shift by 64 is none.
    low >> shift | (high << 1) << (63 - shift)
}

kernel! {
    /// Scores of the 8 x 8 places of blocks, and bounds of the 8 x 8 blocks of wide blocks. One
    /// thread a row of a part of the points of one.
    LevelSums = "registration_level_sums", block BLOCK, shared 0, cooperative false,
    fn(a: LevelSumsArgs) {
        let (of, k) = (global_index() / THREADS_OF_BLOCK, global_index() % SIDE);
        if of >= a.len {
            return;
        }
        let block = *a.blocks.add(of as usize);
        let wide = block.of_blocks != 0;
        let (field, along) =
            if wide { (a.field.blocks, a.field.size[0] / SIDE) } else { (a.field.values, a.field.size[0]) };
        let first = block.at.wrapping_add(k * along);
        let turned = a.turned.add(block.first as usize).cast::<u32>().add(if wide { 1 } else { 0 });
        let at = |i: u32| first.wrapping_add(*turned.add(2 * i as usize));
        // Sums of every other byte.
        let (mut even, mut odd, mut i) = (0, 0, global_index() / SIDE % PARTS);
        let mut add = |bytes: u64| {
            even += bytes & 0x00ff_00ff_00ff_00ff;
            odd += bytes >> 8 & 0x00ff_00ff_00ff_00ff;
        };
        // Loads of several points are on their way at once.
        while i + (OF_BYTES - 1) * PARTS < block.points {
            let ats = [0, 1, 2, 3].map(|k| at(i + k * PARTS));
            let [p, q, r, s] = ats.map(|at| row(field, at));
            add(p + q + r + s);
            i += OF_BYTES * PARTS;
        }
        while i < block.points {
            add(row(field, at(i)));
            i += PARTS;
        }
        let sums = a.sums.add((of * (WIDE / 2) + k * (SIDE / 2)) as usize);
        for pair in 0..SIDE / 2 {
            let at = |sums: u64| (sums >> (16 * pair)) as u32 & 0xffff;
            atomic_add(sums.add(pair as usize), at(even) | at(odd) << 16);
        }
    }
}
