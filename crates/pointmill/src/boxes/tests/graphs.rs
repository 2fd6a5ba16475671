//! Calls that are recorded in a graph, and streams that are in order.

use super::street;
use crate::boxes::{BoxIou, Candidates, IouParams, NmsParams, Suppressor};
use crate::testing::{Random, assert_in_order, kernel_devices};
use crate::{Device, Ints, Rows};

#[test]
fn a_graph_of_overlaps_gives_what_calls_give() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let (mut random, n) = (Random(5), 300);
        let mut boxes = stream.upload(street(&mut random, n, 10.0).as_flattened()).unwrap();
        let mut worker = BoxIou::new(&stream, &IouParams::default()).unwrap();
        let mut iou = stream.alloc(0).unwrap();
        let mut call = |boxes: &crate::Buffer<f32>| {
            let rows = Rows::on_device(boxes, n, 7).unwrap();
            worker.iou(rows, rows, &mut iou)?;
            Ok::<_, crate::Error>(iou.device_pointer())
        };
        call(&boxes).unwrap();
        let graph = stream.capture(|| call(&boxes).map(drop)).unwrap();
        for _ in 0..5 {
            boxes.write(street(&mut random, n, 10.0).as_flattened()).unwrap();
            // SAFETY: all memory of the recorded call is alive.
            unsafe { graph.launch() }.unwrap();
            let got = iou.read(n * n).unwrap();
            let mut plain = stream.alloc(0).unwrap();
            let rows = Rows::on_device(&boxes, n, 7).unwrap();
            BoxIou::new(&stream, &IouParams::default()).unwrap().iou(rows, rows, &mut plain).unwrap();
            assert_eq!(got, plain.read(n * n).unwrap(), "{name}");
        }
    }
}

#[test]
fn work_on_memory_of_other_streams_is_in_order() {
    let device = Device::twin();
    let streams: [_; 5] = std::array::from_fn(|_| device.stream().unwrap());
    let [own, a, b, c, d] = &streams;
    let rows = street(&mut Random(3), 20, 4.0);
    let boxes = [a, b].map(|stream| stream.upload(rows.as_flattened()).unwrap());
    let points = b.upload(&[0.5f32; 20]).unwrap();
    let classes = c.upload(&[0i32; 20]).unwrap();
    let [x, y] = [0, 1].map(|k| Rows::on_device(&boxes[k], 20, 7).unwrap());
    let mut worker = BoxIou::new(own, &IouParams::default()).unwrap();
    let mut out = d.alloc(400).unwrap();
    streams.iter().for_each(|stream| drop(stream.take_steps()));
    worker.iou(x, y, &mut out).unwrap();
    assert_in_order(own, &[a, b, d], "iou");

    let mut suppressor = Suppressor::new(own, &NmsParams::default()).unwrap();
    let mut kept = Suppressor::new(d, &NmsParams::default()).unwrap().output().unwrap();
    let scores = Rows::on_device(&points, 20, 1).unwrap();
    let candidates = Candidates::new(x, scores).classes(Ints::on_device(&classes, 20).unwrap());
    suppressor.run(candidates, &mut kept).unwrap();
    streams.iter().for_each(|stream| drop(stream.take_steps()));
    suppressor.run(candidates, &mut kept).unwrap();
    assert_in_order(own, &[a, b, c, d], "nms");
}
