//! Tests of `src/icp/report.rs`.

use super::*;

#[test]
fn long_traces_are_shortened() {
    let mut at = Iteration::default();
    (at.pairs, at.searched, at.rmse, at.step) = (40_000, 1, 2e-5, 0.25);
    let trace = |n| vec![at; n];
    assert_eq!(trace_lines(&trace(LINES)).len(), 1 + LINES);
    let lines = trace_lines(&trace(LINES + 5));
    assert_eq!((lines.len(), lines[11].trim()), (2 + LINES, "..."));
    assert!(lines[10].starts_with("         9") && lines[12].starts_with("        15"), "{lines:#?}");
    assert!(lines[1].contains(" 40,000 ") && lines[1].contains(" 2.000e-5 ") && lines[1].contains(" 0.250000 "));
}
