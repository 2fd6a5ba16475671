//! Values by cell, in a table with open addressing.

use pointmill::Result;
use pointmill::internals::{memory, seed};
use pointmill_core::hash::{Seed, first_slot};
use pointmill_core::odometry::cells::NO_CELL;

/// Slots of a table with one cell.
const SLOTS: usize = 1 << 10;
/// Slots for each cell at least: in so many, searches by the secret take no longer than without it.
const SPARSE: usize = 4;

/// Values by the keys of cells, in a sparse table. Nothing depends on the order of the slots.
///
/// Keys are scattered by the secret of the process. Tables of voxelize, where a point costs
/// nanoseconds, begin without it and count their steps. That is no cure where keys are looked up
/// that have no cell: keys that fill a run of slots, each at its own place, take no step, and
/// searches for their neighbours walk through all of them.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    slots: Vec<(u64, u32)>,
    len: usize,
    seed: Seed,
}

impl Default for Cells {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0, seed: seed() }
    }
}

impl Cells {
    /// Empties the table, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.slots.fill((NO_CELL, 0));
        self.len = 0;
    }

    /// The number of cells.
    pub(crate) const fn count(&self) -> usize {
        self.len
    }

    /// The value of a cell.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        let (_, &(found, value)) = self.find(key)?;
        (found == key).then_some(value)
    }

    /// The value of a cell; none if there was no such cell, which then has `value`.
    #[inline]
    pub(crate) fn get_or_put(&mut self, key: u64, value: u32) -> Result<Option<u32>> {
        if SPARSE * (self.len + 1) > self.slots.len() {
            self.resize((2 * self.slots.len()).max(SLOTS))?;
        }
        let Some((at, &(found, before))) = self.find(key) else { return Ok(None) };
        if found == key {
            return Ok(Some(before));
        }
        self.slots[at] = (key, value);
        self.len += 1;
        Ok(None)
    }

    /// The slot of a key, or the empty one where it belongs. Not all slots are taken, so there is
    /// one; a table without slots has none. Neighbours along x lie side by side.
    #[inline]
    fn find(&self, key: u64) -> Option<(usize, &(u64, u32))> {
        let last = self.slots.len().checked_sub(1)?;
        let mut at = first_slot(key, last as u32, self.seed) as usize & last;
        loop {
            let slot = &self.slots[at];
            if slot.0 == key || slot.0 == NO_CELL {
                return Some((at, slot));
            }
            at = (at + 1) & last;
        }
    }

    #[cold]
    fn resize(&mut self, slots: usize) -> Result<()> {
        let bigger = memory::filled(slots, (NO_CELL, 0))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use pointmill_core::hash::RUN;
    use pointmill_core::odometry::cells::key_of;

    /// Cells within 95 m whose keys the golden ratio alone would put into 512 of 2^18 slots: one
    /// for each of these slots first, so that they fill one run, then any.
    fn meeting() -> Vec<u64> {
        let mut taken = vec![false; 512];
        let mut keys = Vec::new();
        for z in -190..190 {
            for (x, y) in (-190..190).flat_map(|y| (-190..190).map(move |x| (x, y))) {
                let key = key_of([x, y, z]);
                let run = (key / RUN).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                let at = ((run * RUN + key % RUN) & 0x3_ffff) as usize;
                if at < 512 && (keys.len() >= 512 || !std::mem::replace(&mut taken[at], true)) {
                    keys.push(key);
                }
            }
            if keys.len() > 8000 {
                break;
            }
        }
        keys
    }

    fn table(seed: Seed, keys: &[u64]) -> Cells {
        let mut cells = Cells { seed, ..Cells::default() };
        for (key, value) in keys.iter().zip(0..) {
            assert_eq!(cells.get_or_put(*key, value).unwrap(), None);
        }
        cells
    }

    /// How often searches for these keys go on to the next slot.
    fn steps(cells: &Cells, keys: impl Iterator<Item = u64>) -> usize {
        let last = cells.slots.len() - 1;
        let step =
            |key| cells.find(key).unwrap().0.wrapping_sub(first_slot(key, last as u32, cells.seed) as usize) & last;
        keys.map(step).sum()
    }

    #[test]
    fn cells_that_were_chosen_cost_what_others_do() {
        let keys = meeting();
        assert!(keys.len() > 8000, "{}", keys.len());
        for number in 0..20 {
            let cells = table(Seed::new(number), &keys);
            assert!(keys.iter().zip(0..).all(|(key, value)| cells.get(*key) == Some(value)));
            let (own, beside) = (keys.iter().copied(), keys.iter().map(|key| key + (1 << 21)));
            let all = steps(&cells, own.chain(beside));
            assert!(all < 4 * keys.len(), "seed {number}: {all} steps");
        }
        // Were they chosen by one who knows the seed, they would cost more; so what is counted is
        // what it should be.
        let seed = Seed::new(7);
        let known: Vec<u64> =
            (0..1 << 22).map(|run| run * RUN).filter(|k| first_slot(*k, 4095, seed) == 0).take(1000).collect();
        assert!(known.len() == 1000 && steps(&table(seed, &known), known.iter().copied()) > 200 * 1000);
    }
}
