//! Errors as others define them, and what is refused.

use super::*;
use pointmill::internals::testing::repository;
use pointmill_io::{Array, read_npz};
use std::collections::BTreeMap;

/// What KISS-ICP takes for pi.
const KISS_PI: f64 = 314.0 / 100.0;

type Case = BTreeMap<String, Array>;

fn trajectory(case: &Case, name: &str) -> Trajectory {
    let rows = case[name].as_f32().unwrap();
    let times = case[&format!("{name}_times")].to_f64().unwrap();
    let pose = |row: &[f32]| {
        let [x, y, z, i, j, k, w] = std::array::from_fn(|c| f64::from(row[c]));
        Pose::from_quaternion([x, y, z], [i, j, k, w]).unwrap()
    };
    let poses = rows.chunks_exact(7).map(pose).collect();
    match times.is_empty() {
        true => Trajectory::new(poses).unwrap(),
        false => Trajectory::with_times(poses, times).unwrap(),
    }
}

fn list(s: &Statistics) -> [f64; 6] {
    [s.rmse, s.mean, s.median, s.std, s.min, s.max]
}

#[track_caller]
fn near(got: &[f64], wanted: &[f64], within: f64, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (g, w) in got.iter().zip(wanted) {
        assert!((g - w).abs() <= within, "{what}: {got:?} {wanted:?}");
    }
}

#[test]
fn errors_are_those_of_others() {
    let mut paths: Vec<_> =
        std::fs::read_dir(repository("fixtures/trajectory")).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 20, "fixtures are missing");
    for path in paths {
        let case = read_npz(&path).unwrap();
        let what = path.display().to_string();
        let of = |name: &str| case[name].to_f64().unwrap();
        let (estimate, truth) = (trajectory(&case, "estimate"), trajectory(&case, "truth"));
        for alignment in Alignment::ALL {
            let deltas = [
                of("rpe_frames_none").chunks(4).map(|row| Delta::Frames(row[0] as usize)).collect::<Vec<_>>(),
                of("rpe_metres_none").chunks(4).map(|row| Delta::Metres(row[0])).collect(),
            ]
            .concat();
            let params = EvaluationParams { alignment: *alignment, deltas, ..EvaluationParams::default() };
            let found = evaluate(&estimate, &truth, &params).unwrap();
            let pairs: Vec<f64> = found.frames.iter().flat_map(|f| [f.estimate as f64, f.truth as f64]).collect();
            assert_eq!(pairs, of("pairs"), "{what}");
            if *alignment != Alignment::None {
                let Similarity { truth_from_estimate, scale } = found.alignment;
                let mut got = truth_from_estimate.rotation().as_flattened().to_vec();
                got.extend(truth_from_estimate.translation());
                got.push(scale);
                near(&got, &of(&format!("alignment_{alignment}")), 1e-8, &what);
            }
            // Times that are off by up to 12 ms leave some poses without a partner.
            let is_known = |told: &String| told.contains("have a partner within 0.01 s");
            assert!(found.warnings.iter().all(is_known), "{what}: {:?}", found.warnings);
            near(&list(&found.absolute.translation), &of(&format!("ape_translation_{alignment}")), 1e-9, &what);
            near(&list(&found.absolute.rotation.unwrap()), &of(&format!("ape_rotation_{alignment}")), 1e-9, &what);
            let wanted = [of(&format!("rpe_frames_{alignment}")), of(&format!("rpe_metres_{alignment}"))].concat();
            for (got, wanted) in found.relative.iter().zip(wanted.chunks(4)) {
                let errors = [got.pairs as f64, got.errors.translation.rmse, got.errors.rotation.unwrap().rmse];
                near(&errors, &wanted[1..], 1e-9, &format!("{what} {alignment} {:?}", got.delta));
            }
            // KISS-ICP works in f32.
            let [rotation, translation, percent, degrees] = of("kiss")[..] else { panic!("{what}") };
            if *alignment == Alignment::Se3 {
                let errors = [found.absolute.rotation.unwrap().rmse, found.absolute.translation.rmse];
                near(&errors, &[rotation, translation], 1e-6 * (1.0 + translation), &what);
            }
            if *alignment == Alignment::None && !percent.is_nan() {
                let long = EvaluationParams {
                    segment_lengths: (1..=8).map(|i| 100.0 * f64::from(i)).collect(),
                    ..params.clone()
                };
                let drift = evaluate(&estimate, &truth, &long).unwrap().drift;
                near(&[100.0 * drift.translation.unwrap()], &[percent], 1e-6 * (1.0 + percent), &what);
                near(&[drift.rotation.unwrap() / KISS_PI * 180.0], &[degrees], 1e-6, &what);
            }
        }
    }
}

