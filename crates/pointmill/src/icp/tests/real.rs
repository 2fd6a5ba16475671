//! Public clouds, where they are: the Stanford bunny's views and a pair of LiDAR scans.

use super::super::*;
use super::{align, searcher, searcher_on, strip, without_searched};
use crate::registration::Status;
use crate::testing::{gpu, repository};
use crate::{Pose, Rows};
use std::path::PathBuf;

/// Where public clouds lie; beside the repository, or where `POINTMILL_TEST_DATA` says.
fn data(folder: &str) -> Option<PathBuf> {
    let data = std::env::var_os("POINTMILL_TEST_DATA").map_or_else(|| repository("../shared/data"), PathBuf::from);
    let folder = data.join(folder);
    folder.is_dir().then_some(folder)
}

/// The vertices of a text PLY of which x, y, z are the first properties.
fn text_ply(path: PathBuf) -> Vec<f32> {
    let text = std::fs::read_to_string(path).unwrap();
    let (header, body) = text.split_once("end_header\n").unwrap();
    let n: usize = header.lines().find_map(|l| l.strip_prefix("element vertex ")).unwrap().trim().parse().unwrap();
    body.lines().take(n).flat_map(|l| l.split_ascii_whitespace().take(3).map(|x| x.parse::<f32>().unwrap())).collect()
}

/// The vertices of a little-endian PLY of four `f32` each.
fn binary_ply(path: PathBuf) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    let end = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
    bytes[end..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// Degrees and root mean square metres by which a pose is off for the points of a source.
fn off(source: &[f32], columns: usize, got: &[f64; 16], truth: &[f64; 16]) -> (f64, f64) {
    let place = |m: &[f64; 16], p: &[f32], i: usize| {
        m[4 * i] * f64::from(p[0]) + m[4 * i + 1] * f64::from(p[1]) + m[4 * i + 2] * f64::from(p[2]) + m[4 * i + 3]
    };
    let square = |p: &[f32]| (0..3).map(|i| (place(got, p, i) - place(truth, p, i)).powi(2)).sum::<f64>();
    let rows = source.chunks_exact(columns);
    let rms = (rows.map(square).sum::<f64>() / (source.len() / columns) as f64).sqrt();
    // Half the chord of both rotations is the sine of half the angle between them.
    let chord: f64 = (0..12).filter(|i| i % 4 != 3).map(|i| (got[i] - truth[i]).powi(2)).sum();
    (2.0 * (chord / 8.0).sqrt().asin().to_degrees(), rms)
}

fn flat(pose: &Pose) -> [f64; 16] {
    pose.matrix().as_flattened().try_into().unwrap()
}

struct Bunny {
    source: Vec<f32>,
    target: Vec<f32>,
    truth: [f64; 16],
}

fn bunny() -> Option<Bunny> {
    let folder = data("bunny")?;
    // bun.conf, with the quaternion conjugated as that file means it.
    let (t, [x, y, z, w]) =
        ([-0.052_021_1, -0.000_383_981, -0.010_922_3], [-0.005_484_49, 0.294_635, 0.003_855_5, 0.955_586]);
    #[rustfmt::skip]
    let truth: [f64; 16] = [
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y), t[0],
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x), t[1],
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y), t[2],
        0.0, 0.0, 0.0, 1.0,
    ];
    Some(Bunny { source: text_ply(folder.join("bun045.ply")), target: text_ply(folder.join("bun000.ply")), truth })
}

impl Bunny {
    fn align(&self, params: &IcpParams) -> (Registration, f64, f64) {
        let cloud = |points| Rows::f32(points, 3).unwrap();
        let got = align(cloud(&self.source), cloud(&self.target), params).unwrap();
        let (degrees, metres) = off(&self.source, 3, &flat(&got.target_from_source), &self.truth);
        (got, degrees, metres * 1e3)
    }
}

#[test]
fn the_bunny_from_identity() {
    let Some(bunny) = bunny() else { return };
    assert_eq!((bunny.source.len() / 3, bunny.target.len() / 3), (40_097, 40_256));
    let with = |metric| IcpParams { metric, max_distance: Some(1.0), ..IcpParams::default() };
    // The fixed point of point-to-point is the same as that of an f64 reference: 1.882 degrees and
    // 2.057 mm from the truth.
    let fixed = IcpParams { step_tolerance: 0.0, ..with(Metric::PointToPoint) };
    let (got, degrees, mm) = bunny.align(&fixed);
    assert!(got.status == Status::Fixed && (got.fit.inlier_rmse - 2.0217e-3).abs() < 5e-8, "{got:?}");
    assert!((degrees - 1.882).abs() < 5e-4 && (mm - 2.057).abs() < 5e-4, "{degrees} {mm}");
    let (got, degrees, mm) = bunny.align(&with(Metric::PointToPlane));
    assert!(got.converged() && degrees <= 0.2 && mm <= 0.45, "{degrees} {mm}");
    let (got, degrees, mm) = bunny.align(&with(Metric::Gicp));
    assert!(got.converged() && degrees <= 0.1 && mm <= 0.1, "{degrees} {mm}");
    assert!(got.covariance.is_some() && got.fit.observability.rank() == 6 && got.fit.fitness > 0.99);
    // A limit that is smaller than the first distances still leads there, until it is too small.
    let near = |metric, d| IcpParams { max_distance: Some(d), ..with(metric) };
    let (got, degrees, _) = bunny.align(&near(Metric::PointToPlane, 0.01));
    assert!(got.converged() && degrees <= 0.07 && got.fit.fitness > 0.95, "{degrees}");
    let (got, degrees, _) = bunny.align(&near(Metric::Gicp, 0.005));
    assert!(got.converged() && degrees > 20.0 && got.fit.fitness < 0.3, "{degrees} {}", got.fit.fitness);
}

