//! A target for many sources: each is aligned as it is alone.

use super::super::*;
use super::{align, cloud_of, strip, without_searched};
use crate::device::Step;
use crate::registration::Status;
use crate::testing::kernel_devices;
use crate::{Argument, Device, Error, Pose, Rows};
use pointmill_core::rigid::{Rigid, exponential};
use std::thread;

const METRICS: [Metric; 3] = [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp];

fn devices() -> Vec<Device> {
    let kernels = kernel_devices().into_iter().map(|(_, device)| device);
    [Device::cpu(), Device::cpu_with_threads(1).unwrap()].into_iter().chain(kernels).collect()
}

#[test]
fn sources_one_after_the_other_are_aligned_as_alone() {
    let onto = cloud_of(1_500, 7);
    let onto = Rows::f32(onto.as_flattened(), 3).unwrap();
    let mut sources: Vec<Vec<[f32; 3]>> = [(900, 1), (300, 2), (1_300, 3)].map(|(n, seed)| cloud_of(n, seed)).into();
    // One without points, before which nothing of a stage may be taken for made.
    sources.insert(0, Vec::new());
    let stages =
        vec![Stage { voxel_size: 0.2, max_distance: None }, Stage { voxel_size: 0.0, max_distance: Some(0.2) }];
    for device in devices() {
        let stream = device.stream().unwrap();
        for (i, metric) in METRICS.into_iter().enumerate() {
            let search = [Search::Brute, Search::KdTree, Search::Lbvh][i];
            let schedule = if i == 1 { Vec::new() } else { stages.clone() };
            let params = IcpParams { metric, search, schedule, max_iterations: 6, ..IcpParams::default() };
            let target = Target::new(&stream, onto, &params).unwrap();
            let mut aligner = Aligner::new(&stream, &params).unwrap();
            for (n, source) in sources.iter().chain(&sources).enumerate() {
                // The guess is that of the call.
                let guess =
                    Pose::from(Rigid { rotation: exponential([0.0, 0.01 * n as f64, 0.0]), translation: [0.0; 3] });
                let source = Rows::f32(source.as_flattened(), 3).unwrap();
                let wanted = strip(aligner.align(source, onto, &guess).unwrap());
                let got = strip(target.align(source, &guess).unwrap());
                assert_eq!(without_searched(got), without_searched(wanted), "{device}, {metric:?}");
            }
        }
    }
}

#[test]
fn several_threads_share_a_target() {
    let (onto, sources) = (cloud_of(1_200, 7), [1, 2, 3, 4].map(|seed| cloud_of(400, seed)));
    let (onto, params) = (Rows::f32(onto.as_flattened(), 3).unwrap(), IcpParams::default());
    for device in devices() {
        let target = Target::new(&device.stream().unwrap(), onto, &params).unwrap();
        thread::scope(|scope| {
            for source in &sources {
                let (target, params) = (&target, &params);
                scope.spawn(move || {
                    let source = Rows::f32(source.as_flattened(), 3).unwrap();
                    let wanted = without_searched(strip(align(source, onto, params).unwrap()));
                    assert_eq!(without_searched(strip(target.align(source, &Pose::IDENTITY).unwrap())), wanted);
                });
            }
        });
    }
}

