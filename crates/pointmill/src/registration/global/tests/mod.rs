//! Scenes that are found, and clouds that have no answer.

mod real;
mod thin;
mod turned;
mod upright;

use super::{Refine, RegisterParams, Registered, Target, Timing, Verdict, register};
use crate::testing::{Random, devices, kernel_devices};
use crate::{Argument, Device, Error, Pose, Rows, f16};

/// The points of a scene: blocks of many sizes and headings on a floor. The same blocks for the same
/// seed, at other places of their surfaces for each `sample`.
fn scene(seed: u64, sample: u64) -> Vec<[f64; 3]> {
    let (mut layout, mut random) = (Random(seed), Random(1000 + sample));
    let mut between = |low: f32, high: f32| f64::from(random.between(low, high));
    let mut points: Vec<[f64; 3]> =
        (0..6000).map(|_| [between(-9.0, 9.0), between(-9.0, 9.0), between(-0.02, 0.02)]).collect();
    for _ in 0..14 {
        let mut of = |low: f32, high: f32| f64::from(layout.between(low, high));
        let place = Pose::from_xyzrpy([of(-8.0, 8.0), of(-8.0, 8.0), 0.0, of(-0.3, 0.3), of(-0.3, 0.3), of(-3.0, 3.0)]);
        let (place, size) = (place.unwrap(), [of(0.4, 2.0), of(0.3, 1.2), of(0.5, 3.0)]);
        for i in 0..700 {
            let mut p = [0, 1, 2].map(|k| size[k] * between(0.0, 1.0));
            p[i % 3] = size[i % 3] * ((i / 3) % 2) as f64;
            points.push(place.apply(p));
        }
    }
    points
}

fn moved(points: &[[f64; 3]], by: &Pose) -> Vec<[f64; 3]> {
    points.iter().map(|p| by.apply(*p)).collect()
}

fn run(source: &[[f64; 3]], target: &[[f64; 3]]) -> Registered {
    register(source, target, &RegisterParams::default(), &Device::cpu()).unwrap()
}

/// Voxels of so few points that the twin takes no minute.
const COARSE: f64 = 0.7;

/// How far a pose is from the truth: metres and radians.
fn off(found: &Registered, truth: &Pose) -> [f64; 2] {
    let error = truth.inverse().compose(&found.target_from_source);
    [error.translation(), error.rotation_vector()].map(|v| v.iter().map(|x| x * x).sum::<f64>().sqrt())
}

#[test]
fn scenes_are_found_from_any_pose() {
    for seed in 1..4 {
        let by = [4.0 * seed as f64, -30.0, 5.0, 0.4, -0.8 * seed as f64, 2.5];
        let truth = Pose::from_xyzrpy(by).unwrap();
        let found = run(&moved(&scene(seed, 1), &truth.inverse()), &scene(seed, 2));
        let [metres, radians] = off(&found, &truth);
        assert_eq!(found.verdict, Verdict::Found, "seed {seed}: {found:?}");
        assert!(metres < 0.05 && radians < 0.01, "seed {seed}: {metres} m, {radians} rad");
        assert!(found.covariance.is_some() && found.observability.is_some_and(|o| o.rank() == 6));
    }
}

/// A few points far from all others decide nothing, on whichever side they are.
#[test]
fn stray_points_change_no_answer() {
    let truth = Pose::from_xyzrpy([4.0, -9.0, 0.5, 0.0, 0.0, 1.2]).unwrap();
    let [source, target] = [moved(&scene(1, 1), &truth.inverse()), scene(1, 2)];
    for level in [false, true] {
        let params = RegisterParams { level, ..RegisterParams::default() };
        let run = |source: &[[f64; 3]], target: &[[f64; 3]]| register(source, target, &params, &Device::cpu()).unwrap();
        let clean = run(&source, &target);
        assert_eq!(clean.verdict, Verdict::Found, "level {level}: {clean:?}");
        for far in [300.0, 1e3, 1e5, 1e7] {
            let with = |cloud: &[[f64; 3]]| [cloud, &[[far, -far, 0.1 * far]]].concat();
            for (source, target) in [(with(&source), target.clone()), (source.clone(), with(&target))] {
                let found = run(&source, &target);
                let [metres, radians] = off(&found, &clean.target_from_source);
                let what = format!("level {level}, {far} m: {metres} m, {radians} rad, {found:?}");
                assert_eq!(found.verdict, Verdict::Found, "{what}");
                assert!(metres < 2e-3 && radians < 5e-4, "{what}");
                // Places of an upright search are about the mean, and others come second.
                assert!(level || (found.margin - clean.margin).abs() < 0.1, "{what}");
            }
        }
    }
}

