//! Many pairs in one call: each is aligned as it is alone.

use super::super::*;
use super::{cloud_of, strip};
use crate::testing::{devices, gpu, kernel_devices};
use crate::{Device, Pose, Result, Rows, TwinFault};
use pointmill_core::rigid::{Rigid, exponential};
use pointmill_kernels::simt::twin::set_block_order;

const METRICS: [Metric; 3] = [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp];

/// Clouds of sizes around trees and blocks, some of them empty, with points that are not finite, or
/// with many points of one code.
fn clouds() -> Vec<[Vec<[f32; 3]>; 2]> {
    let sizes =
        [(700, 900), (64, 65), (0, 300), (300, 0), (1, 1), (255, 257), (1_025, 1_023), (9, 8), (63, 700), (500, 500)];
    let mut clouds: Vec<_> =
        sizes.iter().zip(0..).map(|((n, m), seed)| [cloud_of(*n, seed), cloud_of(*m, 50 + seed)]).collect();
    for i in 0..40 {
        clouds[0][0][i * 3][i % 3] = f32::NAN;
        clouds[0][1][i * 5] = [0.0; 3];
        // One cube of the curve, from here to there.
        clouds[5][1][i] = [0.5 + i as f32 * 1e-7, 0.5, 0.5];
    }
    clouds[5][1].push([1e4, 0.0, 0.0]);
    clouds[8][0].iter_mut().for_each(|p| *p = [f32::NAN; 3]);
    clouds
}

fn rows(cloud: &[[f32; 3]]) -> Rows<'_> {
    Rows::f32(cloud.as_flattened(), 3).unwrap()
}

/// Each pair with a guess of its own.
fn pairs(clouds: &[[Vec<[f32; 3]>; 2]]) -> Vec<Pair<'_>> {
    let guess = |i: usize| Rigid { rotation: exponential([0.0, 0.01 * i as f64, 0.0]), translation: [0.0; 3] };
    let numbered = clouds.iter().enumerate();
    numbered
        .map(|(i, [source, target])| Pair { source: rows(source), target: rows(target), guess: guess(i).into() })
        .collect()
}

