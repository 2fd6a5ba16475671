//! The same bits on every device.

use super::super::*;
use super::{align, align_everywhere, cloud_of, f64_cloud, moved, searcher_on, strip};
use crate::device::Buffer;
use crate::testing::{Random, gpu, kernel_devices};
use crate::{Device, Pose, Rows};
use pointmill_core::rigid::{Rigid, exponential};
use pointmill_kernels::simt::twin::set_block_order;

const METRICS: [Metric; 3] = [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp];
const SEARCHES: [Search; 4] = [Search::Auto, Search::Brute, Search::KdTree, Search::Lbvh];

/// A cloud with rows that are not finite, zeros of both signs, and copies.
fn with_bad_rows(n: usize, seed: u64) -> Vec<f32> {
    let mut points = cloud_of(n, seed).as_flattened().to_vec();
    let mut random = Random(seed);
    for row in 0..n {
        let p = &mut points[3 * row..3 * row + 3];
        match random.below(20) {
            0 => p[random.below(3) as usize] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][random.below(3) as usize],
            1 => p.copy_from_slice(&[0.0, -0.0, 0.0]),
            2 => p[0] = -0.0,
            3 if row > 0 => points.copy_within(3 * row - 3..3 * row, 3 * row),
            _ => {}
        }
    }
    points
}

#[test]
fn metrics_searches_weights_and_stages() {
    let (source, target) = (with_bad_rows(900, 1), with_bad_rows(1_100, 2));
    let clouds = || (Rows::f32(&source, 3).unwrap(), Rows::f32(&target, 3).unwrap());
    let stages =
        vec![Stage { voxel_size: 0.15, max_distance: None }, Stage { voxel_size: 0.0, max_distance: Some(0.2) }];
    let weights =
        [Robust::None, Robust::Huber(0.02), Robust::Cauchy(0.05), Robust::GemanMcClure(0.1), Robust::Tukey(0.2)];
    for (i, metric) in METRICS.into_iter().enumerate() {
        for (j, search) in SEARCHES.into_iter().enumerate() {
            set_block_order((i * 4 + j) as u64);
            let params = IcpParams {
                metric,
                search,
                robust: weights[(i + j) % weights.len()],
                schedule: if j % 2 == 0 { stages.clone() } else { Vec::new() },
                max_distance: Some(0.3),
                drop_zeros: i % 2 == 0,
                neighbours: [20, 3, 32, 7][j],
                max_iterations: 19,
                ..IcpParams::default()
            };
            let got = align_everywhere(clouds().0, clouds().1, &Pose::IDENTITY, &params);
            assert!(got.iterations > 1 && got.fit.source_dropped.non_finite > 10, "{params:?}");
            assert_eq!(got.fit.source_dropped.zeros > 10, params.drop_zeros);
        }
    }
}

#[test]
fn sizes_around_blocks_and_leaves() {
    let (source, target) = (cloud_of(1_300, 3), cloud_of(2_100, 4));
    for (n, m) in [(1, 1), (2, 9), (7, 8), (64, 17), (65, 65), (1_023, 64), (1_024, 255), (1_025, 2_100), (1_300, 256)]
    {
        for metric in METRICS {
            for search in [Search::Brute, Search::KdTree, Search::Lbvh] {
                let params = IcpParams { metric, search, max_iterations: 5, ..IcpParams::default() };
                let (a, b) = (source[..n].as_flattened(), target[..m].as_flattened());
                let (a, b) = (Rows::f32(a, 3).unwrap(), Rows::f32(b, 3).unwrap());
                align_everywhere(a, b, &Pose::IDENTITY, &params);
            }
        }
    }
}

#[test]
fn clouds_of_every_kind_on_the_host_and_on_the_device() {
    let truth = Rigid { rotation: exponential([0.02, 0.03, -0.04]), translation: [0.02, -0.01, 0.03] };
    let target = f64_cloud(&cloud_of(700, 5));
    let source = moved(&target, &truth.inverse());
    let far: Vec<f64> =
        target.as_chunks::<3>().0.iter().flat_map(|p| [p[0] + 4.1e5, p[1] + 5.5e6, p[2] + 7.0]).collect();
    let far_source: Vec<f64> =
        source.as_chunks::<3>().0.iter().flat_map(|p| [p[0] + 4.1e5, p[1] + 5.5e6, p[2] + 7.0]).collect();
    let wide = |points: &[f64]| -> Vec<f32> {
        points.as_chunks::<3>().0.iter().flat_map(|p| [p[0] as f32, p[1] as f32, p[2] as f32, 0.5, 9.0]).collect()
    };
    let (wide_source, wide_target) = (wide(&source), wide(&target));
    let origin = [4.1e5, 5.5e6, 7.0];
    let params = IcpParams { metric: Metric::Gicp, max_iterations: usize::MAX, ..IcpParams::default() };
    let double = (Rows::f64(&far_source, 3).unwrap(), Rows::f64(&far, 3).unwrap());
    let about = (
        Rows::f32(&wide_source, 5).unwrap().about(origin).unwrap(),
        Rows::f32(&wide_target, 5).unwrap().about(origin).unwrap(),
    );
    for (source, target) in [double, about] {
        assert!(align_everywhere(source, target, &Pose::IDENTITY, &params).converged());
    }
    let wanted = strip(align(double.0, double.1, &params).unwrap());
    for (name, device) in kernel_devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let source: Buffer<f64> = other.upload(&far_source).unwrap();
        let target: Buffer<f64> = stream.upload(&far).unwrap();
        let mut aligner = Aligner::new(&stream, &params).unwrap();
        // A second time with the same memory.
        for _ in 0..2 {
            let (source, target) =
                (Rows::on_device(&source, 700, 3).unwrap(), Rows::on_device(&target, 700, 3).unwrap());
            let got = strip(aligner.align(source, target, &Pose::IDENTITY).unwrap());
            assert_eq!(got.target_from_source, wanted.target_from_source, "{name}");
        }
    }
}

