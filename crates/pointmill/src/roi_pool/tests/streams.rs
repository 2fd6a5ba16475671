//! Arrays and results of other streams of the same device.

use super::*;
use crate::device::Step;
use crate::testing::{Random, assert_in_order, kernel_devices};

#[test]
fn other_streams_wait_and_are_waited_for() {
    let mut random = Random(61);
    let mut values = |n: usize, low: f32, high: f32| (0..n).map(|_| random.between(low, high)).collect::<Vec<f32>>();
    let (points, features) = (values(600 * 3, -3.0, 3.0), values(600 * 4, -1.0, 1.0));
    let centres = values(20 * 3, -3.0, 2.0);
    let boxes: Vec<f32> = centres.chunks_exact(3).flat_map(|c| [c[0], c[1], c[2], 3.0, 2.0, 2.0, c[0]]).collect();
    let params = RoiPoolParams { layout: RoiLayout::Sparse, ..RoiPoolParams::default() };
    let host = |v| Rows::new(v, 3).unwrap();
    let scene = Scene::new(Rows::new(&boxes, 7).unwrap(), host(&points));
    let want = roi_pool(scene, Rows::new(&features, 4).unwrap(), &params, &Device::cpu()).unwrap().read().unwrap();
    assert!(want.report.voxels > 50, "the result grows: {:?}", want.report);
    for (name, device) in kernel_devices() {
        let [own, arrays, results] = [0; 3].map(|_| device.stream().unwrap());
        let others = [&arrays, &results];
        let in_order = |others: &[&Stream], what: &str| {
            if name == "twin" {
                assert_in_order(&own, others, what);
            }
        };
        for _ in 0..if name == "twin" { 1 } else { 50 } {
            // All new, so that calls allocate and grow.
            let mut pooler = RoiPooler::new(&own, &params).unwrap();
            let mut out = RoiPooler::new(&results, &params).unwrap().output().unwrap();
            let (b, p) = (arrays.upload(&boxes).unwrap(), arrays.upload(&points).unwrap());
            let f = arrays.upload(&features).unwrap();
            let scene = Scene::new(Rows::on_device(&b, 20, 7).unwrap(), Rows::on_device(&p, 600, 3).unwrap());
            let f = Rows::on_device(&f, 600, 4).unwrap();
            let _ = [&own, &arrays, &results].map(Stream::take_steps);
            pooler.run(scene, f, &mut out).unwrap();
            if name == "twin" {
                // Boxes, points and features each bring their stream.
                let steps = own.take_steps();
                assert_eq!(steps[..4], [results.awaited(), arrays.awaited(), arrays.awaited(), arrays.awaited()]);
                let emitted = steps.iter().filter(|s| **s == Step::Kernel("roi_emit")).count();
                assert!(emitted >= 2, "the result grows within the call: {steps:?}");
                assert_eq!(arrays.take_steps(), [own.awaited(); 3]);
                assert_eq!(results.take_steps(), [own.awaited()]);
            }
            assert!(out.stream().same_queue(&results));
            assert_eq!(out.read().unwrap(), want, "{name}");
            pooler.pool(f, PoolMode::Max, &mut out).unwrap();
            in_order(&others, "pool");
            let AnyArray::F32(grad) = &want.pooled else { panic!("features of f32") };
            let grad = arrays.upload(grad).unwrap();
            let _ = arrays.take_steps();
            let mut gradient = AnyBuffer::new(&own, Dtype::F32).unwrap();
            pooler.backward(&out, Rows::on_device(&grad, want.report.voxels, 4).unwrap(), &mut gradient).unwrap();
            in_order(&others, "backward");
            let mut inside = PointsInBoxes::new(&own, BoxParams::default()).unwrap();
            let mut count = results.alloc(0).unwrap();
            inside.count(Scene::new(host_boxes(&boxes), host(&points)), &mut count).unwrap();
            in_order(&[&results], "count");
            assert_eq!(count.read(20).unwrap().iter().sum::<i32>() as usize, want.report.inside, "{name}");
        }
    }
}

/// Boxes, points and features of the host are copied once a call, whichever kernels it takes.
#[test]
fn arrays_of_the_host_are_copied_once() {
    for points in [10, 800] {
        let (boxes, points) = ([0.0f32, 0.0, 0.0, 4.0, 2.0, 2.0, 0.0].repeat(2), vec![0.5f32; points * 3]);
        let params = RoiPoolParams { out_size: [1; 3], ..RoiPoolParams::default() };
        let stream = Device::twin().stream().unwrap();
        let mut pooler = RoiPooler::new(&stream, &params).unwrap();
        let mut out = pooler.output().unwrap();
        for _ in 0..2 {
            let _ = stream.take_steps();
            let points = Rows::new(&points, 3).unwrap();
            pooler.run(Scene::new(host_boxes(&boxes), points), points, &mut out).unwrap();
        }
        let steps = stream.take_steps();
        assert_eq!(steps.contains(&Step::Kernel("roi_mark")), points.len() > 30, "{steps:?}");
        assert_eq!(steps.iter().filter(|s| **s == Step::Write).count(), 3, "{steps:?}");
    }
}

fn host_boxes(boxes: &[f32]) -> Rows<'_> {
    Rows::new(boxes, 7).unwrap()
}
