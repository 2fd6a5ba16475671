//! Clouds whose features do not suffice, turned upright by their ground.

use super::super::candidates::{MOST, alike};
use super::super::surface::Surface;
use super::super::upright::Upright;
use super::*;
use pointmill_synth::{Drive, DriveParams, Scene};

/// Both clouds tilted, each by its own angles: some place is the true one.
#[test]
fn tilted_scenes_are_searched_over_their_ground() {
    let (device, params) = (Device::cpu(), RegisterParams::default());
    let stream = device.stream().unwrap();
    for (seed, by) in [(1, [0.5, -0.4, 2.0]), (2, [3.0, 0.2, 0.7]), (3, [0.0, -1.4, -1.0])] {
        let tilt = Pose::from_xyzrpy([4.0, -3.0, 5.0, by[0], by[1], by[2]]).unwrap();
        let lean = Pose::from_xyzrpy([0.0, 1.0, 0.0, -0.3, 0.6, 0.0]).unwrap();
        let clouds = [moved(&scene(seed, 1), &tilt), moved(&scene(seed, 2), &lean)];
        let [source, target] = clouds
            .each_ref()
            .map(|cloud| Surface::new(&Rows::from(&cloud[..]), &params, &stream, Argument::Source).unwrap());
        let truth = lean.compose(&tilt.inverse()).about(source.centre, target.centre);
        let turned = Upright::turned(&target, params.voxel_size, &device).unwrap().unwrap();
        let places = turned.candidates(&source, params.voxel_size).unwrap().unwrap();
        assert!(places.iter().any(|place| alike([place, truth.rigid()], [0.0; 3], 1.0, 0.1)), "seed {seed}");
    }
}

/// A sweep of a drive with half of the beams and a quarter of the firings, and its pose.
fn thin_sweep(scene: Scene, seed: u64, i: usize) -> (Vec<[f64; 3]>, Pose) {
    let drive =
        Drive::new(DriveParams { scene, seed, sweeps: 31, beams: 32, azimuth_steps: 500, ..DriveParams::default() });
    let sweep = drive.sweep(i);
    let rows = Rows::from(&sweep);
    ((0..rows.len()).map(|k| rows.point(k)).collect(), Pose::from_matrix(&drive.world_from_sensor(i)).unwrap())
}

/// Both end in the search, since their features find no answer.
#[test]
fn far_sweeps_are_found_by_the_search_and_other_scenes_are_not() {
    let params = RegisterParams { voxel_size: 0.5, ..RegisterParams::default() };
    let tilt = Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.3, -0.15, 1.0]).unwrap();
    let ((target, at), (far, there)) = (thin_sweep(Scene::Loop, 3, 0), thin_sweep(Scene::Loop, 3, 26));
    let target = Target::new(&target[..], &params, &Device::cpu()).unwrap();
    let found = target.register(&moved(&far, &tilt)[..]).unwrap();
    let [metres, radians] = off(&found, &at.inverse().compose(&there).compose(&tilt.inverse()));
    assert_eq!(found.verdict, Verdict::Found, "{found:?}");
    assert!(metres < 0.2 && radians < 0.02, "{metres} m, {radians} rad");
    // Features alone have no more candidates.
    assert!(found.candidates > MOST && !found.capped, "{found:?}");
    let (other, _) = thin_sweep(Scene::Street, 2, 26);
    let found = target.register(&moved(&other, &tilt)[..]).unwrap();
    assert_ne!(found.verdict, Verdict::Found, "{found:?}");
}
