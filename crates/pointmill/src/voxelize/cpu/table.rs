//! The hash table of the CPU path: which row a cell has.

use super::NONE;
use super::keys::Key;
use super::runs::{BLOCK, Run};
use crate::{Result, memory};
use pointmill_core::hash::Seed;

#[derive(Clone, Copy, Debug, Default)]
struct Entry<K> {
    key: K,
    /// Row plus `base`; less than `base` in an entry that is left from an earlier call.
    row: u32,
}

const FIRST_BITS: u32 = 10;
/// Slots that a search may go on for, on average, before the table scatters its keys by the secret.
/// Sweeps need 0.1 to 0.4, random cells 0.5 at most, and runs of four, which are scattered as one,
/// up to four times as many.
const STEPS: u64 = 8;
/// Steps that a table may take besides.
const FREE_STEPS: u64 = 1024;

/// An open-addressed table that grows with the rows, so that a sweep's cells stay in the cache.
///
/// Emptying it costs nothing: rows count on from call to call, and entries with smaller ones are as
/// good as empty.
///
/// Keys are scattered evenly, by a function that everybody knows, and searches count how far they
/// go. Where keys were chosen so that they meet in one place, all are scattered anew by a secret:
/// whatever the keys are, the steps of all searches together are at most some times the number of
/// searches. Doing so from the start would take an eighth more time for a sweep.
#[derive(Debug)]
pub(super) struct Table<K> {
    entries: Vec<Entry<K>>,
    bits: u32,
    base: u32,
    seed: Seed,
    /// Whether keys are scattered by the seed.
    secret: bool,
    /// Slots that searches went on by since the table was emptied, and how many there may have been
    /// by now.
    steps: u64,
    most_steps: u64,
    /// The key of each row.
    pub(super) keys: Vec<K>,
    /// The first point of each row.
    pub(super) first: Vec<u32>,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        let (secret, steps, most_steps) = (false, 0, 0);
        let (seed, keys, first) = (Seed::new(0), vec![], vec![]);
        Self { entries: vec![], bits: 0, base: 1, seed, secret, steps, most_steps, keys, first }
    }
}

impl<K: Key> Table<K> {
    /// Empties the table for `most` rows at the most.
    pub(super) fn clear(&mut self, most: usize, seed: Seed) -> Result<()> {
        (self.seed, self.secret) = (seed, false);
        (self.steps, self.most_steps) = (0, FREE_STEPS);
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
        // Without a branch that depends on what was found, and with little else in the loop, the
        // loads of many runs are under way at the same time, which is what counts once the table is
        // larger than the cache.
        let (mut slots, mut seen) = ([0; BLOCK], [Entry::default(); BLOCK]);
        for (slot, run) in slots.iter_mut().zip(runs) {
            *slot = run.key.even_slot(bits) as u32;
        }
        if self.secret {
            secret_slots(runs, bits, self.seed, &mut slots);
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
        let mut steps = 0;
        let mut next = base + self.keys.len() as u32;
        for &i in &missed[..misses] {
            let run = runs[usize::from(i)];
            let start = slots[usize::from(i)] as usize;
            let mut slot = start;
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
            steps += slot - start;
        }
        self.steps += steps as u64;
        self.most_steps += runs.len() as u64 * STEPS;
        if self.steps > self.most_steps && !self.secret {
            self.scatter_by_secret();
        }
        Ok(())
    }

    /// Whether the secret was needed since the table was emptied, and how many steps searches took.
    #[cfg(test)]
    pub(super) const fn steps_taken(&self) -> (bool, u64) {
        (self.secret, self.steps)
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let mask = (1usize << (self.bits + 2)) - 1;
        // Where there is no room, the table stays as it is.
        memory::room(&mut self.entries, mask + 1)?;
        self.bits += 2;
        self.entries.clear();
        self.entries.resize(mask + 1, Entry::default());
        if !self.enter_all() {
            self.scatter_by_secret();
        }
        Ok(())
    }

    #[cold]
    fn scatter_by_secret(&mut self) {
        self.secret = true;
        self.entries.fill(Entry::default());
        self.enter_all();
    }

    /// Enters the keys of all rows into the emptied table, unless that takes too many steps.
    fn enter_all(&mut self) -> bool {
        let mask = self.entries.len() - 1;
        self.most_steps += self.keys.len() as u64 * STEPS;
        for (&key, row) in self.keys.iter().zip(self.base..) {
            let secret = self.secret;
            let start = if secret { key.secret_slot(self.bits, self.seed) } else { key.even_slot(self.bits) };
            let mut slot = start;
            while self.entries[slot & mask].row >= self.base {
                slot += 1;
            }
            self.entries[slot & mask] = Entry { key, row };
            self.steps += (slot - start) as u64;
            if self.steps > self.most_steps && !secret {
                return false;
            }
        }
        true
    }
}

/// Where searches start by the secret. Apart, so that the loop of honest clouds stays small.
#[cold]
#[inline(never)]
fn secret_slots<K: Key>(runs: &[Run<K>], bits: u32, seed: Seed, slots: &mut [u32; BLOCK]) {
    for (slot, run) in slots.iter_mut().zip(runs) {
        *slot = run.key.secret_slot(bits, seed) as u32;
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
            table.clear(10_000, Seed::new(round)).unwrap();
            let keys: Vec<u64> = (0..5000).flat_map(|k| [k * 977 + round, (k / 2) * 977 + round, u64::NONE]).collect();
            let rows: Vec<u32> = (0..5000).flat_map(|k| [k, k / 2, NONE]).collect();
            assert_eq!(find(&mut table, &keys), rows);
            assert_eq!(table.keys.len(), 5000);
            assert!(table.first.iter().enumerate().all(|(row, &first)| first == row as u32 * 3));
            assert!(!table.secret);
        }
    }

