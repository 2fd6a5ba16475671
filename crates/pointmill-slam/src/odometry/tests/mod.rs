//! Poses beside the truth, the same bits for any number of threads, and sweeps that say little or
//! nothing.

mod fixtures;
mod parity;

use super::*;
use crate::trajectory::{EvaluationParams, Trajectory, evaluate};
use pointmill::{Device, PointCloud, Pose, Rows};
use pointmill_synth::{Drive, DriveParams, Scene};
use rayon::prelude::*;

/// A drive with every second beam and every third firing of a sensor, so that tests are quick.
fn drive(scene: Scene, seed: u64, sweeps: usize, motion_compensated: bool) -> Drive {
    let small = DriveParams { beams: 32, azimuth_steps: 700, ..DriveParams::default() };
    Drive::new(DriveParams { scene, seed, sweeps, motion_compensated, ..small })
}

fn sweeps(drive: &Drive) -> Vec<PointCloud> {
    (0..drive.len()).into_par_iter().map(|i| drive.sweep(i)).collect()
}

/// Seconds since the start of the drive.
fn times(sweep: &PointCloud, start: f64) -> Vec<f64> {
    (0..sweep.len()).map(|i| start + f64::from(sweep.points().row(i)[5])).collect()
}

/// The true poses, `after` seconds after the start of each sweep.
fn truth(drive: &Drive, after: f64) -> Trajectory {
    let pose = |i| Pose::from_matrix(&drive.world_from_sensor_at(i as f64 / 10.0 + after)).unwrap();
    let first: Pose = pose(0);
    Trajectory::new((0..drive.len()).map(|i| first.inverse() * pose(i)).collect()).unwrap()
}

fn odometry(params: &OdometryParams) -> Odometry {
    Odometry::new(&Device::cpu().stream().unwrap(), params).unwrap()
}

/// Root mean square error of the positions from the first pose on, and the mean drift over 10 m and
/// more.
fn errors(steps: &[Step], truth: &Trajectory) -> [f64; 2] {
    let estimate = Trajectory::new(steps.iter().map(|step| step.world_from_sensor).collect()).unwrap();
    let params =
        EvaluationParams { segment_lengths: vec![10.0, 20.0], segment_every: 1, ..EvaluationParams::default() };
    let found = evaluate(&estimate, truth, &params).unwrap();
    [found.absolute.translation.rmse, found.drift.translation.unwrap()]
}

