//! Values by cell, in a table with open addressing.

use crate::{Result, memory};
use pointmill_core::hash::RUN;
use pointmill_core::odometry::cells::NO_CELL;

/// Slots of an empty table.
const SLOTS: usize = 1 << 10;

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

    /// The slot of a key, or the empty one where it belongs. At most half of the slots are taken, so there is one; a table without slots has none. Neighbours along x lie side by side.
    #[inline]
    fn find(&self, key: u64) -> Option<(usize, &(u64, u32))> {
        let last = self.slots.len().checked_sub(1)?;
        let run = (key / RUN).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut at = (run * RUN + key % RUN) as usize & last;
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
