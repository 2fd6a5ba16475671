//! Cells to look up: by coordinate, around a point, within a radius.

use super::sum::{Keyed, key_of};
use super::{NdtCells, NdtMoments, NdtParams};
use crate::{Error, Result};
use pointmill_core::ndt::{MAX_CELL, NdtLattice};

/// Neighbourhoods of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbourhood {
    /// The cell itself.
    One,
    /// And the six that share a face with it.
    Seven,
    /// And all that share a face, an edge or a corner.
    TwentySeven,
}

/// Cells of normal distributions, and where each of them is: a map to match scans against.
///
/// **Order**: rows by (z, y, x) of the cell. **Memory**: on the host.
///
/// ```
/// use pointmill::ndt::{AlignParams, Covariance, NdtCloud, NdtGrid, NdtMoments, NdtParams};
///
/// // A corner of a room: a floor and two walls, a point every ten centimetres.
/// let mut points = Vec::new();
/// for i in 0..60 {
///     for j in 0..60 {
///         let (a, b) = (f64::from(i) * 0.1 + 0.05, f64::from(j) * 0.1 + 0.05);
///         points.extend([a, b, 0.0, /**/ 0.0, a, b, /**/ a, 0.0, b]);
///     }
/// }
/// let mut moments = NdtMoments::new(1.0)?;
/// moments.add(NdtCloud::f64(&points, 3)?)?;
/// let grid = NdtGrid::new(&moments, &NdtParams { covariance: Covariance::Autoware, ..NdtParams::default() })?;
///
/// // A scan of it that thinks that it stands elsewhere.
/// let scan: Vec<[f32; 3]> = points.chunks_exact(3).step_by(7).map(|p| [p[0] as f32, p[1] as f32, p[2] as f32]).collect();
/// let found = grid.align(&scan, &[0.2, -0.15, 0.1, 0.0, 0.0, 0.03], &AlignParams::default())?;
/// assert!(found.converged());
/// assert!(found.pose.iter().all(|x| x.abs() < 0.02));
/// # Ok::<(), pointmill::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NdtGrid {
    lattice: NdtLattice,
    cells: NdtCells,
    rows: Keyed,
}

/// A row and how far its mean is from a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The row of the grid.
    pub row: usize,
    /// The squared distance of its mean, in square metres.
    pub distance_squared: f64,
}

impl NdtGrid {
    /// The cells of some moments as normal distributions. A grid may be empty; its report says why.
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn new(moments: &NdtMoments, params: &NdtParams) -> Result<Self> {
        let cells = moments.finish(params)?;
        let rows = cells.coords.iter().zip(0..).map(|(cell, row)| (key_of(*cell), row)).collect();
        Ok(Self { lattice: *moments.lattice(), cells, rows })
    }

    /// The cells, a row each.
    pub const fn cells(&self) -> &NdtCells {
        &self.cells
    }

    /// The lattice of the cells.
    pub const fn lattice(&self) -> &NdtLattice {
        &self.lattice
    }

    /// The row of a cell (x, y, z), if it has one.
    pub fn lookup(&self, cell: [i32; 3]) -> Option<usize> {
        let inside = cell.iter().all(|c| (-MAX_CELL..MAX_CELL).contains(c));
        if inside { self.rows.get(&key_of(cell)).map(|row| *row as usize) } else { None }
    }

    /// The rows around the cell of a point, ascending; none for a point that has no cell.
    pub fn neighbours(&self, point: [f64; 3], neighbourhood: Neighbourhood) -> Vec<usize> {
        let Some(place) = self.lattice.place(point) else { return Vec::new() };
        let mut rows = Vec::new();
        // Cells are visited by (z, y, x), which is the order of rows.
        for dz in -1..=1 {
            for dy in -1..=1 {
                for dx in -1..=1i32 {
                    let axes = [dx, dy, dz].iter().filter(|d| **d != 0).count();
                    let wanted = match neighbourhood {
                        Neighbourhood::One => axes == 0,
                        Neighbourhood::Seven => axes <= 1,
                        Neighbourhood::TwentySeven => true,
                    };
                    if wanted {
                        rows.extend(self.lookup([place.cell[0] + dx, place.cell[1] + dy, place.cell[2] + dz]));
                    }
                }
            }
        }
        rows
    }

    /// All rows whose mean lies strictly within `radius` metres of a point, the nearest first, of equally near ones the first; none for a point that is not finite.
    ///
    /// # Errors
    /// A radius that is not finite and positive.
    pub fn radius_search(&self, point: [f64; 3], radius: f64) -> Result<Vec<Neighbour>> {
        if !(radius.is_finite() && radius > 0.0) {
            return Err(Error::argument("radius", "a finite radius > 0 m", radius));
        }
        let mut found = Vec::new();
        self.each_within(point, radius, |row, distance_squared| found.push(Neighbour { row, distance_squared }));
        found.sort_by(|a, b| a.distance_squared.total_cmp(&b.distance_squared).then(a.row.cmp(&b.row)));
        Ok(found)
    }

    /// Calls `visit` with the rows whose mean lies strictly within `radius` of a point, ascending, and the squared distance.
    pub(super) fn each_within(&self, point: [f64; 3], radius: f64, mut visit: impl FnMut(usize, f64)) {
        if !point.iter().all(|x| x.is_finite()) {
            return;
        }
        let mut consider = |row: usize| {
            let mean = self.cells.mean[row];
            let q = [point[0] - mean[0], point[1] - mean[1], point[2] - mean[2]];
            let distance_squared = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
            if distance_squared < radius * radius {
                visit(row, distance_squared);
            }
        };
        // A mean lies in its own cell, or a rounding beside it.
        let inv = f64::from(self.lattice.inv());
        let reach = |x: f64, by: f64| ((x + by) * inv + by.signum() * 1e-6).floor().clamp(-1e9, 1e9) as i64;
        let low = point.map(|x| reach(x, -radius));
        let high = point.map(|x| reach(x, radius));
        let count = (0..3).fold(1u64, |n, i| n.saturating_mul((high[i] - low[i] + 1) as u64));
        if count > self.cells.len() as u64 {
            // More cells than there are rows.
            (0..self.cells.len()).for_each(consider);
            return;
        }
        // How far a point is from a cell along an axis, squared; a little less, since means are rounded.
        let unit = self.lattice.unit();
        let gap = |axis: usize, c: i64| {
            let wall = c as f64 * unit;
            let gap = (wall - point[axis]).max(point[axis] - (wall + unit)).max(0.0) - 1e-6 * unit;
            if gap > 0.0 { gap * gap } else { 0.0 }
        };
        for z in low[2]..=high[2] {
            let far = gap(2, z);
            for y in low[1]..=high[1] {
                let far = far + gap(1, y);
                for x in low[0]..=high[0] {
                    if far + gap(0, x) >= radius * radius {
                        continue;
                    }
                    if let Some(row) = self.lookup([x as i32, y as i32, z as i32]) {
                        consider(row);
                    }
                }
            }
        }
    }
}
