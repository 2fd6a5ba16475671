//! Tests of `src/ndt/cloud.rs`.

use super::*;

#[test]
fn zeros_are_left_out_if_asked_for() {
    let xyz = [0.0, -0.0, 0.0, /**/ 0.0, 0.0, 1.0, /**/ f64::NAN, 0.0, 0.0];
    let read = |exact: bool| Exact {
        cloud: PointCloud::from_f64(&xyz, 3).unwrap(),
        xyz_f64: exact.then(|| xyz.to_vec()),
        format: "npy".into(),
        warnings: vec![],
    };
    for (exact, element) in [(false, "f32"), (true, "f64")] {
        let (cloud, zeros) = Cloud::new(read(exact), true).unwrap();
        assert_eq!((zeros, cloud.len(), cloud.element(), cloud.xyz()[0]), (1, 2, element, [0.0, 0.0, 1.0]));
        assert_eq!(cloud.view().unwrap().len(), 2);
        let (cloud, zeros) = Cloud::new(read(exact), false).unwrap();
        assert_eq!((zeros, cloud.len(), cloud.xyz()[1]), (0, 3, [0.0, 0.0, 1.0]));
    }
}