fn straight(n: u32) -> Vec<Pose> {
    (0..n).map(|i| Pose::from_translation([f64::from(i), 0.0, 0.0])).collect()
}

#[test]
fn short_ways_have_short_segments() {
    let drive = |n| Trajectory::new(straight(n)).unwrap();
    let lengths = |n: u32| {
        let drift = evaluate(&drive(n), &drive(n), &EvaluationParams::default()).unwrap().drift;
        drift.by_length.iter().map(|s| s.length).collect::<Vec<_>>()
    };
    assert_eq!(lengths(1000), [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0]);
    assert_eq!(lengths(102), [100.0]);
    assert_eq!(lengths(101), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]);
    assert_eq!(lengths(65), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    assert_eq!(lengths(4), [1.0, 2.0]);
    let still = evaluate(&drive(1), &drive(1), &EvaluationParams::default()).unwrap();
    assert_eq!((still.drift.segments, still.drift.translation, still.relative[0].pairs), (0, None, 0));
}

#[test]
fn poses_at_one_place_or_along_a_line_are_aligned_without_a_guess() {
    let truth = Trajectory::new(straight(30)).unwrap();
    let map = Pose::from_xyzrpy([3.0, -2.0, 1.0, 0.0, 0.0, 2.0]).unwrap();
    let estimate = Trajectory::new(straight(30).iter().map(|p| map * *p).collect()).unwrap();
    let params = EvaluationParams { alignment: Alignment::Sim3, ..EvaluationParams::default() };
    let found = evaluate(&estimate, &truth, &params).unwrap();
    assert!(found.absolute.translation.max < 1e-12 && found.absolute.rotation.unwrap().max < 1e-12, "{found:?}");
    let still = Trajectory::new(vec![map; 5]).unwrap();
    let found = evaluate(&still, &still, &params).unwrap();
    assert!(found.alignment.scale == 1.0 && found.absolute.translation.max < 1e-12);
}

/// A street of 34 m that bends by so many metres, at the orientations of the street, and an
/// estimate that is off across it by so many, in another world.
fn nearly_straight(bend: f64, off: f64) -> [Trajectory; 2] {
    let world = Pose::from_xyzrpy([500.0, -200.0, 30.0, 0.02, -0.01, 2.5]).unwrap();
    let part = |i: u32| f64::from(i) / 50.0;
    let street = |i: u32| Pose::from_xyzrpy([34.0 * part(i), bend * part(i) * part(i), 0.0, 0.0, 0.0, 0.0]).unwrap();
    let estimate = |i: u32| {
        // A drift in height of the shape of the bend, so that a turn about the street explains it.
        let [x, y, _] = street(i).translation();
        let wave = off / 15.0 * (9.0 * part(i)).sin();
        Pose::from_xyzrpy([x, y + wave, off * part(i) * part(i) - wave, 0.0, 0.0, 0.0]).unwrap()
    };
    let all = |of: &dyn Fn(u32) -> Pose| Trajectory::new((0..=50).map(of).collect()).unwrap();
    [all(&estimate), all(&|i| world * street(i))]
}