#[test]
fn searches_agree_on_the_bunny() {
    let Some(bunny) = bunny() else { return };
    let points = |values: &[f32]| values.as_chunks::<3>().0.to_vec();
    let (queries, target) = (points(&bunny.source), points(&bunny.target));
    let brute = searcher(&target, Search::Brute);
    let (some, few) = (&queries[..2_000], &queries[..300]);
    for search in [Search::KdTree, Search::Lbvh] {
        let tree = searcher(&target, search);
        assert!(tree.nearest(some, None).unwrap() == brute.nearest(some, None).unwrap());
        assert!(tree.neighbours(few, 20, Some(0.01)).unwrap() == brute.neighbours(few, 20, Some(0.01)).unwrap());
    }
    let params = |search| IcpParams { metric: Metric::Gicp, search, ..IcpParams::default() };
    let run = |search| without_searched(strip(bunny.align(&params(search)).0));
    assert_eq!(run(Search::KdTree), run(Search::Lbvh));
}

#[test]
fn a_gpu_aligns_the_bunny_as_the_cpu_does() {
    let (Some(bunny), Some(device)) = (bunny(), gpu()) else { return };
    let stream = device.stream().unwrap();
    let points = |values: &[f32]| values.as_chunks::<3>().0.to_vec();
    let (queries, target) = (points(&bunny.source), points(&bunny.target));
    let cpu = searcher(&target, Search::KdTree);
    let wanted = (cpu.nearest(&queries, None).unwrap(), cpu.neighbours(&queries, 20, Some(0.01)).unwrap());
    let normal = cpu.normals(20).unwrap();
    for search in [Search::Brute, Search::KdTree, Search::Lbvh] {
        let there = searcher_on(&stream, &target, search);
        assert!(there.nearest(&queries, None).unwrap() == wanted.0, "{search:?}");
        assert!(there.neighbours(&queries, 20, Some(0.01)).unwrap() == wanted.1, "{search:?}");
        assert!(there.normals(20).unwrap() == normal, "{search:?}");
    }
    let cloud = |points| Rows::f32(points, 3).unwrap();
    for metric in [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp] {
        let params = IcpParams { metric, max_distance: Some(1.0), ..IcpParams::default() };
        let wanted = without_searched(strip(bunny.align(&params).0));
        for search in [Search::Auto, Search::Brute, Search::KdTree, Search::Lbvh] {
            let params = IcpParams { search, ..params.clone() };
            let mut aligner = Aligner::new(&stream, &params).unwrap();
            let got = aligner.align(cloud(&bunny.source), cloud(&bunny.target), &Pose::IDENTITY).unwrap();
            assert_eq!(without_searched(strip(got)), wanted, "{metric:?} {search:?}");
        }
    }
}

#[test]
fn two_scans_without_their_no_returns() {
    let Some(folder) = data("pair") else { return };
    let (source, target) = (binary_ply(folder.join("source.ply")), binary_ply(folder.join("target.ply")));
    let text = std::fs::read_to_string(folder.join("target_from_source.txt")).unwrap();
    let truth: Vec<f64> = text.split_ascii_whitespace().map(|x| x.parse().unwrap()).collect();
    let truth: [f64; 16] = truth.try_into().unwrap();
    let cloud = |points| Rows::f32(points, 4).unwrap();
    let params = IcpParams { metric: Metric::Gicp, max_distance: Some(1.0), drop_zeros: true, ..IcpParams::default() };
    let run = |params: &IcpParams| {
        let got = align(cloud(&source), cloud(&target), params).unwrap();
        let (degrees, _) = off(&source, 4, &flat(&got.target_from_source), &truth);
        (got, degrees)
    };
    let (got, degrees) = run(&params);
    let metres =
        (0..3).map(|i| (got.target_from_source.translation()[i] - truth[4 * i + 3]).powi(2)).sum::<f64>().sqrt();
    assert!(got.converged() && metres <= 0.03 && degrees <= 0.5, "{metres} {degrees} {:?}", got.status);
    assert_eq!((got.fit.source_dropped.zeros, got.fit.target_dropped.zeros), (5_107, 5_032)); // Normals of a thinned cloud are of 20 points that are far apart; a last stage of all points makes up for it.
    let stages = |sizes: &[f64]| IcpParams {
        schedule: sizes.iter().map(|voxel_size| Stage { voxel_size: *voxel_size, max_distance: Some(1.0) }).collect(),
        max_distance: None,
        ..params.clone()
    };
    let (_, thinned) = run(&stages(&[0.25]));
    let (_, whole) = run(&stages(&[0.25, 0.0]));
    assert!(thinned > 0.6 && (whole - degrees).abs() < 0.01, "{thinned} {whole} {degrees}");
}
