//! Clouds that were moved are moved back.

use super::super::*;
use super::{align, cloud_of, f64_cloud, moved, off, on_threads, strip, without_searched};
use crate::registration::Status;
use crate::testing::Random;
use crate::{Device, Rows};
use pointmill_core::rigid::{Rigid, exponential};
use proptest::prelude::*;

const METRICS: [Metric; 3] = [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp];

fn params(metric: Metric) -> IcpParams {
    IcpParams { metric, ..IcpParams::default() }
}

#[test]
fn every_metric_finds_a_small_motion() {
    let target = f64_cloud(&cloud_of(4_000, 3));
    let truth = Rigid { rotation: exponential([0.02, -0.03, 0.04]), translation: [0.01, 0.02, -0.015] };
    let source = moved(&target, &truth.inverse());
    for metric in METRICS {
        let got = align(Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap(), &params(metric)).unwrap();
        let (turn, shift) = off(&got.target_from_source, &truth);
        assert!(got.converged() && turn < 1e-6 && shift < 1e-6, "{metric:?}: {turn} {shift} {:?}", got.status);
        assert!(got.fit.fitness == 1.0 && got.fit.num_inliers == 4_000 && got.fit.inlier_rmse < 1e-6);
        assert!(got.fit.observability.rank() == 6 && got.covariance.is_some());
        assert!(got.fit.trace.len() == got.iterations + 1 && got.fit.trace.iter().all(|e| e.pairs == 4_000));
        assert!(got.fit.trace[0].changed == 4_000 && got.fit.trace[0].searched == 4_000);
    }
}

#[test]
fn threads_and_searches_do_not_matter() {
    let (source, target) = (cloud_of(3_000, 1), cloud_of(3_500, 2));
    let cloud = |points: &'static [f32]| Rows::f32(points, 3).unwrap();
    let (source, target) = (source.as_flattened().to_vec().leak(), target.as_flattened().to_vec().leak());
    for metric in METRICS {
        let robust = if metric == Metric::Gicp { Robust::Cauchy(0.05) } else { Robust::None };
        let schedule =
            vec![Stage { voxel_size: 0.1, max_distance: None }, Stage { voxel_size: 0.0, max_distance: Some(0.1) }];
        let with =
            |search| IcpParams { search, robust, schedule: schedule.clone(), max_iterations: 12, ..params(metric) };
        let run = |search| strip(align(cloud(source), cloud(target), &with(search)).unwrap());
        let wanted = without_searched(on_threads(1, || run(Search::Brute)));
        for search in [Search::Auto, Search::KdTree, Search::Lbvh] {
            let one = on_threads(1, || run(search));
            for threads in [2, 3, 5, 16] {
                assert!(on_threads(threads, || run(search)) == one, "{metric:?} {search:?} {threads}");
            }
            assert_eq!(without_searched(one), wanted, "{metric:?} {search:?}");
        }
    }
}

