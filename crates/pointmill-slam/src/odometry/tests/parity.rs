//! All devices make the same bits: poses, statuses, doubts and maps.

use super::*;
use pointmill::icp::Metric;
use pointmill::internals::testing::{devices, kernel_devices};

/// A drive with few points, so that the twin is quick.
fn small(scene: Scene, seed: u64, sweeps: usize, motion_compensated: bool) -> Drive {
    let small = DriveParams { beams: 16, azimuth_steps: 360, ..DriveParams::default() };
    Drive::new(DriveParams { scene, seed, sweeps, motion_compensated, ..small })
}

/// What a drive gives on each device is what the first device gives.
fn assert_same(params: &OdometryParams, push: impl Fn(&mut Odometry) -> Vec<Step>) -> (Vec<Step>, Vec<[f64; 3]>) {
    let run = |device: &Device| {
        let mut odometry = Odometry::new(&device.stream().unwrap(), params).unwrap();
        let steps: Vec<Step> =
            push(&mut odometry).into_iter().map(|step| Step { timing: StepTiming::default(), ..step }).collect();
        let map = odometry.map().unwrap();
        let last = steps.last().unwrap();
        assert!(last.map_points == map.len() || params.keep_map && last.map_points < map.len());
        (steps, map)
    };
    let all = devices();
    let wanted = run(&all[0].1);
    for (name, device) in &all[1..] {
        let got = run(device);
        for (got, wanted) in got.0.iter().zip(&wanted.0) {
            assert_eq!(got, wanted, "{name}");
        }
        assert!(got.1 == wanted.1, "{name}: {} and {} points", got.1.len(), wanted.1.len());
    }
    wanted
}

fn statuses(steps: &[Step]) -> Vec<SweepStatus> {
    steps.iter().map(|step| step.status).collect()
}

#[test]
fn a_street_and_a_tunnel() {
    for (scene, seed) in [(Scene::Street, 1), (Scene::Tunnel, 2)] {
        let sweeps = sweeps(&small(scene, seed, 5, true));
        let push = |odometry: &mut Odometry| sweeps.iter().map(|sweep| odometry.push(sweep, None).unwrap()).collect();
        let (steps, map) = assert_same(&OdometryParams::default(), push);
        assert!(map.len() > 1000 && steps[4].registration.is_some());
    }
}

/// Sweeps that are determined because the pairs pull them back from aside.
#[test]
fn a_street_that_is_cut_off() {
    let drive = Drive::new(DriveParams { seed: 101, ..DriveParams::default() });
    let sweeps: Vec<PointCloud> = (0..10).map(|i| drive.sweep(i)).collect();
    let push = |odometry: &mut Odometry| sweeps.iter().map(|sweep| odometry.push(sweep, None).unwrap()).collect();
    let (steps, _) = assert_same(&OdometryParams { max_range: 20.0, ..OdometryParams::default() }, push);
    let least = |step: &Step| step.registration.as_ref().unwrap().fit.support.into_iter().fold(1.0, f64::min);
    let aside = |step: &&Step| step.status == SweepStatus::Tracked && least(step) <= 0.04;
    assert!(steps.iter().filter(aside).count() > 0, "{:?}", steps[1..].iter().map(least).collect::<Vec<_>>());
}

#[test]
fn a_loop_with_times() {
    let drive = small(Scene::Loop, 3, 6, false);
    let sweeps = sweeps(&drive);
    for params in [
        OdometryParams::default(),
        // Voxels leave at every sweep, and come again.
        OdometryParams { max_range: 18.0, voxel_size: Some(0.7), keep_map: true, ..OdometryParams::default() },
    ] {
        let push = |odometry: &mut Odometry| {
            let step = |(i, sweep): (usize, &PointCloud)| {
                odometry.push(sweep, Some(&times(sweep, 1.7e9 + i as f64 * 0.1))).unwrap()
            };
            sweeps.iter().enumerate().map(step).collect()
        };
        let (steps, map) = assert_same(&params, push);
        assert!(steps.iter().all(|step| step.registration.is_some() || step.index == 0));
        assert!(!params.keep_map || map.len() > steps[5].map_points + 100, "{} {}", map.len(), steps[5].map_points);
    }
}

