//! Clouds whose features do not suffice, turned upright by their ground.

use super::super::candidates::alike;
use super::super::surface::Surface;
use super::super::upright::Upright;
use super::*;
use pointmill_synth::{Drive, DriveParams};

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
        let places = turned.candidates(&source, params.voxel_size).unwrap();
        assert!(places.iter().any(|place| alike([place, truth.rigid()], [0.0; 3], 1.0, 0.1)), "seed {seed}");
    }
}

/// Sweeps of a street far apart, few of whose matches are right.
#[test]
fn far_sweeps_are_found_however_they_are_turned() {
    let drive = Drive::new(DriveParams { azimuth_steps: 600, ..DriveParams::default() });
    let cloud = |i: usize| -> Vec<[f64; 3]> { drive.sweep(i).points().iter_xyz().map(|p| p.map(f64::from)).collect() };
    let pose = |i: usize| Pose::from_matrix(&drive.world_from_sensor(i)).unwrap();
    let target = Target::new(&cloud(0)[..], &RegisterParams::default(), &Device::cpu()).unwrap();
    for (i, by) in [(20, [0.6, -0.4, 2.0]), (25, [0.0, 0.0, -1.0]), (30, [2.5, 0.3, 0.0])] {
        let turn = Pose::from_xyzrpy([0.0, 0.0, 0.0, by[0], by[1], by[2]]).unwrap();
        let truth = pose(0).inverse().compose(&pose(i)).compose(&turn.inverse());
        let found = target.register(&moved(&cloud(i), &turn)[..]).unwrap();
        let [metres, radians] = off(&found, &truth);
        println!("sweep {i}: {metres} m, {radians} rad, {found:?}, true pose {:?}", truth.translation());
        assert_eq!(found.verdict, Verdict::Found, "sweep {i}: {metres} m, {radians} rad, {found:?}");
        assert!(metres < 0.3 && radians < 0.02, "sweep {i}: {metres} m, {radians} rad");
    }
}
