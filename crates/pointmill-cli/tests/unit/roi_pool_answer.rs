//! Tests of `src/roi_pool/answer.rs`.

use super::*;

#[test]
fn bits_count_not_values() {
    let mut report = Report::default();
    report.boxes = 1;
    let counted = Answer::counted(&report);
    let answer = |value: f32, coords: i32| {
        let mut answer = counted.clone();
        answer.push("pooled", vec![1, 1], ArrayData::F32(vec![value]));
        answer.push("coords", vec![1], ArrayData::I32(vec![coords]));
        answer
    };
    assert_eq!(answer(f32::NAN, 3).differences(&answer(f32::NAN, 3)), [""; 0]);
    assert_eq!(answer(0.0, 3).differences(&answer(-0.0, 4)), ["pooled", "coords"]);
    let mut other = answer(0.0, 3);
    other.report = Answer::counted(&Report::default()).report;
    other.arrays.pop();
    assert_eq!(answer(0.0, 3).differences(&other), ["coords", "report"]);
}

#[test]
fn bits_become_booleans() {
    // 33 boxes: the last in a word of its own.
    let answer = Answer::all(33, 2, &[1 << 31, 1, 0, 0]).unwrap();
    let all = answer.arrays[0].1.as_bool().unwrap();
    let held: Vec<_> = (0..66).filter(|&i| all[i]).collect();
    assert_eq!(held, [31, 32]);
    let wanted = InsideReport { boxes: 33, points: 2, points_inside: Some(1), pairs: Some(2) };
    assert_eq!(answer.report, ReportRecord::Inside(wanted));
    assert_eq!(Answer::all(0, 5, &[]).unwrap().arrays[0].1.shape(), [5, 0]);
}
