//! Fixes beside the truth, the same bits everywhere, and scans and maps that have no fix.

mod bad;
mod measure;
mod rates;
mod tiles;

use super::*;
use pointmill::ndt::{NdtGrid, NdtMoments, NdtParams};
use pointmill::{Device, Pose, Rows};
use pointmill_synth::{Drive, DriveParams, Scene};
use rayon::prelude::*;

/// A drive with every second beam and every third firing of a sensor, so that tests are quick.
fn drive(scene: Scene, seed: u64, sweeps: usize) -> Drive {
    Drive::new(DriveParams { scene, seed, sweeps, beams: 32, azimuth_steps: 700, ..DriveParams::default() })
}

fn truth(drive: &Drive, i: usize) -> Pose {
    Pose::from_matrix(&drive.world_from_sensor(i)).unwrap()
}

/// The moments of every second sweep, in the world.
fn moments(drive: &Drive) -> NdtMoments {
    let mut moments = NdtMoments::new(2.0).unwrap();
    let even = |i: usize| {
        let (pose, sweep) = (truth(drive, i), drive.sweep(i));
        (0..sweep.len()).map(|k| pose.apply(Rows::from(&sweep).point(k))).collect::<Vec<_>>()
    };
    let clouds: Vec<_> = (0..drive.len()).into_par_iter().step_by(2).map(even).collect();
    clouds.iter().for_each(|cloud| moments.add(Rows::from(&cloud[..])).unwrap());
    moments
}

fn grid(moments: &NdtMoments, device: &Device) -> NdtGrid {
    NdtGrid::from_cells(moments.finish(&NdtParams::default()).unwrap(), *moments.lattice(), &device.stream().unwrap())
        .unwrap()
}

fn localizer(moments: &NdtMoments, params: &LocalizerParams, device: &Device) -> Localizer {
    Localizer::new(&device.stream().unwrap(), grid(moments, device), params).unwrap()
}

fn errors(truth: &Pose, pose: &Pose) -> [f64; 2] {
    let [metres, radians] = judge::apart(truth, pose);
    [metres, radians.to_degrees()]
}

/// A scan as it is seen by a sensor that is moved by a pose.
fn moved(drive: &Drive, i: usize, by: &Pose) -> Vec<[f64; 3]> {
    let sweep = drive.sweep(i);
    (0..sweep.len()).map(|k| by.apply(Rows::from(&sweep).point(k))).collect()
}

fn scan(drive: &Drive, i: usize) -> Vec<[f64; 3]> {
    moved(drive, i, &Pose::IDENTITY)
}

/// A fix without its times.
fn timeless(fix: Fix) -> Fix {
    Fix { timing: FixTiming::default(), ..fix }
}

#[test]
fn scans_are_tracked_from_guesses_that_are_off() {
    let drive = drive(Scene::Loop, 3, 24);
    let mut localizer = localizer(&moments(&drive), &LocalizerParams::default(), &Device::cpu());
    for (i, side) in (1..24).step_by(2).zip([1.0, -1.0].into_iter().cycle()) {
        let truth = truth(&drive, i);
        let off = Pose::from_xyzrpy([0.8 * side, 0.6, 0.05, 0.0, 0.0, side * 3f64.to_radians()]).unwrap();
        localizer.start(&(truth * off)).unwrap();
        let fix = localizer.push(Rows::from(&scan(&drive, i)[..]), None).unwrap();
        assert_eq!((fix.status, fix.rejection), (FixStatus::Tracked, None), "{i}: {:?}", fix.evidence);
        let [metres, degrees] = errors(&truth, &fix.map_from_sensor);
        assert!(metres < 0.1 && degrees < 0.5, "{i}: {metres} m, {degrees} degrees");
        assert!((fix.distance.unwrap() - 1.0).abs() < 0.15 && fix.candidates.is_empty());
    }
}

