//! Records into the arrays of the result.

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::emit::rows_per_warp;
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
use super::rank::{Ranked, rank_next_tile, report_rows};
use super::*;

/// Arguments of [`Write`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WriteArgs {
    /// The points.
    pub cloud: Cloud,
    /// From [`Collect`].
    pub slot_of_point: *const u32,
    /// From [`Collect`]; emptied here.
    pub records: Records,
    /// Most points of a row, M, at most [`REST`] + 1.
    pub max_points: u32,
    /// Look-back state, zero before.
    pub tiles: scan::Tiles,
    /// `[rows, 3]` z, y, x.
    pub coords: *mut i32,
    /// `[rows]`: how many points a row has.
    pub num_points: *mut u32,
    /// The means of each row.
    pub means: Means,
    /// `[rows, max_points, columns]`, zero-padded; null if nobody asked.
    pub voxels: *mut u32,
    /// `[n]`: the row of each point or -1; null if nobody asked.
    pub point_to_voxel: *mut i32,
    /// Counters.
    pub counters: *mut Counters,
    /// From [`Collect`]; zeroed here.
    pub lost: Lost,
    /// See [`ForHost`].
    pub for_host: ForHost,
}

/// Where the records that a tile opens are, one word each, and the first of their rows behind.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const OPENED: u32 = scan::SHARED_WORDS + 4 * COUNT_WORDS;
/// Words of shared memory.
const SHARED_WORDS: u32 = scan::SHARED_WORDS + 4 * COUNT_WORDS + BLOCK + 1;

kernel! {
    /// Numbers the cells in first-seen order, writes their rows and empties their records. One block a tile of [`TILE`], at least one.
    ///
    /// A point waits for the row of its cell only where the caller asks for rows of points or where the cap may have left the cell without one. The row is given in the point's
    /// tile or in one before, which has started; and a tile gives all its rows before its points wait.
    Write = "voxelize_write", block BLOCK, shared SHARED_WORDS, cooperative true, min_blocks 4,
    fn(a: WriteArgs) {
        let opened = Shared::at(OPENED);
        let Ranked { slots: [slot], ranks, last } =
            rank_next_tile::<1>(a.slot_of_point, a.cloud.n, a.tiles, a.counters, |slot| a.records.first(slot));
        if ranks.flagged[0] {
            // A tile opens no more rows than it has places here.
            opened.set(ranks.rank[0] % BLOCK, slot);
        }
        if thread_index() == 0 {
            opened.set(BLOCK, ranks.rank[0]);
            if last {
                report_rows(ranks.end, a.cloud.batch.max_voxels, a.counters, a.lost, a.for_host);
            }
        }
        sync_block();
        let rows_here = rows_per_warp(a.cloud.columns);
        let lanes = if a.cloud.columns < WARP { a.cloud.columns } else { WARP };
        let (r, first_column) = (lane() / lanes, lane() % lanes);
        let mut kept = 0;
        let mut base = opened.get(BLOCK) + warp() * rows_here;
        while base < ranks.end {
            let row = base + r;
            let inside = r < rows_here && row < ranks.end;
            let mut slot = 0;
            if inside {
                slot = opened.get(row % BLOCK);
                if row < a.cloud.batch.max_voxels {
                    let count = a.write_row(row, a.records.get(slot), first_column, lanes);
                    kept += if first_column == 0 { count } else { 0 };
                }
            }
            // All values of the row have read its record.
            sync_warp();
            if inside && first_column == 0 {
                a.records.close(slot, if row < a.cloud.batch.max_voxels { row } else { NONE });
            }
            base += BLOCK / WARP * rows_here;
        }
        let mut dropped = 0;
        if ranks.end > a.cloud.batch.max_voxels || !a.point_to_voxel.is_null() {
            sync_block();
            // Read again, so that no register holds it while rows are written.
            let i = ranks.start;
            let slot = if i < a.cloud.n { *a.slot_of_point.add(i as usize) } else { OUT_OF_RANGE };
            let row = if slot < NON_FINITE { a.records.row(slot) } else { NONE };
            if i < a.cloud.n && !a.point_to_voxel.is_null() {
                *a.point_to_voxel.add(i as usize) = row as i32;
            }
            dropped = ballot(slot < NON_FINITE && row == NONE).count_ones();
        }
        let counters = [&raw mut (*a.counters).kept, &raw mut (*a.counters).dropped_voxel];
        count_in_block(counters, [warp_sum(kept), dropped], Shared::at(scan::SHARED_WORDS + 2 * COUNT_WORDS));
    }
}

/// Points of a record.
#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
const POINTS: usize = REST as usize + 1;

#[cfg(any(target_arch = "nvptx64", feature = "twin"))]
impl WriteArgs {
    /// Writes a row, or what a lane that begins with `first_column` has of it, and returns how many points it has.
    #[inline(always)]
    unsafe fn write_row(&self, row: u32, record: [[u32; 4]; 4], first_column: u32, lanes: u32) -> u32 {
        let [[first, key, _, _], a, b, c] = record;
        let members: [u32; POINTS] = [first, a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c[0], c[1], c[2], c[3]];
        let mut count = 0;
        for k in 0..POINTS {
            count += if members[k] != NONE { 1 } else { 0 };
        }
        let columns = hidden(self.cloud.columns);
        let mut column = first_column;
        while column < columns {
            // All points are in flight together; as bits, so that a NaN keeps its payload.
            let mut values = [0; POINTS];
            for k in 0..POINTS {
                if (k as u32) < count {
                    // SAFETY: members are indices of points. There are so few points that 32 bits are enough.
                    values[k] =
                        unsafe { *self.cloud.points.cast::<u32>().add((members[k] * columns + column) as usize) };
                }
            }
            // SAFETY: rows are below their bound, and a row has no more members than M.
            unsafe {
                if self.means.wanted() {
                    let mut sum = 0.0;
                    for k in 0..POINTS {
                        if (k as u32) < count {
                            sum += f32::from_bits(values[k]);
                        }
                    }
                    self.means.write(row as usize * columns as usize + column as usize, sum, count);
                }
                if !self.voxels.is_null() {
                    let out = self.voxels.add(row as usize * self.max_points as usize * columns as usize);
                    for k in 0..POINTS {
                        if (k as u32) < self.max_points {
                            *out.add((k as u32 * columns + column) as usize) = values[k];
                        }
                    }
                }
            }
            column += lanes;
        }
        let [x, y, z] = self.cloud.grid.cell_of_id(key as u64);
        // SAFETY: as above; a point has at least three columns, so a row has a lane for each coordinate.
        unsafe {
            if first_column < 3 {
                let coordinate = if first_column == 0 {
                    z
                } else if first_column == 1 {
                    y
                } else {
                    x
                };
                *self.coords.add(row as usize * 3 + first_column as usize) = coordinate as i32;
            }
            if first_column == 0 {
                *self.num_points.add(row as usize) = count;
            }
        }
        count
    }
}
