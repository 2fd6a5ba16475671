//! What is refused, and in which words.

use crate::Device;
use crate::sparse::{CellCoords, ConvKind, ConvParams, IndexPairs, SparseCells, index_pairs};
use crate::testing::{devices, kernel_devices};

const GOOD: [[i32; 4]; 3] = [[0, 0, 1, 2], [0, 0, 1, 1], [1, 3, 4, 5]];
const SHAPE: [u32; 3] = [4, 5, 6];

fn refused(cells: SparseCells<'_>, params: &ConvParams) -> String {
    index_pairs(cells, params, &Device::cpu()).unwrap_err().to_string()
}

#[test]
fn parameters_that_do_not_fit_are_named() {
    let said = |params: ConvParams| IndexPairs::new(&Device::cpu().stream().unwrap(), &params).unwrap_err().to_string();
    let default = ConvParams::default();
    let strided = ConvParams { kind: ConvKind::Strided, ..default };
    assert_eq!(said(ConvParams { kernel: [3, 0, 3], ..strided }), "kernel: expected sizes of 1 to 2^29, got [3, 0, 3]");
    assert_eq!(said(ConvParams { stride: [0, 1, 1], ..strided }), "stride: expected sizes of 1 to 2^29, got [0, 1, 1]");
    assert_eq!(
        said(ConvParams { dilation: [1, 1, 0], ..default }),
        "dilation: expected sizes of 1 to 2^29, got [1, 1, 0]"
    );
    let padding = ConvParams { padding: [u32::MAX, 0, 0], ..strided };
    assert_eq!(said(padding), "padding: expected sizes of 0 to 2^29, got [4294967295, 0, 0]");
    assert_eq!(
        said(ConvParams { kernel: [17; 3], ..default }),
        "kernel: expected at most 4096 offsets, got [17, 17, 17]"
    );
    let wide = ConvParams { dilation: [1 << 28, 1, 1], ..default };
    assert_eq!(said(wide), "dilation: expected a kernel that spans at most 2^29 cells, got [268435456, 1, 1]");
    let even = ConvParams { kernel: [3, 2, 3], ..default };
    assert_eq!(said(even), "kernel: expected odd sizes for a submanifold layer, got [3, 2, 3]");
    let steps = ConvParams { stride: [2, 1, 1], ..default };
    assert_eq!(said(steps), "stride: expected 1 for a submanifold layer, got [2, 1, 1]");
    assert_eq!(said(ConvParams { capacity: Some(0), ..strided }), "capacity: expected 1 to 2^30 - 1, got 0");
    let given = ConvParams { capacity: Some(9), kind: ConvKind::Inverse, ..default };
    assert_eq!(said(given), "capacity: expected none for an inverse layer, whose outputs are given, got 9");
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    let cells = |batch, shape| SparseCells::new(&GOOD, batch, shape);
    let default = ConvParams::default();
    assert_eq!(refused(cells(0, SHAPE), &default), "batch: expected 1 to 2^31 - 1 items, got 0");
    assert_eq!(refused(cells(2, [4, 0, 6]), &default), "shape: expected 1 to 2^30 cells along an axis, got [4, 0, 6]");
    let large = [1 << 30, 1 << 30, 4];
    let said = refused(cells(2, large), &default);
    assert_eq!(said, "shape: expected fewer than 2^63 cells in 2 items, got [1073741824, 1073741824, 4]");
    let strided = ConvParams { kind: ConvKind::Strided, kernel: [5, 1, 1], ..default };
    assert_eq!(refused(cells(2, SHAPE), &strided), "shape: expected as many cells as the kernel spans, got [4, 5, 6]");
    let transposed = ConvParams { kind: ConvKind::Transposed, kernel: [1; 3], padding: [2; 3], ..default };
    let said = refused(cells(2, SHAPE), &transposed);
    assert_eq!(said, "shape: expected outputs of 1 to 2^30 cells along an axis, got [4, 5, 6]");
    let inverse = ConvParams { kind: ConvKind::Inverse, stride: [2; 3], padding: [1; 3], ..default };
    assert_eq!(refused(cells(2, SHAPE), &inverse), "outputs: expected the cells of the strided layer, got none");
    let both = cells(2, SHAPE).outputs(&GOOD, [9, 9, 9]);
    assert_eq!(refused(both, &default), "outputs: expected none but for an inverse layer, got some");
    let said = refused(both, &inverse);
    assert_eq!(said, "shape: expected [5, 5, 5], which the layer makes of [9, 9, 9], got [4, 5, 6]");
    let beyond = cells(2, SHAPE).outputs(&[[0, 0, 0, 12]], [8, 10, 12]);
    let expected = "outputs: expected item, z, y, x of 0 or more and below 2, 8, 10, 12, got row 0: [0, 0, 0, 12]";
    assert_eq!(refused(beyond, &inverse), expected);
}

