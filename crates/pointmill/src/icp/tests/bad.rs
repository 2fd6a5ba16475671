//! Input that has no answer, or only part of one.

use super::super::*;
use super::{align, align_everywhere, cloud_of, f64_cloud, moved, off};
use crate::registration::Status;
use crate::{Argument, Error, Pose, Rows};
use pointmill_core::rigid::{Rigid, exponential};

const METRICS: [Metric; 3] = [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp];

fn run(source: &[f64], target: &[f64], params: &IcpParams) -> Registration {
    run_from(&Pose::IDENTITY, source, target, params)
}

fn run_from(guess: &Pose, source: &[f64], target: &[f64], params: &IcpParams) -> Registration {
    let (source, target) = (Rows::f64(source, 3).unwrap(), Rows::f64(target, 3).unwrap());
    let got = align_everywhere(source, target, guess, params);
    // Whatever comes in, the result is a rigid transform, and every number is one.
    assert!(got.target_from_source.is_rigid(), "{:?}", got.target_from_source);
    let numbers = [got.fit.fitness, got.fit.inlier_rmse];
    let all = numbers
        .iter()
        .chain(got.hessian.as_flattened())
        .chain(&got.fit.observability.eigenvalues)
        .chain(&got.fit.pivot);
    assert!(all.chain(got.covariance.iter().flatten().flatten()).all(|x| x.is_finite()), "{got:?}");
    assert!(got.fit.trace.iter().all(|e| e.rmse.is_finite() && e.step.is_finite()));
    // Success is never claimed where a direction is open.
    assert!(!got.converged() || got.fit.observability.rank() == 6, "{got:?}");
    got
}

fn params(metric: Metric) -> IcpParams {
    IcpParams { metric, ..IcpParams::default() }
}

#[test]
fn clouds_without_points_or_partners() {
    let some = f64_cloud(&cloud_of(500, 1));
    let nothing = [f64::NAN; 30];
    let far: Vec<f64> = some.iter().map(|x| x + 100.0).collect();
    let guess = Rigid { rotation: exponential([0.1, 0.2, 0.3]), translation: [0.01, 0.02, 0.03] };
    for metric in METRICS {
        let near = IcpParams { max_distance: Some(0.5), ..params(metric) };
        let bad: [(&[f64], &[f64]); 5] = [(&[], &[]), (&[], &some), (&some, &[]), (&nothing, &some), (&far, &some)];
        for (source, target) in bad {
            let got = run_from(&guess.into(), source, target, &near);
            assert_eq!((got.status, got.iterations, got.fit.num_inliers), (Status::NoPairs, 0, 0));
            // The guess comes back as it was, but for rounding.
            let (turn, shift) = off(&got.target_from_source, &guess);
            assert!(
                turn < 1e-12 && shift < 1e-12 && !got.converged() && got.fit.fitness == 0.0 && got.covariance.is_none()
            );
        }
    }
    let got = run(&nothing, &some, &params(Metric::PointToPoint));
    assert_eq!((got.fit.source_dropped.non_finite, got.fit.target_dropped.non_finite), (10, 0));
}

