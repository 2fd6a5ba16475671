//! Overlaps of boxes, and suppression.

use crate::{Measurement, time};
use pointmill::boxes::{BoxIou, Candidates, IouKind, IouParams, NmsMetric, NmsParams, Suppressor};
use pointmill::{Result, Rows, Stream};
use pointmill_synth::RoiScene;

/// Detections around each car of a street.
const DETECTIONS_OF_A_CAR: usize = 8;

/// So many detections of a street, `[n, 7]`, and their scores: eight around each car, a little
/// beside it and turned.
fn detections(n: usize) -> (Vec<f32>, Vec<f32>) {
    let cars = RoiScene::street(n.div_ceil(DETECTIONS_OF_A_CAR), 0, 0).boxes;
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let (mut boxes, mut scores) = (Vec::with_capacity(n * 7), Vec::with_capacity(n));
    for i in 0..n {
        let car = &cars[i / DETECTIONS_OF_A_CAR * 7..][..7];
        boxes.extend((0..7).map(|k| car[k] + [0.4, 0.4, 0.1, 0.2, 0.1, 0.1, 0.2][k] * (random() - 0.5)));
        scores.push(random());
    }
    (boxes, scores)
}

/// Measures pairs of boxes, and suppresses detections, of one item and of a batch; boxes lie on the
/// device.
///
/// # Errors
/// Out of memory, or a lost device.
pub fn boxes(stream: &Stream, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let mut measured = Vec::new();
    let mut add = |name: String, n: usize, times, words: usize| {
        measured.push(Measurement::new(&name, stream, (n, 7), times, words as u64 * 4, copy_rate));
    };
    for (n, kind) in [(1000, IouKind::Bev), (4096, IouKind::Bev), (4096, IouKind::Volume)] {
        let (boxes, _) = detections(n);
        let boxes = stream.upload(&boxes)?;
        let rows = Rows::on_device(&boxes, n, 7)?;
        let mut worker = BoxIou::new(stream, &IouParams { kind, ..IouParams::default() })?;
        let mut out = stream.alloc(0)?;
        let times = time(stream, rounds, || worker.iou(rows, rows, &mut out))?;
        add(format!("iou, {kind}, {n} x {n}"), n, times, 2 * n * 7 + n * n);
        let mut lists = worker.lists()?;
        let times = time(stream, rounds, || worker.overlaps(rows, rows, 0.1, &mut lists))?;
        add(format!("overlaps above 0.1, {kind}, {n} x {n}"), n, times, 2 * n * 7 + 3 * lists.len());
    }
    for (n, items, metric, threshold) in [
        (4096, 1, NmsMetric::Bev, 0.2),
        (4096, 1, NmsMetric::Volume, 0.2),
        (4096, 1, NmsMetric::Circle, 4.0),
        (65_536, 32, NmsMetric::Bev, 0.2),
    ] {
        let (boxes, scores) = detections(n);
        let (boxes, scores) = (stream.upload(&boxes)?, stream.upload(&scores)?);
        let candidates = Candidates::new(Rows::on_device(&boxes, n, 7)?, Rows::on_device(&scores, n, 1)?);
        let splits: Vec<usize> = (0..=items).map(|item| n / items * item).collect();
        let mut suppressor = Suppressor::new(stream, &NmsParams { metric, threshold, ..NmsParams::default() })?;
        let mut kept = suppressor.output()?;
        let times = time(stream, rounds, || suppressor.run(candidates.batch(&splits), &mut kept))?;
        let found = kept.read()?.rows.len();
        let name = format!("nms, {metric}, {n} in {items} items");
        add(name, n, times, n * 8 + found);
    }
    Ok(measured)
}