#[test]
fn a_straight_way_does_not_determine_the_turn_about_it() {
    for alignment in [Alignment::Se3, Alignment::Sim3] {
        let params = EvaluationParams { alignment, ..EvaluationParams::default() };
        let told = |bend: f64, off: f64| {
            let [estimate, truth] = nearly_straight(bend, off);
            let found = evaluate(&estimate, &truth, &params).unwrap();
            (found.absolute.rotation.unwrap().max.to_degrees(), found.absolute.translation.max, found.warnings)
        };
        // Positions alone would turn it by 30 degrees.
        let (degrees, metres, warnings) = told(0.1, 0.15);
        assert!(degrees < 0.5 && metres < 0.1, "{degrees} {metres}");
        assert!(warnings[0].contains("does not determine the rotation about it; it is taken from the orientations"));
        assert!(warnings[0].starts_with("alignment: positions lie 0.0"), "{warnings:?}");
        // A bend that is clear of the errors determines it, and an exact line does not.
        let (degrees, _, warnings) = told(8.0, 0.15);
        assert!(degrees < 1.5 && warnings.is_empty(), "{degrees} {warnings:?}");
        let (degrees, metres, warnings) = told(0.0, 0.0);
        assert!(degrees < 1e-6 && metres < 1e-9 && warnings.len() == 1, "{degrees} {metres} {warnings:?}");
        // A car that stands still says nothing of any turn.
        let parked = |at: Pose| {
            Trajectory::new((0..9).map(|i| at * Pose::from_translation([0.01 * f64::from(i % 3), 0.0, 0.0])).collect())
        };
        let jitter = |i: u32| Pose::from_translation([0.0, 0.01 * f64::from(i % 2), 0.01 * f64::from(i % 5)]);
        let estimate = Trajectory::new((0..9).map(jitter).collect()).unwrap();
        let found =
            evaluate(&estimate, &parked(Pose::from_xyzrpy([4.0, 5.0, 6.0, 0.0, 0.0, 2.0]).unwrap()).unwrap(), &params);
        let found = found.unwrap();
        assert!(
            found.absolute.rotation.unwrap().max < 1e-6 && found.warnings[0].contains("not determine the rotation; it"),
            "{found:?}"
        );
        assert!(evaluate(&estimate, &estimate, &EvaluationParams::default()).unwrap().warnings.is_empty());
    }
}

#[test]
fn what_cannot_be_compared_is_named() {
    let told = |estimate: Result<Trajectory>, truth: Result<Trajectory>, params: &EvaluationParams| {
        estimate.and_then(|e| evaluate(&e, &truth?, params)).unwrap_err().to_string()
    };
    let (plain, params) = (|n| Trajectory::new(straight(n)), EvaluationParams::default());
    let timed = |times: &[f64]| Trajectory::with_times(straight(3), times.to_vec());
    for (got, wanted) in [
        (
            told(plain(3), plain(4), &params),
            "estimate: expected as many poses as the truth, or times in both, got 3 and 4 poses, and neither has times; use \
                files with a time a line (tum), or leave out poses until both have as many",
        ),
        (told(plain(0), plain(0), &params), "estimate: expected at least one pose, got none"),
        (told(plain(1), plain(0), &params), "truth: expected at least one pose, got none"),
        (told(timed(&[0.0, 1.0]), plain(3), &params), "times: expected 3 times, one for each pose, got 2"),
        (told(timed(&[0.0, f64::NAN, 1.0]), plain(3), &params), "times: expected finite seconds, got NaN at 1"),
        (
            told(timed(&[0.0, 0.1, 0.2]), timed(&[5.0, 6.0, 7.0]), &params),
            "estimate: expected a time within 0.01 s of one of the truth, got 0 to 0.2; of the truth 5 to 7",
        ),
        (
            told(plain(3), plain(3), &EvaluationParams { deltas: vec![Delta::Frames(0)], ..params.clone() }),
            "deltas: expected above zero, got Frames(0)",
        ),
        (
            told(plain(3), plain(3), &EvaluationParams { segment_lengths: vec![f64::NAN], ..params.clone() }),
            "segment_lengths: expected finite metres > 0, got NaN",
        ),
        (
            told(plain(3), plain(3), &EvaluationParams { segment_every: 0, ..params.clone() }),
            "segment_every: expected at least 1, got 0",
        ),
        (
            told(plain(3), plain(3), &EvaluationParams { max_time_difference: -1.0, ..params.clone() }),
            "max_time_difference: expected finite seconds >= 0, got -1",
        ),
        (
            told(Trajectory::new(vec![Pose::from_translation([f64::INFINITY, 0.0, 0.0])]), plain(1), &params),
            "poses: expected rigid transforms, got one that is not, at 0",
        ),
    ] {
        assert_eq!(got, wanted);
    }
}

