//! Where the search for a key starts in a hash table.

use core::fmt;

/// Neighbouring keys that share one run of slots: cells next to each other in x.
///
/// A run of four 16-byte slots is one 64-byte cache line of a CPU and two 32-byte sectors of a GPU,
/// and points that follow each other in a sweep mostly fall into cells next to each other.
pub const RUN: u64 = 4;

/// The secret of a table: without it nobody can choose keys that meet in one place.
///
/// Two products of 32 by 32 bits, each with a secret factor and each folded (upper half xor lower
/// half), spread a key. One product alone leaves sequences with equal steps such sequences: for one
/// seed in a hundred they meet in a hundredth of the table. The second product, of folded bits,
/// does away with that.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// For the lower half of a key: what is added without carries, and the factor.
    low: [u32; 2],
    /// For the upper half: the factor.
    high: u32,
    /// For both together.
    both: [u32; 2],
}

impl Seed {
    /// The seed number `n`, of which all bits decide.
    pub const fn new(n: u64) -> Self {
        let words = [bits(n, 1), bits(n, 2), bits(n, 3)];
        Self {
            low: [words[0] as u32, large_and_odd(words[0])],
            high: large_and_odd(words[1]),
            both: [words[1] as u32, large_and_odd(words[2])],
        }
    }

    /// Bits of which each depends on all of the key and of the seed; the same function on every
    /// device.
    ///
    /// ```
    /// use pointmill_core::hash::Seed;
    /// assert_ne!(Seed::new(1).spread(7), Seed::new(2).spread(7));
    /// ```
    #[inline(always)]
    pub const fn spread(self, key: u64) -> u32 {
        let low = folded(key as u32 ^ self.low[0], self.low[1]);
        let high = folded((key >> 32) as u32, self.high);
        folded(low ^ high ^ self.both[0], self.both[1])
    }

    /// An odd number of 64 bits: the upper bits of its product with a key deal keys into a few
    /// parts of about one size.
    #[inline(always)]
    pub const fn factor(self) -> u64 {
        (self.low[1] as u64) << 32 | self.both[1] as u64
    }
}

/// Hides the secret.
impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// The product's halves, one upon the other.
#[inline(always)]
const fn folded(a: u32, b: u32) -> u32 {
    let product = a as u64 * b as u64;
    product as u32 ^ (product >> 32) as u32
}

/// A factor, of the upper half of a word: of both halves of a product with it no bit is left out.
const fn large_and_odd(word: u64) -> u32 {
    (word >> 32) as u32 | 0x8000_0001
}

