//! The answers of `fixtures/icp`, made by an independent program.

use super::super::*;
use super::align;
use crate::Rows;
use crate::testing::repository;
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

#[test]
fn poses_are_those_of_an_independent_program() {
    let mut paths: Vec<_> = std::fs::read_dir(repository("fixtures/icp")).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 18, "fixtures are missing");
    for path in paths {
        let arrays: BTreeMap<String, Array> = read_npz(&path).unwrap();
        let number = |name: &str| arrays[name].to_f64().unwrap()[0];
        let (limit, width) = (number("max_distance"), number("width"));
        let params = IcpParams {
            metric: [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp][number("metric") as usize],
            max_distance: limit.is_finite().then_some(limit),
            robust: [
                Robust::None,
                Robust::Huber(width),
                Robust::Cauchy(width),
                Robust::GemanMcClure(width),
                Robust::Tukey(width),
            ][number("kernel") as usize],
            max_iterations: 500,
            step_tolerance: 1e-12,
            ..IcpParams::default()
        };
        let cloud = |name: &str| Rows::f32(arrays[name].as_f32().unwrap(), 3).unwrap();
        let got = align(cloud("source"), cloud("target"), &params).unwrap();
        let what = path.display();
        assert!(got.converged(), "{what}: {:?}", got.status);
        let wanted = arrays["pose"].to_f64().unwrap();
        for (got, wanted) in got.target_from_source.matrix().as_flattened().iter().zip(wanted.iter()) {
            // Clouds about their centres are rounded to f32 once more.
            assert!((got - wanted).abs() < 2e-7, "{what}: {got} {wanted}");
        }
        assert_eq!(got.fit.num_inliers, number("pairs") as usize, "{what}");
        assert!((got.fit.inlier_rmse - number("rmse")).abs() < 1e-7, "{what}");
    }
}
