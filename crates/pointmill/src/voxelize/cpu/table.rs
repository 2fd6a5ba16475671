//! The hash table of the CPU path: which row a cell has.

use super::NONE;
use super::keys::Key;
use super::runs::{BLOCK, Run};
use crate::{Result, memory};

#[derive(Clone, Copy, Debug, Default)]
struct Entry<K> {
    key: K,
    /// Row plus `base`; less than `base` in an entry that is left from an earlier call.
    row: u32,
}

const FIRST_BITS: u32 = 10;

/// An open-addressed table that grows with the rows, so that a sweep's cells stay in the cache.
///
/// Emptying it costs nothing: rows count on from call to call, and entries with smaller ones are as good as empty.
#[derive(Debug)]
pub(super) struct Table<K> {
    entries: Vec<Entry<K>>,
    bits: u32,
    base: u32,
    /// The key of each row.
    pub(super) keys: Vec<K>,
    /// The first point of each row.
    pub(super) first: Vec<u32>,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self { entries: vec![], bits: 0, base: 1, keys: vec![], first: vec![] }
    }
}

impl<K: Key> Table<K> {
    /// Empties the table for `most` rows at the most.
    pub(super) fn clear(&mut self, most: usize) -> Result<()> {
        self.base += self.keys.len() as u32;
        if u32::MAX - self.base <= most as u32 {
            self.entries.fill(Entry::default());
            self.base = 1;
        }
        self.keys.clear();
        self.first.clear();
        if self.entries.is_empty() {
            memory::resize(&mut self.entries, 1 << FIRST_BITS, Entry::default())?;
            self.bits = FIRST_BITS;
        }
        Ok(())
    }

    /// The rows of up to [`BLOCK`] runs; a new cell gets the next one, no cell gets [`NONE`].
    #[inline(always)]
    pub(super) fn find(&mut self, runs: &[Run<K>], rows: &mut [u32; BLOCK]) -> Result<()> {
        // Half full at the most: probes stay short.
        while (self.keys.len() + runs.len()) * 2 > self.entries.len() {
            self.grow()?;
        }
        let most = self.keys.len() + runs.len();
        memory::room(&mut self.keys, most)?;
        memory::room(&mut self.first, most)?;
        let (base, bits, mask) = (self.base, self.bits, self.entries.len() - 1);
        // `slot & mask` tells the compiler that accesses are in bounds.
        let entries = &mut self.entries[..=mask];
        // Without a branch that depends on what was found, and with little else in the loop, the loads of many runs are under way at the same
        // time, which is what counts once the table is larger than the cache.
        let (mut slots, mut seen) = ([0; BLOCK], [Entry::default(); BLOCK]);
        for (slot, run) in slots.iter_mut().zip(runs) {
            *slot = run.key.slot(bits) as u32;
        }
        for (entry, &slot) in seen[..runs.len()].iter_mut().zip(&slots) {
            *entry = entries[slot as usize & mask];
        }
        let mut missed = [0u8; BLOCK];
        let mut misses = 0;
        for (i, ((run, row), entry)) in runs.iter().zip(rows.iter_mut()).zip(&seen).enumerate() {
            let found = (entry.key == run.key) & (entry.row >= base);
            *row = if run.key == K::NONE { NONE } else { entry.row.wrapping_sub(base) };
            missed[misses % BLOCK] = i as u8;
            misses += usize::from(!found & (run.key != K::NONE));
        }
        // What is not in its first slot is looked for in order.
        let mut next = base + self.keys.len() as u32;
        for &i in &missed[..misses] {
            let run = runs[usize::from(i)];
            let mut slot = slots[usize::from(i)] as usize;
            let row = loop {
                let entry = &mut entries[slot & mask];
                if entry.row < base {
                    *entry = Entry { key: run.key, row: next };
                    self.keys.push(run.key);
                    self.first.push(run.first);
                    next += 1;
                    break next - 1;
                }
                if entry.key == run.key {
                    break entry.row;
                }
                slot += 1;
            };
            rows[usize::from(i)] = row - base;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let mask = (1usize << (self.bits + 2)) - 1;
        // Where there is no room, the table stays as it is.
        memory::room(&mut self.entries, mask + 1)?;
        self.bits += 2;
        self.entries.clear();
        self.entries.resize(mask + 1, Entry::default());
        for (&key, row) in self.keys.iter().zip(self.base..) {
            let mut slot = key.slot(self.bits);
            while self.entries[slot & mask].row >= self.base {
                slot += 1;
            }
            self.entries[slot & mask] = Entry { key, row };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(table: &mut Table<u64>, keys: &[u64]) -> Vec<u32> {
        let runs: Vec<_> = keys.iter().zip(0..).map(|(&key, first)| Run { key, first, len: 1 }).collect();
        let mut found = Vec::new();
        for runs in runs.chunks(BLOCK) {
            let mut rows = [0; BLOCK];
            table.find(runs, &mut rows).unwrap();
            found.extend_from_slice(&rows[..runs.len()]);
        }
        found
    }

    #[test]
    fn rows_follow_first_sight_through_growth_and_clearing() {
        let mut table = Table::default();
        for round in 0..4 {
            // The third round starts where the rows would pass 32 bits.
            table.base = if round == 2 { u32::MAX - 5000 } else { table.base };
            table.clear(10_000).unwrap();
            let keys: Vec<u64> = (0..5000).flat_map(|k| [k * 977 + round, (k / 2) * 977 + round, u64::NONE]).collect();
            let rows: Vec<u32> = (0..5000).flat_map(|k| [k, k / 2, NONE]).collect();
            assert_eq!(find(&mut table, &keys), rows);
            assert_eq!(table.keys.len(), 5000);
            assert!(table.first.iter().enumerate().all(|(row, &first)| first == row as u32 * 3));
        }
    }
}
