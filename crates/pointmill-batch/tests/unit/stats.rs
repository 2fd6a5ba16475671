//! Tests of `src/stats.rs`.

use super::Times;

#[test]
fn quantiles_are_interpolated() {
    assert_eq!(Times::of(&[]), None);
    let one = Times::of(&[2.5]).unwrap();
    assert_eq!((one.p50, one.p95, one.mean, one.min, one.max), (2.5, 2.5, 2.5, 2.5, 2.5));
    let many = Times::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
    assert_eq!((many.p50, many.p95, many.mean, many.min, many.max), (2.5, 3.85, 2.5, 1.0, 4.0));
}
