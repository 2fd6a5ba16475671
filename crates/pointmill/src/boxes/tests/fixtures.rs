//! The answers of `fixtures/boxes`, made by shapely and a plain loop.

use super::*;
use crate::testing::repository;
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

type Arrays = BTreeMap<String, Array>;

fn read(name: &str) -> Arrays {
    read_npz(repository("fixtures/boxes").join(name)).unwrap()
}

fn rows<'a>(arrays: &'a Arrays, name: &str, columns: usize) -> Rows<'a> {
    Rows::new(arrays[name].as_f32().unwrap(), columns).unwrap()
}

#[test]
fn overlaps_are_those_of_shapely() {
    let arrays = read("pairs.npz");
    let (a, b) = (rows(&arrays, "a", 7), rows(&arrays, "b", 7));
    for kind in [IouKind::Bev, IouKind::Volume, IouKind::Giou] {
        let wanted = arrays[kind.as_str()].to_f64().unwrap();
        assert!(wanted.iter().filter(|iou| iou.abs() > 0.1).count() > 50, "{kind}");
        for (name, device) in devices() {
            let stream = device.stream().unwrap();
            let params = IouParams { kind, pairs: Pairs::Aligned, ..IouParams::default() };
            let mut out = stream.alloc(0).unwrap();
            BoxIou::new(&stream, &params).unwrap().iou(a, b, &mut out).unwrap();
            for (i, (got, wanted)) in out.read(wanted.len()).unwrap().into_iter().zip(&wanted).enumerate() {
                assert!((f64::from(got) - wanted).abs() < 1e-6, "{kind} {i} on {name}: {got} {wanted}");
            }
        }
    }
}

#[test]
fn kept_rows_are_those_of_the_loop() {
    let metrics = [NmsMetric::Bev, NmsMetric::Volume, NmsMetric::Circle];
    for (metric, case) in metrics.into_iter().flat_map(|metric| [(metric, 0), (metric, 1)]) {
        let arrays = read(&format!("nms_{metric}_{case}.npz"));
        let whole = |name: &str| arrays[name].to_f64().unwrap().into_iter().map(|v| v as i32).collect::<Vec<_>>();
        let (classes, wanted) = (whole("classes"), whole("rows"));
        let threshold = arrays["threshold"].as_f32().unwrap()[0];
        let params = NmsParams { metric, threshold, ..NmsParams::default() };
        let candidates = Candidates::new(rows(&arrays, "boxes", 7), rows(&arrays, "scores", 1)).classes(&classes[..]);
        for (name, device) in devices() {
            let kept = nms(candidates, &params, &device).unwrap().read().unwrap();
            assert_eq!(kept.rows, wanted, "{metric} {case} on {name}");
        }
    }
}