#[test]
fn cells_outside_of_the_shape_and_cells_given_twice_are_named() {
    let params = ConvParams::default();
    for (name, device) in devices() {
        for bad in [[0, -1, 0, 0], [0, 4, 0, 0], [-1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 5, 0], [0, 0, 0, i32::MIN]] {
            let mut cells = GOOD;
            cells[1] = bad;
            let said = index_pairs(SparseCells::new(&cells, 2, SHAPE), &params, &device).unwrap_err().to_string();
            let expected = "coords: expected item, z, y, x of 0 or more and below 2, 4, 5, 6, got row 1: ";
            assert_eq!(said, format!("{expected}{bad:?}"), "{name}");
        }
        // Of all rows that repeat an earlier one the first is named.
        let twice = [GOOD[2], GOOD[0], GOOD[1], GOOD[0], GOOD[2], GOOD[0]];
        let done = index_pairs(SparseCells::new(&twice, 2, SHAPE), &params, &device).and_then(|pairs| pairs.read());
        let said = done.unwrap_err().to_string();
        assert_eq!(said, "coords: expected each cell once, got the cell of an earlier row in row 3", "{name}");
    }
    let buffer = Device::cpu().stream().unwrap().upload(&[0; 7]).unwrap();
    let said = CellCoords::on_device(&buffer, 2).unwrap_err().to_string();
    assert_eq!(said, "coords: expected 2 x 4 values, got 7");
}

/// On a GPU cells in its memory are looked at by kernels alone.
#[test]
fn cells_in_memory_of_a_device_are_named_when_somebody_waits() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut bad = GOOD;
        bad[1][3] = 6;
        let [good, bad] = [GOOD, bad].map(|cells| stream.upload(cells.as_flattened()).unwrap());
        let coords = |buffer| CellCoords::on_device(buffer, 3).unwrap();
        let strided = ConvParams { kind: ConvKind::Strided, stride: [2; 3], padding: [1; 3], ..ConvParams::default() };
        let mut down = IndexPairs::new(&stream, &strided).unwrap();
        let mut out = down.output().unwrap();
        down.run(SparseCells::new(coords(&bad), 2, SHAPE), &mut out).unwrap();
        let said = out.read().unwrap_err().to_string();
        assert_eq!(said, "coords: expected item, z, y, x of 0 or more and below 2, 4, 5, 6, got row 1", "{name}");
        down.run(SparseCells::new(coords(&good), 2, SHAPE), &mut out).unwrap();
        assert!(out.read().is_ok(), "{name}: a good call after a bad one");

        let inverse = ConvParams { kind: ConvKind::Inverse, ..strided };
        let mut up = IndexPairs::new(&stream, &inverse).unwrap();
        let mut back = up.output().unwrap();
        up.run(out.as_cells().outputs(coords(&bad), SHAPE), &mut back).unwrap();
        let said = back.read().unwrap_err().to_string();
        assert_eq!(said, "outputs: expected item, z, y, x of 0 or more and below 2, 4, 5, 6, got row 1", "{name}");
    }
}