/// The `i`-th of some words that `n` decides (splitmix64).
const fn bits(n: u64, i: u64) -> u64 {
    let z = n.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The slot where a table of `mask + 1` slots (a power of two, at least [`RUN`]) starts looking for
/// `key`.
///
/// Keys of one [`RUN`] land side by side; runs are scattered by [`Seed::spread`].
///
/// ```
/// use pointmill_core::hash::{Seed, first_slot};
/// let (mask, seed) = ((1 << 18) - 1, Seed::new(7));
/// assert_eq!(first_slot(41, mask, seed), first_slot(40, mask, seed) + 1);
/// assert!(first_slot(u64::MAX, mask, seed) <= mask);
/// ```
#[inline(always)]
pub const fn first_slot(key: u64, mask: u32, seed: Seed) -> u32 {
    (seed.spread(key / RUN).wrapping_mul(RUN as u32) | (key % RUN) as u32) & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate alloc;
    use alloc::vec::Vec;

    /// How often a search goes on to the next slot, on average and at most, when `keys` come into a
    /// table that they fill to between a quarter and one half: what kernels do with a table that
    /// has this seed.
    fn steps(keys: &[u64], seed: Seed) -> (f64, u32) {
        let mask = (keys.len() * 2 + 1).next_power_of_two() as u32 - 1;
        let mut used = alloc::vec![false; mask as usize + 1];
        let (mut all, mut longest) = (0, 0);
        for &key in keys {
            let start = first_slot(key, mask, seed);
            let step = (0..=mask).find(|s| !used[((start + s) & mask) as usize]).unwrap();
            used[((start + step) & mask) as usize] = true;
            all += u64::from(step);
            longest = longest.max(step);
        }
        (all as f64 / keys.len() as f64, longest)
    }

    /// The hash function of tables without a seed, and its inverse.
    fn unseeded(k: u32) -> u32 {
        let k = (k ^ (k >> 16)).wrapping_mul(0x7feb_352d);
        let k = (k ^ (k >> 15)).wrapping_mul(0x846c_a68b);
        k ^ (k >> 16)
    }
    fn inverse(k: u32) -> u32 {
        let k = (k ^ (k >> 16)).wrapping_mul(0x4302_1123);
        let k = (k ^ (k >> 15) ^ (k >> 30)).wrapping_mul(0x1d69_e2a5);
        k ^ (k >> 16)
    }

    /// Cells along lines, in planes, on lattices, and chosen by those who know the code.
    fn families(n: u64) -> Vec<(&'static str, Vec<u64>)> {
        let axis = |x: u64, y: u64, z: u64| (z + (1 << 20)) << 42 | (y + (1 << 20)) << 21 | (x + (1 << 20));
        let side = 1 << (n.ilog2() / 2);
        let all = |key: &dyn Fn(u64) -> u64| (0..n).map(key).collect::<Vec<u64>>();
        alloc::vec![
            ("side by side", all(&|k| k)),
            ("every fourth", all(&|k| k * 4)),
            ("along y", all(&|k| k * 540)),
            ("along z", all(&|k| k * 540 * 540)),
            ("steps of a power of two", all(&|k| k << 20)),
            ("in the upper half", all(&|k| k << 34)),
            ("in both halves", all(&|k| (k << 34) + k)),
            ("along y of a lattice", all(&|k| axis(5, k, 9))),
            ("along z of a lattice", all(&|k| axis(5, 9, k))),
            ("a diagonal", all(&|k| axis(k, k, k))),
            ("a floor", all(&|k| axis(k % side, k / side, 3))),
            ("a wall", all(&|k| axis(3, k % side, k / side))),
            ("every third of a lattice", all(&|k| axis(k % 16 * 3, k / 16 % 16 * 3, k / 256 * 3))),
            ("every 64th of a lattice", all(&|k| axis(k % 16 * 64, k / 16 % 16 * 64, k / 256 * 64))),
            // All start in slot 0 of any table of up to 2^20 slots, were there no seed.
            ("against the mixer", all(&|k| u64::from(inverse((k as u32) << 18)) * RUN)),
            // And here in one slot of a table of any size.
            ("against both halves", all(&|k| (u64::from(0x0123_4567 ^ unseeded(k as u32)) * RUN) | (k << 34))),
        ]
    }

    #[test]
    fn no_family_of_cells_meets_in_one_place() {
        assert_eq!(unseeded(inverse(0xdead_beef)), 0xdead_beef);
        for (name, keys) in families(4096) {
            for n in 0..60 {
                let (mean, longest) = steps(&keys, Seed::new(n));
                // Of random keys a table that is half full needs 0.5; runs of four are up to four
                // times as far from their place.
                assert!(mean < 1.5 && longest < 120, "{name}, seed {n}: {mean} steps, at most {longest}");
            }
        }
    }

    /// Whoever knows the seed can still choose such cells; so the count above is of what it should
    /// be.
    #[test]
    fn who_knows_the_seed_can_choose_cells_that_meet() {
        let (seed, other) = (Seed::new(7), Seed::new(8));
        let keys: Vec<u64> = (0..1 << 22).map(|run| run * RUN).filter(|&k| first_slot(k, 4095, seed) == 0).collect();
        assert!(keys.len() > 3000 && keys.len() < 5000, "{}", keys.len());
        let mut few = keys;
        few.truncate(1024);
        let known = steps(&few, seed).0;
        assert!(known > 200.0, "{known}");
        assert!(steps(&few, other).0 < 1.0);
    }

    #[test]
    fn seeds_differ_and_are_not_shown() {
        for n in 0..100 {
            let (a, b) = (Seed::new(n), Seed::new(n + 1));
            assert!(a.low[0] != b.low[0] && a.low[1] != b.low[1] && a.high != b.high && a.both != b.both);
            assert!(a.low[1] & a.high & a.both[1] & 0x8000_0001 == 0x8000_0001 && a.factor() & 1 == 1);
        }
        assert_eq!(alloc::format!("{:?}", Seed::new(3)), "Seed(..)");
    }
}
