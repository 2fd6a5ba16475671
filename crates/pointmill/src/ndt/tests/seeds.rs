//! The secret of the tables decides no result, and cells that were chosen do not meet in one place.

use super::*;
use crate::seed::tests::with_seed;
use crate::testing::devices;

/// Everything that tables have a part in.
#[test]
fn any_seed_gives_the_same_bits() {
    let points = street(2500, 5);
    let cloud = Rows::f64(&points, 3).unwrap();
    let params = NdtParams { min_points: 2, ..NdtParams::default() };
    let asked: Vec<[i32; 3]> = (0..300).map(|i| [i % 70 - 35, i / 70 * 4 - 7, i % 5 - 1]).collect();
    let all = |device: &Device| {
        let mut builder = NdtBuilder::new(&device.stream().unwrap(), 0.5, &params).unwrap();
        builder.add(cloud).unwrap();
        let grid = builder.finish().unwrap();
        let uploaded = NdtGrid::from_cells(grid.read().unwrap(), *grid.lattice(), &device.stream().unwrap()).unwrap();
        let lists = |grid: &NdtGrid| grid.radius_search(cloud, 0.7).unwrap().read().unwrap();
        assert_eq!(lists(&grid), lists(&uploaded));
        (builder.moments().unwrap(), grid.read().unwrap(), grid.lookup(&asked).unwrap(), lists(&grid))
    };
    let want = with_seed(0, || all(&Device::cpu_with_threads(1).unwrap()));
    for (name, device) in devices() {
        for seed in [1, u64::MAX] {
            assert!(with_seed(seed, || all(&device)) == want, "seed {seed} on {name}");
        }
    }
}

/// The mixer that tables of kernels had without a secret, and its inverse.
fn mixed(k: u32) -> u32 {
    let k = (k ^ (k >> 16)).wrapping_mul(0x7feb_352d);
    let k = (k ^ (k >> 15)).wrapping_mul(0x846c_a68b);
    k ^ (k >> 16)
}
fn unmixed(k: u32) -> u32 {
    let k = (k ^ (k >> 16)).wrapping_mul(0x4302_1123);
    let k = (k ^ (k >> 15) ^ (k >> 30)).wrapping_mul(0x1d69_e2a5);
    k ^ (k >> 16)
}

/// Cells that all started in the same slot of a table of up to 2^12 records grow it no further than
/// cells of a street do.
#[test]
fn cells_that_were_chosen_need_no_larger_table() {
    assert_eq!(mixed(unmixed(77)), 77);
    let center = |key| pointmill_core::ndt::cell_of(key).map(|c| f64::from(c) + 0.5);
    let high = 1u32 << 26;
    let low = |i: u32| unmixed((i << 10) | 5) ^ mixed(high);
    let key = |i: u32| (u64::from(low(i)) * 4) | (u64::from(high) << 34);
    let points: Vec<f64> = (0..300).map(key).flat_map(center).collect();
    let cloud = Rows::f64(&points, 3).unwrap();
    let lattice = *NdtMoments::new(1.0).unwrap().lattice();
    for number in 0..5 {
        with_seed(number, || {
            let mut table = gpu::Table::new(&Device::twin().stream().unwrap(), lattice).unwrap();
            table.add(&cloud).unwrap();
            assert_eq!(table.moments().unwrap(), moments(1.0, &points));
            assert!(table.room() <= 1 << 10, "seed {number}: {} records", table.room());
        });
    }
}
