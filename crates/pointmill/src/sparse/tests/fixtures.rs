//! The answers of `fixtures/sparse`, made by an independent program, and real cells.

use super::serialize::{plain, plain_code};
use crate::sparse::{
    Cells, GridOrigin, GridSampleParams, Order, PoolParams, SerializeParams, grid_sample, pool_hierarchy, serialize,
};
use crate::testing::{devices, gpu, repository};
use crate::{Aabb, Device, NamedArrays};
use pointmill_io::{ReadOptions, read_npz};
use std::collections::BTreeSet;
use std::path::PathBuf;

#[test]
fn codes_and_hierarchies_are_those_of_an_independent_program() {
    let files = std::fs::read_dir(repository("fixtures/sparse")).unwrap().map(|file| file.unwrap().path());
    let paths: Vec<_> = files.collect();
    assert_eq!(paths.len(), 3, "fixtures are missing");
    for path in paths {
        let arrays = read_npz(&path).unwrap();
        let number = |name: &str| arrays[name].to_f64().unwrap()[0] as u32;
        let strides = arrays["strides"].as_i32().unwrap().iter().map(|&stride| stride as u32).collect();
        let params = SerializeParams { depth: Some(number("depth")), orders: Order::ALL.to_vec() };
        let cells = Cells::new(arrays["coords"].as_i32().unwrap()).unwrap();
        let cells = cells.batch(arrays["batch"].as_i32().unwrap(), number("items") as usize).unwrap();
        let pooling = PoolParams { strides, capacities: None };
        for (name, device) in devices() {
            let serialized = serialize(cells, &params, &device).unwrap();
            let stages = pool_hierarchy(cells, &serialized, &pooling, &device).unwrap().read().unwrap();
            for (array, got) in serialized.read().unwrap().arrays() {
                assert_eq!(got, arrays[array].view(), "{name}, {}, {array}", path.display());
            }
            for (i, stage) in stages.iter().enumerate() {
                for (array, got) in stage.arrays() {
                    assert_eq!(got, arrays[&format!("{array}_{i}")].view(), "{name}, {}, {array}", path.display());
                }
            }
        }
    }
}

fn data() -> PathBuf {
    std::env::var_os("POINTMILL_TEST_DATA").map_or_else(|| repository("../shared/data"), PathBuf::from)
}

/// Real clouds, where those are at hand.
#[test]
fn real_clouds_are_the_same_on_one_thread_and_two() {
    let range = Aabb::new([-54.0, -54.0, -5.0], [54.0, 54.0, 3.0]);
    for (file, size, want) in [
        ("kitti/0000000000.bin", [0.2; 3], 18_300),
        ("nuscenes/ff9eff43.10sweeps.pcd.bin", [0.075, 0.075, 0.2], 105_086),
    ] {
        let path = data().join(file);
        if !path.exists() {
            continue;
        }
        let cloud = pointmill_io::read(&path, &ReadOptions::default()).unwrap().cloud;
        let sampling = GridSampleParams { origin: GridOrigin::Range(range), ..GridSampleParams::new(size) };
        let mut before = None;
        let processors = [1, 2].map(|threads| Device::cpu_with_threads(threads).unwrap());
        for device in processors.into_iter().chain(gpu()) {
            let sampled = grid_sample(&cloud, &sampling, &device).unwrap();
            let arrays = sampled.read().unwrap();
            assert_eq!(arrays.report.cells, want, "{file}");
            let cells = sampled.cells().unwrap();
            let start = std::time::Instant::now();
            let serialized = serialize(cells, &SerializeParams::default(), &device).unwrap();
            println!("{file}, {device}: {:?}", start.elapsed());
            let stages = pool_hierarchy(cells, &serialized, &PoolParams::default(), &device).unwrap().read().unwrap();
            let serialized = serialized.read().unwrap();
            if before.is_none() {
                let (rows, _) = arrays.grid_coord.as_chunks::<3>();
                assert_eq!(serialized, plain(rows, &arrays.batch, serialized.depth, Order::ALL), "{file}");
                let parents = |row: &[i32; 3]| plain_code(0, row.map(|c| c >> 1), serialized.depth - 1, Order::Z);
                let different: BTreeSet<u64> = rows.iter().map(parents).collect();
                assert!(stages[0].codes[..stages[0].head.len()].iter().eq(different.iter()), "{file}");
            }
            let all = (arrays, serialized, stages);
            assert!(before.replace(all.clone()).is_none_or(|before| before == all), "{file}");
        }
    }
}
