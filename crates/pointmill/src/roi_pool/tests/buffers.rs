//! Results in memory of somebody else.

use super::*;
use crate::device::Step;
use crate::testing::{Random, kernel_devices};
use crate::{Buffer, Stream};

/// Boxes among points.
fn arrays(boxes: usize, points: usize) -> (Vec<f32>, Vec<f32>) {
    let mut random = Random(53);
    let mut rows = |n: usize, row: fn(&mut Random) -> Vec<f32>| (0..n).flat_map(|_| row(&mut random)).collect();
    let boxes = rows(boxes, |r| {
        vec![r.between(-5.0, 5.0), r.between(-5.0, 5.0), -1.0, r.between(0.5, 4.0), 2.0, 2.0, r.between(-3.0, 3.0)]
    });
    (boxes, rows(points, |r| vec![r.between(-6.0, 6.0), r.between(-6.0, 6.0), r.between(-1.0, 1.0)]))
}

fn scene((boxes, points): &(Vec<f32>, Vec<f32>)) -> Scene<'_> {
    Scene::new(Rows::new(boxes, 7).unwrap(), Rows::new(points, 3).unwrap())
}

/// The `len` elements of `memory` from `skip` on, as somebody else's.
fn borrowed<T: bytemuck::Pod>(stream: &Stream, memory: &Buffer<T>, skip: usize, len: usize) -> Buffer<T> {
    assert!(skip + len <= memory.len());
    // SAFETY: tests keep the memory, which has room.
    unsafe { Buffer::from_raw_cuda(stream, memory.device_pointer() + (skip * size_of::<T>()) as u64, len) }.unwrap()
}

fn tester(stream: &Stream) -> PointsInBoxes {
    PointsInBoxes::new(stream, BoxParams::default()).unwrap()
}

/// A slice of a tensor starts anywhere.
#[test]
fn results_may_start_at_any_element() {
    let arrays = arrays(128, 300);
    let cpu = Device::cpu().stream().unwrap();
    let (mut part, mut bits) = (cpu.alloc(0).unwrap(), cpu.alloc(0).unwrap());
    tester(&cpu).part(scene(&arrays), &mut part).unwrap();
    tester(&cpu).bits(scene(&arrays), &mut bits).unwrap();
    assert!(part.read(300).unwrap().iter().any(|&b| b > 0));
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let (whole, words) = (stream.upload(&[7; 304]).unwrap(), stream.upload(&[7; 1204]).unwrap());
        for skip in 0..4 {
            let mut out = borrowed(&stream, &whole, skip, 300);
            tester(&stream).part(scene(&arrays), &mut out).unwrap();
            assert_eq!(out.read(300).unwrap(), part.read(300).unwrap(), "{name}, from {skip} on");
            let mut out = borrowed(&stream, &words, skip, 1200);
            tester(&stream).bits(scene(&arrays), &mut out).unwrap();
            assert_eq!(out.read(1200).unwrap(), bits.read(1200).unwrap(), "{name}, from {skip} on");
            assert_eq!(whole.read(304).unwrap()[skip + 300..], vec![7; 4 - skip], "{name}, from {skip} on");
        }
    }
}

/// All kernels of a call go to the stream of who was called, whatever stream the result belongs to.
#[test]
fn kernels_go_to_one_stream() {
    let arrays = arrays(40, 700);
    let device = Device::twin();
    let (own, other) = (device.stream().unwrap(), device.stream().unwrap());
    let mut inside = tester(&own);
    let (mut numbers, mut words) = (other.alloc(0).unwrap(), other.alloc(0).unwrap());
    let kernels = |stream: &Stream| {
        let steps = stream.take_steps().into_iter();
        steps.filter_map(|s| if let Step::Kernel(name) = s { Some(name) } else { None }).collect::<Vec<_>>()
    };
    inside.count(scene(&arrays), &mut numbers).unwrap();
    assert_eq!((kernels(&own), kernels(&other)), (vec!["roi_mark", "roi_box_totals"], vec![]));
    inside.bits(scene(&arrays), &mut words).unwrap();
    assert_eq!((kernels(&own), kernels(&other)), (vec!["roi_mark", "roi_point_boxes"], vec![]));
    inside.part(scene(&arrays), &mut numbers).unwrap();
    assert_eq!((kernels(&own), kernels(&other)), (vec!["roi_first_box"], vec![]));
}