#[test]
fn points_of_f64_by_points() {
    let sweeps = sweeps(&small(Scene::Street, 4, 3, true));
    let wide: Vec<Vec<f64>> =
        sweeps.iter().map(|s| s.points().data().iter().map(|x| f64::from(*x) * 1.000_001).collect()).collect();
    let params = OdometryParams { metric: Metric::PointToPoint, max_points_per_voxel: 3, ..OdometryParams::default() };
    let push = |odometry: &mut Odometry| {
        let columns = sweeps[0].points().columns();
        wide.iter().map(|values| odometry.push(Rows::f64(values, columns).unwrap(), None).unwrap()).collect()
    };
    assert_same(&params, push);
}

#[test]
fn sweeps_that_say_nothing() {
    let sweeps = sweeps(&small(Scene::Street, 8, 4, true));
    let cloud = |rows: &[[f32; 3]]| PointCloud::new(rows.as_flattened().to_vec(), 3).unwrap();
    let far: Vec<[f32; 3]> = (0..600).map(|i| [(i % 25) as f32, (i / 25) as f32, 60.0]).collect();
    let all = [
        cloud(&[]),
        sweeps[0].clone(),
        cloud(&[[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]),
        sweeps[1].clone(),
        cloud(&[[f32::NAN; 3]; 300]),
        cloud(&[[f32::INFINITY, 1e30, -1e30]; 300]),
        sweeps[3].clone(),
        sweeps[3].clone(),
        cloud(&far),
    ];
    let push = |odometry: &mut Odometry| all.iter().map(|cloud| odometry.push(cloud, None).unwrap()).collect();
    use SweepStatus::{Ambiguous, Lost, Repeated, Started, TooFewPoints, Tracked};
    let (steps, _) = assert_same(&OdometryParams::default(), push);
    // So few points of a street fit as well a house farther.
    let wanted = [TooFewPoints, Started, TooFewPoints, Tracked, TooFewPoints, TooFewPoints, Ambiguous, Repeated, Lost];
    assert_eq!(statuses(&steps), wanted);
    // Times that are not finite leave points out.
    let push = |odometry: &mut Odometry| {
        let times = |i: usize, n: usize| {
            (0..n).map(|k| if k % 3 == 0 { f64::NAN } else { i as f64 + k as f64 * 1e-6 - 1.5 }).collect::<Vec<_>>()
        };
        let step = |(i, cloud): (usize, &PointCloud)| odometry.push(cloud, Some(&times(i, cloud.len()))).unwrap();
        all[..5].iter().enumerate().map(step).collect()
    };
    let (steps, _) = assert_same(&OdometryParams::default(), push);
    assert!(steps[1].usable < steps[1].points * 7 / 10 && steps[1].time.is_some());
}

#[test]
fn points_on_a_device_are_used_in_place() {
    let sweeps = sweeps(&small(Scene::Street, 5, 3, true));
    for (name, device) in kernel_devices() {
        let [own, other] = [0; 2].map(|_| device.stream().unwrap());
        let mut odometries = [0; 2].map(|_| Odometry::new(&own, &OdometryParams::default()).unwrap());
        for sweep in &sweeps {
            let buffer = other.upload(sweep.points().data()).unwrap();
            let rows = Rows::on_device(&buffer, sweep.len(), sweep.points().columns()).unwrap();
            let steps = [odometries[0].push(rows, None).unwrap(), odometries[1].push(sweep, None).unwrap()];
            assert_eq!(steps[0].world_from_sensor, steps[1].world_from_sensor, "{name}");
        }
        let host = Odometry::new(&Device::cpu().stream().unwrap(), &OdometryParams::default());
        let buffer = other.upload(&[1.0f32; 3]).unwrap();
        let told = host.unwrap().push(Rows::on_device(&buffer, 1, 3).unwrap(), None).unwrap_err().to_string();
        assert!(told.starts_with("points: expected memory of cpu"), "{name}: {told}");
    }
}
