//! Tests of `src/roi_pool/picture.rs`.

use super::*;
use pointmill::PointCloud;

#[test]
fn a_point_is_drawn_in_the_fullest_box() {
    // Two boxes of the same size, the second 1 m ahead, and one that has the second's points.
    let first = [0.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0];
    let second = [1.0, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0];
    let points = [
        -1.5, 0.5, 0.5, /**/ 0.5, 0.5, 0.5, /**/ 2.5, 0.5, 1.5, /**/ 2.6, 0.5, 0.5, /**/ 9.0, 0.0,
        0.0,
    ];
    let input = Loaded {
        boxes: [first, second, second].concat(),
        points: PointCloud::new(points.to_vec(), 3).unwrap(),
        features: None,
        warnings: vec![],
    };
    let params = RoiPoolParams { out_size: [4, 1, 2], ..RoiPoolParams::default() };
    let drawn = voxel_of_point(&input, &params, &Device::cpu()).unwrap();
    assert_eq!(drawn, [Some((0, 0)), Some((1, 2)), Some((1, 7)), Some((1, 6)), None]);
    assert_eq!(centred(first, BoxOrigin::BottomCenter)[2], 1.0);
    assert_eq!(centred(first, BoxOrigin::Center)[2], 0.0);
}
