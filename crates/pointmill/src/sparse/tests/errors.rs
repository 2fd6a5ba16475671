//! What is refused, and in which words.

use crate::sparse::{Cells, Order, SerializeParams, Serializer, serialize};
use crate::testing::{devices, kernel_devices};
use crate::{Device, Ints};

fn at(depth: Option<u32>) -> SerializeParams {
    SerializeParams { depth, orders: vec![Order::Z] }
}

#[test]
fn rows_that_are_no_cells_are_named() {
    for (name, device) in devices() {
        let said = |cells: Cells<'_>, depth| serialize(cells, &at(depth), &device).unwrap_err().to_string();
        fn cells(rows: &[[i32; 3]]) -> Cells<'_> {
            Cells::new(rows).unwrap()
        }
        assert_eq!(
            said(cells(&[[0, 0, 0], [1, -1, 0]]), Some(4)),
            "coords: expected coordinates of 0 to 15 at depth 4: set a larger depth, got [1, -1, 0] in row 1",
            "{name}"
        );
        assert_eq!(
            said(cells(&[[0, 0, 16]]), Some(4)),
            "coords: expected coordinates of 0 to 15 at depth 4: set a larger depth, got [0, 0, 16] in row 0",
            "{name}"
        );
        assert_eq!(
            said(cells(&[[0, i32::MIN, 3]]), None),
            "coords: expected coordinates of 0 to 7 at depth 3: set a larger depth, got [0, -2147483648, 3] in row 0",
            "{name}"
        );
        assert_eq!(
            said(cells(&[[0, 65_535, 0]]), None),
            "coords: expected coordinates of 0 to 65534 where no depth is given: use a larger grid size, got 65535",
            "{name}"
        );
        for (item, items) in [(2, 2), (-1, 1)] {
            let batch = [0, item];
            assert_eq!(
                said(cells(&[[0; 3]; 2]).batch(&batch, items).unwrap(), Some(4)),
                format!("batch: expected items of 0 to {}, got {item} in row 1", items - 1),
                "{name}"
            );
        }
        assert_eq!(
            said(cells(&[[0; 3]]).batch(&[0], 1 << 15).unwrap(), Some(16)),
            "depth: expected 3 * depth + bits(items) of 63 or less: a smaller depth, or fewer items, got 64 (depth 16, \
             32768 items)"
        );
    }
}

/// On a GPU rows in its memory are looked at by kernels alone.
#[test]
fn rows_in_memory_of_a_device_are_named_when_somebody_waits() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut serializer = Serializer::new(&stream, &at(Some(2))).unwrap();
        let mut out = serializer.output().unwrap();
        let good = stream.upload(&[0; 9]).unwrap();
        for (row, item, want) in [
            ([0, -4, 0], 0, "coords: expected coordinates of 0 to 3 at depth 2: set a larger depth, got row 2"),
            ([4, 0, 0], 0, "coords: expected coordinates of 0 to 3 at depth 2: set a larger depth, got row 2"),
            ([0, 0, 0], -1, "batch: expected items of 0 to 4, got row 2"),
            ([0, 0, 0], 5, "batch: expected items of 0 to 4, got row 2"),
        ] {
            let coords = stream.upload([[0; 3], [3; 3], row].as_flattened()).unwrap();
            let batch = stream.upload(&[0, 4, item]).unwrap();
            let cells = Cells::new(Ints::on_device(&coords, 9).unwrap()).unwrap();
            serializer.run(cells.batch(Ints::on_device(&batch, 3).unwrap(), 5).unwrap(), &mut out).unwrap();
            assert_eq!(out.read().unwrap_err().to_string(), want, "{name}");
            serializer.run(Cells::new(Ints::on_device(&good, 9).unwrap()).unwrap(), &mut out).unwrap();
            assert_eq!(out.read().unwrap().order, [0, 1, 2], "{name}: a good call after a bad one");
        }
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let stream = Device::cpu().stream().unwrap();
    let refused = |params: SerializeParams| Serializer::new(&stream, &params).unwrap_err().to_string();
    assert_eq!(refused(at(Some(0))), "depth: expected 1 to 16 bits a coordinate, got 0");
    let orders = |n| SerializeParams { depth: None, orders: vec![Order::Z; n] };
    assert_eq!(refused(orders(0)), "orders: expected 1 to 4 orders, got 0");
    assert_eq!(refused(orders(5)), "orders: expected 1 to 4 orders, got 5");
    assert_eq!(Cells::new(&[1, 2]).unwrap_err().to_string(), "coords: expected 3 values a row (x, y, z), got 2");
    let cells = Cells::new(&[[0; 3]; 2]).unwrap();
    assert_eq!(cells.batch(&[0], 1).unwrap_err().to_string(), "batch: expected 2 numbers, as many as cells, got 1");
    assert_eq!(cells.batch(&[0, 0], 0).unwrap_err().to_string(), "items: expected 1 to 2147483647 items, got 0");
    let none = stream.alloc(0).unwrap();
    assert_eq!(cells.counted(&none).unwrap_err().to_string(), "count: expected a buffer of at least one word, got 0");
}
