//! Which cells are near a point: cells side by side along x share an entry of a table.

use super::{MAX_CELL, NdtLattice};

/// Cells that share a [`Line`].
pub const LINE: u32 = 32;

/// A cell as a number whose order is that of (z, y, x).
#[inline(always)]
pub const fn key_of(cell: [i32; 3]) -> u64 {
    ((cell[2] + MAX_CELL) as u64) << 42 | ((cell[1] + MAX_CELL) as u64) << 21 | (cell[0] + MAX_CELL) as u64
}

/// The cell of a key.
#[inline(always)]
pub const fn cell_of(key: u64) -> [i32; 3] {
    const AXIS: u64 = 2 * MAX_CELL as u64 - 1;
    [(key & AXIS) as i32 - MAX_CELL, (key >> 21 & AXIS) as i32 - MAX_CELL, (key >> 42 & AXIS) as i32 - MAX_CELL]
}

/// Whether a lattice has this cell.
#[inline(always)]
pub const fn in_lattice(cell: [i32; 3]) -> bool {
    let mut inside = true;
    let mut axis = 0;
    while axis < 3 {
        inside &= cell[axis] >= -MAX_CELL && cell[axis] < MAX_CELL;
        axis += 1;
    }
    inside
}

/// Where a line is: its number along x, then the numbers of its cells along y and z. All count from
/// the least cell of the lattice.
pub type LinePlace = [u32; 3];

/// A line's place as a number whose order is that of (z, y, x).
#[inline(always)]
pub const fn line_key(place: LinePlace) -> u64 {
    (place[2] as u64) << 37 | (place[1] as u64) << 16 | place[0] as u64
}

/// The number of a cell along an axis, counted from the least of the lattice.
#[inline(always)]
const fn number(cell: i32) -> u32 {
    (cell + MAX_CELL) as u32
}

/// The cells of a grid among [`LINE`] that lie side by side along x. Rows go by (z, y, x), so that
/// those of a line follow each other.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Which of the cells have a row.
    pub mask: u32,
    /// The first of their rows.
    pub row: u32,
}

impl Line {
    /// The place of a cell's line, and the cell's bit.
    #[inline(always)]
    pub const fn of(cell: [i32; 3]) -> (LinePlace, u32) {
        let x = number(cell[0]);
        ([x / LINE, number(cell[1]), number(cell[2])], x % LINE)
    }

    /// The row of the cell with this bit, if it has one.
    #[inline(always)]
    pub const fn row(&self, bit: u32) -> Option<u32> {
        if self.mask >> bit & 1 == 1 { Some(self.row_before(bit)) } else { None }
    }

    #[inline(always)]
    const fn row_before(&self, bit: u32) -> u32 {
        self.row + (self.mask & ((1 << bit) - 1)).count_ones()
    }
}

/// Where the rows near a point are: in the cells of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The least cell, along x, y, z.
    pub low: [i32; 3],
    /// The greatest.
    pub high: [i32; 3],
    /// Strips of cells along x; 0 where a map has fewer rows than the box has lines, so that a
    /// search looks at all of them.
    pub strips: u32,
}

/// What a search looks at.
#[derive(Clone, Copy, Debug)]
pub struct CellRows<L, M> {
    /// The lattice.
    pub lattice: NdtLattice,
    /// The number of rows.
    pub len: u32,
    /// The line at a place; an empty one where there is none.
    pub line: L,
    /// The mean of a row in metres.
    pub mean: M,
}

impl<L: Fn(LinePlace) -> Line, M: Fn(u32) -> [f64; 3]> CellRows<L, M> {
    /// Calls `visit` with the rows whose mean lies strictly within `radius` metres of a point,
    /// ascending, and the squared distance. No row is near a point that is not finite.
    #[inline(always)]
    pub fn each_within(&self, point: [f64; 3], radius: f64, visit: impl FnMut(u32, f64)) {
        if let Some(reach) = self.reach(point, radius) {
            self.each_in_reach(&reach, 0, 1, point, radius, visit);
        }
    }

