//! Rows near points.

use super::*;
use crate::prim::scan::Tiles;
use pointmill_core::ndt::Line;

/// Which rows are near a point.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// Cells around the point's: 1, 7 or 27; 0 for rows within the radius.
    pub cells: u32,
    /// The radius in metres.
    pub radius: f64,
}

/// Rows that a thread of [`List`] keeps with their distances; without them three times as many.
const KEPT: u32 = 8;

/// Arguments of [`List`], [`Count`] and [`Fill`].
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
    pub row_splits: *mut u32,
    /// The rows near each point: the nearest first; those of cells around it ascending.
    pub rows: *mut u32,
    /// Their squared distances; null for those of cells.
    pub distances: *mut f64,
}

/// Calls `visit` with the rows near a point, ascending, and their squared distances (0 for those of
/// cells).
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

/// Lists the rows near a point from element `start` on.
#[inline(always)]
unsafe fn fill(a: &SearchArgs, point: [f64; 3], start: u32) {
    let (rows, distances) = (a.rows.wrapping_add(start as usize), a.distances.wrapping_add(start as usize));
    let sorted = a.near.cells == 0;
    let mut len = 0;
    // SAFETY: the caller's promise about the map, and that so many rows have room.
    unsafe {
        each_near(a, point, |row, distance| {
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

kernel! {
    /// Lists the rows near each point where [`SearchArgs::row_splits`] says. One thread a point.
    Fill = "ndt_fill", block BLOCK, shared 0, cooperative false,
    fn(a: SearchArgs) {
        let i = global_index();
        if i < a.points.n {
            fill(&a, a.points.get(i), *a.row_splits.add(i as usize));
        }
    }
}

/// Arguments of [`List`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ListArgs {
    /// The search; its counts are not used.
    pub search: SearchArgs,
    /// How many rows have room.
    pub room: u32,
    /// One tile for each [`BLOCK`] points, zero before.
    pub tiles: Tiles,
}

kernel! {
    /// Counts the rows near each point, adds the counts up, and lists the rows that have room. One
    /// thread a point; one that has more than it can keep searches again.
    List = "ndt_list", block BLOCK, shared scan::SHARED_WORDS + 3 * KEPT * BLOCK, cooperative true, min_blocks 5,
    fn(a: ListArgs) {
        let (shared, search) = (Shared::at(0), &a.search);
        let kept_rows = Shared::at(scan::SHARED_WORDS);
        let kept_distances = Doubles::at(Shared::at(scan::SHARED_WORDS + KEPT * BLOCK), KEPT * BLOCK);
        let place = |at: u32| at * BLOCK + thread_index();
        let tile = scan::take_tile(a.tiles, shared);
        let i = tile * BLOCK + thread_index();
        let sorted = search.near.cells == 0;
        let kept = if sorted { KEPT } else { 3 * KEPT };
        let mut len = 0;
        if i < search.points.n {
            each_near(search, search.points.get(i), |row, distance| {
                if len < kept {
                    let mut at = len;
                    // As in `fill`.
                    while sorted && at > 0 && kept_distances.get(place(at - 1)) > distance {
                        kept_distances.set(place(at), kept_distances.get(place(at - 1)));
                        kept_rows.set(place(at), kept_rows.get(place(at - 1)));
                        at -= 1;
                    }
                    kept_rows.set(place(at), row);
                    if sorted {
                        kept_distances.set(place(at), distance);
                    }
                }
                len += 1;
            });
        }
        let up_to_here = warp_inclusive_sum(len);
        let (before, _) = scan::prefix_of_warp(a.tiles, tile, shuffle(up_to_here, WARP - 1), shared);
        let end = before + up_to_here;
        if i < search.points.n {
            if i == 0 {
                *search.row_splits = 0;
            }
            *search.row_splits.add(i as usize + 1) = end;
            if end <= a.room && len > kept {
                fill(search, search.points.get(i), end - len);
            } else if end <= a.room {
                for at in 0..len {
                    let to = (end - len + at) as usize;
                    *search.rows.add(to) = kept_rows.get(place(at));
                    if sorted {
                        *search.distances.add(to) = kept_distances.get(place(at));
                    }
                }
            }
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
                let (place, bit) = Line::of(cell);
                row = a.map.lines.get(place).row(bit).map_or(-1, |row| row as i32);
            }
            *a.rows.add(i as usize) = row;
        }
    }
}