/// Memory of somebody else is never replaced: its owner would wait for a result that is elsewhere.
#[test]
fn memory_of_others_does_not_grow() {
    let arrays = arrays(40, 300);
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let (numbers, words) = (stream.upload(&[7i32; 300]).unwrap(), stream.upload(&[7u32; 600]).unwrap());
        let mut inside = tester(&stream);
        let expected = |len: usize| {
            format!("buffer: expected room for {len} elements in memory that is not pointmill's own, got {}", len - 1)
        };
        let mut out = borrowed(&stream, &numbers, 0, 299);
        assert_eq!(inside.part(scene(&arrays), &mut out).unwrap_err().to_string(), expected(300), "{name}");
        let mut out = borrowed(&stream, &numbers, 0, 39);
        assert_eq!(inside.count(scene(&arrays), &mut out).unwrap_err().to_string(), expected(40), "{name}");
        let mut out = borrowed(&stream, &words, 0, 599);
        assert_eq!(inside.bits(scene(&arrays), &mut out).unwrap_err().to_string(), expected(600), "{name}");
        assert_eq!((numbers.read(300).unwrap(), words.read(600).unwrap()), (vec![7; 300], vec![7; 600]), "{name}");
        inside.bits(scene(&arrays), &mut borrowed(&stream, &words, 0, 600)).unwrap();
        assert!(words.read(600).unwrap().iter().all(|&w| w != 7), "{name}");

        // A gradient keeps its type too.
        let params = RoiPoolParams { out_size: [2; 3], ..RoiPoolParams::default() };
        let mut pooler = RoiPooler::new(&stream, &params).unwrap();
        let mut pooled = pooler.output().unwrap();
        let (features, grad) = (vec![f16::ONE; 300], vec![f16::ONE; 40 * 8]);
        pooler.run(scene(&arrays), Rows::new(&features, 1).unwrap(), &mut pooled).unwrap();
        let tensor = stream.upload(&[7.0f32; 300]).unwrap();
        let mut out = AnyBuffer::from(borrowed(&stream, &tensor, 0, 300));
        let e = pooler.backward(&pooled, Rows::new(&grad, 1).unwrap(), &mut out).unwrap_err().to_string();
        assert_eq!(e, "buffer: expected memory of type f16, as it is not pointmill's own, got f32", "{name}");
        assert_eq!(tensor.read(300).unwrap(), [7.0; 300], "{name}");
    }
}

/// Pooled features go to memory of the caller's, which must have room for an even number of them;
/// nothing behind is touched.
#[test]
fn pooled_features_go_to_memory_of_others() {
    let arrays = arrays(5, 300);
    let features: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let params = RoiPoolParams { out_size: [3, 1, 3], max_points_per_voxel: 3, ..RoiPoolParams::default() };
    let input = || Rows::new(&features, 1).unwrap();
    let want = roi_pool(scene(&arrays), input(), &params, &Device::cpu()).unwrap().read().unwrap();
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut pooler = RoiPooler::new(&stream, &params).unwrap();
        let mut pooled = pooler.output().unwrap();
        let (values, argmax) = (stream.upload(&[-7.0f32; 50]).unwrap(), stream.upload(&[-7; 50]).unwrap());
        let indices = stream.upload(&[-7; 200]).unwrap();
        let mut lent = Arrays::new(&stream);
        lent.set(RoiArray::Pooled, borrowed(&stream, &values, 0, 46));
        lent.set(RoiArray::Argmax, borrowed(&stream, &argmax, 0, 45));
        lent.set(RoiArray::PointIndices, borrowed(&stream, &indices, 0, 180));
        pooled.exchange(lent).unwrap();
        for _ in 0..2 {
            pooler.run(scene(&arrays), input(), &mut pooled).unwrap();
            assert_eq!(pooled.read().unwrap(), want, "{name}");
        }
        assert_eq!(values.read(50).unwrap()[46..], [-7.0; 4], "{name}");
        assert_eq!(argmax.read(50).unwrap()[45..], [-7; 5], "{name}");
        assert_eq!(indices.read(200).unwrap()[180..], [-7; 20], "{name}");
        let mut short = Arrays::new(&stream);
        short.set(RoiArray::Pooled, borrowed(&stream, &values, 0, 45));
        pooled.exchange(short).unwrap();
        let e = pooler.run(scene(&arrays), input(), &mut pooled).unwrap_err().to_string();
        assert_eq!(e, "buffer: expected room for 46 elements in memory that is not pointmill's own, got 45", "{name}");
    }
}
