//! The answers of `fixtures/voxelize`, made by an independent program from the contract alone.

use super::*;
use crate::testing::{devices, repository};
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

type Arrays = BTreeMap<String, Array>;

fn fixtures() -> Vec<(String, Arrays)> {
    let folder = repository("fixtures/voxelize");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 80, "fixtures are missing");
    paths.iter().map(|p| (p.file_stem().unwrap().to_string_lossy().into_owned(), read_npz(p).unwrap())).collect()
}

fn f32s<'a>(arrays: &'a Arrays, name: &str) -> &'a [f32] {
    arrays[name].as_f32().unwrap()
}

fn i32s<'a>(arrays: &'a Arrays, name: &str) -> &'a [i32] {
    arrays[name].as_i32().unwrap()
}

fn indices(arrays: &Arrays, name: &str) -> Vec<u32> {
    arrays[name].to_f64().unwrap().iter().map(|&v| v as u32).collect()
}

fn case(arrays: &Arrays) -> Case<'_> {
    let size = f32s(arrays, "voxel_size");
    let r = f32s(arrays, "range");
    let m = i32s(arrays, "max_points")[0];
    let params = VoxelizeParams {
        max_voxels: i32s(arrays, "max_voxels")[0] as u32,
        max_points_per_voxel: (m >= 0).then_some(m as u32),
        order: if i32s(arrays, "order")[0] == 0 { RowOrder::FirstSeen } else { RowOrder::Sorted },
        strict_range: arrays["strict_range"].to_f64().unwrap()[0] != 0.0,
        outputs: Outputs { voxels: m >= 0, lists: true, ..Outputs::default() },
        ..VoxelizeParams::new([size[0], size[1], size[2]], crate::Aabb::new([r[0], r[1], r[2]], [r[3], r[4], r[5]]))
    };
    Case {
        points: Points::new(f32s(arrays, "points"), arrays["points"].shape()[1]).unwrap(),
        row_splits: arrays
            .contains_key("row_splits")
            .then(|| indices(arrays, "row_splits").iter().map(|&v| v as usize).collect()),
        params,
    }
}

fn want(arrays: &Arrays, case: &Case<'_>) -> VoxelArrays {
    let report = |name: &str| arrays[&format!("report_{name}")].to_f64().unwrap()[0] as usize;
    let num_points = i32s(arrays, "num_points").to_vec();
    VoxelArrays {
        num_voxels: num_points.len(),
        coord_columns: arrays["coords"].shape()[1],
        columns: case.points.columns(),
        max_points: case.params.max_points_per_voxel.unwrap_or(0) as usize,
        coords: i32s(arrays, "coords").to_vec(),
        voxels: arrays.contains_key("voxels").then(|| f32s(arrays, "voxels").to_vec()),
        mean: Some(AnyArray::F32(f32s(arrays, "mean").to_vec())),
        point_to_voxel: Some(i32s(arrays, "point_to_voxel").to_vec()),
        row_splits: Some(indices(arrays, "csr_row_splits")),
        indices: Some(indices(arrays, "csr_indices")),
        voxel_splits: arrays.contains_key("voxel_row_splits").then(|| indices(arrays, "voxel_row_splits")),
        report: Report {
            points: report("points"),
            voxels: report("voxels"),
            voxels_found: report("voxels_found"),
            voxels_dropped: report("voxels_dropped"),
            points_kept: num_points.iter().map(|&n| n as usize).sum(),
            points_dropped_full_voxel: report("points_dropped_full_voxel"),
            points_dropped_dropped_voxel: report("points_dropped_dropped_voxel"),
            out_of_range: report("out_of_range"),
            non_finite: report("non_finite"),
        },
        num_points,
    }
}

#[test]
fn every_fixture_on_every_device() {
    for (name, arrays) in fixtures() {
        let mut case = case(&arrays);
        let want = want(&arrays, &case);
        for (device_name, device) in devices() {
            let what = format!("{name} on {device_name}");
            case.params.outputs.mean = Some(MeanType::F32);
            let got = run(&case, &device);
            assert_eq!(got.num_voxels, want.num_voxels, "{what}: V");
            assert_same(&got, &want, &what);
            case.params.outputs.mean = Some(MeanType::F16);
            let Some(AnyArray::F16(half)) = run(&case, &device).mean else { panic!("{what}: means of f16") };
            let half: Vec<u16> = half.iter().map(|v| v.to_bits()).collect();
            assert_eq!(half, arrays["mean_f16"].as_u16().unwrap(), "{what}: half-precision mean");
        }
    }
}

#[test]
fn grids_of_the_fixtures() {
    for (name, arrays) in fixtures() {
        let case = case(&arrays);
        let grid = VoxelGrid::new(case.params.voxel_size, case.params.range).unwrap();
        assert_eq!(grid.dims()[..], indices(&arrays, "dims")[..], "{name}");
    }
}

#[test]
fn scatter_of_the_dynamic_fixtures() {
    let mut seen = 0;
    for (name, arrays) in fixtures() {
        let case = case(&arrays);
        for (mode, suffix) in [(Reduction::Sum, "sum"), (Reduction::Mean, "mean"), (Reduction::Max, "max")] {
            for (features, key) in
                [("points", format!("scatter_{suffix}")), ("features", format!("scatter_features_{suffix}"))]
            {
                if !arrays.contains_key(&key) {
                    continue;
                }
                seen += 1;
                let columns = arrays[features].shape()[1];
                let features = Points::new(f32s(&arrays, features), columns).unwrap();
                for (device_name, device) in devices() {
                    let mut voxelizer = Voxelizer::new(&device.stream().unwrap(), &case.params).unwrap();
                    let mut voxels = voxelizer.output().unwrap();
                    match &case.row_splits {
                        Some(splits) => voxelizer.run_batch(case.points, splits, &mut voxels).unwrap(),
                        None => voxelizer.run(case.points, &mut voxels).unwrap(),
                    }
                    let rows = voxels.num_voxels().unwrap();
                    let got = scatter(&voxels, features, mode).unwrap().read(rows * columns).unwrap();
                    assert_eq!(bits(&got), bits(f32s(&arrays, &key)), "{name} on {device_name}: {key}");
                }
            }
        }
    }
    assert!(seen >= 12, "only {seen} scatter answers");
}
