//! Clouds whose features do not suffice, turned upright by their ground.

use super::super::candidates::alike;
use super::super::surface::Surface;
use super::super::upright::Upright;
use super::*;

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