/// Indices stay those of the caller, whatever the order of the times.
#[test]
fn equal_times_and_times_out_of_order_are_told_and_taken() {
    let of = |times: &[f64]| {
        let poses = times.iter().map(|time| Pose::from_translation([*time, 0.0, 0.0])).collect();
        Trajectory::with_times(poses, times.to_vec()).unwrap()
    };
    let (truth, params) = (of(&[0.0, 1.0, 2.0, 3.0]), EvaluationParams::default());
    let found = evaluate(&of(&[2.0, 0.0, 1.0, 1.0, 3.0]), &truth, &params).unwrap();
    let pairs: Vec<_> = found.frames.iter().map(|frame| [frame.estimate, frame.truth]).collect();
    assert_eq!(pairs, [[1, 0], [2, 1], [0, 2], [4, 3]]);
    assert_eq!((found.absolute.translation.max, found.estimate_poses, found.truth_poses), (0.0, 5, 4));
    assert_eq!(
        found.warnings,
        [
            "estimate: times do not ascend at 1 place; poses are taken by time",
            "estimate: 1 pose has the time of another; the first of each time is taken"
        ]
    );
}

#[test]
fn poses_without_a_partner_are_counted() {
    let of = |times: Vec<f64>| Trajectory::with_times(straight(times.len() as u32), times).unwrap();
    let steps = |n: u32, step: f64| (0..n).map(|i| step * f64::from(i)).collect::<Vec<_>>();
    let found = evaluate(&of(steps(60, 0.5)), &of(steps(70, 20.0)), &EvaluationParams::default()).unwrap();
    assert_eq!((found.frames.len(), found.estimate_poses, found.truth_poses), (2, 60, 70));
    assert!(found.warnings[0].starts_with("2 of 60 poses of the estimate have a partner within 0.01 s"), "{found:?}");
    let found = evaluate(&of(steps(60, 0.5)), &of(steps(700, 0.1)), &EvaluationParams::default()).unwrap();
    assert!(found.frames.len() == 60 && found.warnings.is_empty());
}

/// Errors of positions are those of poses; what needs a rotation is not known, not zero.
#[test]
fn positions_alone_have_errors_of_positions_alone() {
    let bent = |i: u32| Pose::from_xyzrpy([f64::from(i), f64::from(i * i) / 40.0, 0.0, 0.1, 0.0, 1.0]).unwrap();
    let wave = |i: u32| bent(i) * Pose::from_translation([0.0, 0.1 * f64::from(i % 3), 0.0]);
    let all = |of: &dyn Fn(u32) -> Pose| Trajectory::new((0..40).map(of).collect()).unwrap();
    let bare = |i: u32| Pose::from_translation(bent(i).translation());
    for alignment in [Alignment::None, Alignment::Se3, Alignment::Sim3] {
        let params = EvaluationParams { alignment, ..EvaluationParams::default() };
        let whole = evaluate(&all(&wave), &all(&bent), &params).unwrap();
        let found = evaluate(&all(&wave), &all(&bare).of_positions(), &params).unwrap();
        assert_eq!(found.absolute.translation, whole.absolute.translation);
        assert_eq!((found.absolute.rotation, found.relative.len(), found.drift.segments), (None, 0, 0));
        assert!(found.frames.iter().all(|frame| frame.rotation.or(frame.step_rotation).is_none()));
        assert!(found.warnings[0].starts_with("the truth has positions alone"), "{:?}", found.warnings);
    }
}
