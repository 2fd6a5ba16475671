//! A stable radix sort for the CPU.

use crate::{Result, memory};

/// Bits that a pass sorts by.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;

/// A key and its row.
pub(super) type Pair = (u64, u32);

/// Sorts pairs by the lowest `bits` bits of their keys; equal keys stay in their order. `other`
/// becomes as long as `pairs`.
pub(super) fn sort(pairs: &mut Vec<Pair>, other: &mut Vec<Pair>, bits: u32) -> Result<()> {
    let passes = bits.div_ceil(DIGIT_BITS);
    let digit = |key: u64, pass: u32| (key >> (pass * DIGIT_BITS)) as usize & (DIGITS - 1);
    memory::resize(other, pairs.len(), (0, 0))?;
    other.truncate(pairs.len());
    let mut counts = memory::filled(DIGITS * passes as usize, 0u32)?;
    for &(key, _) in pairs.iter() {
        for pass in 0..passes {
            counts[pass as usize * DIGITS + digit(key, pass)] += 1;
        }
    }
    for pass in 0..passes {
        let places = &mut counts[pass as usize * DIGITS..][..DIGITS];
        if places.iter().any(|&count| count as usize == pairs.len()) {
            continue;
        }
        let mut sum = 0;
        for place in places.iter_mut() {
            sum += std::mem::replace(place, sum);
        }
        for &pair in pairs.iter() {
            let place = &mut places[digit(pair.0, pass)];
            other[*place as usize] = pair;
            *place += 1;
        }
        std::mem::swap(pairs, other);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn equal_keys_stay_in_order() {
        let mut random = Random(4);
        for (n, bits) in [(0, 40), (1, 1), (500, 3), (2000, 11), (2000, 12), (3000, 63)] {
            let mut pairs: Vec<Pair> = (0..n).map(|i| (random.next() >> (64 - bits), i)).collect();
            if n == 2000 {
                pairs.iter_mut().step_by(2).for_each(|pair| pair.0 = 1);
            }
            let mut want = pairs.clone();
            want.sort();
            sort(&mut pairs, &mut vec![(9, 9); 700], bits).unwrap();
            assert_eq!(pairs, want);
        }
    }
}
