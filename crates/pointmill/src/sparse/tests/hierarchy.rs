//! Larger cells.

use super::serialize::{plain_code, some};
use crate::sparse::hierarchy::StageSizes;
use crate::sparse::{
    Cells, Order, PoolParams, Pooler, SerializeParams, Serializer, StageArrays, pool_hierarchy, serialize,
};
use crate::testing::{Random, devices, kernel_devices};
use crate::{Device, Ints, differences};
use std::collections::BTreeMap;

/// The hierarchy as its definition says: the rows of each larger cell, by code.
fn plain(
    cells: &[[i32; 3]],
    batch: &[i32],
    mut depth: u32,
    orders: &[Order],
    strides: &[u32],
    capacities: &[usize],
) -> Vec<StageArrays> {
    let (mut cells, mut batch) = (cells.to_vec(), batch.to_vec());
    let mut stages = Vec::new();
    for (&stride, &capacity) in strides.iter().zip(capacities) {
        let mut halved = 0;
        while 1 << halved < stride {
            halved += 1;
        }
        if halved > depth {
            halved = 0;
        }
        depth -= halved;
        let larger = |row: usize| cells[row].map(|c| c >> halved);
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for row in 0..cells.len() {
            groups.entry(plain_code(batch[row], larger(row), depth, orders[0])).or_default().push(row);
        }
        let groups: Vec<_> = groups.into_values().collect();
        let kept = groups.len().min(capacity);
        let mut cluster = vec![-1; cells.len()];
        let mut indptr = vec![0];
        for (id, group) in groups[..kept].iter().enumerate() {
            group.iter().for_each(|&row| cluster[row] = id as i32);
            indptr.push(indptr[id] + group.len() as i32);
        }
        let head: Vec<i32> = groups[..kept].iter().map(|group| group[0] as i32).collect();
        let next: Vec<[i32; 3]> = head.iter().map(|&row| larger(row as usize)).collect();
        let items: Vec<i32> = head.iter().map(|&row| batch[row as usize]).collect();
        let own = super::serialize::plain(&next, &items, depth, orders);
        stages.push(StageArrays {
            sizes: StageSizes { rows: cells.len(), cells: kept, orders: orders.len() },
            cluster,
            indptr,
            indices: groups.concat().into_iter().map(|row| row as i32).collect(),
            head,
            grid_coord: next.as_flattened().to_vec(),
            batch: items.clone(),
            codes: own.codes,
            order: own.order,
            inverse: own.inverse,
            dropped: groups.len() - kept,
            depth,
        });
        (cells, batch) = (next, items);
    }
    stages
}

#[test]
fn hierarchies_are_the_same_everywhere() {
    let mut random = Random(7);
    for (round, (n, depth, items)) in
        [(0, 3, 1), (1, 4, 2), (300, 3, 1), (1023, 7, 3), (1024, 16, 2), (1500, 5, 1)].into_iter().enumerate()
    {
        let (cells, batch) = some(&mut random, n, 1 << depth, items);
        let orders = [Order::ALL, &[Order::Hilbert, Order::ZTrans], &[Order::Z]][round % 3];
        for (strides, capacities) in [
            (&[2, 2, 2, 2][..], None),
            (&[1, 4, 8, 2], None),
            (&[2, 2, 2], Some(vec![n / 3 + 1, n / 5 + 1, n / 100 + 1])),
        ] {
            let of_plain = capacities.clone().unwrap_or_else(|| vec![usize::MAX; strides.len()]);
            let pooling = PoolParams { strides: strides.to_vec(), capacities };
            let params = SerializeParams { depth: Some(depth), orders: orders.to_vec() };
            for (name, device) in devices() {
                let stream = device.stream().unwrap();
                let mut serializer = Serializer::new(&stream, &params).unwrap();
                let mut serialized = serializer.output().unwrap();
                let mut pooler = Pooler::new(&stream, &pooling).unwrap();
                let mut out = pooler.output().unwrap();
                let given = Cells::new(&cells[..]).unwrap().batch(&batch[..], items as usize).unwrap();
                // A larger call before, and fewer rows than there is room for, leave nothing behind.
                for rows in [n, n / 2] {
                    let count = stream.upload(&[rows as u32]).unwrap();
                    let given = given.counted(&count).unwrap();
                    serializer.run(given, &mut serialized).unwrap();
                    pooler.run(given, &serialized, &mut out).unwrap();
                    let got = out.read().unwrap();
                    let want = plain(&cells[..rows], &batch[..rows], depth, orders, strides, &of_plain);
                    for (stage, (got, want)) in got.iter().zip(&want).enumerate() {
                        let differ = differences(got, want);
                        assert!(differ.is_empty(), "{name}, {rows} of {n}, strides {strides:?}, {stage}: {differ:?}");
                    }
                    assert_eq!(got, want, "{name}");
                }
            }
        }
    }
}

#[test]
fn a_graph_gives_what_calls_give() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let (n, mut random) = (500, Random(5));
        let params = SerializeParams { depth: Some(6), ..SerializeParams::default() };
        let pooling = PoolParams { strides: vec![2, 2], capacities: Some(vec![200, 20]) };
        let mut serializer = Serializer::new(&stream, &params).unwrap();
        let mut pooler = Pooler::new(&stream, &pooling).unwrap();
        let (mut serialized, mut out) = (serializer.output().unwrap(), pooler.output().unwrap());
        let mut coords = stream.upload(&vec![0i32; 3 * n]).unwrap();
        macro_rules! call {
            () => {{
                let cells = Cells::new(Ints::on_device(&coords, 3 * n).unwrap()).unwrap();
                serializer.run(cells, &mut serialized).unwrap();
                pooler.run(cells, &serialized, &mut out).unwrap();
            }};
        }
        call!();
        let graph = stream
            .capture(|| {
                call!();
                Ok::<(), crate::Error>(())
            })
            .unwrap();
        for _ in 0..3 {
            coords.write(some(&mut random, n, 64, 1).0.as_flattened()).unwrap();
            call!();
            let want = out.read().unwrap();
            assert!(want[0].dropped > 0);
            coords.write(some(&mut Random(1), n, 9, 1).0.as_flattened()).unwrap();
            call!();
            assert_ne!(out.read().unwrap(), want);
            let changed = out.read().unwrap();
            // SAFETY: all memory of the recorded calls is alive.
            unsafe { graph.launch() }.unwrap();
            assert_eq!(out.read().unwrap(), changed, "{name}");
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let said = |params: PoolParams| params.validate().unwrap_err().to_string();
    let with = |strides: &[u32], capacities| PoolParams { strides: strides.to_vec(), capacities };
    assert_eq!(said(with(&[2, 6], None)), "strides: expected powers of two, got 6");
    assert_eq!(said(with(&[0], None)), "strides: expected powers of two, got 0");
    assert_eq!(said(with(&[2], Some(vec![0]))), "capacity: expected 1 or more, fewer than 2^30, got 0");
    assert_eq!(said(with(&[2], Some(vec![]))), "capacity: expected 1 numbers, as many as strides, got 0");
    let cpu = Device::cpu();
    let cells = Cells::new(&[[0; 3]; 2]).unwrap();
    let serialized = serialize(cells, &SerializeParams::default(), &cpu).unwrap();
    let fewer = Cells::new(&[[0; 3]]).unwrap();
    let refused = pool_hierarchy(fewer, &serialized, &PoolParams::default(), &cpu).unwrap_err().to_string();
    assert_eq!(refused, "codes: expected 1 rows, as many as cells, got 2");
}