#[test]
fn a_map_far_from_zero_gives_the_same_fixes_there() {
    let far = [515_000.0, 4_918_000.0, 200.0];
    let drive = drive(Scene::Loop, 3, 8);
    let near = moments(&drive);
    let cells = near.finish(&NdtParams::default()).unwrap();
    let stream = Device::cpu().stream().unwrap();
    let about = NdtGrid::from_cells(cells, near.lattice().about(far), &stream).unwrap();
    let region = [-30.0, -30.0, 30.0, 30.0];
    let params = |by: [f64; 2]| LocalizerParams {
        region: Some([region[0] + by[0], region[1] + by[1], region[2] + by[0], region[3] + by[1]]),
        ..LocalizerParams::default()
    };
    let mut here = localizer(&near, &params([0.0; 2]), &Device::cpu());
    let mut there = Localizer::new(&stream, about, &params([far[0], far[1]])).unwrap();
    let moved = |pose: &Pose| pose.about([0.0; 3], far.map(|x| -x));
    for (i, start) in [(1, false), (3, false), (5, true)] {
        if start {
            here.start(&truth(&drive, i)).unwrap();
            there.start(&moved(&truth(&drive, i))).unwrap();
        }
        let scan = scan(&drive, i);
        let [a, b] = [&mut here, &mut there].map(|localizer| localizer.push(Rows::from(&scan[..]), None).unwrap());
        assert_eq!((a.status, a.rejection, a.margin), (b.status, b.rejection, b.margin), "{i}");
        assert!(a.status.is_fix(), "{i}: {:?}", a.rejection);
        let off = |a: &Pose, b: &Pose| errors(&moved(a), b)[0];
        assert!(off(&a.map_from_sensor, &b.map_from_sensor) < 1e-8, "{i}");
        assert!(
            a.candidates
                .iter()
                .zip(&b.candidates)
                .all(|(a, b)| { off(&a.registration.target_from_source, &b.registration.target_from_source) < 1e-8 })
        );
        assert_eq!(there.pose(), Some(b.map_from_sensor));
    }
}

#[test]
fn the_motion_before_predicts_the_next_fix() {
    let drive = drive(Scene::Street, 4, 30);
    let mut localizer = localizer(&moments(&drive), &LocalizerParams::default(), &Device::cpu());
    localizer.start(&truth(&drive, 1)).unwrap();
    // 10 m/s: two metres from one odd sweep to the next, and six where two have no points.
    for i in [1, 3, 5, 7, 9, 11, 13, 15] {
        let seconds = Some(i as f64 * 0.1);
        if i == 9 || i == 11 {
            let nothing: &[[f64; 3]] = &[];
            let fix = localizer.push(Rows::from(nothing), seconds).unwrap();
            assert_eq!((fix.status, fix.rejections), (FixStatus::Rejected, (i - 7) / 2));
            assert!(errors(&truth(&drive, i), &fix.map_from_sensor)[0] < 0.2);
            continue;
        }
        let fix = localizer.push(Rows::from(&scan(&drive, i)[..]), seconds).unwrap();
        assert_eq!(fix.status, FixStatus::Tracked, "{i}: {:?}", fix.rejection);
        let wanted = if i == 3 { 2.0 } else { 0.0 };
        assert!((fix.distance.unwrap() - wanted).abs() < 0.2, "{i}: {:?}", fix.distance);
        assert!(errors(&truth(&drive, i), &fix.map_from_sensor)[0] < 0.1);
        // Other places are looked at where there is no fix just before.
        assert_eq!(fix.margin.is_some(), i == 1 || i == 13);
    }
    assert_eq!((localizer.len(), localizer.is_lost()), (8, false));
}

#[test]
fn a_search_finds_the_place_without_a_guess() {
    let drive = drive(Scene::Loop, 3, 24);
    let moments = moments(&drive);
    for (i, yaw) in [(5, 1.0), (17, -2.5f64)] {
        let (truth, turn) = (truth(&drive, i), Pose::from_xyzrpy([0.0, 0.0, 0.0, 0.0, 0.0, yaw]).unwrap());
        let [x, y, _] = truth.translation();
        let region = Some([x - 11.3, y - 3.2, x + 4.7, y + 9.8]);
        let mut localizer =
            localizer(&moments, &LocalizerParams { region, ..LocalizerParams::default() }, &Device::cpu());
        let fix = localizer.push(Rows::from(&moved(&drive, i, &turn)[..]), None).unwrap();
        assert_eq!((fix.status, fix.rejection), (FixStatus::Found, None), "{:?} {:?}", fix.margin, fix.candidates);
        let [metres, degrees] = errors(&(truth * turn.inverse()), &fix.map_from_sensor);
        assert!(metres < 0.1 && degrees < 0.5, "{i}: {metres} m, {degrees} degrees");
        assert!(fix.candidates.len() > 1 && fix.candidates.is_sorted_by(|a, b| a.score >= b.score));
        assert_eq!(fix.margin, Some(1.0 - fix.candidates[1].score / fix.candidates[0].score));
        // From here on the place is known.
        let next = localizer.push(Rows::from(&moved(&drive, i, &turn)[..]), None).unwrap();
        assert_eq!((next.status, next.predicted), (FixStatus::Tracked, Some(fix.map_from_sensor)));
    }
}