#[test]
fn another_scene_is_never_found() {
    for seed in 1..4 {
        let found = run(&scene(seed, 1), &scene(seed + 10, 2));
        assert_ne!(found.verdict, Verdict::Found, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_symmetric_scene_is_ambiguous() {
    let turned = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, std::f64::consts::PI]).unwrap();
    for seed in 1..3 {
        let both = |sample: u64| [scene(seed, sample), moved(&scene(seed, sample + 7), &turned)].concat();
        let found = run(&both(1), &both(2));
        assert_eq!(found.verdict, Verdict::Ambiguous, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_copy_is_at_the_identity_and_large_coordinates_keep_their_digits() {
    let cloud = scene(1, 1);
    // By whole voxels, so that the voxels have the same points.
    let far = Pose::from_translation([9e6, -9e6, 300.0]);
    for target in [cloud.clone(), moved(&cloud, &far)] {
        let shift = [0, 1, 2].map(|k| target[0][k] - cloud[0][k]);
        let found = run(&cloud, &target);
        let [metres, radians] = off(&found, &Pose::from_translation(shift));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(metres < 1e-3 && radians < 1e-4, "{metres} m, {radians} rad");
    }
}

#[test]
fn clouds_without_a_shape_have_no_answer() {
    let mut random = Random(5);
    let mut of = |n: usize, scale: [f32; 3]| -> Vec<[f64; 3]> {
        (0..n).map(|_| scale.map(|s| f64::from(s * random.between(-1.0, 1.0)))).collect()
    };
    let (plane, line, few) = (of(9000, [10.0, 10.0, 0.0]), of(3000, [50.0, 0.0, 0.0]), of(49, [9.0; 3]));
    let (equal, origin, none) = (vec![[1.0, 2.0, 3.0]; 500], vec![[0.0; 3]; 500], Vec::new());
    let nan = vec![[f64::NAN, 0.0, 1.0]; 500];
    let full = scene(1, 1);
    for (name, cloud) in [
        ("plane", plane),
        ("line", line),
        ("few", few),
        ("equal", equal),
        ("origin", origin),
        ("none", none),
        ("nan", nan),
    ] {
        for (source, target) in [(&cloud, &cloud), (&cloud, &full), (&full, &cloud)] {
            let found = run(source, target);
            assert_eq!(found.verdict, Verdict::TooFewMatches, "{name}: {found:?}");
            assert_eq!(found.target_from_source, Pose::IDENTITY, "{name}");
        }
        for (device, on) in kernel_devices() {
            let found = register(&cloud[..], &cloud[..], &RegisterParams::default(), &on).unwrap();
            assert_eq!(found.verdict, Verdict::TooFewMatches, "{name}, {device}: {found:?}");
        }
    }
}

#[test]
fn points_at_the_origin_are_left_out() {
    let mut cloud = scene(2, 1);
    let target = Target::new(&scene(2, 2)[..], &RegisterParams::default(), &Device::cpu()).unwrap();
    let without = target.register(&cloud[..]).unwrap();
    cloud.extend([[0.0; 3]; 3000]);
    let with = target.register(&cloud[..]).unwrap();
    assert_eq!(Registered { timing: Timing::default(), ..with }, Registered { timing: Timing::default(), ..without });
}

#[test]
fn voxel_sizes() {
    let cloud = scene(1, 1);
    for voxel_size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused =
            register(&cloud[..], &cloud[..], &RegisterParams { voxel_size, ..Default::default() }, &Device::cpu());
        assert!(matches!(refused, Err(Error::Argument { argument: Argument::VoxelSize, .. })));
    }
    let coarse = RegisterParams { voxel_size: 100.0, ..Default::default() };
    assert_eq!(register(&cloud[..], &cloud[..], &coarse, &Device::cpu()).unwrap().verdict, Verdict::TooFewMatches);
    let tiny = RegisterParams { voxel_size: 1e-300, ..Default::default() };
    let refused = register(&cloud[..], &cloud[..], &tiny, &Device::cpu()).unwrap_err();
    assert!(refused.to_string().starts_with("target: expected points within 2^40 voxels"), "{refused}");
}

#[test]
fn every_device_and_number_of_threads_makes_the_same_bits() {
    let truth = Pose::from_xyzrpy([3.0, 1.0, 0.0, 0.1, 0.2, 2.0]).unwrap();
    let (source, target) = (moved(&scene(2, 1), &truth.inverse()), scene(2, 2));
    let found = |device: &Device, refine: Refine| {
        let params = RegisterParams { refine, voxel_size: COARSE, ..RegisterParams::default() };
        let found = register(&source[..], &target[..], &params, device).unwrap();
        Registered { timing: Timing::default(), ..found }
    };
    for &refine in Refine::ALL {
        let one = found(&Device::cpu_with_threads(1).unwrap(), refine);
        assert!(one.candidates > 3 && one.inliers > 5, "{refine}: {one:?}");
        for (name, device) in devices() {
            assert_eq!(one, found(&device, refine), "{refine}, {name}");
        }
    }
}

#[test]
fn clouds_in_memory_of_a_device_are_those_of_the_host() {
    let narrow = |sample: u64| -> Vec<f32> { scene(2, sample).as_flattened().iter().map(|x| *x as f32).collect() };
    let (source, target) = (narrow(1), narrow(2));
    let run = |source: Rows<'_>, target: Rows<'_>, device: &Device| {
        let params = RegisterParams { voxel_size: COARSE, ..RegisterParams::default() };
        let found = register(source, target, &params, device).unwrap();
        Registered { timing: Timing::default(), ..found }
    };
    let host = run(Rows::f32(&source, 3).unwrap(), Rows::f32(&target, 3).unwrap(), &Device::cpu());
    assert_eq!(host.verdict, Verdict::Found);
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let (source, target) = (stream.upload(&source).unwrap(), stream.upload(&target).unwrap());
        let rows = |buffer| Rows::on_device(buffer, source.len() / 3, 3).unwrap();
        assert_eq!(run(rows(&source), rows(&target), &device), host, "{name}");
        // Points about an origin keep it.
        let about = |of: Rows<'_>, device: &Device| {
            let of = of.about([600.0, -300.0, 30.0]).unwrap();
            run(of, of, device).target_from_source
        };
        let host = about(Rows::f32(&narrow(1), 3).unwrap(), &Device::cpu());
        assert_eq!(about(rows(&source), &device), host, "{name}");
    }
}

#[test]
fn values_of_16_bits_are_refused() {
    let cloud = [f16::ONE; 300];
    let refused =
        register(Rows::new(&cloud, 3).unwrap(), Rows::new(&cloud, 3).unwrap(), &Default::default(), &Device::cpu());
    assert!(refused.unwrap_err().to_string().starts_with("target: expected values of type f32 or f64"));
}
