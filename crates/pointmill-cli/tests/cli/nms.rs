//! `nms`: which boxes are kept, by each metric, and what is written.

use crate::run;
use pointmill_io::{ArrayView, Limits, read_npz_within, write_npy};
use serde_json::json;
use std::path::Path;

/// Two cars in one place, one turned by half a turn, and one 3 m away.
const BOXES: [f64; 28] = [
    10.0, 5.0, -1.7, 4.0, 2.0, 1.5, 0.3, //
    10.0, 5.0, -1.7, 4.0, 2.0, 1.5, 0.3, //
    10.1, 5.0, -1.7, 4.0, 2.0, 1.5, 3.4, //
    13.0, 5.0, 5.0, 4.0, 2.0, 1.5, 0.3,
];

fn write(at: &Path) {
    write_npy(at.join("boxes.npy"), &ArrayView::f64(&[4, 7], &BOXES)).unwrap();
    write_npy(at.join("scores.npy"), &ArrayView::f64(&[4], &[0.5, 0.9, f64::NAN, 0.7])).unwrap();
    write_npy(at.join("even.npy"), &ArrayView::f32(&[4], &[0.5, 0.5, 0.9, 0.7])).unwrap();
    write_npy(at.join("classes.npy"), &ArrayView::i64(&[4], &[0, 1, 0, 1])).unwrap();
}

#[test]
fn the_best_boxes_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at);
    for (flags, kept) in [
        ("--scores scores.npy", &[1, 3][..]),
        ("--scores scores.npy --classes classes.npy", &[1, 3, 0]),
        ("--scores even.npy", &[2, 3]),
        ("--scores even.npy --threshold 1", &[2, 3, 0, 1]),
        ("--scores even.npy --threshold 0", &[2]),
        ("--scores even.npy --threshold 0 --metric volume", &[2, 3]),
        ("--scores even.npy --threshold 4 --metric circle", &[2, 3]),
        ("--scores even.npy --threshold 9 --metric circle", &[2]),
        ("--scores even.npy --threshold 1 --score-threshold 0.6", &[2, 3]),
        ("--scores even.npy --threshold 1 --pre-max 3", &[2, 3, 0]),
        ("--scores even.npy --threshold 1 --post-max 1", &[2]),
    ] {
        let told = run(at, &format!("nms boxes.npy {flags} --compare-cpu --out kept.npz --json")).expect(0);
        assert_eq!(told.data("frame")[0]["rows"], json!(kept), "{flags}");
        assert_eq!(told.data("summary")[0]["boxes_kept"], kept.len(), "{flags}");
        let arrays = read_npz_within(at.join("kept.npz"), &Limits::default()).unwrap();
        let (_, rows) = arrays.iter().find(|(name, _)| name.as_str() == "rows").unwrap();
        let rows: Vec<_> = rows.to_f64().unwrap().into_iter().map(|row| row as usize).collect();
        assert_eq!(rows, kept, "{flags}");
    }
}

#[test]
fn rounded_scores_and_boxes_without_a_number_are_told() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let told = run(folder.path(), "nms boxes.npy --scores scores.npy").expect(0);
    assert!(told.err.contains("scores.npy: scores of f64 were rounded to f32"), "{}", told.err);
    assert!(told.out.contains("2 of 4 boxes kept on cpu"), "{}", told.out);
}
