//! Calls that are recorded in a graph, and streams that are in order.

use super::serialize::some;
use crate::sparse::{Cells, SerializeParams, Serializer};
use crate::testing::{Random, assert_in_order, kernel_devices};
use crate::{Device, Ints};

#[test]
fn a_graph_gives_what_calls_give() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let (n, mut random) = (600, Random(5));
        let params = SerializeParams { depth: Some(7), ..SerializeParams::default() };
        let mut serializer = Serializer::new(&stream, &params).unwrap();
        let mut out = serializer.output().unwrap();
        let (mut coords, mut batch) = (stream.alloc::<i32>(3 * n).unwrap(), stream.alloc::<i32>(n).unwrap());
        let mut count = stream.upload(&[n as u32]).unwrap();
        macro_rules! call {
            () => {{
                let cells = Cells::new(Ints::on_device(&coords, 3 * n).unwrap()).unwrap();
                let cells = cells.batch(Ints::on_device(&batch, n).unwrap(), 3).unwrap();
                serializer.run(cells.counted(&count).unwrap(), &mut out).unwrap();
            }};
        }
        call!();
        let graph = stream
            .capture(|| {
                call!();
                Ok::<(), crate::Error>(())
            })
            .unwrap();
        for round in 0..5 {
            let (cells, ids) = some(&mut random, n, 128, 3);
            coords.write(cells.as_flattened()).unwrap();
            batch.write(&ids).unwrap();
            count.write(&[n as u32 - 100 * round]).unwrap();
            call!();
            let want = out.read().unwrap();
            out.order.fill_words(0, 4 * n).unwrap();
            // SAFETY: all memory of the recorded calls is alive.
            unsafe { graph.launch() }.unwrap();
            assert_eq!(out.read().unwrap(), want, "{name}");
        }
        let mut waiting = Serializer::new(&stream, &SerializeParams::default()).unwrap();
        let refused = stream.capture(|| waiting.run(Cells::new(Ints::on_device(&coords, 3)?)?, &mut out)).unwrap_err();
        let want = "depth: expected a depth (the stream records a graph), got none: the call waits for the largest \
                    coordinate";
        assert_eq!(refused.to_string(), want, "{name}");
    }
}

#[test]
fn work_on_memory_of_other_streams_is_in_order() {
    let device = Device::twin();
    let streams: [_; 5] = std::array::from_fn(|_| device.stream().unwrap());
    let [own, a, b, c, d] = &streams;
    let (coords, batch) = (a.upload(&[1; 30]).unwrap(), b.upload(&[0; 10]).unwrap());
    let count = c.upload(&[7]).unwrap();
    let params = SerializeParams { depth: Some(7), ..SerializeParams::default() };
    let mut serializer = Serializer::new(own, &params).unwrap();
    let mut out = Serializer::new(d, &params).unwrap().output().unwrap();
    let cells = Cells::new(Ints::on_device(&coords, 30).unwrap()).unwrap();
    let cells = cells.batch(Ints::on_device(&batch, 10).unwrap(), 1).unwrap().counted(&count).unwrap();
    serializer.run(cells, &mut out).unwrap();
    streams.iter().for_each(|stream| drop(stream.take_steps()));
    serializer.run(cells, &mut out).unwrap();
    assert_in_order(own, &[a, b, c, d], "serialize");
}