#[test]
fn poses_are_those_of_the_truth() {
    for (scene, seed) in [(Scene::Street, 11), (Scene::Loop, 12)] {
        let drive = drive(scene, seed, 30, true);
        let mut odometry = odometry(&OdometryParams::default());
        let steps: Vec<Step> = sweeps(&drive).iter().map(|sweep| odometry.push(sweep, None).unwrap()).collect();
        for (i, step) in steps.iter().enumerate() {
            let wanted = if i == 0 { SweepStatus::Started } else { SweepStatus::Tracked };
            assert_eq!((step.index, step.status, step.times), (i, wanted, TimesUse::None), "{scene}");
        }
        let last = steps[29].registration.as_ref().unwrap();
        let covariance = last.covariance.unwrap();
        assert!(
            last.fit.observability.rank() == 6 && (0..6).all(|k| covariance[k][k] > 0.0 && covariance[k][k] < 1e-4)
        );
        let [ate, drift] = errors(&steps, &truth(&drive, 0.0));
        assert!(ate < 0.05 && drift < 0.003, "{scene}: {ate} {drift}");
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let drive = drive(Scene::Loop, 5, 8, false);
    let sweeps = sweeps(&drive);
    let run = |threads: usize| {
        let device = Device::cpu_with_threads(threads).unwrap();
        let mut odometry = Odometry::new(&device.stream().unwrap(), &OdometryParams::default()).unwrap();
        let steps: Vec<Step> = (sweeps.iter().zip(0..))
            .map(|(sweep, i)| odometry.push(sweep, Some(&times(sweep, f64::from(i) * 0.1))).unwrap())
            .map(|step| Step { timing: StepTiming::default(), ..step })
            .collect();
        (steps, odometry.map().unwrap())
    };
    let one = run(1);
    assert!(one.1.len() > 10_000 && one.0[7].map_points == one.1.len());
    assert_eq!(run(2), one);
    assert_eq!(run(8), one);
}

#[test]
fn motion_within_sweeps_is_taken_out() {
    let drive = drive(Scene::Loop, 3, 40, false);
    let sweeps = sweeps(&drive);
    let run = |deskew: bool, absolute: f64| {
        let mut odometry = odometry(&OdometryParams { deskew, ..OdometryParams::default() });
        let push = |(i, sweep): (usize, &PointCloud)| {
            odometry.push(sweep, Some(&times(sweep, absolute * i as f64 * 0.1))).unwrap()
        };
        sweeps.iter().enumerate().map(push).collect::<Vec<Step>>()
    };
    let (with, without, relative) = (run(true, 1.0), run(false, 1.0), run(true, 0.0));
    assert!(with.iter().skip(1).all(|step| step.times == TimesUse::Absolute));
    assert!(relative.iter().all(|step| step.times == TimesUse::Relative));
    assert!((with[7].time.unwrap() - 0.75).abs() < 0.001 && (relative[7].time.unwrap() - 0.05).abs() < 0.001);
    let truth = truth(&drive, 0.05);
    let [[a, _], [b, _], [c, _]] = [&with, &without, &relative].map(|steps| errors(steps, &truth));
    assert!(a < 0.05 && c < 0.05 && 3.0 * a < b, "{a} {b} {c}");
}

/// Round the corners of this block walls stand in a circle, so that little says how far along the
/// curve the sensor is.
#[test]
fn curves_that_begin_within_a_sweep_are_found() {
    let drive = drive(Scene::Loop, 7, 50, false);
    let mut odometry = odometry(&OdometryParams::default());
    let push = |(i, sweep): (usize, &PointCloud)| odometry.push(sweep, Some(&times(sweep, i as f64 * 0.1))).unwrap();
    let steps: Vec<Step> = sweeps(&drive).iter().enumerate().map(push).collect();
    let [ate, _] = errors(&steps, &truth(&drive, 0.05));
    assert!(ate < 0.1, "{ate}");
}

#[test]
fn a_tunnel_says_that_it_does_not_determine_the_way() {
    let drive = drive(Scene::Tunnel, 2, 20, true);
    let mut odometry = odometry(&OdometryParams::default());
    let steps: Vec<Step> = sweeps(&drive).iter().map(|sweep| odometry.push(sweep, None).unwrap()).collect();
    let mut blind = 0;
    for step in &steps[1..] {
        let registration = step.registration.as_ref().unwrap();
        let seen = registration.fit.observability;
        assert_eq!(registration.covariance.is_some(), seen.rank() == 6);
        // A car that passes has surfaces across the tunnel, as if it stood there; without one
        // nothing says how far along the sensor is.
        let along: f64 = (0..6).filter(|k| !seen.observable[*k]).map(|k| seen.directions[k][0].powi(2)).sum();
        if along > 0.98 {
            assert_eq!(step.status, SweepStatus::Degenerate);
            blind += 1;
            let off = step.predicted.inverse().compose(&step.world_from_sensor).translation();
            assert!(off[0].abs() < 0.3 && off[1].abs() < 0.05 && off[2].abs() < 0.05, "{off:?}");
        }
    }
    assert!(blind >= 18, "{blind}");
}

/// How many sweeps of a drive are degenerate, and how far it goes.
fn degenerate<'a>(sweeps: impl IntoIterator<Item = &'a PointCloud>, max_range: f64) -> (usize, f64) {
    let mut odometry = odometry(&OdometryParams { max_range, ..OdometryParams::default() });
    let steps: Vec<Step> = sweeps.into_iter().map(|sweep| odometry.push(sweep, None).unwrap()).collect();
    let count = steps.iter().filter(|step| step.status == SweepStatus::Degenerate).count();
    (count, steps.last().unwrap().world_from_sensor.translation()[0])
}

/// Of a street that is cut off at 20 m the surfaces see as little as of a tunnel, but what they see
/// holds the sweep.
#[test]
fn a_road_with_few_things_beside_it_is_no_tunnel() {
    let drive = |scene, seed| Drive::new(DriveParams { scene, seed, ..DriveParams::default() });
    let (count, way) = degenerate(&sweeps(&drive(Scene::Street, 101)), 20.0);
    assert!(count == 0 && (way - 9.0).abs() < 0.1, "{count} {way}");
    assert_eq!(degenerate(&sweeps(&drive(Scene::Tunnel, 5)), 100.0).0, 9);
}