#[test]
fn launches_of_brute_force_stay_below_the_most_blocks() {
    for (n, stride) in [(1, 1), (2_049, 1), (100_000_000, 1), (100_000_000, 64), (u32::MAX >> 2, 1)] {
        let (points, queries, keys) = (std::ptr::null(), std::ptr::null(), std::ptr::null_mut());
        let all = pointmill_kernels::icp::NearestBruteArgs { points, n, queries, len: u32::MAX >> 2, stride, keys };
        let part = pointmill_kernels::icp::NearestBruteArgs { len: all.most_queries().min(all.len), ..all };
        assert!(part.len > 0 && part.blocks() <= 1 << 30, "{n} {stride}: {} queries", part.len);
    }
}

#[test]
fn normals_of_every_neighbourhood() {
    let mut points = cloud_of(700, 6);
    points.extend(vec![[0.25; 3]; 40]);
    points.extend((0..40).map(|i| [i as f32, 0.0, 0.0]));
    points[3][1] = f32::NAN;
    for k in [1, 3, 9, 32] {
        let wanted = normals(Rows::f32(points.as_flattened(), 3).unwrap(), k, &Device::cpu()).unwrap();
        assert_eq!(wanted.iter().any(|n| *n != [0.0; 3]), k >= 3);
        for (name, device) in kernel_devices() {
            for search in SEARCHES {
                let searcher = searcher_on(&device.stream().unwrap(), &points, search);
                assert!(searcher.normals(k).unwrap() == wanted, "{name} {search:?} {k}");
            }
        }
    }
}

#[test]
fn searchers_of_buffers_take_other_points() {
    let first: Vec<f32> = with_bad_rows(500, 10).chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 9.0]).collect();
    let (second, queries) = (with_bad_rows(1_300, 11), cloud_of(70, 12));
    let rows = |values: &[f32], columns| -> Vec<[f32; 3]> {
        values.chunks_exact(columns).map(|p: &[f32]| [p[0], p[1], p[2]]).collect()
    };
    let (first_rows, second_rows) = (rows(&first, 4), rows(&second, 3));
    for (name, device) in crate::testing::devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        for search in [Search::Brute, Search::KdTree, Search::Lbvh] {
            let same = |searcher: &Searcher, points: &[[f32; 3]]| {
                let wanted = super::searcher(points, Search::Auto);
                assert_eq!(searcher.len(), points.len());
                assert!(searcher.nearest(&queries, None).unwrap() == wanted.nearest(&queries, None).unwrap(), "{name}");
                assert!(searcher.normals(8).unwrap() == wanted.normals(8).unwrap(), "{name}");
            };
            let first = stream.upload(&first).unwrap();
            let second = other.upload(&second).unwrap();
            let cloud = |buffer, len, columns| Rows::on_device(buffer, len, columns).unwrap();
            let mut searcher = Searcher::new(&stream, cloud(&first, 500, 4), search).unwrap();
            same(&searcher, &first_rows);
            searcher.update(cloud(&second, 1_300, 3)).unwrap();
            same(&searcher, &second_rows);
            searcher.update(cloud(&second, 0, 3)).unwrap();
            same(&searcher, &[]);
            let double = stream.upload(&[0.0; 3]).unwrap();
            let taken = searcher.update(Rows::on_device(&double, 1, 3).unwrap()).map_err(|error| error.to_string());
            let refused =
                "points: expected points of f32 on a GPU, or points of f64 in host memory, got points of f64 on a GPU";
            assert_eq!(taken, if double.as_slice().is_some() { Ok(()) } else { Err(refused.to_owned()) });
            // Those of the host are put about their centre there.
            let far: Vec<[f64; 3]> = second_rows.iter().map(|p| p.map(|x| f64::from(x) + 4.5e6)).collect();
            searcher.update(&far[..]).unwrap();
            let relative = searcher.relative(&far).unwrap();
            let wanted = Searcher::new(&Device::cpu().stream().unwrap(), &far[..], Search::Auto).unwrap();
            let nearest = (searcher.nearest(&relative, None).unwrap(), wanted.nearest(&relative, None).unwrap());
            assert!(searcher.centre() == wanted.centre() && nearest.0 == nearest.1, "{name}");
        }
    }
}

#[test]
fn a_thousand_runs_on_a_gpu_give_one_result() {
    let Some(device) = gpu() else { return };
    let (source, target) = (cloud_of(20_000, 8), cloud_of(21_000, 9));
    let (source, target) = (source.as_flattened(), target.as_flattened());
    let (source, target) = (Rows::f32(source, 3).unwrap(), Rows::f32(target, 3).unwrap());
    for (i, metric) in METRICS.into_iter().enumerate() {
        let params = IcpParams { metric, max_iterations: 12, ..IcpParams::default() };
        let mut aligner = Aligner::new(&device.stream().unwrap(), &params).unwrap();
        let wanted = strip(aligner.align(source, target, &Pose::IDENTITY).unwrap());
        for run in 0..[334, 333, 333][i] {
            assert!(strip(aligner.align(source, target, &Pose::IDENTITY).unwrap()) == wanted, "{metric:?} {run}");
        }
    }
}