/// Each look at a pose finds what a search without memory finds.
#[test]
fn skipped_searches_change_nothing() {
    let (source, target) = (cloud_of(2_000, 4), cloud_of(2_500, 5));
    let truth = Rigid { rotation: exponential([0.05, 0.1, -0.08]), translation: [0.1, -0.05, 0.08] };
    let source = moved(&f64_cloud(&source), &truth);
    let target = f64_cloud(&target);
    let with = IcpParams { max_distance: Some(0.05), step_tolerance: 0.0, ..params(Metric::PointToPoint) };
    let got = align(Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap(), &with).unwrap();
    assert!(got.status == Status::Fixed && got.fit.trace.iter().any(|e| e.searched < e.pairs / 2), "{:?}", got.status);
    for entry in &got.fit.trace {
        let once = IcpParams { max_iterations: 0, ..with.clone() };
        let (source, target) = (Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap());
        let fresh = super::super::align(source, target, &entry.target_from_source, &once, &Device::cpu()).unwrap();
        assert_eq!((fresh.fit.num_inliers, fresh.fit.trace[0].searched), (entry.pairs, 2_000));
        // The guess goes through the centres and back, which rounds it.
        assert!((fresh.fit.inlier_rmse - entry.rmse).abs() < 1e-12);
    }
    // A look through memory equals one without, to the bit.
    let mut pairs = cpu::Pairs::new(2_000, params::limit_of(Some(0.05)).unwrap()).unwrap();
    let points = cloud_of(2_500, 5);
    let queries = cloud_of(2_000, 4);
    let (searcher, index) =
        (super::searcher(&points, Search::KdTree), cpu::Index::new(&points, Search::KdTree).unwrap());
    let mut random = Random(8);
    let (mut pose, mut searched) = (Rigid::IDENTITY, 0);
    for step in 0..60 {
        let size = f64::from(random.between(0.0, 1.0)).powi(6) * 0.1;
        let twist: [f64; 6] = std::array::from_fn(|_| f64::from(random.between(-1.0, 1.0)) * size);
        pose = pose.moved(&twist, [0.0; 3]);
        let among = cpu::Among { pose, target: &points, index: &index, margin: (size * 2.0) as f32 };
        searched += pairs.update(&queries, &among).searched;
        let at: Vec<[f32; 3]> = queries.iter().map(|p| pose.apply(p.map(f64::from)).map(|x| x as f32)).collect();
        let fresh = searcher.nearest(&at, Some(0.05)).unwrap();
        for (i, wanted) in fresh.iter().enumerate() {
            assert_eq!(pairs.target(i), wanted.map(|n| n.index as usize), "step {step}, point {i}");
        }
    }
    assert!(searched < 60 * 2_000 * 9 / 10, "{searched}");
}

#[test]
fn weights_hold_outliers_off() {
    let target = f64_cloud(&cloud_of(3_000, 6));
    let truth = Rigid { rotation: exponential([0.01, 0.02, -0.01]), translation: [0.01, -0.01, 0.01] };
    let mut source = moved(&target, &truth.inverse());
    // A tenth of the source hangs above the surface.
    source.chunks_exact_mut(30).for_each(|row| row[2] += 0.4);
    let error = |robust| {
        let with = IcpParams { robust, ..params(Metric::PointToPlane) };
        let got = align(Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap(), &with).unwrap();
        let (turn, shift) = off(&got.target_from_source, &truth);
        turn + shift
    };
    let plain = error(Robust::None);
    for robust in [Robust::Huber(0.01), Robust::Cauchy(0.01), Robust::GemanMcClure(0.02), Robust::Tukey(0.05)] {
        let got = error(robust);
        assert!(got < plain / 4.0, "{robust:?}: {got} {plain}");
    }
}

#[test]
fn stages_go_from_coarse_to_fine() {
    let target = f64_cloud(&cloud_of(6_000, 7));
    let truth = Rigid { rotation: exponential([0.05, -0.1, 0.3]), translation: [0.2, 0.1, -0.1] };
    let source = moved(&target, &truth.inverse());
    let stage = |voxel_size, max_distance| Stage { voxel_size, max_distance };
    let schedule = vec![stage(0.2, None), stage(0.1, Some(0.3)), stage(0.0, Some(0.1))];
    let with = IcpParams { schedule, ..params(Metric::PointToPlane) };
    let got = align(Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap(), &with).unwrap();
    let (turn, shift) = off(&got.target_from_source, &truth);
    assert!(got.converged() && turn < 1e-5 && shift < 1e-5, "{turn} {shift} {:?}", got.status);
    let pairs = |stage| got.fit.trace.iter().filter(|e| e.stage == stage).map(|e| e.pairs).max().unwrap();
    assert!(pairs(0) < 300 && (300..1_500).contains(&pairs(1)) && pairs(2) == 6_000);
    assert_eq!(got.fit.trace.len(), got.iterations + 3);
}