    /// Where [`Self::each_within`] looks, if anywhere.
    #[inline(always)]
    pub fn reach(&self, point: [f64; 3], radius: f64) -> Option<Reach> {
        if !(point[0].is_finite() && point[1].is_finite() && point[2].is_finite()) {
            return None;
        }
        // A mean lies in its own cell, or a rounding beside it.
        let inv = self.lattice.inv() as f64;
        let (mut low, mut high) = ([0; 3], [0; 3]);
        let mut axis = 0;
        while axis < 3 {
            low[axis] = cell_near((point[axis] - radius) * inv - 1e-6);
            high[axis] = cell_near((point[axis] + radius) * inv + 1e-6);
            axis += 1;
        }
        let lines = |axis: usize| (high[axis] as i64 - low[axis] as i64 + 1) as u64;
        let strips = lines(2) * lines(1);
        let all_rows = strips * (lines(0) / LINE as u64 + 1) > self.len as u64;
        Some(Reach { low, high, strips: if all_rows { 0 } else { strips as u32 } })
    }

    /// Part `part` of `parts` of what [`Self::each_within`] visits. The parts in succession visit
    /// all of it, in the same order. Of four parts of what is within an edge of a cell, each has at
    /// most 16 rows: the cells lie in at most 16 strips of at most four.
    #[inline(always)]
    pub fn each_in_reach(
        &self,
        reach: &Reach,
        part: u32,
        parts: u32,
        point: [f64; 3],
        radius: f64,
        mut visit: impl FnMut(u32, f64),
    ) {
        let mut consider = |row: u32| {
            let mean = (self.mean)(row);
            let q = [point[0] - mean[0], point[1] - mean[1], point[2] - mean[2]];
            let distance_squared = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
            if distance_squared < radius * radius {
                visit(row, distance_squared);
            }
        };
        let cut = |all: u32, at: u32| (all as u64 * at as u64 / parts as u64) as u32;
        if reach.strips == 0 {
            let (mut row, end) = (cut(self.len, part), cut(self.len, part + 1));
            while row < end {
                consider(row);
                row += 1;
            }
            return;
        }
        let strips = (cut(reach.strips, part), cut(reach.strips, part + 1));
        self.each_of_strips(reach.low, reach.high, strips, None, consider);
    }

    /// Calls `visit` with the rows around the cell of a point, ascending: of 1, its own, of 7, also
    /// those that share a face with it, or of 27, all that touch it. A point without a cell has
    /// none around it.
    #[inline(always)]
    pub fn each_around(&self, point: [f64; 3], cells: u32, visit: impl FnMut(u32)) {
        let Some(place) = self.lattice.place(point) else { return };
        let reach = if cells == 1 { 0 } else { 1 };
        let (mut low, mut high) = (place.cell, place.cell);
        let mut axis = 0;
        while axis < 3 {
            low[axis] = if low[axis] > -MAX_CELL { low[axis] - reach } else { -MAX_CELL };
            high[axis] = if high[axis] < MAX_CELL - 1 { high[axis] + reach } else { MAX_CELL - 1 };
            axis += 1;
        }
        let strips = (high[1] - low[1] + 1) * (high[2] - low[2] + 1);
        let faces = if cells == 7 { Some(place.cell) } else { None };
        self.each_of_strips(low, high, (0, strips as u32), faces, visit);
    }

    /// Calls `visit` with the rows of cells from `low` to `high`, ascending, in the strips along x
    /// from one number to before another; of `faces` only that cell and those that share a face
    /// with it.
    #[inline(always)]
    fn each_of_strips(
        &self,
        low: [i32; 3],
        high: [i32; 3],
        (mut strip, end): (u32, u32),
        faces: Option<[i32; 3]>,
        mut visit: impl FnMut(u32),
    ) {
        let along_y = (high[1] - low[1] + 1) as u32;
        let (mut y, mut z) = (low[1] + (strip % along_y) as i32, low[2] + (strip / along_y) as i32);
        while strip < end {
            let (mut from, mut to) = (low[0], high[0]);
            if let Some(cell) = faces {
                let aside = (y != cell[1]) as u32 + (z != cell[2]) as u32;
                // Of a strip that shares a face one cell, of one that shares an edge none.
                from = if aside > 0 { cell[0] } else { from };
                to = match aside {
                    0 => to,
                    1 => from,
                    _ => from - 1,
                };
            }
            let (from, end_x) = (number(from), number(to + 1));
            let mut x = from;
            while x < end_x {
                // The cells from x on in one line.
                let bit = x % LINE;
                let next = if end_x - x < LINE - bit { end_x } else { x - bit + LINE };
                let line = (self.line)([x / LINE, number(y), number(z)]);
                let mask = line.mask >> bit & (u32::MAX >> (LINE - (next - x)));
                // Their rows follow each other.
                let mut row = line.row_before(bit);
                let end_row = row + mask.count_ones();
                while row < end_row {
                    visit(row);
                    row += 1;
                }
                x = next;
            }
            (y, z) = if y < high[1] { (y + 1, z) } else { (low[1], z + 1) };
            strip += 1;
        }
    }
}

