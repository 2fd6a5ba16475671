//! Clouds that are both upright.

use super::*;
use std::f64::consts::PI;

const LEVEL: RegisterParams = RegisterParams { voxel_size: 0.3, level: true, refine: Refine::Gicp };

fn level(source: &[[f64; 3]], target: &[[f64; 3]]) -> Registered {
    register(source, target, &LEVEL, &Device::cpu()).unwrap()
}

fn walls(points: &[[f64; 3]]) -> Vec<[f64; 3]> {
    points.iter().copied().filter(|p| p[2] > 0.1).collect()
}

#[test]
fn scenes_are_found_at_any_heading() {
    for (seed, yaw) in [(1, 0.3), (2, -2.9), (3, 1.6)] {
        let truth = Pose::from_xyzrpy([4.0 * seed as f64, -3.0, 5.0, 0.0, 0.0, yaw]).unwrap();
        let found = level(&moved(&scene(seed, 1), &truth.inverse()), &scene(seed, 2));
        let [metres, radians] = off(&found, &truth);
        assert_eq!(found.verdict, Verdict::Found, "seed {seed}: {found:?}");
        assert!(metres < 0.05 && radians < 0.01, "seed {seed}: {metres} m, {radians} rad");
        assert!(found.covariance.is_some() && found.observability.is_some_and(|o| o.rank() == 6));
        assert!(found.inliers <= found.matches && found.matches == found.source_overlap.probes);
    }
}

#[test]
fn scenes_without_ground_are_found_at_any_height() {
    for seed in 1..3 {
        let truth = Pose::from_xyzrpy([4.0, 2.0, -7.0, 0.0, 0.0, 2.0]).unwrap();
        let found = level(&moved(&walls(&scene(seed, 1)), &truth.inverse()), &walls(&scene(seed, 2)));
        let [metres, radians] = off(&found, &truth);
        assert_eq!(found.verdict, Verdict::Found, "seed {seed}: {found:?}");
        assert!(metres < 0.1 && radians < 0.02, "seed {seed}: {metres} m, {radians} rad");
    }
}

#[test]
fn a_part_of_a_scene_is_found_in_the_whole() {
    let truth = Pose::from_xyzrpy([3.0, 1.0, -1.7, 0.0, 0.0, 2.5]).unwrap();
    let part: Vec<[f64; 3]> = scene(1, 1).into_iter().filter(|p| p[0] > -2.0).collect();
    let found = level(&moved(&part, &truth.inverse()), &scene(1, 2));
    let [metres, radians] = off(&found, &truth);
    // A dense scene has other poses that fit half as well.
    assert!(matches!(found.verdict, Verdict::Found | Verdict::Ambiguous), "{found:?}");
    assert!(metres < 0.1 && radians < 0.02, "{metres} m, {radians} rad");
}

#[test]
fn another_scene_is_never_found() {
    for seed in 1..4 {
        let found = level(&scene(seed, 1), &scene(seed + 10, 2));
        assert_ne!(found.verdict, Verdict::Found, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_symmetric_scene_is_ambiguous() {
    let turned = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, PI]).unwrap();
    for seed in 1..3 {
        let both = |sample: u64| [scene(seed, sample), moved(&scene(seed, sample + 7), &turned)].concat();
        let found = level(&both(1), &both(2));
        assert_eq!(found.verdict, Verdict::Ambiguous, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_tilted_cloud_is_not_level() {
    let (source, target) = (scene(2, 1), scene(2, 2));
    for by in [[0.3, 0.0], [0.0, -0.5], [0.2, 0.2]] {
        let tilt = Pose::from_xyzrpy([0.0, 0.0, 0.0, by[0], by[1], 1.0]).unwrap();
        for found in [level(&moved(&source, &tilt), &target), level(&source, &moved(&target, &tilt))] {
            assert_eq!(found.verdict, Verdict::NotLevel, "{by:?}: {found:?}");
            assert_eq!(found.target_from_source, Pose::IDENTITY);
        }
    }
    // A road may have a slope.
    let slope = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.05, -0.05, 1.0]).unwrap();
    let found = level(&moved(&source, &slope), &target);
    assert_eq!(found.verdict, Verdict::Found, "{found:?}");
    assert!(off(&found, &slope.inverse())[1] < 0.01);
}

#[test]
fn clouds_without_a_shape_have_no_answer() {
    let mut random = Random(5);
    let mut of = |n: usize, scale: [f32; 3]| -> Vec<[f64; 3]> {
        (0..n).map(|_| scale.map(|s| f64::from(s * random.between(-1.0, 1.0)))).collect()
    };
    let (plane, line, few) = (of(9000, [10.0, 10.0, 0.0]), of(3000, [50.0, 0.0, 0.0]), of(49, [9.0; 3]));
    let equal = vec![[1.0, 2.0, 3.0]; 500];
    let full = scene(1, 1);
    for (name, cloud) in [("plane", plane), ("line", line), ("few", few), ("equal", equal), ("none", Vec::new())] {
        for (source, target) in [(&cloud, &cloud), (&cloud, &full), (&full, &cloud)] {
            let found = level(source, target);
            assert!(matches!(found.verdict, Verdict::TooFewMatches | Verdict::LowOverlap), "{name}: {found:?}");
        }
    }
}

#[test]
fn large_coordinates_keep_their_digits() {
    let far = [9e6, -9e6, 300.0];
    let cloud = scene(1, 1);
    let target = moved(&cloud, &Pose::from_translation(far));
    let shift = [0, 1, 2].map(|k| target[0][k] - cloud[0][k]);
    let found = level(&cloud, &target);
    let [metres, radians] = off(&found, &Pose::from_translation(shift));
    assert_eq!(found.verdict, Verdict::Found, "{found:?}");
    assert!(metres < 1e-3 && radians < 1e-4, "{metres} m, {radians} rad");
}

#[test]
fn a_target_too_wide_for_its_voxels_is_refused() {
    let mut cloud = scene(1, 1);
    cloud.extend(moved(&cloud.clone(), &Pose::from_translation([1e6, 1e6, 0.0])));
    let refused = register(&cloud[..], &cloud[..], &LEVEL, &Device::cpu()).unwrap_err();
    assert!(refused.to_string().starts_with("voxel_size: expected a larger size"), "{refused}");
}

#[test]
fn every_device_and_number_of_threads_makes_the_same_bits() {
    let truth = Pose::from_xyzrpy([3.0, 1.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
    let (source, target) = (moved(&scene(2, 1), &truth.inverse()), scene(2, 2));
    let found = |device: &Device| {
        let params = RegisterParams { voxel_size: COARSE, ..LEVEL };
        let found = register(&source[..], &target[..], &params, device).unwrap();
        Registered { timing: Timing::default(), ..found }
    };
    let one = found(&Device::cpu_with_threads(1).unwrap());
    assert!(one.candidates > 3 && one.inliers > 5, "{one:?}");
    for (name, device) in devices() {
        assert_eq!(one, found(&device), "{name}");
    }
}
