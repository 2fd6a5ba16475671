//! The hash table of the CPU path: which row a cell has.

use super::NONE;
use pointmill_core::hash::first_slot;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    row: u32,
}

const EMPTY: Entry = Entry { key: u64::MAX, row: NONE };
const FIRST_CAPACITY: usize = 1024;

/// An open-addressed table that grows with the rows, so that a sweep's cells stay in the cache, and that is emptied entry by entry, so that its size
/// costs nothing.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// The entry of each row.
    slots: Vec<u32>,
}

impl Table {
    /// Empties the table.
    pub(super) fn clear(&mut self) {
        for &slot in &self.slots {
            self.entries[slot as usize] = EMPTY;
        }
        self.slots.clear();
        if self.entries.is_empty() {
            self.entries.resize(FIRST_CAPACITY, EMPTY);
        }
    }

    /// Rows so far.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The row of a cell; a new cell gets the next one.
    #[inline(always)]
    pub(super) fn find_or_insert(&mut self, key: u64) -> u32 {
        let mask = self.entries.len() - 1;
        let mut slot = first_slot(key, mask as u32) as usize;
        loop {
            // `slot & mask` tells the compiler that the access is in bounds.
            let entry = self.entries[slot & mask];
            if entry.key == key {
                return entry.row;
            }
            if entry.key == EMPTY.key {
                return self.insert(key, slot & mask);
            }
            slot += 1;
        }
    }

    #[inline(never)]
    fn insert(&mut self, key: u64, slot: usize) -> u32 {
        let row = self.slots.len() as u32;
        self.entries[slot] = Entry { key, row };
        self.slots.push(slot as u32);
        // Half full at the most: probes stay short.
        if self.slots.len() * 2 > self.entries.len() {
            self.grow();
        }
        row
    }

    fn grow(&mut self) {
        let mask = self.entries.len() * 4 - 1;
        let old = std::mem::replace(&mut self.entries, vec![EMPTY; mask + 1]);
        for entry in &mut self.slots {
            let moved = old[*entry as usize];
            let mut slot = first_slot(moved.key, mask as u32) as usize;
            while self.entries[slot & mask].key != EMPTY.key {
                slot += 1;
            }
            self.entries[slot & mask] = moved;
            *entry = (slot & mask) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_first_sight_through_growth_and_clearing() {
        let mut table = Table::default();
        for round in 0..3 {
            table.clear();
            for k in 0..5000u64 {
                assert_eq!(table.find_or_insert(k * 977 + round), k as u32);
                assert_eq!(table.find_or_insert((k / 2) * 977 + round), (k / 2) as u32);
            }
            assert_eq!(table.len(), 5000);
        }
        table.clear();
        assert!(table.entries.iter().all(|e| e.key == EMPTY.key));
    }
}
