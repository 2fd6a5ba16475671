//! The answers of `fixtures/roi_pool`, made by an independent program from the contract alone.

use super::*;
use crate::testing::{devices, repository};
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

type Arrays = BTreeMap<String, Array>;

fn fixtures() -> Vec<(String, Arrays)> {
    let mut paths: Vec<_> =
        std::fs::read_dir(repository("fixtures/roi_pool")).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 120, "fixtures are missing");
    paths.iter().map(|p| (p.file_stem().unwrap().to_string_lossy().into_owned(), read_npz(p).unwrap())).collect()
}

fn number(arrays: &Arrays, name: &str) -> f64 {
    arrays[name].to_f64().unwrap()[0]
}

fn integers<T: TryFrom<i64, Error: std::fmt::Debug>>(arrays: &Arrays, name: &str) -> Vec<T> {
    arrays[name].to_f64().unwrap().iter().map(|&v| (v as i64).try_into().unwrap()).collect()
}

fn element(arrays: &Arrays, name: &str) -> ElementType {
    [ElementType::F32, ElementType::F16, ElementType::Bf16][number(arrays, name) as usize]
}

/// An array of `f32`, or of the bits of a half type.
fn values(arrays: &Arrays, name: &str, element: ElementType) -> AnyArray {
    let bits = || arrays[name].as_u16().unwrap().iter();
    match element {
        ElementType::F32 => AnyArray::F32(arrays[name].as_f32().unwrap().to_vec()),
        ElementType::F16 => AnyArray::F16(bits().map(|&b| f16::from_bits(b)).collect()),
        ElementType::Bf16 => AnyArray::Bf16(bits().map(|&b| bf16::from_bits(b)).collect()),
    }
}

fn case(arrays: &Arrays) -> Case {
    let (geometry, features) = (element(arrays, "geometry_type"), element(arrays, "feature_type"));
    let splits = |name| arrays.contains_key(name).then(|| integers(arrays, name));
    Case {
        boxes: values(arrays, "boxes", geometry),
        points: values(arrays, "points", geometry),
        point_columns: arrays["points"].shape()[1],
        features: values(arrays, "features", features),
        grad: Some(values(arrays, "grad_pooled", features)),
        channels: arrays["features"].shape()[1],
        splits: splits("box_splits").zip(splits("point_splits")),
        params: RoiPoolParams {
            out_size: integers(arrays, "out_size").try_into().unwrap(),
            // The slots of the peers' layout: one of them holds the count.
            max_points_per_voxel: number(arrays, "max_points") as u32 - 1,
            origin: [BoxOrigin::BottomCenter, BoxOrigin::Center][number(arrays, "origin") as usize],
            margin: arrays["margin"].as_f32().unwrap()[0],
            ..RoiPoolParams::default()
        },
    }
}

/// The answers of a file; those of the dense and CSR layouts only where it has them.
fn want(arrays: &Arrays, case: &Case, dense: bool) -> Answers {
    let of = |name: &str| bits(&values(arrays, name, element(arrays, "feature_type")));
    let (boxes, points) = (case.scene().num_boxes(), case.num_points());
    let mut words = vec![0; points * boxes.div_ceil(32)];
    for (at, _) in integers::<i32>(arrays, "all").iter().enumerate().filter(|(_, inside)| **inside != 0) {
        words[at / boxes * boxes.div_ceil(32) + at % boxes / 32] |= 1 << (at % boxes % 32);
    }
    let indices: Vec<i32> = integers(arrays, "indices");
    let inside = integers::<i32>(arrays, "crop_indices").len();
    let report = Report {
        boxes,
        empty_boxes: number(arrays, "empty_boxes") as usize,
        points,
        voxels: arrays["coords"].shape()[0],
        inside,
        kept: indices.len(),
        dropped: inside - indices.len(),
    };
    let mut want = Answers {
        sparse_max: of("sparse_max"),
        sparse_argmax: integers(arrays, "sparse_argmax"),
        sparse_mean: of("sparse_mean"),
        coords: integers(arrays, "coords"),
        sparse_row_splits: integers(arrays, "sparse_row_splits"),
        indices,
        grad_max: of("grad_max"),
        grad_mean: of("grad_mean"),
        report,
        part: integers(arrays, "part"),
        count: integers(arrays, "count"),
        words,
        all: (integers(arrays, "all_splits"), integers(arrays, "all_boxes")),
        crop: (integers(arrays, "crop_splits"), integers(arrays, "crop_indices")),
        ..Answers::default()
    };
    if dense {
        want.row_splits = integers(arrays, "row_splits");
        (want.max, want.mean) = (of("max"), of("mean"));
        (want.argmax, want.point_indices) = (integers(arrays, "argmax"), integers(arrays, "point_indices"));
    }
    want
}

#[test]
fn every_fixture_on_every_device() {
    let mut whole = 0;
    for (name, arrays) in fixtures() {
        let case = case(&arrays);
        let dense = arrays.contains_key("max");
        whole += usize::from(dense);
        let want = want(&arrays, &case, dense);
        for (device_name, device) in devices() {
            assert_same(&case.run(&device, dense), &want, &format!("{name} on {device_name}"));
        }
    }
    assert!(whole >= 100, "only {whole} fixtures with dense answers");
}
