//! Calls that are recorded in a graph, and streams that are in order.

use super::{scores, street};
use crate::boxes::{BoxIou, Candidates, IouParams, NmsParams, Suppressor};
use crate::testing::{Random, assert_in_order, kernel_devices};
use crate::{Device, Ints, Rows};

#[test]
fn a_graph_gives_what_calls_give() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut random = Random(5);
        let n = 300;
        let mut boxes = stream.alloc::<f32>(n * 7).unwrap();
        let mut points = stream.alloc::<f32>(n).unwrap();
        let classes = stream.upload(&(0..n as i32).map(|i| i % 3).collect::<Vec<_>>()).unwrap();
        let splits = [0, 100, n];
        let mut suppressor = Suppressor::new(&stream, &NmsParams::default()).unwrap();
        let mut worker = BoxIou::new(&stream, &IouParams::default()).unwrap();
        let (mut kept, mut iou) = (suppressor.output().unwrap(), stream.alloc(0).unwrap());
        let mut inputs = || {
            let rows = street(&mut random, n, 10.0);
            (rows.as_flattened().to_vec(), scores(&mut random, n))
        };
        let (first, values) = inputs();
        boxes.write(&first).unwrap();
        points.write(&values).unwrap();
        macro_rules! call {
            () => {{
                let rows = Rows::on_device(&boxes, n, 7).unwrap();
                let scores = Rows::on_device(&points, n, 1).unwrap();
                let ids = Ints::on_device(&classes, n).unwrap();
                suppressor.run(Candidates::new(rows, scores).classes(ids).batch(&splits), &mut kept).unwrap();
                worker.iou(rows, rows, &mut iou).unwrap();
            }};
        }
        call!();
        let graph = stream
            .capture(|| {
                call!();
                Ok::<(), crate::Error>(())
            })
            .unwrap();
        for _ in 0..5 {
            let (next, values) = inputs();
            boxes.write(&next).unwrap();
            points.write(&values).unwrap();
            call!();
            let want = (kept.read().unwrap(), iou.read(n * n).unwrap());
            // SAFETY: all memory of the recorded calls is alive.
            unsafe { graph.launch() }.unwrap();
            assert_eq!((kept.read().unwrap(), iou.read(n * n).unwrap()), want, "{name}");
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
