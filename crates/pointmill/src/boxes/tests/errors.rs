//! What is refused, and in which words.

use crate::boxes::{BoxIou, Candidates, IouKind, IouParams, NmsMetric, NmsParams, Pairs, Suppressor};
use crate::testing::kernel_devices;
use crate::{Device, Ints, Rows};

const GOOD: [f32; 7] = [0.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0];

/// On a GPU classes in its memory are looked at by kernels alone.
#[test]
fn classes_in_memory_of_a_device_are_named_when_somebody_waits() {
    for (name, device) in kernel_devices() {
        let stream = device.stream().unwrap();
        let mut suppressor = Suppressor::new(&stream, &NmsParams::default()).unwrap();
        let mut kept = suppressor.output().unwrap();
        let scores = Rows::new(&[0.1f32, 0.2, 0.3], 1).unwrap();
        let classes = stream.upload(&[0, 1, -3]).unwrap();
        let ids = Ints::on_device(&classes, 3).unwrap();
        suppressor.run(Candidates::new(&[GOOD; 3], scores).classes(ids), &mut kept).unwrap();
        let said = kept.read().unwrap_err().to_string();
        assert_eq!(said, "classes: expected whole numbers of 0 or more, got one below 0 in row 2", "{name}");
        suppressor.run(Candidates::new(&[GOOD; 3], scores), &mut kept).unwrap();
        assert_eq!(kept.read().unwrap().rows, [2], "{name}: a good call after bad ones");
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let stream = Device::cpu().stream().unwrap();
    let refused = |params: NmsParams| Suppressor::new(&stream, &params).unwrap_err().to_string();
    let of = |threshold| NmsParams { threshold, ..NmsParams::default() };
    assert_eq!(refused(of(f32::NAN)), "threshold: expected an overlap from 0 to 1, got NaN");
    assert_eq!(refused(of(-0.1)), "threshold: expected an overlap from 0 to 1, got -0.1");
    let circle = NmsParams { metric: NmsMetric::Circle, ..of(f32::INFINITY) };
    assert_eq!(refused(circle), "threshold: expected a finite squared distance of 0 m2 or more, got inf");
    assert_eq!(refused(NmsParams { post_max: Some(0), ..of(0.5) }), "post_max: expected 1 or more, got 0");
    let infinite = NmsParams { score_threshold: Some(f32::NEG_INFINITY), ..of(0.5) };
    assert_eq!(refused(infinite), "score_threshold: expected a finite score, got -inf");

    let mut suppressor = Suppressor::new(&stream, &NmsParams::default()).unwrap();
    let mut kept = suppressor.output().unwrap();
    let scores = [0.5f32; 3];
    let (boxes, scores) = ([GOOD; 3], Rows::new(&scores, 1).unwrap());
    let mut said = |candidates: Candidates<'_>| suppressor.run(candidates, &mut kept).unwrap_err().to_string();
    assert_eq!(said(Candidates::new(&boxes[..2], scores)), "scores: expected 2 values, as many as boxes, got 3");
    assert_eq!(
        said(Candidates::new(&boxes, scores).classes(&[0, 1])),
        "classes: expected 3 numbers, as many as boxes, got 2"
    );
    assert_eq!(
        said(Candidates::new(&boxes, scores).classes(&[0, -1, 2])),
        "classes: expected whole numbers of 0 or more, got -1 in row 1"
    );
    assert_eq!(
        said(Candidates::new(&boxes, scores).batch(&[0, 2])),
        "row_splits: expected ascending values from 0 to 3, got [0, 2]"
    );

    let six = Rows::new(&[0.0f32; 6], 6).unwrap();
    let mut worker = BoxIou::new(&stream, &IouParams::default()).unwrap();
    let said = worker.iou(six, &boxes, &mut stream.alloc(0).unwrap()).unwrap_err().to_string();
    assert_eq!(said, "a: expected 7 columns (x, y, z, dx, dy, dz, yaw), got 6");
    let aligned = IouParams { pairs: Pairs::Aligned, ..IouParams::default() };
    let mut worker = BoxIou::new(&stream, &aligned).unwrap();
    let mut lists = worker.lists().unwrap();
    let said = worker.iou(&boxes, &boxes[..1], &mut stream.alloc(0).unwrap()).unwrap_err().to_string();
    assert_eq!(said, "b: expected 3 boxes, as in a, got 1");
    let said = worker.overlaps(&boxes, &boxes, 0.5, &mut lists).unwrap_err().to_string();
    assert_eq!(said, "pairs: expected all, got aligned");
    let mut worker = BoxIou::new(&stream, &IouParams { kind: IouKind::Giou, ..IouParams::default() }).unwrap();
    let said = worker.overlaps(&boxes, &boxes, 1.5, &mut lists).unwrap_err().to_string();
    assert_eq!(said, "threshold: expected a generalized overlap from -1 to 1, got 1.5");
}

#[test]
fn an_item_with_too_many_candidates_says_the_way_out() {
    let stream = Device::cpu().stream().unwrap();
    let many = vec![GOOD; (1 << 18) + 1];
    let scores = vec![0.5f32; many.len()];
    let candidates = Candidates::new(&many[..], Rows::new(&scores, 1).unwrap());
    let mut suppressor = Suppressor::new(&stream, &NmsParams::default()).unwrap();
    let mut kept = suppressor.output().unwrap();
    let said = suppressor.run(candidates, &mut kept).unwrap_err().to_string();
    assert_eq!(said, "boxes: expected at most 262144 candidates an item: set pre_max, or split the batch, got 262145");
    let fewer = NmsParams { pre_max: Some(1000), ..NmsParams::default() };
    Suppressor::new(&stream, &fewer).unwrap().run(candidates, &mut kept).unwrap();
    assert_eq!(kept.read().unwrap().rows, [0]);
}
