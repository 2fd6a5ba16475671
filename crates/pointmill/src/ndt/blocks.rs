//! Moments in parts: squares of the plane.

use super::NdtMoments;
use super::cpu::sum::Sums;
use crate::{Argument, Result, ensure, memory};
use pointmill_core::ndt::{MAX_CELL, cell_of};
use std::collections::BTreeMap;

impl NdtMoments {
    /// The moments in parts, one for each occupied block: a square of `edge` times `edge` cells of
    /// the plane, with all cells above and below.
    ///
    /// A block is named by its place along x and y; block (0, 0) has the cells from 0 to below
    /// `edge`. The points that are not finite count in the first block, or in block (0, 0) if there
    /// is no cell. So the parts of all inputs, merged in any order, are the moments of all inputs.
    ///
    /// **Order**: by (y, x) of the block.
    ///
    /// ```
    /// use pointmill::Rows;
    /// use pointmill::ndt::NdtMoments;
    /// let mut moments = NdtMoments::new(2.0)?;
    /// moments.add(Rows::f32(&[1.0, 1.0, 0.0, /**/ -1.0, 1.0, 90.0, /**/ f32::NAN, 0.0, 0.0], 3)?)?;
    /// let parts = moments.blocks(64)?;
    /// assert_eq!(parts.iter().map(|(block, part)| (*block, part.points())).collect::<Vec<_>>(), [([-1, 0], 2), ([0, 0], 1)]);
    /// let mut again = NdtMoments::new(2.0)?;
    /// parts.iter().try_for_each(|(_, part)| again.merge(part))?;
    /// assert_eq!(again, moments);
    /// # Ok::<(), pointmill::Error>(())
    /// ```
    ///
    /// # Errors
    /// An edge of no cells, or of more than the lattice has; out of memory.
    pub fn blocks(&self, edge: u32) -> Result<Vec<([i32; 2], Self)>> {
        let most = 2 * MAX_CELL as u32;
        ensure((1..=most).contains(&edge), Argument::Edge, format_args!("from 1 to {most} cells"), edge)?;
        let block_of = |key: u64| {
            let [x, y, _] = cell_of(key);
            [y, x].map(|at| at.div_euclid(edge as i32))
        };
        let mut counts = BTreeMap::new();
        for (key, _) in self.sums() {
            *counts.entry(block_of(*key)).or_insert(0) += 1;
        }
        if counts.is_empty() && self.points() > 0 {
            counts.insert([0, 0], 0);
        }
        let mut parts = BTreeMap::new();
        for (block, cells) in counts {
            let mut sums = Sums::new();
            memory::room(&mut sums, cells)?;
            parts.insert(block, sums);
        }
        for one in self.sums() {
            parts.get_mut(&block_of(one.0)).expect("counted above").push(*one);
        }
        let mut non_finite = self.non_finite();
        let part = |([y, x], sums): ([i32; 2], Sums)| {
            let apart = std::mem::take(&mut non_finite);
            let points = apart + sums.iter().map(|(_, moments)| u64::from(moments.count)).sum::<u64>();
            ([x, y], Self::of(*self.lattice(), sums, points, apart))
        };
        Ok(parts.into_iter().map(part).collect())
    }
}
