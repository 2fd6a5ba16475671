//! The part of a map by blocks that is near some places.

use super::map::{BlockMap, merged, other_lattice};
use super::store::is_missing;
use super::{block_name, block_of};
use crate::maps::cells::read_ndt_map_within;
use crate::maps::moments::read_ndt_moments_within;
use pointmill_core::ndt::{NdtCells, NdtLattice, NdtMomentsTable};
use pointmill_io::Limits;
use pointmill_io::{Detail, IoError};
use std::path::Path;

/// Bytes that a cell takes in memory, its place in the order included.
const CELL: u64 = 224;

impl BlockMap {
    /// The merged blocks that have a point within `reach` metres of a centre along x and y, by (y,
    /// x). Centres are global: the origin of the map is subtracted from them.
    ///
    /// A scan whose points are within `r` metres of its sensor meets no other blocks at a pose, if
    /// `reach` is `r` and two edges of a cell: points are scored against cells whose mean is within
    /// an edge.
    ///
    /// Files of blocks out of reach are not needed.
    ///
    /// # Errors
    /// A block in reach that has parts but is not merged; what the system refuses.
    pub fn near(&self, centres: &[[f64; 2]], reach: f64) -> Result<Vec<[i32; 2]>, IoError> {
        let (edge, origin) = (self.settings().block(), self.settings().origin);
        let is_near = |block: [i32; 2]| {
            centres.iter().any(|centre| {
                (0..2).all(|axis| {
                    let (low, at) = (f64::from(block[axis]) * edge, centre[axis] - origin[axis]);
                    low <= at + reach && at - reach <= low + edge
                })
            })
        };
        let of = |names: Vec<String>| -> Vec<[i32; 2]> {
            names.iter().filter_map(|name| block_of(name)).filter(|block| is_near(*block)).collect()
        };
        let mut blocks = of(self.names_in("", ".npz")?);
        blocks.sort_unstable_by_key(place);
        for block in of(self.names_in("blocks", "")?) {
            let is_merged = blocks.binary_search_by_key(&place(&block), place).is_ok();
            if !is_merged && !self.parts(block)?.is_empty() {
                return Err(unmerged(&self.path(&merged(block, "npz")), "the cells of its inputs"));
            }
        }
        Ok(blocks)
    }

    /// The cells of merged blocks as one map, with the sum of their reports. Of all blocks these
    /// are the cells of one map of all inputs.
    ///
    /// # Limits
    /// [`Limits::max_memory`] holds for all blocks together.
    ///
    /// # Errors
    /// As [`read_ndt_map`](crate::read_ndt_map); a block of another lattice or about another
    /// origin, or with a cell of another block.
    pub fn read(&self, blocks: &[[i32; 2]], limits: &Limits) -> Result<(NdtCells, NdtLattice), IoError> {
        let lattice = self.lattice();
        let mut parts = Vec::new();
        let mut taken = 0;
        for &block in blocks {
            let file = merged(block, "npz");
            let limits =
                Limits { max_memory: limits.max_memory.map(|most| most.saturating_sub(taken)), ..limits.clone() };
            let mut read = None;
            self.store().read(&file, &mut |place| {
                read = Some(read_ndt_map_within(place, &limits)?);
                Ok(())
            })?;
            let (cells, found) = read.expect("a file that was read");
            self.belongs(&self.path(&file), block, &found, cells.coords.iter())?;
            taken += CELL * cells.len() as u64;
            parts.push(cells);
        }
        Ok((union(parts), lattice))
    }

    /// The sums of a merged block; none where the map has nothing.
    ///
    /// # Errors
    /// As [`read_ndt_moments_within`]; a block of another lattice or about another origin, or with
    /// a cell of another block; a block that has parts but is not merged.
    pub fn sums(&self, block: [i32; 2], limits: &Limits) -> Result<Option<NdtMomentsTable>, IoError> {
        let file = merged(block, "arrow");
        let path = self.path(&file);
        let table = match self.sums_in(&file, limits) {
            Err(e) if is_missing(&e) => {
                return match self.parts(block)?.is_empty() {
                    true => Ok(None),
                    false => Err(unmerged(&path, "the sums of its inputs")),
                };
            }
            table => table?,
        };
        self.belongs(&path, block, &table.lattice, table.cells.iter().map(|(cell, _)| cell))?;
        Ok(Some(table))
    }

    /// The sums in a file of the map.
    pub(super) fn sums_in(&self, file: &str, limits: &Limits) -> Result<NdtMomentsTable, IoError> {
        let mut table = None;
        self.store().read(file, &mut |place| {
            table = Some(read_ndt_moments_within(place, limits)?);
            Ok(())
        })?;
        Ok(table.expect("a file that was read"))
    }

    /// Checks that a file has cells of a block alone.
    fn belongs<'a>(
        &self,
        path: &Path,
        block: [i32; 2],
        found: &NdtLattice,
        mut cells: impl Iterator<Item = &'a [i32; 3]>,
    ) -> Result<(), IoError> {
        let (lattice, edge) = (self.lattice(), i64::from(self.settings().cells));
        if *found != lattice {
            return Err(IoError::BadValue(other_lattice(path, &lattice, found)));
        }
        match cells.find(|cell| [0, 1].map(|i| i64::from(cell[i]).div_euclid(edge)) != block.map(i64::from)) {
            Some(cell) => {
                let wanted = format!("cells of the block {}", block_name(block));
                Err(IoError::BadValue(Detail::new(path, "coords", wanted, format!("{cell:?}"))))
            }
            None => Ok(()),
        }
    }
}

/// What is wrong with a block that has parts and no file of all of them.
fn unmerged(path: &Path, wanted: &str) -> IoError {
    IoError::MissingField(Detail::new(path, "block", wanted, "none; merge the block with `pointmill ndt merge`"))
}

/// The place of a block in the order by (y, x).
fn place(&[x, y]: &[i32; 2]) -> [i32; 2] {
    [y, x]
}

/// The cells of maps that have none in common, as one map.
fn union(parts: Vec<NdtCells>) -> NdtCells {
    let mut all = NdtCells::default();
    for part in parts {
        all.coords.extend(part.coords);
        all.counts.extend(part.counts);
        all.mean_local.extend(part.mean_local);
        all.mean.extend(part.mean);
        all.covariance.extend(part.covariance);
        all.inverse.extend(part.inverse);
        all.eigenvalues.extend(part.eigenvalues);
        all.normal.extend(part.normal);
        let (sum, part) = (&mut all.report, part.report);
        sum.points += part.points;
        sum.non_finite += part.non_finite;
        sum.cells += part.cells;
        sum.sparse += part.sparse;
        sum.degenerate += part.degenerate;
        sum.voxels += part.voxels;
        sum.clamped += part.clamped;
    }
    let mut order: Vec<usize> = (0..all.coords.len()).collect();
    order.sort_unstable_by_key(|&i| {
        let [x, y, z] = all.coords[i];
        [z, y, x]
    });
    fn sorted<T: Copy>(values: &mut Vec<T>, order: &[usize]) {
        *values = order.iter().map(|&i| values[i]).collect();
    }
    sorted(&mut all.coords, &order);
    sorted(&mut all.counts, &order);
    sorted(&mut all.mean_local, &order);
    sorted(&mut all.mean, &order);
    sorted(&mut all.covariance, &order);
    sorted(&mut all.inverse, &order);
    sorted(&mut all.eigenvalues, &order);
    sorted(&mut all.normal, &order);
    all
}
