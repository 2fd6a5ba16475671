//! Rows near points.

use super::*;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use pointmill_core::ndt::{Line, key_of};

/// Which rows are near a point.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// Cells around the point's: 1, 7 or 27; 0 for rows within the radius.
    pub cells: u32,
    /// The radius in metres.
    pub radius: f64,
}

/// Arguments of [`Count`] and [`Fill`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SearchArgs {
    /// The points.
    pub points: Points,
    /// Which rows.
    pub near: Near,
    /// The grid.
    pub map: Map,
    /// `[n]`: how many rows are near each point.
    pub counts: *mut u32,
    /// `[n + 1]`: where each point's rows start.
    pub row_splits: *const u32,
    /// The rows near each point: the nearest first; those of cells around it ascending.
    pub rows: *mut u32,
    /// Their squared distances; null for those of cells.
    pub distances: *mut f64,
}

/// Calls `visit` with the rows near a point, ascending, and their squared distances (0 for those of cells).
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
#[inline(always)]
unsafe fn each_near(a: &SearchArgs, point: [f64; 3], mut visit: impl FnMut(u32, f64)) {
    // SAFETY: the caller's promise about the map.
    let rows = unsafe { a.map.rows() };
    if a.near.cells == 0 {
        rows.each_within(point, a.near.radius, visit);
    } else {
        rows.each_around(point, a.near.cells, |row| visit(row, 0.0));
    }
}

kernel! {
    /// Counts the rows near each point. One thread a point.
    Count = "ndt_count", block BLOCK, shared 0, cooperative false,
    fn(a: SearchArgs) {
        let i = global_index();
        if i < a.points.n {
            let mut count = 0;
            each_near(&a, a.points.get(i), |_, _| count += 1);
            *a.counts.add(i as usize) = count;
        }
    }
}

kernel! {
    /// Lists the rows near each point. One thread a point.
    Fill = "ndt_fill", block BLOCK, shared 0, cooperative false,
    fn(a: SearchArgs) {
        let i = global_index();
        if i < a.points.n {
            let start = *a.row_splits.add(i as usize) as usize;
            let (rows, distances) = (a.rows.add(start), a.distances.wrapping_add(start));
            let sorted = a.near.cells == 0;
            let mut len = 0;
            each_near(&a, a.points.get(i), |row, distance| {
                let mut at = len;
                // Rows come ascending, so that of equally near ones the first stays first.
                while sorted && at > 0 && *distances.add(at - 1) > distance {
                    *distances.add(at) = *distances.add(at - 1);
                    *rows.add(at) = *rows.add(at - 1);
                    at -= 1;
                }
                *rows.add(at) = row;
                if sorted {
                    *distances.add(at) = distance;
                }
                len += 1;
            });
        }
    }
}

/// Arguments of [`Lookup`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LookupArgs {
    /// `[n]`: cells, along x, y, z.
    pub cells: *const [i32; 3],
    /// How many.
    pub n: u32,
    /// The grid.
    pub map: Map,
    /// `[n]`: the row of each cell, or -1.
    pub rows: *mut i32,
}

kernel! {
    /// The rows of cells. One thread a cell.
    Lookup = "ndt_lookup", block BLOCK, shared 0, cooperative false,
    fn(a: LookupArgs) {
        let i = global_index();
        if i < a.n {
            let cell = *a.cells.add(i as usize);
            let mut row = -1;
            if pointmill_core::ndt::in_lattice(cell) {
                let (line, bit) = Line::of(key_of(cell));
                row = a.map.lines.get(line).row(bit).map_or(-1, |row| row as i32);
            }
            *a.rows.add(i as usize) = row;
        }
    }
}