#[test]
fn sweeps_that_say_nothing_get_a_status_and_the_prediction() {
    let drive = drive(Scene::Street, 8, 16, true);
    let sweeps = sweeps(&drive);
    let mut odometry = odometry(&OdometryParams::default());
    let mut push = |cloud: &PointCloud| odometry.push(cloud, None).unwrap();
    let cloud = |rows: &[[f32; 3]]| PointCloud::new(rows.as_flattened().to_vec(), 3).unwrap();
    let nothing = [
        cloud(&[]),
        cloud(&[[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]),
        cloud(&[[f32::NAN; 3]; 500]),
        cloud(&[[0.1, 0.0, 0.0]; 500]),
        cloud(&[[f32::INFINITY, 1e30, -1e30]; 500]),
        cloud(&[[7.0, 1.0, 0.5]; 500]),
    ];
    for (i, cloud) in nothing.iter().enumerate() {
        let step = push(cloud);
        assert_eq!((step.status, step.index), (SweepStatus::TooFewPoints, i));
        assert_eq!((step.world_from_sensor, step.map_points), (Pose::IDENTITY, 0));
    }
    for (i, sweep) in sweeps[..4].iter().enumerate() {
        assert_eq!(push(sweep).status, if i == 0 { SweepStatus::Started } else { SweepStatus::Tracked });
    }
    let before = push(&sweeps[4]);
    // The prediction goes on with the motion before, which fades, and the map is left as it is.
    for cloud in &nothing {
        let step = push(cloud);
        assert_eq!((step.status, step.world_from_sensor), (SweepStatus::TooFewPoints, step.predicted));
        assert!(step.registration.is_none() && step.map_points == before.map_points);
    }
    let ahead = before.world_from_sensor.inverse().compose(&push(&nothing[0]).world_from_sensor).translation()[0];
    let fading = (0..7).map(|i| 0.9f64.powi(i)).sum::<f64>();
    assert!((ahead - fading).abs() < 0.2, "{ahead}");
    // Dropped sweeps: the twelfth is found ahead of where the motion has faded to.
    let step = push(&sweeps[12]);
    assert_eq!(step.status, SweepStatus::Tracked);
    let again = push(&sweeps[12]);
    assert_eq!((again.status, again.world_from_sensor), (SweepStatus::Repeated, step.world_from_sensor));
    assert_eq!(push(&sweeps[13]).status, SweepStatus::Tracked);
    let truth = truth(&drive, 0.0);
    let last = push(&sweeps[15]);
    let off = truth.poses()[15].inverse().compose(&last.world_from_sensor).translation();
    assert!(last.status == SweepStatus::Tracked && off.iter().all(|x| x.abs() < 0.1), "{off:?}");
    // A place that the map does not know.
    let far: Vec<[f32; 3]> = (0..2000).map(|i| [(i % 50) as f32 * 0.5, (i / 50) as f32 * 0.5, 60.0]).collect();
    let lost = [push(&cloud(&far)), push(&cloud(&far[1..]))];
    assert!(
        lost.iter().all(|step| (step.status, step.world_from_sensor) == (SweepStatus::Lost, last.world_from_sensor))
    );
}

#[test]
fn times_are_named_and_never_believed_blindly() {
    let drive = drive(Scene::Street, 4, 6, true);
    let sweeps = sweeps(&drive);
    let run = |time: &dyn Fn(usize, f64) -> f64| {
        let mut odometry = odometry(&OdometryParams::default());
        let step = |(i, sweep): (usize, &PointCloud)| {
            let times: Vec<f64> = times(sweep, 0.0).into_iter().map(|t| time(i, t)).collect();
            odometry.push(sweep, Some(&times)).unwrap()
        };
        let steps: Vec<Step> = sweeps.iter().enumerate().map(step).collect();
        assert!(steps.iter().all(|step| step.world_from_sensor.is_rigid()));
        steps
    };
    let used = |steps: &[Step]| steps.iter().map(|step| step.times).collect::<Vec<_>>();
    use TimesUse::{Absolute, Backwards, Relative, Unusable};
    assert_eq!(
        used(&run(&|i, t| 1.7e9 + i as f64 * 0.1 + t)),
        [Relative, Absolute, Absolute, Absolute, Absolute, Absolute]
    );
    assert_eq!(used(&run(&|_, t| t)), [Relative; 6]);
    assert_eq!(used(&run(&|i, t| 10.0 - i as f64 + t))[1..], [Backwards; 5]);
    // A clock that wraps every 0.35 s: within the fourth sweep, and between sweeps once.
    let hour = |i: usize, t: f64| (3599.65 + i as f64 * 0.1 + t) % 3600.0;
    assert_eq!(used(&run(&hour)), [Relative, Absolute, Absolute, Unusable, Backwards, Absolute]);
    assert_eq!(used(&run(&|_, t| if t > 0.05 { f64::MAX } else { -f64::MAX })), [Unusable; 6]);
    let gone = run(&|_, _| f64::NAN);
    assert!(gone.iter().all(|step| step.status == SweepStatus::TooFewPoints && step.usable == 0));
    let half = run(&|i, t| if t > 0.05 { f64::INFINITY } else { i as f64 * 0.1 + t });
    assert!(half.iter().all(|step| step.usable < step.points) && half[5].registration.is_some(), "{:?}", half[5]);
    // Twice as fast where every second sweep is dropped: an absolute clock predicts it.
    let mut odometry = odometry(&OdometryParams::default());
    let kept = [0, 1, 2, 5].map(|i| odometry.push(&sweeps[i], Some(&times(&sweeps[i], i as f64 * 0.1))).unwrap());
    let off = kept[3].predicted.inverse().compose(&kept[3].world_from_sensor).translation();
    assert!(kept[3].status == SweepStatus::Tracked && off.iter().all(|x| x.abs() < 0.3), "{off:?}");
}

/// A sensor that is carried turns by more than the motion before says; here by up to 25 degrees
/// from sweep to sweep, about all axes.
#[test]
fn turns_that_the_motion_does_not_predict_are_found() {
    let drive = drive(Scene::Street, 21, 8, true);
    let truth = truth(&drive, 0.0);
    let mut odometry = odometry(&OdometryParams::default());
    let mut tracked = 0;
    let turn = |i: usize| {
        let by = [0.0, 0.3, -0.1, 0.25, 0.0, -0.3, 0.1, 0.2][i];
        Pose::exp(&[0.0, 0.0, 0.0, 0.4 * by, -0.7 * by, by])
    };
    for (i, sweep) in sweeps(&drive).iter().enumerate() {
        let points: Vec<[f64; 3]> =
            (0..sweep.len()).map(|k| turn(i).apply(sweep.points().xyz(k).map(f64::from))).collect();
        let step = odometry.push(&points[..], None).unwrap();
        let off = (truth.poses()[i] * turn(i).inverse()).inverse() * step.world_from_sensor;
        tracked += usize::from(step.status == SweepStatus::Tracked);
        assert!(off.translation().iter().chain(&off.rotation_vector()).all(|x| x.abs() < 0.1), "{i}: {off:?}");
    }
    assert!(tracked >= 5, "{tracked}");
}

/// A drive that jumps back to where it was is found there; one that jumps to a place of another
/// drive holds its pose and says so.
#[test]
fn jumps_are_recovered_or_lost() {
    let drive = drive(Scene::Street, 22, 30, true);
    let (truth, sweeps) = (truth(&drive, 0.0), sweeps(&drive));
    let mut odometry = odometry(&OdometryParams::default());
    let steps: Vec<Step> = sweeps.iter().map(|sweep| odometry.push(sweep, None).unwrap()).collect();
    assert!(steps[1..].iter().all(|step| step.status == SweepStatus::Tracked && step.explained > Some(0.3)));
    let back = odometry.push(&sweeps[4], None).unwrap();
    assert_eq!(back.status, SweepStatus::Recovered);
    let off = truth.poses()[4].inverse() * back.world_from_sensor;
    assert!(off.translation().iter().all(|x| x.abs() < 0.1), "{off:?}");
    let after = odometry.push(&sweeps[5], None).unwrap();
    assert_eq!(after.status, SweepStatus::Tracked);
    let elsewhere = self::sweeps(&self::drive(Scene::Loop, 3, 3, true));
    for sweep in &elsewhere {
        let step = odometry.push(sweep, None).unwrap();
        assert_eq!((step.status, step.world_from_sensor), (SweepStatus::Lost, after.world_from_sensor));
    }
    assert_eq!(odometry.push(&sweeps[6], None).unwrap().status, SweepStatus::Tracked);
}

#[test]
fn the_voxel_size_follows_from_the_first_sweep() {
    let street = drive(Scene::Street, 1, 1, true).sweep(0);
    let room = |edge: f64, n: usize| -> Vec<[f64; 3]> {
        let at = |i: usize| (i as f64 + 0.5) / n as f64 * edge - 0.5 * edge;
        (0..n)
            .flat_map(|i| {
                (0..n)
                    .flat_map(move |j| [[at(i), at(j), -1.5], [at(i), 0.5 * edge, at(j)], [-0.5 * edge, at(i), at(j)]])
            })
            .collect()
    };
    let size = |push: &dyn Fn(&mut Odometry) -> Step| {
        let mut odometry = odometry(&OdometryParams::default());
        assert_eq!(odometry.voxel_size(), None);
        // Nothing in range decides nothing.
        assert_eq!(odometry.push(&[[0.1f32; 3]], None).unwrap().voxel_size, 0.0);
        let step = push(&mut odometry);
        assert_eq!(odometry.voxel_size(), Some(step.voxel_size));
        step.voxel_size
    };
    assert_eq!(size(&|odometry| odometry.push(&street, None).unwrap()), 1.0);
    assert_eq!(size(&|odometry| odometry.push(&room(8.0, 100)[..], None).unwrap()), 0.5);
    assert_eq!(size(&|odometry| odometry.push(&room(3.0, 60)[..], None).unwrap()), 0.2);
}

/// The prediction of a sweep that is older than the one before goes the wrong way, three metres
/// here. The sweep says so, and is found all the same.
#[test]
fn sweeps_out_of_order_are_named() {
    let drive = drive(Scene::Street, 9, 6, true);
    let (truth, sweeps) = (truth(&drive, 0.0), sweeps(&drive));
    let mut odometry = odometry(&OdometryParams::default());
    for i in [0, 1, 2, 4, 3, 5] {
        let step = odometry.push(&sweeps[i], Some(&times(&sweeps[i], i as f64 * 0.1))).unwrap();
        assert!(step.world_from_sensor.is_rigid());
        if i == 3 {
            assert_eq!((step.times, step.status), (TimesUse::Backwards, SweepStatus::Tracked));
            let off = truth.poses()[3].inverse() * step.world_from_sensor;
            assert!(off.translation().iter().all(|x| x.abs() < 0.1), "{off:?}");
        } else if i < 5 && i > 0 {
            assert_eq!((step.times, step.status), (TimesUse::Absolute, SweepStatus::Tracked));
        }
    }
}

#[test]
fn what_is_out_of_range_is_named() {
    let stream = Device::cpu().stream().unwrap();
    let default = OdometryParams::default;
    for (params, wanted) in [
        (OdometryParams { voxel_size: Some(0.0), ..default() }, "voxel_size: expected finite metres > 0, got 0"),
        (OdometryParams { robust_width: f64::NAN, ..default() }, "robust_width: expected finite metres > 0, got NaN"),
        (OdometryParams { min_range: -1.0, ..default() }, "min_range: expected finite metres >= 0, got -1"),
        (
            OdometryParams { max_range: 0.5, ..default() },
            "max_range: expected above min_range, 1 m, and below 52428.8 m, got 0.5",
        ),
        (OdometryParams { max_points_per_voxel: 65, ..default() }, "max_points_per_voxel: expected 1 to 64, got 65"),
        (
            OdometryParams { metric: pointmill::icp::Metric::Gicp, ..default() },
            "metric: expected point-to-plane or point-to-point, got gicp",
        ),
        (OdometryParams { max_iterations: 0, ..default() }, "max_iterations: expected at least 1, got 0"),
    ] {
        assert_eq!(Odometry::new(&stream, &params).unwrap_err().to_string(), wanted);
    }
    let mut odometry = odometry(&default());
    let told = odometry.push(&[[1.0f32, 2.0, 3.0]], Some(&[0.0, 1.0])).unwrap_err().to_string();
    assert_eq!(told, "times: expected 1 times, one for each point, got 2");
    assert!(odometry.push(Rows::f32(&[1.0, 2.0], 2).unwrap(), None).is_err() && odometry.is_empty());
}
