//! All devices against a plain program, and against each other.

mod errors;
mod fixtures;
mod graphs;
mod no_box;

use super::{
    BoxIou, BoxLayout, Candidates, IouKind, IouParams, KeptArrays, NmsMetric, NmsParams, Pairs, Suppressor, nms,
};
use crate::testing::{Random, devices};
use crate::{BoxOrigin, Rows};
use pointmill_core::boxes::BoxShape;

type Row = [f32; 7];

/// Boxes of a street: cars in rows, some on top of each other, some turned, some equal.
fn street(random: &mut Random, n: usize, extent: f32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for i in 0..n {
        let yaw = match random.below(4) {
            0 => 0.0,
            1 => std::f32::consts::FRAC_PI_2,
            _ => random.between(-7.0, 7.0),
        };
        let size = [random.between(0.2, 6.0), random.between(0.2, 3.0), random.between(0.2, 3.0)];
        let at = [random.between(-extent, extent), random.between(-extent, extent), random.between(-1.0, 1.0)];
        let mut row = [at[0], at[1], at[2], size[0], size[1], size[2], yaw];
        match random.below(24) {
            0 => row[random.below(7) as usize] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][random.below(3) as usize],
            1 => row[3 + random.below(3) as usize] = [0.0, -0.0, -2.0, 1e8][random.below(4) as usize],
            2..=5 if i > 0 => row = rows[random.below(i as u64) as usize],
            6..=12 if i > 0 => {
                row = rows[random.below(i as u64) as usize];
                row[0] += random.between(-0.5, 0.5);
                row[6] += random.between(-0.2, 0.2);
            }
            _ => {}
        }
        rows.push(row);
    }
    rows
}

fn scores(random: &mut Random, n: usize) -> Vec<f32> {
    (0..n)
        .map(|_| match random.below(20) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => -0.0,
            3 => 0.0,
            // Equal ones too.
            _ => (random.below(64) as f32 - 16.0) / 32.0,
        })
        .collect()
}

fn shape(row: &Row, origin: BoxOrigin) -> BoxShape {
    BoxShape::new(row.map(f64::from), origin)
}

/// Suppression as its definition says.
fn plain(boxes: &[Row], scores: &[f32], classes: &[i32], splits: &[usize], params: &NmsParams) -> KeptArrays {
    let shapes: Vec<_> = boxes.iter().map(|row| shape(row, params.origin)).collect();
    let (mut rows, mut row_splits) = (Vec::new(), vec![0]);
    for span in splits.windows(2) {
        let mut order: Vec<usize> = (span[0]..span[1])
            .filter(|&i| !shapes[i].is_none() && scores[i].is_finite())
            .filter(|&i| params.score_threshold.is_none_or(|least| scores[i] >= least))
            .collect();
        order.sort_by(|&a, &b| scores[b].partial_cmp(&scores[a]).unwrap().then(a.cmp(&b)));
        order.truncate(params.pre_max.map_or(usize::MAX, |most| most as usize));
        let mut kept: Vec<usize> = Vec::new();
        for i in order {
            let hit = kept.iter().any(|&k| {
                let iou = |kind| shapes[k].iou(&shapes[i], kind) as f32 > params.threshold;
                classes[k] == classes[i]
                    && match params.metric {
                        NmsMetric::Circle => shapes[k].squared_distance(&shapes[i]) <= f64::from(params.threshold),
                        NmsMetric::Bev => iou(IouKind::Bev),
                        NmsMetric::Volume => iou(IouKind::Volume),
                    }
            });
            if !hit && kept.len() < params.post_max.map_or(usize::MAX, |most| most as usize) {
                kept.push(i);
            }
        }
        rows.extend(kept.into_iter().map(|i| i as i32));
        row_splits.push(rows.len() as i64);
    }
    let non_finite = (0..boxes.len()).filter(|&i| shapes[i].is_none() || !scores[i].is_finite()).count();
    let report = super::NmsReport { boxes: boxes.len(), kept: rows.len(), non_finite };
    KeptArrays { rows, row_splits, report }
}

