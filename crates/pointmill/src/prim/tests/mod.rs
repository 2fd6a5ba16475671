//! Primitives against plain host code, below, at and above the sizes of lanes, warps, blocks and
//! tiles.

mod hash;
mod scan;

use super::*;
use crate::testing::{Random, kernel_devices};
use hash::hash_slots;
use pointmill_kernels::simt::twin::set_block_order;
use scan::{compact, exclusive_scan};

/// Around everything that has a size: warp 32, block 256, compaction tile 1024, scan tile 2048,
/// sort tile 4096.
const SIZES: &[usize] =
    &[0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 20_001];

#[test]
fn scan_adds_up() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        for &n in SIZES {
            set_block_order(n as u64);
            let mut random = Random(n as u64);
            let input: Vec<u32> = (0..n).map(|_| random.below(1000) as u32).collect();
            let mut want = vec![0];
            want.extend(input.iter().scan(0, |sum, v| {
                *sum += v;
                Some(*sum)
            }));
            let got = exclusive_scan(&stream.upload(&input).unwrap(), n).unwrap().read(n + 1).unwrap();
            assert_eq!(got, want, "{name}, n = {n}");
        }
    }
}

#[test]
fn scan_reaches_the_largest_sum() {
    for (name, device) in kernel_devices() {
        let input = device.stream().unwrap().upload(&vec![(1 << 30) / 4096; 4095]).unwrap();
        let got = exclusive_scan(&input, 4095).unwrap().read(4096).unwrap();
        assert_eq!(got[4095], (1 << 30) - (1 << 18), "{name}");
    }
}

#[test]
fn compact_keeps_order() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        for &n in SIZES {
            for density in [0, 1, 50, 100] {
                set_block_order(n as u64 + density);
                let mut random = Random(n as u64);
                let flags: Vec<u32> = (0..n).map(|_| u32::from(random.below(100) < density) * 7).collect();
                let want: Vec<u32> = (0..n as u32).filter(|&i| flags[i as usize] != 0).collect();
                let (indices, count) = compact(&stream.upload(&flags).unwrap(), n).unwrap();
                let count = count.read(1).unwrap()[0] as usize;
                assert_eq!(indices.read(count).unwrap(), want, "{name}, n = {n}, {density} %");
            }
        }
    }
}

fn check_sort<K: SortKey + Ord + std::fmt::Debug>(make: impl Fn(&mut Random, usize) -> K) {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut sorter = Sorter::<K>::new(&stream).unwrap();
        for &n in SIZES {
            set_block_order(n as u64);
            let mut random = Random(n as u64);
            let keys: Vec<K> = (0..n).map(|i| make(&mut random, i)).collect();
            let mut want: Vec<u32> = (0..n as u32).collect();
            want.sort_by_key(|&i| keys[i as usize]);
            let (mut k, mut v) =
                (stream.upload(&keys).unwrap(), stream.upload(&(0..n as u32).collect::<Vec<_>>()).unwrap());
            sorter.sort_pairs(&mut k, &mut v, n).unwrap();
            assert_eq!(v.read(n).unwrap(), want, "{name}, n = {n}");
            let want: Vec<K> = want.iter().map(|&i| keys[i as usize]).collect();
            assert_eq!(k.read(n).unwrap(), want, "{name}, n = {n}");
        }
    }
}

#[test]
fn sort_is_stable_for_short_keys() {
    check_sort(|random, i| if i.is_multiple_of(3) { random.below(5) as u32 } else { random.next() as u32 });
    check_sort(|_, _| u32::MAX);
}

#[test]
fn sort_is_stable_for_long_keys() {
    check_sort(|random, i| match i % 3 {
        0 => random.below(7) << 61,
        1 => random.below(5),
        _ => random.next(),
    });
}

#[test]
fn hash_gives_each_key_one_slot() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        for &n in SIZES {
            let mut random = Random(n as u64);
            let keys: Vec<u64> = (0..n).map(|_| random.below(1 + n as u64 / 2) << random.below(40)).collect();
            let capacity = (2 * n).next_power_of_two().max(4);
            let (slots, table) = hash_slots(&stream.upload(&keys).unwrap(), n, capacity).unwrap();
            let (slots, table) = (slots.read(n).unwrap(), table.read(capacity).unwrap());
            assert!((0..n).all(|i| table[slots[i] as usize] == keys[i]), "{name}, n = {n}");
            let short: Vec<u32> = keys.iter().map(|&k| (k % 1000) as u32).collect();
            let (slots, table) = hash_slots(&stream.upload(&short).unwrap(), n, capacity).unwrap();
            let (slots, table) = (slots.read(n).unwrap(), table.read(capacity).unwrap());
            assert!((0..n).all(|i| table[slots[i] as usize] == short[i]), "{name}, n = {n}");
            let mut used = slots.clone();
            used.sort_unstable();
            used.dedup();
            let mut distinct = short.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(used.len(), distinct.len(), "{name}, n = {n}");
        }
    }
}

#[test]
fn a_full_table_says_so() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let keys = stream.upload(&(0..100u64).collect::<Vec<_>>()).unwrap();
        let slots = hash_slots(&keys, 100, 64).unwrap().0.read(100).unwrap();
        assert_eq!(slots.iter().filter(|&&s| s == u32::MAX).count(), 36, "{name}");
    }
}

#[test]
fn wrong_arguments_are_named() {
    let stream = crate::Device::twin().stream().unwrap();
    let (mut keys, mut values) = (stream.alloc::<u32>(3).unwrap(), stream.alloc(4).unwrap());
    let error = Sorter::new(&stream).unwrap().sort_pairs(&mut keys, &mut values, 4).unwrap_err();
    assert_eq!(error.to_string(), "keys: expected at least 4 elements, got 3");
    assert!(exclusive_scan(&values, 5).is_err());
    let error = hash_slots(&keys, 3, 5).unwrap_err().to_string();
    assert_eq!(error, "capacity: expected a power of two from 4 to 2^31, got 5");
    let cpu = crate::Device::cpu().stream().unwrap().alloc::<u32>(1).unwrap();
    assert_eq!(exclusive_scan(&cpu, 1).unwrap_err().to_string(), "input: expected a buffer on a GPU, got cpu");
}
