//! Cubes of space by their place, in a table with open addressing.

use crate::{Result, memory};

/// A place has a cell if it is nearer to the origin than so many cells along each axis.
pub(super) const FARTHEST: f64 = (1 << 20) as f64;
/// The key of no cell.
pub(super) const NO_CELL: u64 = u64::MAX;
/// Slots of an empty table.
const SLOTS: usize = 1 << 10;

/// The cell of a place, if it has one; a place that is not finite has none.
#[inline]
pub(super) fn cell_of(p: [f64; 3], size: f64) -> Option<[i32; 3]> {
    let scaled = p.map(|x| (x / size).floor());
    scaled.iter().all(|x| x.abs() < FARTHEST).then(|| scaled.map(|x| x as i32))
}

/// The number of a cell: 21 bits an axis.
#[inline]
pub(super) fn key_of(cell: [i32; 3]) -> u64 {
    let part = |x: i32| u64::from((x + (1 << 20)) as u32);
    part(cell[0]) | part(cell[1]) << 21 | part(cell[2]) << 42
}

/// A cell beside another.
#[inline]
pub(super) fn beside(cell: [i32; 3], by: [i32; 3]) -> [i32; 3] {
    [cell[0] + by[0], cell[1] + by[1], cell[2] + by[2]]
}

/// Values by the keys of cells. Nothing depends on the order of the slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    slots: Vec<(u64, u32)>,
    len: usize,
}

impl Cells {
    pub(super) fn clear(&mut self) {
        self.slots.fill((NO_CELL, 0));
        self.len = 0;
    }

    /// The number of cells.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u32> {
        let (_, &(found, value)) = self.find(key)?;
        (found == key).then_some(value)
    }

    /// The value of a cell; none if there was no such cell, which then has `value`.
    #[inline]
    pub(super) fn get_or_put(&mut self, key: u64, value: u32) -> Result<Option<u32>> {
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow()?;
        }
        let Some((at, &(found, before))) = self.find(key) else { return Ok(None) };
        if found == key {
            return Ok(Some(before));
        }
        self.slots[at] = (key, value);
        self.len += 1;
        Ok(None)
    }

    /// The slot of a key, or the empty one where it belongs. At most half of the slots are taken, so there is one; a table without slots has none.
    #[inline]
    fn find(&self, key: u64) -> Option<(usize, &(u64, u32))> {
        let last = self.slots.len().checked_sub(1)?;
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & last;
        loop {
            let slot = &self.slots[at];
            if slot.0 == key || slot.0 == NO_CELL {
                return Some((at, slot));
            }
            at = (at + 1) & last;
        }
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let bigger = memory::filled((2 * self.slots.len()).max(SLOTS), (NO_CELL, 0))?;
        let old = std::mem::replace(&mut self.slots, bigger);
        self.len = 0;
        for (key, value) in old {
            if key != NO_CELL {
                self.get_or_put(key, value)?;
            }
        }
        Ok(())
    }
}