#[test]
fn overlaps_are_the_same_everywhere() {
    let mut random = Random(1);
    for (n, m) in [(0, 3), (3, 0), (1, 1), (2, 65), (64, 64), (63, 129), (200, 70)] {
        let (a, b) = (street(&mut random, n, 12.0), street(&mut random, m, 12.0));
        for (kind, origin) in [
            (IouKind::Bev, BoxOrigin::Center),
            (IouKind::Volume, BoxOrigin::BottomCenter),
            (IouKind::Giou, BoxOrigin::Center),
        ] {
            let params = IouParams { kind, origin, ..IouParams::default() };
            let value = |a: &Row, b: &Row| shape(a, origin).iou(&shape(b, origin), kind) as f32;
            let want: Vec<f32> = a.iter().flat_map(|a| b.iter().map(move |b| value(a, b))).collect();
            let threshold = if kind == IouKind::Giou { -0.4 } else { 0.1 };
            let is_box = |row: &Row| !shape(row, origin).is_none();
            let of_boxes = |k: usize| is_box(&a[k / m]) && is_box(&b[k % m]);
            let listed: Vec<_> = (0..n * m).filter(|&k| want[k] > threshold && of_boxes(k)).collect();
            for (name, device) in devices() {
                let stream = device.stream().unwrap();
                let mut worker = BoxIou::new(&stream, &params).unwrap();
                let (mut out, mut lists) = (stream.alloc(0).unwrap(), worker.lists().unwrap());
                // On the device, and in f64 too.
                let lent = [&a, &b].map(|rows| stream.upload(rows.as_flattened()).unwrap());
                let wide = [&a, &b].map(|rows| rows.as_flattened().iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
                for way in 0..3 {
                    let [x, y] = match way {
                        0 => [Rows::from(&a[..]), Rows::from(&b[..])],
                        1 => [Rows::on_device(&lent[0], n, 7).unwrap(), Rows::on_device(&lent[1], m, 7).unwrap()],
                        _ => [Rows::new(&wide[0], 7).unwrap(), Rows::new(&wide[1], 7).unwrap()],
                    };
                    worker.iou(x, y, &mut out).unwrap();
                    let got = out.read(n * m).unwrap();
                    let same = got.iter().zip(&want).all(|(got, want)| got.to_bits() == want.to_bits());
                    assert!(same, "{name}, {kind}, {n} x {m}, way {way}");
                    worker.overlaps(x, y, threshold, &mut lists).unwrap();
                    let (i, j, iou) = lists.read().unwrap();
                    let got: Vec<_> = i.iter().zip(&j).map(|(&i, &j)| i as usize * m + j as usize).collect();
                    assert_eq!(got, listed, "{name}, {kind}, {n} x {m}, way {way}");
                    assert!(listed.iter().zip(iou).all(|(&k, iou)| want[k].to_bits() == iou.to_bits()));
                }
                let aligned = IouParams { pairs: Pairs::Aligned, ..params };
                let some = n.min(m);
                let mut worker = BoxIou::new(&stream, &aligned).unwrap();
                worker.iou(&a[..some], &b[..some], &mut out).unwrap();
                let got = out.read(some).unwrap();
                assert!((0..some).all(|k| got[k].to_bits() == want[k * m + k].to_bits()), "{name}, {kind}");
            }
        }
    }
}

#[test]
fn boxes_about_an_origin_overlap_as_those_without() {
    let mut random = Random(9);
    let (a, b) = (street(&mut random, 40, 9.0), street(&mut random, 30, 9.0));
    let origin = [691_000.0, 5_335_000.0, 500.0];
    let far: Vec<f64> =
        a.iter().flat_map(|row| (0..7).map(|k| f64::from(row[k]) + if k < 3 { origin[k] } else { 0.0 })).collect();
    for (name, device) in devices() {
        let stream = device.stream().unwrap();
        let mut worker = BoxIou::new(&stream, &IouParams::default()).unwrap();
        let (mut near, mut out) = (stream.alloc(0).unwrap(), stream.alloc(0).unwrap());
        worker.iou(&a[..], &b[..], &mut near).unwrap();
        let about = Rows::from(&b[..]).about(origin).unwrap();
        worker.iou(Rows::new(&far, 7).unwrap(), about, &mut out).unwrap();
        let (near, out) = (near.read(1200).unwrap(), out.read(1200).unwrap());
        let off = near.iter().zip(&out).map(|(near, out)| (near - out).abs()).fold(0.0, f32::max);
        assert!(off < 1e-6 && near.iter().any(|&iou| iou > 0.1), "{name}: {off}");
        worker.iou(Rows::from(&a[..]).about(origin).unwrap(), about, &mut stream.alloc(0).unwrap()).unwrap();
    }
}

#[test]
fn suppression_is_as_its_definition_says_everywhere() {
    let mut random = Random(2);
    let devices = devices();
    for n in [0, 1, 2, 31, 32, 33, 64, 255, 256, 257, 700] {
        for round in 0..4 {
            let boxes = street(&mut random, n, [3.0, 20.0][round % 2]);
            let scores = scores(&mut random, n);
            let classes: Vec<i32> = (0..n).map(|_| random.below([1, 3][round / 2]) as i32).collect();
            let splits = if round % 2 == 0 { vec![0, n] } else { vec![0, n / 3, n / 3, n / 3 + n.min(1), n, n] };
            let splits: Vec<usize> = splits
                .into_iter()
                .scan(0, |most, s| {
                    *most = s.max(*most).min(n);
                    Some(*most)
                })
                .collect();
            let params = [
                NmsParams { threshold: 0.3, ..NmsParams::default() },
                NmsParams { threshold: 0.0, pre_max: Some(40), ..NmsParams::default() },
                NmsParams {
                    metric: NmsMetric::Volume,
                    post_max: Some(7),
                    score_threshold: Some(0.0),
                    ..NmsParams::default()
                },
                NmsParams {
                    metric: NmsMetric::Circle,
                    threshold: 4.0,
                    origin: BoxOrigin::Center,
                    ..NmsParams::default()
                },
            ][(n + round) % 4];
            let want = plain(&boxes, &scores, &classes, &splits, &params);
            for (name, device) in &devices {
                let stream = device.stream().unwrap();
                let mut suppressor = Suppressor::new(&stream, &params).unwrap();
                let mut kept = suppressor.output().unwrap();
                let candidates = || Candidates::new(&boxes[..], Rows::new(&scores, 1).unwrap());
                for _ in 0..2 {
                    suppressor.run(candidates().classes(&classes[..]).batch(&splits), &mut kept).unwrap();
                }
                assert_eq!(kept.read().unwrap(), want, "{name}, {n} boxes, {params:?}");
                assert_eq!(kept.num_items(), splits.len() - 1);
                let padded = kept.rows().read(kept.num_items() * kept.capacity()).unwrap();
                assert_eq!(padded.iter().filter(|&&row| row >= 0).count(), want.rows.len());
                if splits == [0, n] && classes.iter().all(|&class| class == 0) {
                    assert_eq!(nms(candidates(), &params, device).unwrap().read().unwrap(), want, "{name}");
                }
            }
        }
    }
}

/// More candidates than a kernel decides about at once, and items that end in each round.
#[test]
fn suppression_in_rounds_is_as_its_definition_says() {
    let mut random = Random(4);
    let lengths = [1024, 0, 2500, 1, 1025, 2048, 33];
    let splits: Vec<usize> = std::iter::once(0)
        .chain(lengths)
        .scan(0, |sum, len| {
            *sum += len;
            Some(*sum)
        })
        .collect();
    let n = splits[lengths.len()];
    for (metric, threshold, extent) in [(NmsMetric::Bev, 0.2, 60.0), (NmsMetric::Circle, 1.0, 25.0)] {
        let (boxes, scores) = (street(&mut random, n, extent), scores(&mut random, n));
        let classes: Vec<i32> = (0..n).map(|_| random.below(2) as i32).collect();
        for post_max in [None, Some(700)] {
            let params = NmsParams { metric, threshold, post_max, ..NmsParams::default() };
            let want = plain(&boxes, &scores, &classes, &splits, &params);
            assert!(want.row_splits.windows(2).any(|span| span[1] - span[0] > 600), "{metric}: too few are kept");
            for (name, device) in devices() {
                let stream = device.stream().unwrap();
                let mut suppressor = Suppressor::new(&stream, &params).unwrap();
                let mut kept = suppressor.output().unwrap();
                let given = Candidates::new(&boxes[..], Rows::new(&scores, 1).unwrap());
                let given = given.classes(&classes[..]).batch(&splits);
                for _ in 0..2 {
                    suppressor.run(given, &mut kept).unwrap();
                    assert!(kept.read().unwrap() == want, "{name}, {params:?}");
                }
                let padded = kept.rows().read(kept.num_items() * kept.capacity()).unwrap();
                assert_eq!(padded.iter().filter(|&&row| row >= 0).count(), want.rows.len());
            }
        }
    }
}

#[test]
fn layouts_of_rows_give_what_their_boxes_give() {
    let mut random = Random(6);
    let (n, boxes) = (90, street(&mut random, 90, 6.0));
    let scores = scores(&mut random, n);
    let with = |row: &Row, yaw: f32| [row[0], row[1], 0.0, row[3], row[4], 1.0, yaw];
    for (layout, columns) in [
        (BoxLayout::UprightBox, 7),
        (BoxLayout::Rectangle, 6),
        (BoxLayout::ReversedRectangle, 5),
        (BoxLayout::Corners, 5),
        (BoxLayout::UprightCorners, 7),
        (BoxLayout::Center, 3),
    ] {
        // Coordinates that have a center without rounding.
        let boxes: Vec<Row> = boxes.iter().map(|row| row.map(|value| (value * 64.0).round() / 64.0)).collect();
        let given: Vec<f32> = boxes.iter().flat_map(|row| (0..columns).map(move |k| column(row, layout, k))).collect();
        let wanted: Vec<Row> = boxes
            .iter()
            .map(|row| match layout {
                BoxLayout::UprightBox => [row[0], row[1], row[2], row[3], row[4], row[5], 0.0],
                BoxLayout::UprightCorners => with(row, 0.0),
                BoxLayout::Center => [row[0], row[1], 0.0, 1.0, 1.0, 1.0, 0.0],
                _ => with(row, row[6]),
            })
            .collect();
        let params = IouParams { kind: IouKind::Volume, origin: BoxOrigin::Center, ..IouParams::default() };
        let nms_params = NmsParams { threshold: 0.1, origin: BoxOrigin::Center, ..NmsParams::default() };
        for (name, device) in devices() {
            let stream = device.stream().unwrap();
            let [mut got, mut want] = [0, 1].map(|_| stream.alloc(0).unwrap());
            let rows = Rows::new(&given, columns).unwrap();
            BoxIou::new(&stream, &params).unwrap().layout(layout).iou(rows, rows, &mut got).unwrap();
            BoxIou::new(&stream, &params).unwrap().iou(&wanted[..], &wanted[..], &mut want).unwrap();
            let [got, want] = [got, want].map(|of| of.read(n * n).unwrap());
            assert!(got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}, {layout}");
            assert!(got.iter().filter(|iou| (0.01..0.99).contains(*iou)).count() > 20, "{name}, {layout}");
            let all = Rows::new(&scores, 1).unwrap();
            let mut suppressor = Suppressor::new(&stream, &nms_params).unwrap().layout(layout);
            let mut kept = suppressor.output().unwrap();
            suppressor.run(Candidates::new(rows, all), &mut kept).unwrap();
            let want = nms(Candidates::new(&wanted[..], all), &nms_params, &device).unwrap().read().unwrap();
            assert_eq!(kept.read().unwrap(), want, "{name}, {layout}");
        }
    }
}

/// Column `k` of a box in another layout; 9 behind its last.
fn column(row: &Row, layout: BoxLayout, k: usize) -> f32 {
    let [x, y, _, dx, dy, _, yaw] = *row;
    let of = |columns: [f32; 5]| columns.get(k).copied().unwrap_or(9.0);
    match layout {
        BoxLayout::Rectangle => of([x, y, dx, dy, yaw]),
        BoxLayout::ReversedRectangle => of([x, y, dx, dy, -yaw]),
        BoxLayout::Corners | BoxLayout::UprightCorners => {
            of([x - dx / 2.0, y - dy / 2.0, x + dx / 2.0, y + dy / 2.0, yaw])
        }
        BoxLayout::Box | BoxLayout::UprightBox | BoxLayout::Center => row[k],
    }
}