#[test]
fn a_guess_is_where_it_starts() {
    let target = f64_cloud(&cloud_of(3_000, 8));
    let truth = Rigid { rotation: exponential([0.5, 1.0, -2.0]), translation: [30.0, -20.0, 10.0] };
    let source = moved(&target, &truth.inverse());
    let guess = truth.moved(&[0.01, 0.0, -0.01, 0.01, 0.02, 0.0], [30.0, -20.0, 10.0]).into();
    let (source, target) = (Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap());
    let got = super::super::align(source, target, &guess, &params(Metric::Gicp), &Device::cpu()).unwrap();
    let (turn, shift) = off(&got.target_from_source, &truth);
    // A turn moves the origin, which is far from the cloud.
    assert!(got.converged() && turn < 1e-6 && shift < 1e-5, "{turn} {shift} {:?}", got.status);
}

#[test]
fn a_covariance_is_that_of_the_noise() {
    // Noise of 5 mm on a thousand points, many times: the spread of the poses is what each of them
    // says.
    let target = f64_cloud(&cloud_of(20_000, 9));
    let mut random = Random(77);
    let (mut seen, mut told) = ([0.0; 6], [0.0; 6]);
    let runs = 24;
    for _ in 0..runs {
        let source: Vec<f64> = target
            .chunks_exact(60)
            .flat_map(|p| {
                // The sum of twelve numbers is nearly normal.
                let noise =
                    |random: &mut Random| (0..12).map(|_| f64::from(random.between(-0.5, 0.5))).sum::<f64>() * 0.005;
                [p[0], p[1], p[2] + noise(&mut random)]
            })
            .collect();
        let got = align(Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap(), &params(Metric::PointToPlane))
            .unwrap();
        assert!(got.converged(), "{:?}", got.status);
        let m = got.target_from_source.matrix();
        let at = |i: usize| (0..3).map(|j| m[i][j] * got.fit.pivot[j]).sum::<f64>() + m[i][3] - got.fit.pivot[i];
        let error = [at(0), at(1), at(2), m[2][1], m[0][2], m[1][0]];
        let covariance = got.covariance.unwrap();
        for i in 0..6 {
            seen[i] += error[i] * error[i] / f64::from(runs);
            told[i] += covariance[i][i] / f64::from(runs);
        }
    }
    for i in 0..6 {
        assert!(seen[i] < 4.0 * told[i] && told[i] < 4.0 * seen[i], "{i}: {seen:?} {told:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn scale_and_place_do_not_matter(
        w in prop::array::uniform3(-0.03f64..0.03), t in prop::array::uniform3(-0.02f64..0.02), power in -20i32..20, far in any::<bool>()
    ) {
        let scale = 2f64.powi(power);
        let place = if far { [500_000.0 * scale, 4_600_000.0 * scale, 100.0 * scale] } else { [0.0; 3] };
        let local = f64_cloud(&cloud_of(1_500, 12));
        let put = |points: &[f64]| -> Vec<f64> { points.iter().enumerate().map(|(i, x)| x * scale + place[i % 3]).collect() };
        let truth = Rigid { rotation: exponential(w), translation: t };
        let (source, target) = (put(&moved(&local, &truth.inverse())), put(&local));
        for metric in METRICS {
            let got = align(Rows::f64(&source, 3).unwrap(), Rows::f64(&target, 3).unwrap(), &params(metric)).unwrap();
            // The pose about the place, in units of the scale.
            let m = got.target_from_source.matrix();
            let shift = (0..3).map(|i| {
                let at = (0..3).map(|j| m[i][j] * place[j]).sum::<f64>() + m[i][3] - place[i];
                (at / scale - t[i]).powi(2)
            }).sum::<f64>().sqrt();
            prop_assert!(got.converged() && shift < 1e-5, "{metric:?} {shift} {:?}", got.status);
        }
    }
}