#[test]
fn one_point_a_line_and_a_plane() {
    let sheet = cloud_of(900, 2);
    let flat: Vec<f64> = sheet.iter().flat_map(|p| [f64::from(p[0]), f64::from(p[1]), 0.25]).collect();
    let line: Vec<f64> = sheet.iter().flat_map(|p| [f64::from(p[0]), 0.5, -0.25]).collect();
    let tilt = Rigid { rotation: exponential([0.4, -0.3, 0.2]), translation: [0.3, 0.1, 0.2] };
    let guess = Rigid { rotation: exponential([0.01, 0.0, 0.02]), translation: [0.01, 0.0, 0.02] };
    // One point: the translation alone is determined, by point-to-point.
    let got = run_from(&guess.into(), &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], &params(Metric::PointToPoint));
    assert_eq!((got.status, got.fit.num_inliers, got.fit.observability.rank()), (Status::Degenerate, 1, 3));
    let m = got.target_from_source.matrix();
    assert!((m[0][0] - guess.rotation[0][0]).abs() < 1e-12 && got.fit.inlier_rmse < 1e-6);
    for metric in [Metric::PointToPlane, Metric::Gicp] {
        assert_eq!(
            run_from(&guess.into(), &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], &params(metric)).status,
            Status::NoPairs
        );
    }
    // One place on a surface, once or many times: the step to the surface is all.
    let floor: Vec<f64> = (0..400).flat_map(|i| [f64::from(i % 20) * 0.1, f64::from(i / 20) * 0.1, 0.0]).collect();
    for (metric, times) in Metric::ALL.iter().flat_map(|metric| [(*metric, 1), (*metric, 500)]) {
        let got = run_from(&guess.into(), &[1.03, 0.98, 0.2].repeat(times), &floor, &params(metric));
        let lost = metric == Metric::Gicp && got.status == Status::NoPairs;
        assert!(lost || got.status == Status::Degenerate && got.iterations <= 2, "{metric}, {times}: {got:?}");
    }
    // A line: turns about it keep the guess.
    let turned = tilt.moved(&[0.0, 0.0, 0.0, 0.3, 0.0, 0.0], [0.0, 0.5, -0.25]);
    let got = run_from(&turned.into(), &moved(&line, &tilt.inverse()), &line, &params(Metric::PointToPoint));
    assert_eq!((got.status, got.fit.observability.rank()), (Status::Degenerate, 5), "{got:?}");
    assert!(got.fit.inlier_rmse < 1e-6 && off(&got.target_from_source, &turned).0 < 1e-6);
    assert!(got.covariance.is_none());
    for metric in [Metric::PointToPlane, Metric::Gicp] {
        assert_eq!(run_from(&guess.into(), &line, &line, &params(metric)).status, Status::NoPairs);
    }
    // A plane: point-to-plane knows three directions, and shifts along the plane and turns within
    // it keep the guess.
    let got = run_from(
        &tilt.after(&tilt).moved(&[0.02, 0.01, 0.03, 0.01, 0.0, 0.0], [0.0; 3]).into(),
        &moved(&flat, &tilt.inverse()),
        &moved(&flat, &tilt),
        &params(Metric::PointToPlane),
    );
    assert_eq!((got.status, got.fit.observability.rank()), (Status::Degenerate, 3), "{:?}", got.fit.observability);
    assert!(got.fit.trace.last().unwrap().step < 1e-6);
    // The other metrics find all of a plane, from near enough.
    for metric in [Metric::PointToPoint, Metric::Gicp] {
        let near = Rigid { rotation: exponential([0.0, 0.0, 1e-3]), translation: [1e-3, 0.0, 1e-3] };
        let got = run(&moved(&flat, &near), &flat, &IcpParams { metric, ..IcpParams::default() });
        assert!(got.converged() && off(&got.target_from_source, &near.inverse()).0 < 1e-6, "{metric:?} {got:?}");
    }
}

#[test]
fn mirrored_and_identical_clouds() {
    let cloud = f64_cloud(&cloud_of(1_000, 3));
    let mirrored: Vec<f64> = cloud.chunks_exact(3).flat_map(|p| [-p[0], p[1], p[2]]).collect();
    for metric in METRICS {
        let got = run(&cloud, &cloud, &IcpParams { metric, ..IcpParams::default() });
        assert!(got.converged() && got.iterations == 1 && got.fit.inlier_rmse < 1e-9, "{metric:?} {:?}", got.status);
        let (turn, shift) = off(&got.target_from_source, &Rigid::IDENTITY);
        assert!(turn < 1e-9 && shift < 1e-9);
        // A mirrored cloud has no proper pose; what is found is one all the same, and does not fit.
        let got = run(&mirrored, &cloud, &IcpParams { metric, ..IcpParams::default() });
        assert!(got.fit.inlier_rmse > 1e-3, "{metric:?}");
    }
}

#[test]
fn points_that_are_not_finite_and_many_copies() {
    let target = f64_cloud(&cloud_of(2_000, 4));
    let truth = Rigid { rotation: exponential([0.01, -0.02, 0.02]), translation: [0.01, 0.0, -0.01] };
    let source = moved(&target, &truth.inverse());
    let dirty = |points: &[f64]| {
        let mut dirty = points.to_vec();
        for (i, bad) in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().enumerate() {
            dirty.splice(300 * i..300 * i, [bad, 0.5, 0.5, /**/ 0.5, bad, bad]);
        }
        dirty
    };
    let copies = |points: &[f64]| {
        let mut copies = points.to_vec();
        copies.splice(900..900, vec![0.0; 3 * 5_000]);
        copies
    };
    for metric in METRICS {
        let plain = IcpParams { metric, ..IcpParams::default() };
        let got = run(&dirty(&source), &dirty(&target), &plain);
        assert!(got.converged() && off(&got.target_from_source, &truth).1 < 1e-6, "{metric:?}");
        assert_eq!(
            (got.fit.source_dropped.non_finite, got.fit.target_dropped.non_finite, got.fit.num_inliers),
            (6, 6, 2_000)
        );
        let got = run(&copies(&source), &copies(&target), &IcpParams { drop_zeros: true, ..plain.clone() });
        assert!(got.converged() && off(&got.target_from_source, &truth).1 < 1e-6, "{metric:?}");
        assert_eq!((got.fit.source_dropped.zeros, got.fit.target_dropped.zeros), (5_000, 5_000));
        // With the copies kept it ends too.
        run(&copies(&source), &copies(&target), &plain);
    }
    // A few points far away do not cost the others their digits.
    let mut stray = target;
    stray.extend([1e12, -1e12, 1e12]);
    let got = run(&source, &stray, &IcpParams { metric: Metric::PointToPoint, ..IcpParams::default() });
    assert!(got.converged() && off(&got.target_from_source, &truth).1 < 1e-6);
}