    /// Keys that all start in one slot of every table, were they scattered evenly.
    fn meeting(n: usize) -> Vec<u64> {
        // The inverse of the factor, by Newton's steps: each doubles the bits that are right.
        let factor = 0x9e37_79b9_7f4a_7c15u64;
        let inverse = (0..6).fold(factor, |x, _| x.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(x))));
        assert_eq!(factor.wrapping_mul(inverse), 1);
        let runs = (0u64..).map(|i| i.wrapping_mul(inverse)).filter(|run| run >> 62 == 0);
        let keys: Vec<u64> = runs.take(n).map(|run| run * 4).collect();
        assert!(keys.iter().all(|key| key.even_slot(24) == 0));
        keys
    }

    /// As many steps as there are searches, some times over, whether keys meet from the start, only
    /// once the table is large, or in searches for what is there.
    #[test]
    fn keys_that_meet_are_scattered_by_the_secret() {
        let n = 20_000;
        let keys = meeting(n);
        let own_slots: Vec<u64> = (0..4 * n as u64).collect();
        let late = [&own_slots[..n], &keys].concat();
        let again = [&keys[..], &keys, &keys].concat();
        for (name, keys) in [("at once", &keys), ("late", &late), ("again", &again)] {
            for number in 0..8 {
                let mut table = Table::default();
                table.clear(keys.len(), Seed::new(number)).unwrap();
                let rows = find(&mut table, keys);
                let mut first_seen = std::collections::HashMap::new();
                for (key, row) in keys.iter().zip(&rows) {
                    let next = first_seen.len() as u32;
                    assert_eq!(*first_seen.entry(*key).or_insert(next), *row, "{name}");
                }
                assert!(table.secret && table.steps < 12 * keys.len() as u64, "{name}: {} steps", table.steps);
                // The next call begins anew, and needs no secret.
                table.clear(n, Seed::new(number)).unwrap();
                assert!(find(&mut table, &own_slots[..n]).iter().copied().eq(0..n as u32) && !table.secret);
            }
        }
    }

    /// Whoever knows the seed could still choose keys that meet; so what is counted above is what
    /// it should be.
    #[test]
    fn steps_are_counted() {
        let seed = Seed::new(7);
        let meet = |key: &u64| key.secret_slot(12, seed) == 0;
        let known: Vec<u64> = (0..1 << 22).map(|run: u64| run * 4).filter(meet).take(1000).collect();
        let steps = |seed| {
            let mut table = Table::default();
            table.clear(known.len(), seed).unwrap();
            table.secret = true;
            find(&mut table, &known);
            table.steps
        };
        assert!(steps(seed) > 100 * 1000 && steps(Seed::new(8)) < 2 * 1000, "{}", steps(seed));
    }
}