/// The map of one sweep does not know what it did not see: right fixes 9 m from it count, and those
/// of another street have none.
#[test]
fn a_map_of_one_sweep_has_fixes_beside_it() {
    let of = |seed: u64| {
        let params =
            DriveParams { scene: Scene::Street, seed, sweeps: 20, azimuth_steps: 1000, ..DriveParams::default() };
        let drive = Drive::new(params);
        let mut moments = NdtMoments::new(2.0).unwrap();
        let first = moved(&drive, 0, &truth(&drive, 0));
        moments.add(Rows::from(&first[..])).unwrap();
        (drive, moments)
    };
    let (sites, mut judged, mut fixes) = ([of(300), of(301)], 0, 0);
    for (k, (_, moments)) in sites.iter().enumerate() {
        let mut localizer = localizer(moments, &LocalizerParams::default(), &Device::cpu());
        for (i, from) in (6..20).step_by(3).flat_map(|i| [(i, k), (i, 1 - k)]) {
            let (drive, own) = (&sites[from].0, from == k);
            let truth = truth(drive, i);
            localizer.start(&(truth * Pose::from_translation([0.5, -0.4, 0.0]))).unwrap();
            let fix = localizer.push(Rows::from(&scan(drive, i)[..]), None).unwrap();
            // Far from the only sweep of a map the right place may be too little covered to be sure of.
            let is_fix = fix.status.is_fix();
            let fine = if own { is_fix || fix.rejection == Some(Rejection::Ambiguous) } else { !is_fix };
            assert!(fine, "{k} {i}: {:?} {:?} {:?}", fix.rejection, fix.evidence, fix.margin);
            fixes += usize::from(is_fix);
            judged += usize::from(fix.rejection == Some(Rejection::Unexplained));
            let evidence = fix.evidence.filter(|_| own);
            assert!(evidence.is_none_or(|evidence| evidence.covered > 0.4 && evidence.covered < 1.0), "{evidence:?}");
            assert!(!is_fix || errors(&truth, &fix.map_from_sensor)[0] < 0.3);
        }
    }
    assert!(judged > 0 && fixes >= 5, "{judged} {fixes}");
}

#[test]
fn fixes_have_the_same_bits_on_every_device() {
    let drive = drive(Scene::Loop, 3, 12);
    let moments = moments(&drive);
    let [x, y, _] = truth(&drive, 5).translation();
    let base = truth(&drive, 7) * Pose::from_translation([0.4, 0.0, 0.0]);
    let run = |device: &Device, method: CovarianceMethod, lent: bool| {
        let params = LocalizerParams {
            max_points: 200,
            region: Some([x - 1.0, y - 1.0, x + 1.0, y + 1.0]),
            yaw_range: [-0.1, 0.1],
            covariance: method,
            ..LocalizerParams::default()
        };
        let mut localizer = localizer(&moments, &params, device);
        // From memory of the device, on another stream than the map.
        let stream = device.stream().unwrap();
        let push = |localizer: &mut Localizer, i: usize, seconds: f64| {
            let points = scan(&drive, i);
            let values = stream.upload(points.as_flattened()).unwrap();
            let there = Rows::on_device(&values, points.len(), 3).unwrap();
            let points = if lent { there } else { Rows::from(&points[..]) };
            timeless(localizer.push(points, Some(seconds)).unwrap())
        };
        let first = push(&mut localizer, 5, 0.0);
        localizer.set_base(Some(base)).unwrap();
        [first, push(&mut localizer, 7, 0.2)]
    };
    for method in CovarianceMethod::ALL {
        let one = run(&Device::cpu_with_threads(1).unwrap(), *method, false);
        assert!(one[0].registration.is_some() && one[1].registration.is_some());
        for (name, device) in pointmill::internals::testing::devices() {
            for lent in [false, true] {
                assert!(run(&device, *method, lent) == one, "{name}, {method}, lent {lent}");
            }
        }
    }
}

#[test]
fn uncertainty_has_three_methods() {
    let drive = drive(Scene::Loop, 3, 12);
    let moments = moments(&drive);
    let [laplace, many, scored] = [0, 1, 2].map(|k| {
        let params = LocalizerParams { covariance: CovarianceMethod::ALL[k], ..LocalizerParams::default() };
        let mut localizer = localizer(&moments, &params, &Device::cpu());
        localizer.start(&truth(&drive, 5)).unwrap();
        let fix = localizer.push(Rows::from(&scan(&drive, 5)[..]), None).unwrap();
        assert!(fix.status.is_fix());
        fix.covariance.unwrap()
    });
    assert!((0..6).all(|k| laplace[k][k] > 0.0));
    // Starts that are 1 m off arrive where the fix is; scores there are lower, so that weights fall
    // off within a metre.
    assert!(many[0][0] < 0.01 && many[1][1] < 0.01 && many != laplace);
    assert!((0..2).all(|k| scored[k][k] > 0.0 && scored[k][k] < 0.5) && scored != many, "{scored:?}");
    for of in [many, scored] {
        assert_eq!((&of[2..], &of[0][2..]), (&laplace[2..], &laplace[0][2..]));
        assert!(of[0][0] >= laplace[0][0] && of[1][1] >= laplace[1][1] && of[0][1] == of[1][0]);
    }
}
