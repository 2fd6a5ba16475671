//! Rows that are no box, on all devices.

use crate::boxes::{BoxIou, Candidates, IouKind, IouParams, NmsMetric, NmsParams, Pairs, Suppressor};
use crate::testing::devices;
use crate::{Device, Rows};

const GOOD: [f32; 7] = [0.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0];

/// What a column holds, and whether the row is a box then.
fn table() -> Vec<([f32; 7], bool)> {
    let mut rows = Vec::new();
    for column in 0..7 {
        let extent = (3..6).contains(&column);
        for (value, is_box) in [
            (f32::NAN, false),
            (f32::INFINITY, false),
            (f32::NEG_INFINITY, false),
            (-1.0, !extent),
            (-f32::MIN_POSITIVE, !extent),
            (0.0, true),
            (-0.0, true),
            (1e8, false),
            (-1e8, false),
            (f32::MAX, false),
        ] {
            let mut row = GOOD;
            row[column] = value;
            rows.push((row, is_box));
        }
    }
    rows
}

fn overlaps_nothing(device: &Device, kind: IouKind, lent: bool) {
    let (stream, all) = (device.stream().unwrap(), table());
    let values: Vec<f32> = all.iter().flat_map(|(row, _)| *row).chain(GOOD).collect();
    let (n, memory) = (all.len() + 1, stream.upload(&values).unwrap());
    let is_box = |i: usize| all.get(i).is_none_or(|of| of.1);
    let rows = if lent { Rows::on_device(&memory, n, 7) } else { Rows::new(&values, 7) }.unwrap();
    let mut worker = BoxIou::new(&stream, &IouParams { kind, ..IouParams::default() }).unwrap();
    let (mut out, mut lists) = (stream.alloc(0).unwrap(), worker.lists().unwrap());
    worker.iou(rows, rows, &mut out).unwrap();
    let iou = out.read(n * n).unwrap();
    for k in (0..n * n).filter(|k| !(is_box(k / n) && is_box(k % n))) {
        assert_eq!(iou[k].to_bits(), 0, "row {} with row {}", k / n, k % n);
    }
    assert_eq!(iou[n * n - 1], 1.0);
    let least = if kind == IouKind::Giou { -1.0 } else { 0.0 };
    worker.overlaps(rows, rows, least, &mut lists).unwrap();
    let (i, j, _) = lists.read().unwrap();
    assert!(i.iter().chain(&j).all(|&row| is_box(row as usize)) && i.contains(&(n as i32 - 1)));
    let mut worker = BoxIou::new(&stream, &IouParams { kind, pairs: Pairs::Aligned, ..IouParams::default() }).unwrap();
    worker.iou(rows, rows, &mut out).unwrap();
    assert!(out.read(n).unwrap().iter().enumerate().all(|(i, iou)| is_box(i) || iou.to_bits() == 0));
}

#[test]
fn they_overlap_nothing() {
    for (_, device) in devices() {
        for kind in [IouKind::Bev, IouKind::Volume, IouKind::Giou] {
            overlaps_nothing(&device, kind, false);
            overlaps_nothing(&device, kind, true);
        }
    }
}

#[test]
fn they_are_never_kept_and_are_counted() {
    let all = table();
    // The score falls, so that each comes before the box that it would suppress.
    let values: Vec<f32> = all.iter().flat_map(|(row, _)| *row).chain(GOOD).collect();
    let n = all.len() + 1;
    let mut scores: Vec<f32> = (0..n).map(|i| 1.0 - i as f32 / n as f32).collect();
    let bad = all.iter().filter(|of| !of.1).count();
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let memory = stream.upload(&values).unwrap();
        for (metric, lent) in
            [(NmsMetric::Bev, false), (NmsMetric::Volume, true), (NmsMetric::Circle, false), (NmsMetric::Circle, true)]
        {
            let rows = if lent { Rows::on_device(&memory, n, 7) } else { Rows::new(&values, 7) }.unwrap();
            let params = NmsParams { metric, threshold: 1.0, ..NmsParams::default() };
            let mut suppressor = Suppressor::new(&stream, &params).unwrap();
            let mut kept = suppressor.output().unwrap();
            for (score, more) in [(0.5, 0), (f32::NAN, 0), (f32::NAN, 1)] {
                // A row that is no box counts once, whatever its score is.
                let is_box = more == 1;
                let place = all.iter().position(|of| of.1 == is_box).unwrap();
                let before = std::mem::replace(&mut scores[place], score);
                suppressor.run(Candidates::new(rows, Rows::new(&scores, 1).unwrap()), &mut kept).unwrap();
                scores[place] = before;
                let found = kept.read().unwrap();
                assert_eq!((found.report.boxes, found.report.non_finite), (n, bad + more), "{name}, {metric}");
                let boxes = |&row: &i32| all.get(row as usize).is_none_or(|of| of.1);
                assert!(!found.rows.is_empty() && found.rows.iter().all(boxes), "{name}, {metric}");
                if metric != NmsMetric::Circle {
                    // An overlap of 1 suppresses nothing at this threshold.
                    assert_eq!(found.rows.len(), n - bad - more, "{name}, {metric}");
                }
            }
        }
    }
}
