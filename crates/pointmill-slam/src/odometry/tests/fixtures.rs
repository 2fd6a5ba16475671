//! The answers of `fixtures/odometry`, made by an independent program.

use super::*;
use pointmill::icp::Metric;
use pointmill::internals::testing::repository;
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

#[test]
fn poses_are_those_of_an_independent_program() {
    for name in ["straight", "curve", "leaving", "points"] {
        let path = repository("fixtures/odometry").join(format!("{name}.npz"));
        let arrays: BTreeMap<String, Array> = read_npz(&path).unwrap();
        let values = |name: &str| arrays[name].to_f64().unwrap();
        let number = |name: &str| values(name)[0];
        let params = OdometryParams {
            voxel_size: Some(number("voxel_size")),
            min_range: 0.5,
            max_range: number("max_range"),
            max_points_per_voxel: number("cap") as usize,
            metric: [Metric::PointToPoint, Metric::PointToPlane][number("metric") as usize],
            ..OdometryParams::default()
        };
        let (points, all_times, splits) = (arrays["points"].as_f32().unwrap(), values("times"), values("splits"));
        let mut odometry = odometry(&params);
        for (i, pair) in splits.windows(2).enumerate() {
            let [begin, end] = [pair[0] as usize, pair[1] as usize];
            let times = (!all_times.is_empty()).then(|| &all_times[begin..end]);
            let step = odometry.push(Rows::f32(&points[3 * begin..3 * end], 3).unwrap(), times).unwrap();
            let wanted = if i == 0 { SweepStatus::Started } else { SweepStatus::Tracked };
            assert_eq!(step.status, wanted, "{name} {i}");
            let pairs = step.registration.as_ref().map_or(0, |found| found.fit.pairs);
            let counts = [step.usable, step.aligned, pairs, step.map_points, step.map_voxels].map(|n| n as f64);
            let given = ["usable", "aligned", "pairs", "map_points", "map_voxels"].map(|name| values(name)[i]);
            assert_eq!(counts, given, "{name} {i}");
            let pose = step.world_from_sensor.matrix();
            for (got, wanted) in pose.as_flattened().iter().zip(&values("pose")[16 * i..]) {
                // Offsets in the map are f32, and so are squared distances.
                assert!((got - wanted).abs() < 1e-6, "{name} {i}: {got} {wanted}");
            }
        }
        // In any order: points whose coordinates nearly agree may change places.
        let (map, wanted) = (odometry.map().unwrap(), values("map"));
        assert_eq!(3 * map.len(), wanted.len(), "{name}");
        let near = |p: &[f64; 3]| wanted.as_chunks::<3>().0.iter().any(|q| (0..3).all(|k| (p[k] - q[k]).abs() < 2e-6));
        assert!(map.iter().all(near), "{name}");
    }
}
