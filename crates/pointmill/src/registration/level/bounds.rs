//! At which heights there are places: of each place, block and wide block.

use super::field::{SIDE, WIDE};
use crate::{Result, memory};

/// No height.
pub(super) const NOWHERE: [i32; 2] = [i32::MAX, i32::MIN];

/// The least and the largest height of places, blocks and wide blocks, in steps; rows of y.
#[derive(Debug)]
pub(super) struct Heights {
    levels: [Vec<[i32; 2]>; 3],
    /// Wide blocks along x and y.
    wide: [usize; 2],
}

impl Heights {
    /// Of `counts` places along x and y.
    pub(super) fn new(counts: [usize; 2], of: impl Fn(usize, usize) -> [i32; 2]) -> Result<Self> {
        let wide = counts.map(|n| n.div_ceil(WIDE));
        let width = wide[0] * WIDE;
        let mut places = memory::filled(width * wide[1] * WIDE, NOWHERE)?;
        for j in 0..counts[1] {
            for i in 0..counts[0] {
                places[j * width + i] = of(i, j);
            }
        }
        let blocks = merged(&places, width)?;
        let wides = merged(&blocks, width / SIDE)?;
        Ok(Self { levels: [places, blocks, wides], wide })
    }

    pub(super) const fn wide(&self) -> [usize; 2] {
        self.wide
    }

    /// The heights at places from (i, j) on: of level 0 one, of level 1 a block, of level 2 a wide
    /// block.
    pub(super) fn at(&self, level: u8, i: usize, j: usize) -> [i32; 2] {
        let shift = 3 * u32::from(level);
        self.levels[usize::from(level)][(j >> shift) * ((self.wide[0] * WIDE) >> shift) + (i >> shift)]
    }

    /// The number of places.
    pub(super) fn places(&self) -> u64 {
        self.levels[0].iter().filter(|of| of[0] <= of[1]).map(|of| of[0].abs_diff(of[1]) as u64 + 1).sum()
    }
}

/// The heights of 8 x 8 each.
fn merged(all: &[[i32; 2]], width: usize) -> Result<Vec<[i32; 2]>> {
    let mut to = memory::filled(all.len() / WIDE, NOWHERE)?;
    for (at, of) in all.iter().enumerate() {
        let [least, most] = &mut to[at / width / SIDE * (width / SIDE) + at % width / SIDE];
        *least = (*least).min(of[0]);
        *most = (*most).max(of[1]);
    }
    Ok(to)
}