#[test]
fn weights_of_zero_are_no_success() {
    let cloud = f64_cloud(&cloud_of(500, 5));
    let above: Vec<f64> = cloud.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2] + 5.0]).collect();
    for metric in METRICS {
        let got = run(&above, &cloud, &IcpParams { metric, robust: Robust::Tukey(0.01), ..IcpParams::default() });
        assert!(
            got.status == Status::Degenerate && !got.converged() && got.fit.num_inliers > 0,
            "{metric:?} {:?}",
            got.status
        );
    }
}

#[test]
fn few_iterations_are_no_success() {
    let cloud = f64_cloud(&cloud_of(500, 6));
    let aside: Vec<f64> = cloud.chunks_exact(3).flat_map(|p| [p[0] + 0.2, p[1], p[2] + 0.1]).collect();
    for metric in METRICS {
        for most in [0, 1] {
            let got = run(&aside, &cloud, &IcpParams { metric, max_iterations: most, ..IcpParams::default() });
            assert_eq!((got.status, got.iterations, got.converged()), (Status::MaxIterations, most, false));
        }
    }
}

/// Three digits of a rotation are no rotation; the result is that of the nearest.
#[test]
fn a_guess_that_is_a_little_off_becomes_a_rotation() {
    let target = f64_cloud(&cloud_of(2_000, 3));
    let truth = Rigid { rotation: exponential([0.4, -0.3, 0.2]), translation: [0.3, 0.1, 0.2] };
    let source = moved(&target, &truth.inverse());
    let three = truth.matrix().map(|row| row.map(|x| (x * 1e3).round() / 1e3));
    let guess = Pose::from_matrix(&three).unwrap();
    assert_ne!(guess.matrix(), three);
    for metric in METRICS {
        let got = run_from(&guess, &source, &target, &params(metric));
        assert!(got.converged() && off(&got.target_from_source, &truth).0 < 1e-6, "{metric:?} {got:?}");
        // Rows that are not exactly orthogonal are straightened, whoever made them.
        let straight = run_from(&guess.rigid().orthonormal().into(), &source, &target, &params(metric));
        assert_eq!(got.target_from_source, straight.target_from_source);
    }
}

#[test]
fn errors_name_argument_expected_and_got() {
    let cloud = f64_cloud(&cloud_of(20, 7));
    let told = |params: IcpParams| {
        align(Rows::f64(&cloud, 3).unwrap(), Rows::f64(&cloud, 3).unwrap(), &params).unwrap_err().to_string()
    };
    let defaults = IcpParams::default;
    let stage = |voxel_size, max_distance| vec![Stage { voxel_size, max_distance }];
    assert_eq!(
        told(IcpParams { max_distance: Some(-1.0), ..defaults() }),
        "max_distance: expected 0 m or more, got -1"
    );
    assert_eq!(
        told(IcpParams { robust: Robust::Huber(0.0), ..defaults() }),
        "robust: expected a finite width > 0 m, got 0"
    );
    assert_eq!(
        told(IcpParams { step_tolerance: f64::NAN, ..defaults() }),
        "step_tolerance: expected 0 or more, got NaN"
    );
    assert_eq!(told(IcpParams { neighbours: 2, ..defaults() }), "neighbours: expected 3 to 32, got 2");
    assert_eq!(
        told(IcpParams { schedule: stage(-1.0, None), ..defaults() }),
        "voxel_size: expected a finite size >= 0 m, got -1"
    );
    assert_eq!(
        told(IcpParams { schedule: stage(1e-9, None), ..defaults() }).split(',').next().unwrap(),
        "source: expected a cloud of at most 1048576 cells of 0.000000001 m each way"
    );
    let broken = Pose::from_translation([0.0, f64::NAN, 0.0]);
    let points = Rows::f64(&cloud, 3).unwrap();
    let refused = super::super::align(points, points, &broken, &defaults(), &crate::Device::cpu()).unwrap_err();
    assert!(refused.to_string().starts_with("guess: expected a finite rigid transform, got [[1.0, 0.0, 0.0, 0.0], "));
    for mut params in [IcpParams { neighbours: 2, ..defaults() }, IcpParams { max_distance: Some(-1.0), ..defaults() }]
    {
        assert_eq!(params.validate().unwrap_err().to_string(), told(params.clone()));
        params = defaults();
        assert_eq!(params.validate(), Ok(()));
    }
    let far = [0.0, 0.0, 0.0, 1e19, 0.0, 0.0, 0.1, 0.0, 0.0];
    let error = align(Rows::f64(&far, 3).unwrap(), Rows::f64(&cloud, 3).unwrap(), &defaults()).unwrap_err();
    assert!(matches!(error, Error::Argument { argument: Argument::Source, .. }), "{error}");
}
