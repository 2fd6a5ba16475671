//! Codes and orders.

use crate::sparse::serialize::SerializedSizes;
use crate::sparse::{Cells, Order, SerializeParams, SerializedArrays, Serializer, serialize};
use crate::testing::{Random, devices};
use crate::{Device, Ints, differences};

/// The position on the Hilbert curve by Skilling's rule on lists of bits, the highest first.
fn hilbert(axes: [u32; 3], depth: u32) -> u64 {
    let depth = depth as usize;
    let mut bits = axes.map(|axis| (0..depth).rev().map(|i| axis >> i & 1 == 1).collect::<Vec<bool>>());
    for bit in 0..depth {
        for dim in 0..3 {
            for below in bit + 1..depth {
                if bits[dim][bit] {
                    bits[0][below] = !bits[0][below];
                } else {
                    let (first, own) = (bits[0][below], bits[dim][below]);
                    bits[0][below] = own;
                    bits[dim][below] = first;
                }
            }
        }
    }
    let mut parity = false;
    (0..3 * depth).fold(0, |number, i| {
        parity ^= bits[i % 3][i / 3];
        number << 1 | u64::from(parity)
    })
}

/// A code by loops over bits.
pub(super) fn plain_code(item: i32, cell: [i32; 3], depth: u32, order: Order) -> u64 {
    let [x, y, z] = cell.map(|c| c as u32);
    let axes = if matches!(order, Order::Z | Order::Hilbert) { [x, y, z] } else { [y, x, z] };
    let position = match order {
        Order::Hilbert | Order::HilbertTrans => hilbert(axes, depth),
        _ => (0..depth)
            .rev()
            .fold(0, |number, i| axes.iter().fold(number, |number, axis| number << 1 | u64::from(axis >> i & 1))),
    };
    item as u64 * 8u64.pow(depth) + position
}

pub(super) fn plain(cells: &[[i32; 3]], batch: &[i32], depth: u32, orders: &[Order]) -> SerializedArrays {
    let (mut codes, mut order, mut inverse) = (Vec::new(), Vec::new(), Vec::new());
    for &one in orders {
        let own: Vec<u64> = cells.iter().zip(batch).map(|(&cell, &item)| plain_code(item, cell, depth, one)).collect();
        let mut rows: Vec<u32> = (0..cells.len() as u32).collect();
        rows.sort_by_key(|&row| (own[row as usize], row));
        let mut places = vec![0; rows.len()];
        rows.iter().enumerate().for_each(|(place, &row)| places[row as usize] = place as u32);
        codes.extend(own);
        order.extend(rows);
        inverse.extend(places);
    }
    let sizes = SerializedSizes { orders: orders.len(), cells: cells.len() };
    SerializedArrays { codes, order, inverse, orders: orders.to_vec(), depth, sizes }
}

/// Cells and their items; some cells twice.
pub(super) fn some(random: &mut Random, n: usize, most: u64, items: u64) -> (Vec<[i32; 3]>, Vec<i32>) {
    let mut cells: Vec<[i32; 3]> = Vec::new();
    for i in 0..n {
        let fresh = [(); 3].map(|()| random.below(most) as i32);
        cells.push(if i > 0 && random.below(8) == 0 { cells[random.below(i as u64) as usize] } else { fresh });
    }
    let batch = (0..n).map(|_| random.below(items) as i32).collect();
    (cells, batch)
}

#[test]
fn orders_are_the_same_everywhere() {
    let mut random = Random(1);
    let sets = [
        &[Order::Z][..],
        &[Order::Hilbert, Order::Z],
        &[Order::HilbertTrans, Order::HilbertTrans, Order::ZTrans],
        Order::ALL,
    ];
    for (round, (n, depth, items)) in
        [(0, 3, 1), (1, 1, 1), (2, 16, 3), (255, 2, 1), (256, 5, 7), (257, 16, 32_767), (5000, 11, 4)]
            .into_iter()
            .enumerate()
    {
        let (cells, batch) = some(&mut random, n, 1 << depth, items);
        let orders = sets[round % 4];
        let want = plain(&cells, &batch, depth, orders);
        let params = SerializeParams { depth: Some(depth), orders: orders.to_vec() };
        for (name, device) in devices() {
            let stream = device.stream().unwrap();
            let mut serializer = Serializer::new(&stream, &params).unwrap();
            let mut out = serializer.output().unwrap();
            let lent = [stream.upload(cells.as_flattened()).unwrap(), stream.upload(&batch).unwrap()];
            let on_device = [Ints::on_device(&lent[0], 3 * n).unwrap(), Ints::on_device(&lent[1], n).unwrap()];
            for [coords, ids] in [[Ints::from(&cells[..]), Ints::from(&batch[..])], on_device] {
                let given = Cells::new(coords).unwrap().batch(ids, items as usize).unwrap();
                serializer.run(given, &mut out).unwrap();
                let got = out.read().unwrap();
                assert_eq!(differences(&got, &want), [""; 0], "{name}, {n} cells at depth {depth}");
                assert_eq!(got, want, "{name}");
                // Only the device knows how many there are.
                let some = n / 2;
                let count = stream.upload(&[some as u32]).unwrap();
                serializer.run(given.counted(&count).unwrap(), &mut out).unwrap();
                assert_eq!(out.read().unwrap(), plain(&cells[..some], &batch[..some], depth, orders), "{name}");
            }
        }
    }
}

#[test]
fn the_depth_is_that_of_the_largest_coordinate_plus_one() {
    for (most, depth) in [(0, 1), (1, 2), (2, 2), (3, 3), (1022, 10), (1023, 11), (65_534, 16)] {
        let cells = [[0, 0, 0], [0, most, 0], [0, 0, most]];
        let want = plain(&cells, &[0; 3], depth, Order::ALL);
        for (name, device) in devices() {
            let got = serialize(Cells::new(&cells).unwrap(), &SerializeParams::default(), &device).unwrap();
            assert_eq!((got.depth(), got.read().unwrap()), (depth, want.clone()), "{name}");
            let stream = device.stream().unwrap();
            let lent = stream.upload(cells.as_flattened()).unwrap();
            let mut serializer = Serializer::new(&stream, &SerializeParams::default()).unwrap();
            let mut out = serializer.output().unwrap();
            serializer.run(Cells::new(Ints::on_device(&lent, 9).unwrap()).unwrap(), &mut out).unwrap();
            assert_eq!(out.read().unwrap(), want, "{name}");
        }
    }
    let none = serialize(Cells::new(&[[0i32; 3]; 0]).unwrap(), &SerializeParams::default(), &Device::cpu()).unwrap();
    assert!(none.read().unwrap().codes.is_empty());
}
