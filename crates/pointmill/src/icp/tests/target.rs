//! A target for many sources: each is aligned as it is alone.

use super::super::*;
use super::{cloud_of, strip, without_searched};
use crate::device::Step;
use crate::testing::kernel_devices;
use crate::{Coordinates, Device, Error};
use std::thread;

const METRICS: [Metric; 3] = [Metric::PointToPoint, Metric::PointToPlane, Metric::Gicp];

fn devices() -> Vec<Device> {
    let kernels = kernel_devices().into_iter().map(|(_, device)| device);
    [Device::cpu(), Device::cpu_with_threads(1).unwrap()].into_iter().chain(kernels).collect()
}

#[test]
fn sources_one_after_the_other_are_aligned_as_alone() {
    let onto = cloud_of(1_500, 7);
    let onto = Coordinates::f32(onto.as_flattened(), 3).unwrap();
    let mut sources: Vec<Vec<[f32; 3]>> = [(900, 1), (300, 2), (1_300, 3)].map(|(n, seed)| cloud_of(n, seed)).into();
    // One without points, before which nothing of a stage may be taken for made.
    sources.insert(0, Vec::new());
    let stages =
        vec![Stage { voxel_size: 0.2, max_distance: None }, Stage { voxel_size: 0.0, max_distance: Some(0.2) }];
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut aligner = Aligner::new(&stream).unwrap();
        for (i, metric) in METRICS.into_iter().enumerate() {
            let search = [Search::Brute, Search::KdTree, Search::Lbvh][i];
            let schedule = if i == 1 { Vec::new() } else { stages.clone() };
            let params = IcpParams { metric, search, schedule, max_iterations: 6, ..IcpParams::default() };
            let target = Target::new(&stream, onto, &params).unwrap();
            for source in sources.iter().chain(&sources) {
                let source = Coordinates::f32(source.as_flattened(), 3).unwrap();
                let wanted = strip(aligner.align(source, onto, &params).unwrap());
                let got = strip(target.align(source).unwrap());
                assert_eq!(without_searched(got), without_searched(wanted), "{device}, {metric:?}");
            }
        }
    }
}

#[test]
fn several_threads_share_a_target() {
    let (onto, sources) = (cloud_of(1_200, 7), [1, 2, 3, 4].map(|seed| cloud_of(400, seed)));
    let (onto, params) = (Coordinates::f32(onto.as_flattened(), 3).unwrap(), IcpParams::default());
    for device in devices() {
        let target = Target::new(&device.stream().unwrap(), onto, &params).unwrap();
        thread::scope(|scope| {
            for source in &sources {
                let (target, params) = (&target, &params);
                scope.spawn(move || {
                    let source = Coordinates::f32(source.as_flattened(), 3).unwrap();
                    let wanted = without_searched(strip(align(source, onto, params).unwrap()));
                    assert_eq!(without_searched(strip(target.align(source).unwrap())), wanted);
                });
            }
        });
    }
}

#[test]
fn what_is_wrong_is_told_and_leaves_the_target_as_it_was() {
    let (onto, source) = (cloud_of(300, 7), cloud_of(200, 1));
    let onto = Coordinates::f32(onto.as_flattened(), 3).unwrap();
    let source = Coordinates::f32(source.as_flattened(), 3).unwrap();
    for device in devices() {
        let stream = device.stream().unwrap();
        let bad = IcpParams { neighbours: 1, ..IcpParams::default() };
        assert!(matches!(Target::new(&stream, onto, &bad), Err(Error::Argument { argument: "neighbours", .. })));
        let far = [1e19, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let far = Coordinates::f32(&far, 3).unwrap();
        let told = Target::new(&stream, far, &IcpParams::default()).unwrap_err();
        assert!(matches!(told, Error::Argument { argument: "target", .. }), "{told}");
        let target = Target::new(&stream, onto, &IcpParams::default()).unwrap();
        let wanted = strip(target.align(source).unwrap());
        let told = target.align(far).unwrap_err();
        assert!(matches!(told, Error::Argument { argument: "source", .. }), "{told}");
        assert_eq!(strip(target.align(source).unwrap()), wanted);
        assert_eq!(target.params(), &IcpParams::default());
    }
}

/// Trees and normals of each stage are made with the first source, and not again.
#[test]
fn a_target_is_made_once() {
    let (onto, source) = (cloud_of(700, 7), cloud_of(400, 1));
    let source = Coordinates::f32(source.as_flattened(), 3).unwrap();
    let stage = |voxel_size| Stage { voxel_size, max_distance: None };
    let schedule = vec![stage(0.3), stage(0.15), stage(0.0)];
    let params = IcpParams { search: Search::Lbvh, schedule, max_iterations: 2, ..IcpParams::default() };
    let stream = Device::twin().stream().unwrap();
    let target = Target::new(&stream, Coordinates::f32(onto.as_flattened(), 3).unwrap(), &params).unwrap();
    let made = || {
        stream.take_steps();
        target.align(source).unwrap();
        let steps = stream.take_steps();
        ["icp_build", "icp_normals", "icp_look"].map(|name| steps.iter().filter(|s| **s == Step::Kernel(name)).count())
    };
    let (first, again) = (made(), made());
    assert_eq!((first[0], first[1], again[0], again[1]), (3, 3, 0, 0));
    assert!(first[2] > 0 && again[2] == first[2]);
}
