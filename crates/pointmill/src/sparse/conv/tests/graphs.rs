//! Calls that are recorded in a graph, and streams that are in order.

use super::some_cells;
use crate::Device;
use crate::sparse::{CellCoords, ConvKind, ConvParams, IndexPairs, SparseCells};
use crate::testing::{Random, assert_in_order, kernel_devices};

const SHAPE: [u32; 3] = [6, 24, 24];

fn strided(capacity: Option<u32>) -> ConvParams {
    ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], capacity, ..ConvParams::default() }
}

/// A strided layer, a submanifold layer on its outputs, and the way back.
#[test]
fn a_graph_gives_what_calls_give() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut random = Random(6);
        let n = 300;
        let mut lent = stream.alloc::<i32>(n * 4).unwrap();
        let mut exact = stream.upload(&[n as u32]).unwrap();
        let inverse = ConvParams { kind: ConvKind::Inverse, ..strided(None) };
        let all = [strided(Some(250)), ConvParams::default(), inverse];
        let [mut down, mut same, mut up] = all.map(|params| IndexPairs::new(&stream, &params).unwrap());
        let [mut coarse, mut pairs, mut back] = [&down, &same, &up].map(|worker| worker.output().unwrap());
        macro_rules! call {
            () => {{
                let fine = CellCoords::on_device(&lent, n).unwrap().counted(&exact);
                down.run(SparseCells::new(fine, 2, SHAPE), &mut coarse).unwrap();
                same.run(coarse.as_cells(), &mut pairs).unwrap();
                up.run(coarse.as_cells().outputs(fine, SHAPE), &mut back).unwrap();
            }};
        }
        macro_rules! read {
            () => {
                [&coarse, &pairs, &back].map(|out| out.read().unwrap())
            };
        }
        lent.write(some_cells(&mut random, n, 2, SHAPE).as_flattened()).unwrap();
        call!();
        let graph = stream
            .capture(|| {
                call!();
                Ok::<(), crate::Error>(())
            })
            .unwrap();
        let mut dropped = 0;
        for round in 0..8 {
            lent.write(some_cells(&mut random, n, 2, SHAPE).as_flattened()).unwrap();
            exact.write(&[[300, 40, 0, 999][round % 4]]).unwrap();
            call!();
            let want = read!();
            // SAFETY: all memory of the recorded calls is alive.
            unsafe { graph.launch() }.unwrap();
            assert_eq!(read!(), want, "{name}");
            dropped += want[0].report.dropped;
            assert_eq!(want[2].report.cells, [300, 40, 0, 300][round % 4], "{name}");
        }
        assert!(dropped > 0);
        let said = stream.capture(|| {
            let mut free = IndexPairs::new(&stream, &strided(None))?;
            let mut out = free.output()?;
            free.run(SparseCells::new(CellCoords::on_device(&lent, n)?, 2, SHAPE), &mut out)
        });
        assert!(said.is_err(), "{name}: a call that waits cannot be recorded");
    }
}

#[test]
fn work_on_memory_of_other_streams_is_in_order() {
    let device = Device::twin();
    let streams: [_; 5] = std::array::from_fn(|_| device.stream().unwrap());
    let [own, a, b, c, d] = &streams;
    let cells = some_cells(&mut Random(3), 50, 1, SHAPE);
    let fine = a.upload(cells.as_flattened()).unwrap();
    let exact = b.upload(&[50]).unwrap();
    let coords = CellCoords::on_device(&fine, 50).unwrap().counted(&exact);
    let mut down = IndexPairs::new(own, &strided(Some(100))).unwrap();
    let mut coarse = IndexPairs::new(c, &strided(None)).unwrap().output().unwrap();
    down.run(SparseCells::new(coords, 1, SHAPE), &mut coarse).unwrap();
    streams.iter().for_each(|stream| drop(stream.take_steps()));
    down.run(SparseCells::new(coords, 1, SHAPE), &mut coarse).unwrap();
    assert_in_order(own, &[a, b, c], "strided");

    let mut up = IndexPairs::new(own, &ConvParams { kind: ConvKind::Inverse, ..strided(None) }).unwrap();
    let mut back = IndexPairs::new(d, &strided(None)).unwrap().output().unwrap();
    let inverse = coarse.as_cells().outputs(coords, SHAPE);
    up.run(inverse, &mut back).unwrap();
    streams.iter().for_each(|stream| drop(stream.take_steps()));
    up.run(inverse, &mut back).unwrap();
    let steps = own.take_steps();
    for other in [a, b, c, d] {
        assert!(steps.contains(&other.awaited()), "{steps:?}");
        assert!(other.take_steps().contains(&own.awaited()));
    }
}