/// The cell at a coordinate in edges, or the outermost one.
#[inline(always)]
fn cell_near(x: f64) -> i32 {
    let most = MAX_CELL as f64;
    let x = if x < -most {
        -most
    } else if x > most - 1.0 {
        most - 1.0
    } else {
        x
    };
    let whole = x as i32;
    if (whole as f64) > x { whole - 1 } else { whole }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn keys_are_cells(cell in prop::array::uniform3(-MAX_CELL..MAX_CELL), other in prop::array::uniform3(-MAX_CELL..MAX_CELL)) {
            prop_assert_eq!(cell_of(key_of(cell)), cell);
            let order = |[x, y, z]: [i32; 3]| (z, y, x);
            prop_assert_eq!(key_of(cell).cmp(&key_of(other)), order(cell).cmp(&order(other)));
            let (place, bit) = Line::of(cell);
            prop_assert_eq!(line_key(place) * u64::from(LINE) + u64::from(bit), key_of(cell));
        }
    }

    proptest! {
        /// In a map whose cells are all full, with a mean anywhere in each.
        #[test]
        fn parts_in_succession_are_the_whole(
            near in prop::array::uniform3(-1.0f64..1.0), far in prop::array::uniform3(prop::sample::select(vec![-1e6f64, 0.0, 1e5])),
            exact in any::<bool>(), unit in prop::sample::select(vec![0.1f64, 1.0, 2.0, 3.7]), len in prop::sample::select(vec![3u32, 20, u32::MAX])
        ) {
            let lattice = NdtLattice::new(unit).unwrap();
            let point = [0, 1, 2].map(|i| unit * (if exact { far[i].signum() * near[i].round() } else { near[i] } + far[i] * 0.5));
            let rows = CellRows {
                lattice,
                len,
                line: |place| Line { mask: u32::MAX, row: (line_key(place) as u32).wrapping_mul(LINE) },
                // Near every point, so that no row is left out.
                mean: |_| point,
            };
            let mut whole = Vec::new();
            rows.each_within(point, unit, |row, distance| whole.push((row, distance)));
            prop_assert!(!whole.is_empty());
            prop_assert!(rows.reach([f64::NAN, 0.0, 0.0], unit).is_none());
            let reach = rows.reach(point, unit).unwrap();
            for parts in 1..6 {
                let mut all = Vec::new();
                for part in 0..parts {
                    let before = all.len();
                    rows.each_in_reach(&reach, part, parts, point, unit, |row, distance| all.push((row, distance)));
                    prop_assert!(parts != 4 || all.len() - before <= 16, "{}", all.len() - before);
                }
                prop_assert_eq!(&all, &whole);
            }
        }
    }

    /// In a map whose cells are all full, inside and at a corner of the lattice.
    #[test]
    fn cells_around_a_point_are_visited_in_order() {
        let lattice = NdtLattice::new(1.0).unwrap();
        let line = |place| Line { mask: u32::MAX, row: (line_key(place) as u32).wrapping_mul(LINE) };
        let rows = CellRows { lattice, len: u32::MAX, line, mean: |_| [0.0; 3] };
        for cell in [[3, -7, 31], [0, 0, 0], [-MAX_CELL, MAX_CELL - 1, -MAX_CELL]] {
            for (cells, aside) in [(1, 0), (7, 1), (27, 3)] {
                let mut wanted = Vec::new();
                for place in 0..27 {
                    let by = [place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1];
                    let other = [cell[0] + by[0], cell[1] + by[1], cell[2] + by[2]];
                    if by.iter().map(|d| d * d).sum::<i32>() <= aside && in_lattice(other) {
                        wanted.push(key_of(other) as u32);
                    }
                }
                let mut visited = Vec::new();
                rows.each_around(cell.map(|c| f64::from(c) + 0.5), cells, |row| visited.push(row));
                assert_eq!(visited, wanted, "{cell:?}, {cells}");
            }
        }
    }

    #[test]
    fn rows_of_a_line_are_counted() {
        let line = Line { mask: 0b1011 | 1 << 31, row: 70 };
        assert_eq!([0, 1, 2, 3, 31].map(|bit| line.row(bit)), [Some(70), Some(71), None, Some(72), Some(73)]);
        assert_eq!(Line::default().row(0), None);
    }
}
