//! Rows of few points into the arrays of the result.

use super::emit::EmitArgs;
use super::*;

/// Most points of a row that [`EmitFew`] takes: so many quads of slots and points stay in
/// registers.
pub const FEW_POINTS: u32 = 12;

/// The same as an index.
const MOST: usize = FEW_POINTS as usize;

kernel! {
    /// Writes counts, means and padded points of rows that have at most [`FEW_POINTS`] points, and
    /// empties the slots. Any number of blocks.
    ///
    /// All slots of a row are read at once, and then all of its points: a lane waits twice for
    /// memory, however many points there are.
    EmitFew = "voxelize_emit_few", block BLOCK, shared COUNT_WORDS, cooperative true, min_blocks 4,
    fn(a: EmitArgs) { a.emit(|row, column, lanes| a.write_row(row, column, lanes)); }
}

impl EmitArgs {
    /// Writes what a lane has of a row: every `lanes`-th column from `column` on. Returns the
    /// number of points.
    #[inline(always)]
    unsafe fn write_row(&self, row: u32, mut column: u32, lanes: u32) -> u32 {
        let m = self.slots.max_points;
        // SAFETY: the launcher's promise; a row has slots for M points, in whole quads.
        let slots = unsafe { self.slots.of(row).cast::<Four>() };
        // SAFETY: as above.
        let quad = |k: u32| if k * 4 < m { unsafe { (*slots.add(k as usize)).0 } } else { [NONE; 4] };
        let (a, b, c) = (quad(0), quad(1), quad(2));
        let members: [u32; MOST] = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c[0], c[1], c[2], c[3]];
        let mut count = 0;
        for k in 0..MOST {
            count += if members[k] != NONE { 1 } else { 0 };
        }
        while column < self.columns {
            // Products with it are computed where they are used; in advance they would take two
            // registers each.
            let columns = hidden(self.columns);
            // As bits, so that a NaN keeps its payload.
            let mut values = [0; MOST];
            for k in 0..MOST {
                if (k as u32) < count {
                    let at = members[k] as u64 * columns as u64 + column as u64;
                    // SAFETY: members are indices of points.
                    values[k] = unsafe { *self.points.cast::<u32>().add(at as usize) };
                }
            }
            if self.means.wanted() {
                let mut sum = 0.0;
                for k in 0..MOST {
                    if (k as u32) < count {
                        sum += f32::from_bits(values[k]);
                    }
                }
                // SAFETY: the launcher's promise.
                unsafe { self.means.write(row as usize * columns as usize + column as usize, sum, count) };
            }
            if !self.voxels.is_null() {
                let row = row as usize * m as usize * columns as usize;
                // SAFETY: a row has M points of so many columns.
                unsafe {
                    let out = self.voxels.add(row + column as usize);
                    for k in 0..MOST {
                        if (k as u32) < m {
                            *out.add((k as u32 * columns) as usize) = values[k];
                        }
                    }
                }
            }
            column += lanes;
        }
        count
    }
}
