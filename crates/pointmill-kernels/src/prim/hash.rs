//! Open-addressed hash tables: a slot for every distinct key.
//!
//! Linear probing from [`pointmill_core::hash::first_slot`]. A table has a power of two of entries,
//! more than it will ever hold keys; even so a search ends after one round and says [`NONE`], never
//! spins.

use super::length::BLOCK;
use crate::simt::*;
use pointmill_core::hash::Seed;
use pointmill_core::hash::first_slot;

/// No slot.
pub const NONE: u32 = u32::MAX;

/// Arguments of [`InsertU32`] and [`InsertU64`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InsertArgs<K> {
    /// `n` keys, none of them all ones.
    pub keys: *const K,
    /// `mask + 1` entries, all ones before.
    pub table: *mut K,
    /// Entries minus one; entries are a power of two, at least 4.
    pub mask: u32,
    /// By which keys are spread.
    pub seed: Seed,
    /// The slot of each key, or [`NONE`] where the table was full.
    pub slots: *mut u32,
    /// The number of keys.
    pub n: u32,
}

/// A key that a table can hold; all ones is no key.
pub trait TableKey: Copy + PartialEq {
    /// What an entry without a key holds.
    const EMPTY: Self;
    /// Reads an entry that others may write.
    ///
    /// # Safety
    /// `p` is valid.
    unsafe fn load(p: *const Self) -> Self;
    /// Puts the key into an empty entry and returns what was there.
    ///
    /// # Safety
    /// `p` is valid.
    unsafe fn claim(self, p: *mut Self) -> Self;
    /// The key as the hash function takes it.
    fn bits(self) -> u64;
}

impl TableKey for u32 {
    const EMPTY: Self = u32::MAX;
    #[inline(always)]
    unsafe fn load(p: *const Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { load_relaxed(p) }
    }
    #[inline(always)]
    unsafe fn claim(self, p: *mut Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { compare_and_swap(p, Self::EMPTY, self) }
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self as u64
    }
}

impl TableKey for u64 {
    const EMPTY: Self = u64::MAX;
    #[inline(always)]
    unsafe fn load(p: *const Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { load_relaxed_u64(p) }
    }
    #[inline(always)]
    unsafe fn claim(self, p: *mut Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { compare_and_swap_u64(p, Self::EMPTY, self) }
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
}

/// The slot of `key`, which gets one if it has none; [`NONE`] if the table is full. Entry `s`
/// starts with its key, at `table + s * stride` keys.
///
/// # Safety
/// `table` has `mask + 1` entries of `stride` keys.
#[inline(always)]
pub unsafe fn find_or_insert<K: TableKey>(table: *mut K, stride: usize, mask: u32, seed: Seed, key: K) -> u32 {
    let mut slot = first_slot(key.bits(), mask, seed);
    let mut left = mask;
    loop {
        // SAFETY: slot <= mask.
        let entry = unsafe { table.add(slot as usize * stride) };
        // Look before claiming: a plain read is several times cheaper than an atomic, and most keys
        // are there already. SAFETY: as above.
        let mut found = unsafe { K::load(entry) };
        if found == K::EMPTY {
            // SAFETY: as above.
            found = unsafe { key.claim(entry) };
            if found == K::EMPTY {
                return slot;
            }
        }
        if found == key {
            return slot;
        }
        if left == 0 {
            return NONE;
        }
        left -= 1;
        slot = (slot + 1) & mask;
    }
}

/// What one thread of the insert kernels does.
///
/// # Safety
/// As the kernels.
#[inline(always)]
pub unsafe fn insert<K: TableKey>(a: InsertArgs<K>) {
    let i = global_index();
    if i < a.n {
        // SAFETY: i < n, and the caller's promise.
        unsafe { *a.slots.add(i as usize) = find_or_insert(a.table, 1, a.mask, a.seed, *a.keys.add(i as usize)) };
    }
}

kernel! {
    /// Gives each 32-bit key its slot. One thread a key.
    InsertU32 = "prim_hash_insert_u32", block BLOCK, shared 0, cooperative false,
    fn(a: InsertArgs<u32>) { insert(a) }
}

kernel! {
    /// Gives each 64-bit key its slot. One thread a key.
    InsertU64 = "prim_hash_insert_u64", block BLOCK, shared 0, cooperative false,
    fn(a: InsertArgs<u64>) { insert(a) }
}