#[test]
fn what_is_wrong_is_told_and_leaves_the_target_as_it_was() {
    let (onto, source) = (cloud_of(300, 7), cloud_of(200, 1));
    let onto = Rows::f32(onto.as_flattened(), 3).unwrap();
    let source = Rows::f32(source.as_flattened(), 3).unwrap();
    for device in devices() {
        let stream = device.stream().unwrap();
        let bad = IcpParams { neighbours: 1, ..IcpParams::default() };
        assert!(matches!(
            Target::new(&stream, onto, &bad),
            Err(Error::Argument { argument: Argument::Neighbours, .. })
        ));
        let far = [1e19, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let far = Rows::f32(&far, 3).unwrap();
        let told = Target::new(&stream, far, &IcpParams::default()).unwrap_err();
        assert!(matches!(told, Error::Argument { argument: Argument::Target, .. }), "{told}");
        let target = Target::new(&stream, onto, &IcpParams::default()).unwrap();
        let wanted = strip(target.align(source, &Pose::IDENTITY).unwrap());
        let told = target.align(far, &Pose::IDENTITY).unwrap_err();
        assert!(matches!(told, Error::Argument { argument: Argument::Source, .. }), "{told}");
        assert_eq!(strip(target.align(source, &Pose::IDENTITY).unwrap()), wanted);
        assert_eq!(target.params(), &IcpParams::default());
    }
}

/// Trees and normals of each stage are made with the first source, and not again.
#[test]
fn a_target_is_made_once() {
    let (onto, source) = (cloud_of(700, 7), cloud_of(400, 1));
    let source = Rows::f32(source.as_flattened(), 3).unwrap();
    let stage = |voxel_size| Stage { voxel_size, max_distance: None };
    let schedule = vec![stage(0.3), stage(0.15), stage(0.0)];
    let params = IcpParams { search: Search::Lbvh, schedule, max_iterations: 2, ..IcpParams::default() };
    let stream = Device::twin().stream().unwrap();
    let target = Target::new(&stream, Rows::f32(onto.as_flattened(), 3).unwrap(), &params).unwrap();
    let made = || {
        stream.take_steps();
        target.align(source, &Pose::IDENTITY).unwrap();
        let steps = stream.take_steps();
        ["icp_build", "icp_normals", "icp_look"].map(|name| steps.iter().filter(|s| **s == Step::Kernel(name)).count())
    };
    let (first, again) = (made(), made());
    assert_eq!((first[0], first[1], again[0], again[1]), (3, 3, 0, 0));
    assert!(first[2] > 0 && again[2] == first[2]);
}

/// Normals of the caller count in place of those that would be made, on every device; points that
/// are left out take theirs along.
#[test]
fn normals_of_the_caller_are_used() {
    let params = |metric| IcpParams { metric, drop_zeros: true, max_iterations: 8, ..IcpParams::default() };
    // Three planes; before and among their points some that are left out, whose normals are wrong.
    let (mut room, mut good) = (vec![[0.0f32; 3], [f32::NAN, 0.0, 0.0]], vec![[1.0f32, 1.0, 1.0]; 2]);
    for i in 0..400 {
        let (a, b) = ((i % 20) as f32 * 0.1 + 0.05, (i / 20) as f32 * 0.1 + 0.05);
        room.extend([[a, b, 0.0], [0.0, a, b], [a, 0.0, b], [0.0; 3]]);
        // Of any length and sign.
        good.extend([[0.0, 0.0, 2.0], [-1e-3, 0.0, 0.0], [0.0, 1e20, 0.0], [1.0, 1.0, 1.0]]);
    }
    let source: Vec<[f32; 3]> =
        room.iter().map(|p| [p[0] + 0.02, p[1] - 0.01, p[2] + 0.015]).skip(2).step_by(3).collect();
    let (onto, source) = (Rows::f32(room.as_flattened(), 3).unwrap(), Rows::f32(source.as_flattened(), 3).unwrap());
    let run = |device: &Device, metric, normals: &[[f32; 3]]| {
        let target = Target::with_normals(&device.stream().unwrap(), onto, normals, &params(metric)).unwrap();
        without_searched(strip(target.align(source, &Pose::IDENTITY).unwrap()))
    };
    for metric in [Metric::PointToPlane, Metric::Gicp] {
        let wanted = run(&Device::cpu(), metric, &good);
        assert!(wanted.converged() && (wanted.target_from_source.translation()[0] + 0.02).abs() < 1e-5, "{wanted:?}");
        // All planes lie flat: heights and tilts are all that is known, as without the walls.
        let flat = vec![[0.0, 0.0, 1.0]; room.len()];
        let none = vec![[0.0, f32::NAN, 0.0]; room.len()];
        for device in devices() {
            assert_eq!(run(&device, metric, &good), wanted, "{device}");
            // An aligner does the same, and forgets the normals afterwards.
            let mut aligner = Aligner::new(&device.stream().unwrap(), &params(metric)).unwrap();
            let got = aligner.align_with_normals(source, onto, &good, &Pose::IDENTITY).unwrap();
            assert_eq!(without_searched(strip(got)), wanted, "{device}");
            let made = without_searched(strip(align(source, onto, &params(metric)).unwrap()));
            assert_eq!(
                without_searched(strip(aligner.align(source, onto, &Pose::IDENTITY).unwrap())),
                made,
                "{device}"
            );
            if metric == Metric::PointToPlane {
                let seen = run(&device, metric, &flat);
                assert!(seen.status == Status::Degenerate && seen.fit.observability.rank() == 3, "{device}: {seen:?}");
                assert_eq!(run(&device, metric, &none).fit.observability.rank(), 0, "{device}");
            }
            // Stages with voxels make their own.
            let schedule = vec![Stage { voxel_size: 0.3, max_distance: None }];
            let thin = IcpParams { schedule, ..params(metric) };
            let stream = device.stream().unwrap();
            let own =
                Target::with_normals(&stream, onto, &flat, &thin).unwrap().align(source, &Pose::IDENTITY).unwrap();
            let made = Target::new(&stream, onto, &thin).unwrap().align(source, &Pose::IDENTITY).unwrap();
            assert_eq!(without_searched(strip(own)), without_searched(strip(made)), "{device}");
        }
    }
    let refused = |metric, normals: &[[f32; 3]]| {
        Target::with_normals(&Device::cpu().stream().unwrap(), onto, normals, &params(metric)).unwrap_err().to_string()
    };
    assert_eq!(refused(Metric::Gicp, &good[1..]), "target_normals: expected 1602 rows, as the target, got 1601");
    let none = "target_normals: expected none: point-to-point does not use normals, got 1602 normals";
    assert_eq!(refused(Metric::PointToPoint, &good), none);
}
