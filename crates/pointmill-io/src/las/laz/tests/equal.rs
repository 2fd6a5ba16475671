//! Points that the crate packs are unpacked to the same bytes.

use super::points::records;
use super::random::Random;
use super::{packed, packing, unpacked};

/// The versions of the items of a format.
fn versions(format: u8) -> [u16; 2] {
    if format < 6 { [1, 2] } else { [3, 4] }
}

fn check(format: u8, extra: usize, version: u16, records: &[u8]) {
    let packing = packing(format, extra, version);
    let n = records.len() / packing.record;
    let (found, e) = unpacked(&packing, &packed(&packing, records), n);
    let told = format!("{n} points of format {format} with {extra} extra bytes, version {version}");
    assert!(e.is_none(), "{told}: {e:?}");
    if let Some(at) = found.iter().zip(records).position(|(a, b)| a != b) {
        panic!("{told}: point {}, byte {}", at / packing.record, at % packing.record);
    }
}

#[test]
fn points_of_every_format_and_version_come_back() {
    let mut random = Random::new(7);
    for format in 0..=10 {
        for version in versions(format) {
            for (extra, n) in [(0, 2), (0, 1500), (5, 700)] {
                check(format, extra, version, &records(format, extra, n, 0, &mut random));
            }
        }
    }
}

#[test]
fn fields_that_rest_come_back() {
    let mut random = Random::new(8);
    for format in [1, 3, 5, 6, 8, 10] {
        for version in versions(format) {
            for field in 0..12 {
                check(format, 3, version, &records(format, 3, 300, 1 << field, &mut random));
                check(format, 3, version, &records(format, 3, 300, !(1 << field), &mut random));
            }
        }
    }
}

#[test]
fn long_chunks_come_back() {
    let mut random = Random::new(9);
    for (format, version) in [(1, 1), (3, 2), (6, 3), (7, 4)] {
        check(format, 0, version, &records(format, 0, 50_000, 0, &mut random));
    }
}
