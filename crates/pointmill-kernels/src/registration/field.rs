//! The field of an upright search: what a point adds in each cube, and the largest of that in windows.

use super::BLOCK;
use super::level::{SIDE, WIDE};
use crate::simt::*;
use pointmill_core::ndt::{LevelCell, level_centre};

/// Threads a cell.
pub const CELL_BLOCK: u32 = 64;

/// A [`LevelCell`] in memory of a device.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct StoredLevelCell(pub LevelCell);

plain!(StoredLevelCell: 12 * 8);

/// Arguments of [`FieldFill`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FieldFillArgs {
    /// Cells, one a block.
    pub cells: *const StoredLevelCell,
    /// The edge of a cube in metres.
    pub step: f64,
    /// The first cube, along x, y, z.
    pub low: [i32; 3],
    /// Cubes along x, y, z; along x a multiple of 8.
    pub size: [u32; 3],
    /// `[z, y, x]`, four values a word, first zeros: the largest value of a cell at a cube.
    pub values: *mut u32,
}

kernel! {
    /// Fills a field. One block a cell.
    FieldFill = "registration_field_fill", block CELL_BLOCK, shared 0, cooperative false,
    fn(a: FieldFillArgs) {
        let cell = (*a.cells.add(block_index() as usize)).0;
        let [x, y, z] = [0, 1, 2].map(|k| cell.cubes(k, a.step, a.low[k], a.size[k]));
        let [nx, ny, nz] = [x, y, z].map(|[from, end]| end.saturating_sub(from));
        let mut at = thread_index();
        while at < nx * ny * nz {
            let [i, j, k] = [x[0] + at % nx, y[0] + at / nx % ny, z[0] + at / (nx * ny)];
            let centre = |axis: usize, n: u32| level_centre(a.low[axis] + n as i32, a.step);
            let value = cell.value([centre(0, i), centre(1, j), centre(2, k)]) as u32;
            let cube = (k * a.size[1] + j) * a.size[0] + i;
            let (word, shift) = (a.values.add(cube as usize / 4), cube % 4 * 8);
            let mut seen = load_relaxed(word);
            while seen >> shift & 0xff < value {
                let new = seen & !(0xff << shift) | value << shift;
                let before = compare_and_swap(word, seen, new);
                seen = if before == seen { new } else { before };
            }
            at += CELL_BLOCK;
        }
    }
}

/// Arguments of [`FieldWiden`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FieldWidenArgs {
    /// `[z, y, x]`.
    pub from: *const u8,
    /// The same size.
    pub to: *mut u8,
    /// Values.
    pub len: u32,
    /// Values of a row, or of a layer: how far the last of a window must not go.
    pub period: u32,
    /// From value to value along the axis.
    pub stride: u32,
    /// From one value of a window to the next, in steps along the axis.
    pub by: u32,
}

kernel! {
    /// The largest of 8 values along an axis, of those that there are. One thread a value.
    FieldWiden = "registration_field_widen", block BLOCK, shared 0, cooperative false,
    fn(a: FieldWidenArgs) {
        let at = global_index();
        if at >= a.len {
            return;
        }
        // What is left of the row or the layer from here on.
        let left = a.period - at % a.period;
        let mut largest = 0;
        for k in 0..SIDE {
            let off = k * a.by * a.stride;
            if off < left {
                let value = *a.from.add((at + off) as usize);
                largest = if value > largest { value } else { largest };
            }
        }
        *a.to.add(at as usize) = largest;
    }
}

/// Arguments of [`FieldBlocks`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FieldBlocksArgs {
    /// `[z, y, x]`.
    pub from: *const u8,
    /// `[y % 8, x % 8, z, y / 8, x / 8]`.
    pub to: *mut u8,
    /// Values along x, a multiple of 8.
    pub along: u32,
    /// Values.
    pub len: u32,
}

kernel! {
    /// Puts values of blocks side by side next to each other. One thread a value.
    FieldBlocks = "registration_field_blocks", block BLOCK, shared 0, cooperative false,
    fn(a: FieldBlocksArgs) {
        let at = global_index();
        if at >= a.len {
            return;
        }
        let (of_phase, columns) = (a.len / WIDE, a.along / SIDE);
        let (phase, of) = (at / of_phase, at % of_phase);
        // Layers have a multiple of 8 rows, so that z and y / 8 are one number.
        let (row, column) = (of / columns * SIDE + phase / SIDE, of % columns * SIDE + phase % SIDE);
        *a.to.add(at as usize) = *a.from.add((row * a.along + column) as usize);
    }
}