fn together(aligner: &mut Aligner, pairs: &[Pair<'_>]) -> Vec<Registration> {
    aligner.align_many(pairs).unwrap().into_iter().map(|found| strip(found.unwrap())).collect()
}

#[test]
fn pairs_together_are_aligned_as_alone() {
    let clouds = clouds();
    let pairs = pairs(&clouds);
    let stages =
        vec![Stage { voxel_size: 0.2, max_distance: None }, Stage { voxel_size: 0.0, max_distance: Some(0.2) }];
    let cases = [
        (Search::Auto, Vec::new(), 20),
        (Search::Lbvh, vec![stages[1]], 9),
        (Search::KdTree, Vec::new(), 3),
        (Search::Auto, stages, 3),
    ];
    for (i, metric) in METRICS.into_iter().enumerate() {
        // Pairs of the last two go one after the other, whatever the metric is.
        for (search, schedule, max_iterations) in &cases[..if i == 1 { 4 } else { 2 }] {
            let (search, schedule, max_iterations) = (*search, schedule.clone(), *max_iterations);
            let drop_zeros = i == 1;
            let params = IcpParams { metric, search, schedule, max_iterations, drop_zeros, ..IcpParams::default() };
            for (name, device) in devices() {
                set_block_order(i as u64 + 1);
                let mut aligner = Aligner::new(&device.stream().unwrap(), &params).unwrap();
                let alone: Vec<_> = pairs
                    .iter()
                    .map(|pair| strip(aligner.align(pair.source, pair.target, &pair.guess).unwrap()))
                    .collect();
                assert!(together(&mut aligner, &pairs) == alone, "{name}: {params:?}");
                assert!(alone.iter().filter(|found| found.iterations > 1).count() > 3, "{name}: {params:?}");
                // Twice with the same memory, and in another order, so that groups are others.
                let back: Vec<_> = pairs.iter().rev().copied().collect();
                let mut backwards = together(&mut aligner, &back);
                backwards.reverse();
                assert!(backwards == alone, "{name}: {params:?}");
            }
        }
    }
}

#[test]
fn more_pairs_than_fit_a_launch() {
    let clouds: Vec<_> = (0..45).map(|seed| [cloud_of(40, seed), cloud_of(50, seed + 99)]).collect();
    let pairs = pairs(&clouds);
    let params = IcpParams { max_iterations: 4, ..IcpParams::default() };
    for (name, device) in devices() {
        let mut aligner = Aligner::new(&device.stream().unwrap(), &params).unwrap();
        let alone =
            pairs.iter().map(|pair| strip(aligner.align(pair.source, pair.target, &pair.guess).unwrap())).collect();
        let all: Vec<_> = together(&mut aligner, &pairs);
        assert!(<Vec<_> as PartialEq>::eq(&all, &alone), "{name}");
        assert!(aligner.align_many(&[]).unwrap().is_empty());
    }
}

#[test]
fn a_pair_that_is_refused_leaves_the_others() {
    let clouds = clouds();
    let far: Vec<f64> = (0..30).map(|i| if i < 3 { 1e300 } else { f64::from(i) * 0.1 }).collect();
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut all = pairs(&clouds);
        all[1].guess = Pose::from_translation([f64::NAN; 3]);
        all[6].target = Rows::f64(&far, 3).unwrap();
        let double = stream.upload(&[0.5f64; 3]).unwrap();
        let narrow = Rows::f32(&[0.0; 4], 2).unwrap();
        all[9].source = narrow;
        if !device.is_cpu() {
            all[4].source = Rows::on_device(&double, 1, 3).unwrap().about([1.0; 3]).unwrap();
        }
        let mut aligner = Aligner::new(&stream, &IcpParams::default()).unwrap();
        let found = aligner.align_many(&all).unwrap();
        for (i, (found, pair)) in found.into_iter().zip(&all).enumerate() {
            let wanted = aligner.align(pair.source, pair.target, &pair.guess);
            match (found, wanted) {
                (Ok(found), Ok(wanted)) => assert_eq!(strip(found), strip(wanted), "{name} {i}"),
                (Err(found), Err(wanted)) => {
                    assert!([1, 4, 6, 9].contains(&i), "{name} {i}: {found}");
                    assert_eq!(found.to_string(), wanted.to_string());
                }
                (found, wanted) => panic!("{name} {i}: {found:?}, {wanted:?}"),
            }
        }
    }
    let wrong = IcpParams { neighbours: 2, ..IcpParams::default() };
    assert!(align_many(&pairs(&clouds), &wrong, &Device::cpu()).is_err());
}

/// After a fault in any of its steps the next call gives what it should.
#[test]
fn a_call_that_fails_leaves_nothing_behind() {
    let (_, device) = kernel_devices().remove(0);
    let clouds: Vec<_> = (0..2).map(|seed| [cloud_of(30, seed), cloud_of(20, seed + 99)]).collect();
    let pairs = pairs(&clouds);
    let params = IcpParams { metric: Metric::PointToPlane, max_iterations: 1, ..IcpParams::default() };
    let new = || Aligner::new(&device.stream().unwrap(), &params).unwrap();
    let wanted = together(&mut new(), &pairs);
    for fault in [TwinFault::OutOfMemory, TwinFault::Lost] {
        for k in (0..).step_by(2) {
            let mut aligner = new();
            Device::fail_twin(Some((fault, k)));
            let got: Result<Vec<_>> = aligner.align_many(&pairs);
            Device::fail_twin(None);
            assert!(together(&mut aligner, &pairs) == wanted, "{fault:?} {k}");
            if got.is_ok() {
                assert!(k > 10, "{fault:?}: there was nothing to fail");
                break;
            }
        }
    }
}

#[test]
fn a_thousand_runs_of_many_pairs_on_a_gpu_give_one_result() {
    let Some(device) = gpu() else { return };
    let clouds: Vec<_> =
        (0..64).map(|seed| [cloud_of(4_000 + 30 * seed as usize, seed), cloud_of(5_000, seed + 99)]).collect();
    let pairs = pairs(&clouds);
    for (i, metric) in METRICS.into_iter().enumerate() {
        let params = IcpParams { metric, max_iterations: 12, ..IcpParams::default() };
        let mut aligner = Aligner::new(&device.stream().unwrap(), &params).unwrap();
        let alone: Vec<_> =
            pairs.iter().map(|pair| strip(aligner.align(pair.source, pair.target, &pair.guess).unwrap())).collect();
        for run in 0..[334, 333, 333][i] {
            assert!(together(&mut aligner, &pairs) == alone, "{metric:?} {run}");
        }
    }
}
